//! Columns one after the other, for coordinate descent on residuals: dense ones centred in a transposed copy, sparse ones
//! centred in effect only, so that zeros stay zeros.

use tove_tensor::kernels::simd::{Kernel, dispatch};

use super::descent::Products;
use super::moments::{Data, read_row};
use crate::{Real, Result, Rows, with_real};

const LANES: usize = 8;

/// Columns √w (x − x̄) and a residual.
pub(super) struct Columns {
    store: Store,
    squares: Vec<f64>,
    /// √w (y − ȳ).
    target: Vec<f64>,
    /// The residual but for `offset` · √w.
    residual: Vec<f64>,
    /// What sparse columns' means have added to all rows alike.
    offset: f64,
    /// rᵀ√w, which centres sparse columns.
    residual_sum: f64,
    /// yᵀ√w of sparse columns.
    target_sum: f64,
    pub(super) mean_x: Vec<f64>,
    pub(super) mean_y: f64,
}

enum Store {
    /// Column after column.
    Dense(Vec<f64>),
    Sparse {
        starts: Vec<usize>,
        rows: Vec<u32>,
        values: Vec<f64>,
        roots: Vec<f64>,
        total: f64,
    },
}

impl Columns {
    pub(super) fn of(data: &Data, centred: bool) -> Result<Columns> {
        let (n, d) = (data.len(), data.width());
        let weights = data.weights_or_ones();
        let total: f64 = weights.iter().sum();
        let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        let mean_y =
            if centred { data.y.iter().zip(weights.iter()).map(|(y, w)| y * w).sum::<f64>() / total } else { 0.0 };
        let target: Vec<f64> = data.y.iter().zip(&roots).map(|(y, root)| (y - mean_y) * root).collect();
        let mut mean_x = vec![0.0; d];
        let store = match data.x {
            Rows::Dense(_) => {
                let mut columns = vec![0.0; n * d];
                let mut numbers = vec![0.0; d];
                for row in 0..n {
                    read_row(data.x, row, &mut numbers)?;
                    numbers.iter().enumerate().for_each(|(j, x)| columns[j * n + row] = *x);
                }
                for (column, mean) in columns.chunks_exact_mut(n).zip(&mut mean_x) {
                    if centred {
                        *mean = column.iter().zip(weights.iter()).map(|(x, w)| x * w).sum::<f64>() / total;
                        if column.iter().all(|x| *x == column[0]) {
                            *mean = column[0];
                        }
                    }
                    column.iter_mut().zip(&roots).for_each(|(x, root)| *x = (*x - *mean) * root);
                }
                Store::Dense(columns)
            }
            Rows::Sparse(x) => with_real!(x.dtype(), T => {
                let stored = x.values().as_slice::<T>()?;
                let mut starts = vec![0usize; d + 1];
                x.indices().iter().for_each(|&j| starts[j as usize + 1] += 1);
                (0..d).for_each(|j| starts[j + 1] += starts[j]);
                let (mut next, mut rows) = (starts.clone(), vec![0u32; stored.len()]);
                let mut values = vec![0.0; stored.len()];
                for row in 0..n {
                    let range = x.indptr()[row]..x.indptr()[row + 1];
                    for (&j, value) in x.indices()[range.clone()].iter().zip(&stored[range]) {
                        let (j, value) = (j as usize, value.f64());
                        (rows[next[j]], values[next[j]]) = (row as u32, value * roots[row]);
                        if centred {
                            mean_x[j] += weights[row] * value / total;
                        }
                        next[j] += 1;
                    }
                }
                Store::Sparse { starts, rows, values, roots, total }
            }),
        };
        let squares = (0..d).map(|j| store.square(j, n, mean_x[j])).collect();
        let residual_sum = store.sum(&target);
        Ok(Columns {
            store,
            squares,
            residual: target.clone(),
            offset: 0.0,
            target,
            residual_sum,
            target_sum: residual_sum,
            mean_x,
            mean_y,
        })
    }

    /// max |x_jᵀ y| (or max x_jᵀ y), where the path begins.
    pub(super) fn steepest(&self, positive: bool) -> f64 {
        (0..self.width()).map(|j| self.product(j)).map(|p| if positive { p } else { p.abs() }).fold(0.0, f64::max)
    }
}

impl Store {
    fn square(&self, j: usize, n: usize, mean: f64) -> f64 {
        match self {
            Store::Dense(columns) => {
                let column = &columns[j * n..(j + 1) * n];
                dispatch(Dot { a: column, b: column })
            }
            Store::Sparse { starts, rows, values, roots, total } => {
                let range = starts[j]..starts[j + 1];
                let inside: f64 =
                    range.clone().map(|place| (values[place] - mean * roots[rows[place] as usize]).powi(2)).sum();
                let stored: f64 = range.map(|place| roots[rows[place] as usize].powi(2)).sum();
                inside + mean * mean * (total - stored).max(0.0)
            }
        }
    }

    /// rᵀ√w, needed for sparse columns only.
    fn sum(&self, residual: &[f64]) -> f64 {
        match self {
            Store::Dense(_) => 0.0,
            Store::Sparse { roots, .. } => residual.iter().zip(roots).map(|(r, root)| r * root).sum(),
        }
    }
}

impl Products for Columns {
    fn width(&self) -> usize {
        self.mean_x.len()
    }

    fn square(&self, j: usize) -> f64 {
        self.squares[j]
    }

    fn product(&self, j: usize) -> f64 {
        let n = self.target.len();
        match &self.store {
            Store::Dense(columns) => dispatch(Dot { a: &columns[j * n..(j + 1) * n], b: &self.residual }),
            Store::Sparse { starts, rows, values, roots, .. } => {
                let at = |row: usize| self.residual[row] + self.offset * roots[row];
                let inside: f64 =
                    (starts[j]..starts[j + 1]).map(|place| values[place] * at(rows[place] as usize)).sum();
                inside - self.mean_x[j] * self.residual_sum
            }
        }
    }

    fn moved(&mut self, j: usize, change: f64) {
        let n = self.target.len();
        match &self.store {
            Store::Dense(columns) => {
                let a = &columns[j * n..(j + 1) * n];
                dispatch(Subtract { a, change, out: &mut self.residual });
            }
            Store::Sparse { starts, rows, values, roots, total } => {
                // x − x̄√w moves every row: the stored ones now, all others by one number.
                for place in starts[j]..starts[j + 1] {
                    let row = rows[place] as usize;
                    self.residual[row] -= change * values[place];
                    self.residual_sum -= change * values[place] * roots[row];
                }
                let shift = change * self.mean_x[j];
                self.offset += shift;
                self.residual_sum += shift * total;
            }
        }
    }

    fn residual_square(&self, _w: &[f64]) -> f64 {
        let stored = dispatch(Dot { a: &self.residual, b: &self.residual });
        match &self.store {
            Store::Dense(_) => stored,
            // ‖r + o√w‖² = ‖r‖² + 2o rᵀ√w + o²W, where rᵀ√w of the stored part is the whole sum less oW.
            Store::Sparse { total, .. } => {
                let plain = self.residual_sum - self.offset * total;
                (stored + self.offset * (2.0 * plain + self.offset * total)).max(0.0)
            }
        }
    }

    fn residual_target(&self, _w: &[f64]) -> f64 {
        let stored = dispatch(Dot { a: &self.residual, b: &self.target });
        stored + self.offset * self.target_sum
    }

    fn target_square(&self) -> f64 {
        dispatch(Dot { a: &self.target, b: &self.target })
    }
}

struct Dot<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl Kernel for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let (a_body, a_tail) = self.a.as_chunks::<{ 4 * LANES }>();
        let (b_body, b_tail) = self.b.as_chunks::<{ 4 * LANES }>();
        let mut sums = [0.0; 4 * LANES];
        for (a, b) in a_body.iter().zip(b_body) {
            for lane in 0..4 * LANES {
                sums[lane] = a[lane].mul_add(b[lane], sums[lane]);
            }
        }
        let rest: f64 = a_tail.iter().zip(b_tail).map(|(a, b)| a * b).sum();
        sums.iter().sum::<f64>() + rest
    }
}

struct Subtract<'a> {
    a: &'a [f64],
    change: f64,
    out: &'a mut [f64],
}

impl Kernel for Subtract<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (out, a) in self.out.iter_mut().zip(self.a) {
            *out = (-self.change).mul_add(*a, *out);
        }
    }
}
