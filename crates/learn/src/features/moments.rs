//! Means and variances of dense columns in one pass.
//!
//! Numbers are summed around a provisional centre c from a few rows spread over the data: with s = Σ w (x − c) and
//! q = Σ w (x − c)², the mean is c + s/W and the variance (q − s²/W)/W. The centre is near the mean, so that the difference loses
//! no digits; where it is far off, a second pass around the mean repairs that. NaN is left out.

// Loops over columns index several arrays with one counter; iterators would hide which.
#![allow(clippy::needless_range_loop)]

use std::sync::{Mutex, PoisonError};

use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;

use crate::Real;

/// Numbers in one part of the rows; the parts depend on the shape alone.
const PART: usize = 1 << 18;
/// Rows from which the provisional centre is taken.
const SPREAD_ROWS: usize = 256;

/// Weight that is there, mean and variance of each column.
#[derive(Clone, Debug)]
pub struct Spreads {
    pub(crate) total: Vec<f64>,
    pub(crate) mean: Vec<f64>,
    pub(crate) var: Vec<f64>,
}

/// The spreads of a dense matrix; none if a sum is not finite, because a number is not or because squares overflow.
pub(crate) fn spreads<T: Real>(x: &[T], width: usize, weights: Option<&[f64]>) -> Option<Spreads> {
    let centre = provisional(x, width);
    let first = around(x, &centre, weights)?;
    // The share of the sum of squares that the distance of the centre from the mean makes up.
    let far = (0..width).any(|c| {
        let off = first.mean[c] - centre[c];
        off * off > 1e4 * first.var[c]
    });
    if !far {
        return Some(first);
    }
    let centre: Vec<f64> = first.mean.iter().map(|mean| if mean.is_nan() { 0.0 } else { *mean }).collect();
    around(x, &centre, weights)
}

/// Means over rows spread over the data, NaN left out; of a column that is constant there, exactly its value.
fn provisional<T: Real>(x: &[T], width: usize) -> Vec<f64> {
    let n = x.len() / width;
    let count = n.min(SPREAD_ROWS);
    let (mut low, mut high) = (vec![f64::INFINITY; width], vec![f64::NEG_INFINITY; width]);
    let (mut sums, mut counts) = (vec![0.0; width], vec![0.0; width]);
    for row in (0..count).map(|i| i * n / count) {
        for (column, value) in x[row * width..(row + 1) * width].iter().map(|x| x.f64()).enumerate() {
            if value.is_finite() {
                (low[column], high[column]) = (low[column].min(value), high[column].max(value));
                counts[column] += 1.0;
                sums[column] += (value - sums[column]) / counts[column]; // the mean so far, which cannot overflow
            }
        }
    }
    (0..width).map(|c| if low[c] == high[c] { low[c] } else { sums[c] }).collect()
}

fn around<T: Real>(x: &[T], centre: &[f64], weights: Option<&[f64]>) -> Option<Spreads> {
    let width = centre.len();
    let n = x.len() / width;
    let mut sums = sum::<T, false>(x, centre, weights);
    let finite = |sums: &Sums| sums.first.iter().chain(&sums.second).all(|sum| sum.is_finite());
    let mut total = vec![weights.map_or(n as f64, |weights| weights.iter().sum()); width];
    if !finite(&sums) {
        sums = sum::<T, true>(x, centre, weights);
        if !finite(&sums) {
            return None;
        }
        total.clone_from(&sums.count);
    }
    let mean = (0..width).map(|c| centre[c] + sums.first[c] / total[c]).collect();
    let var = |c: usize| ((sums.second[c] - sums.first[c] * sums.first[c] / total[c]) / total[c]).max(0.0);
    Some(Spreads { mean, var: (0..width).map(var).collect(), total })
}

/// Σ w (x − c), Σ w (x − c)² and, where there are gaps, Σ w over what is there.
#[derive(Default)]
struct Sums {
    first: Vec<f64>,
    second: Vec<f64>,
    count: Vec<f64>,
}

impl Sums {
    fn zeros(width: usize) -> Sums {
        Sums { first: vec![0.0; width], second: vec![0.0; width], count: vec![0.0; width] }
    }

    fn add(&mut self, other: &Sums) {
        let pairs =
            [(&mut self.first, &other.first), (&mut self.second, &other.second), (&mut self.count, &other.count)];
        for (own, others) in pairs {
            own.iter_mut().zip(others).for_each(|(own, other)| *own += other);
        }
    }
}

fn sum<T: Real, const GAPS: bool>(x: &[T], centre: &[f64], weights: Option<&[f64]>) -> Sums {
    let width = centre.len();
    let rows = (PART / width).max(1);
    let parts: Vec<Mutex<Sums>> = (0..x.len().div_ceil(rows * width)).map(|_| Mutex::default()).collect();
    parallel_for(parts.len(), &|part| {
        let x = &x[part * rows * width..((part + 1) * rows * width).min(x.len())];
        let weights = weights.map(|weights| &weights[part * rows..][..x.len() / width]);
        let mut sums = Sums::zeros(width);
        dispatch(Part::<T, GAPS> { x, centre, weights, sums: &mut sums });
        *parts[part].lock().unwrap_or_else(PoisonError::into_inner) = sums;
    });
    let mut all = Sums::zeros(width);
    for part in parts {
        all.add(&part.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
    all
}

struct Part<'a, T, const GAPS: bool> {
    x: &'a [T],
    centre: &'a [f64],
    weights: Option<&'a [f64]>,
    sums: &'a mut Sums,
}

impl<T: Real, const GAPS: bool> Kernel for Part<'_, T, GAPS> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Part { x, centre, weights, sums } = self;
        match weights {
            None => x.chunks_exact(centre.len()).for_each(|row| row_sums::<T, GAPS>(row, centre, 1.0, sums)),
            Some(weights) => {
                for (row, &weight) in x.chunks_exact(centre.len()).zip(weights) {
                    row_sums::<T, GAPS>(row, centre, weight, sums);
                }
            }
        }
    }
}

#[inline(always)]
fn row_sums<T: Real, const GAPS: bool>(row: &[T], centre: &[f64], weight: f64, sums: &mut Sums) {
    let width = row.len();
    let (centre, first, second) = (&centre[..width], &mut sums.first[..width], &mut sums.second[..width]);
    let count = &mut sums.count[..width];
    for c in 0..width {
        let value = row[c].f64();
        let mut off = value - centre[c];
        if GAPS {
            let there = !value.is_nan();
            off = if there { off } else { 0.0 };
            count[c] += if there { weight } else { 0.0 };
        }
        let part = weight * off;
        first[c] += part;
        second[c] = part.mul_add(off, second[c]);
    }
}
