//! Means and variances of dense columns in one pass.
//!
//! Values are summed around a provisional center c, the mean of a few rows spread over the data: with s = Σ w (x − c)
//! and q = Σ w (x − c)², the mean is c + s/W and the variance (q − s²/W)/W. The center is near the mean, so the
//! difference loses no accuracy; otherwise a second pass around the mean is made. NaN is ignored.

// Loops over columns index several arrays with one counter; iterators would be harder to read.
#![allow(clippy::needless_range_loop)]

use std::sync::{Mutex, PoisonError};

use tove_data::ColumnMoments;
use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;

use crate::Real;

/// Values in one chunk of the rows; the chunks only depend on the shape.
const CHUNK: usize = 1 << 18;
/// Rows used for the provisional center.
const SPREAD_ROWS: usize = 256;

/// Weight of the non-missing values, mean and variance of each column.
#[derive(Clone, Debug)]
pub struct Spreads {
    pub(crate) total: Vec<f64>,
    pub(crate) mean: Vec<f64>,
    pub(crate) var: Vec<f64>,
}

impl Spreads {
    /// The moments of each column, which can be merged.
    pub(super) fn columns(&self) -> Vec<ColumnMoments> {
        let column = |c: usize| match self.total[c] {
            0.0 => ColumnMoments::default(),
            total => ColumnMoments::from_variance(total, self.mean[c], self.var[c]),
        };
        (0..self.mean.len()).map(column).collect()
    }

    /// From the moments of each column; NaN for a column without values.
    pub(super) fn of(columns: &[ColumnMoments]) -> Spreads {
        let known = |c: &ColumnMoments, value: f64| if c.weight() == 0.0 { f64::NAN } else { value };
        Spreads {
            total: columns.iter().map(ColumnMoments::weight).collect(),
            mean: columns.iter().map(|c| known(c, c.mean())).collect(),
            var: columns.iter().map(|c| known(c, c.variance())).collect(),
        }
    }
}

/// Computes the moments of a dense matrix; `None` if a sum is not finite, because of a value or because squares
/// overflow.
pub(crate) fn spreads<T: Real>(x: &[T], width: usize, weights: Option<&[f64]>) -> Option<Spreads> {
    let center = provisional(x, width);
    let first = around(x, &center, weights)?;
    // The contribution of the distance between center and mean to the sum of squares.
    let far = (0..width).any(|c| {
        let off = first.mean[c] - center[c];
        off * off > 1e4 * first.var[c]
    });
    if !far {
        return Some(first);
    }
    let center: Vec<f64> = first.mean.iter().map(|mean| if mean.is_nan() { 0.0 } else { *mean }).collect();
    around(x, &center, weights)
}

/// Means over rows spread over the data, ignoring NaN; for a column that is constant there, exactly its value.
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
                sums[column] += (value - sums[column]) / counts[column]; // running mean, which cannot overflow
            }
        }
    }
    (0..width).map(|c| if low[c] == high[c] { low[c] } else { sums[c] }).collect()
}

fn around<T: Real>(x: &[T], center: &[f64], weights: Option<&[f64]>) -> Option<Spreads> {
    let width = center.len();
    let n = x.len() / width;
    let mut sums = sum::<T, false>(x, center, weights);
    let finite = |sums: &Sums| sums.first.iter().chain(&sums.second).all(|sum| sum.is_finite());
    let mut total = vec![weights.map_or(n as f64, |weights| weights.iter().sum()); width];
    if !finite(&sums) {
        sums = sum::<T, true>(x, center, weights);
        if !finite(&sums) {
            return None;
        }
        total.clone_from(&sums.count);
    }
    let mean = (0..width).map(|c| center[c] + sums.first[c] / total[c]).collect();
    let var = |c: usize| ((sums.second[c] - sums.first[c] * sums.first[c] / total[c]) / total[c]).max(0.0);
    Some(Spreads { mean, var: (0..width).map(var).collect(), total })
}

/// Σ w (x − c), Σ w (x − c)² and, with missing values, Σ w over the non-missing ones.
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

fn sum<T: Real, const MISSING: bool>(x: &[T], center: &[f64], weights: Option<&[f64]>) -> Sums {
    let width = center.len();
    let rows = (CHUNK / width).max(1);
    let parts: Vec<Mutex<Sums>> = (0..x.len().div_ceil(rows * width)).map(|_| Mutex::default()).collect();
    parallel_for(parts.len(), &|part| {
        let x = &x[part * rows * width..((part + 1) * rows * width).min(x.len())];
        let weights = weights.map(|weights| &weights[part * rows..][..x.len() / width]);
        let mut sums = Sums::zeros(width);
        dispatch(Part::<T, MISSING> { x, center, weights, sums: &mut sums });
        *parts[part].lock().unwrap_or_else(PoisonError::into_inner) = sums;
    });
    let mut all = Sums::zeros(width);
    for part in parts {
        all.add(&part.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
    all
}

struct Part<'a, T, const MISSING: bool> {
    x: &'a [T],
    center: &'a [f64],
    weights: Option<&'a [f64]>,
    sums: &'a mut Sums,
}

impl<T: Real, const MISSING: bool> Kernel for Part<'_, T, MISSING> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Part { x, center, weights, sums } = self;
        match weights {
            None => x.chunks_exact(center.len()).for_each(|row| row_sums::<T, MISSING>(row, center, 1.0, sums)),
            Some(weights) => {
                for (row, &weight) in x.chunks_exact(center.len()).zip(weights) {
                    row_sums::<T, MISSING>(row, center, weight, sums);
                }
            }
        }
    }
}

#[inline(always)]
fn row_sums<T: Real, const MISSING: bool>(row: &[T], center: &[f64], weight: f64, sums: &mut Sums) {
    let width = row.len();
    let (center, first, second) = (&center[..width], &mut sums.first[..width], &mut sums.second[..width]);
    let count = &mut sums.count[..width];
    for c in 0..width {
        let value = row[c].f64();
        let mut off = value - center[c];
        if MISSING {
            let there = !value.is_nan();
            off = if there { off } else { 0.0 };
            count[c] += if there { weight } else { 0.0 };
        }
        let part = weight * off;
        first[c] += part;
        second[c] = part.mul_add(off, second[c]);
    }
}
