//! Sparse columns for coordinate descent on residuals. Columns are centered implicitly, so zeros are not stored.

use super::descent::Products;
use super::moments::Data;
use super::working_set::dot;
use crate::{Csr, Real, Result, with_real};

/// Columns √w (x − x̄) and a residual.
pub(super) struct Columns {
    store: Store,
    squares: Vec<f64>,
    /// √w (y − ȳ).
    target: Vec<f64>,
    /// The residual, except for `offset` · √w.
    residual: Vec<f64>,
    /// Contribution of the column means, the same for all rows.
    offset: f64,
    /// rᵀ√w, used to center the columns.
    residual_sum: f64,
    /// yᵀ√w.
    target_sum: f64,
    pub(super) mean_x: Vec<f64>,
    pub(super) mean_y: f64,
}

/// The stored values of each column, and √w.
struct Store {
    starts: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f64>,
    roots: Vec<f64>,
    total: f64,
}

impl Columns {
    pub(super) fn of(data: &Data, x: &Csr, centered: bool) -> Result<Columns> {
        let (n, d) = (data.len(), data.width());
        let weights = data.weights_or_ones();
        let total: f64 = weights.iter().sum();
        let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        let mean_y =
            if centered { data.y.iter().zip(weights.iter()).map(|(y, w)| y * w).sum::<f64>() / total } else { 0.0 };
        let target: Vec<f64> = data.y.iter().zip(&roots).map(|(y, root)| (y - mean_y) * root).collect();
        let mut mean_x = vec![0.0; d];
        let store = with_real!(x.dtype(), T => {
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
                    if centered {
                        mean_x[j] += weights[row] * value / total;
                    }
                    next[j] += 1;
                }
            }
            Store { starts, rows, values, roots, total }
        });
        let squares = (0..d).map(|j| store.square(j, mean_x[j])).collect();
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

    /// max |x_jᵀ y| (or max x_jᵀ y), the start of the path.
    pub(super) fn steepest(&self, positive: bool) -> f64 {
        (0..self.width()).map(|j| self.product(j)).map(|p| if positive { p } else { p.abs() }).fold(0.0, f64::max)
    }
}

impl Store {
    fn square(&self, j: usize, mean: f64) -> f64 {
        let root = |index: usize| self.roots[self.rows[index] as usize];
        let range = self.starts[j]..self.starts[j + 1];
        let inside: f64 = range.clone().map(|index| (self.values[index] - mean * root(index)).powi(2)).sum();
        let stored: f64 = range.map(|index| root(index).powi(2)).sum();
        inside + mean * mean * (self.total - stored).max(0.0)
    }

    /// rᵀ√w.
    fn sum(&self, residual: &[f64]) -> f64 {
        residual.iter().zip(&self.roots).map(|(r, root)| r * root).sum()
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
        let Store { starts, rows, values, roots, .. } = &self.store;
        let at = |row: usize| self.residual[row] + self.offset * roots[row];
        let inside: f64 = (starts[j]..starts[j + 1]).map(|index| values[index] * at(rows[index] as usize)).sum();
        inside - self.mean_x[j] * self.residual_sum
    }

    fn moved(&mut self, j: usize, change: f64) {
        let Store { starts, rows, values, roots, total } = &self.store;
        // x − x̄√w changes every row: the stored rows explicitly, all rows through `offset`.
        for index in starts[j]..starts[j + 1] {
            let row = rows[index] as usize;
            self.residual[row] -= change * values[index];
            self.residual_sum -= change * values[index] * roots[row];
        }
        let shift = change * self.mean_x[j];
        self.offset += shift;
        self.residual_sum += shift * total;
    }

    fn residual_square(&self, _w: &[f64]) -> f64 {
        // ‖r + o√w‖² = ‖r‖² + 2o rᵀ√w + o²W, where rᵀ√w of the stored part is the total sum minus oW.
        let plain = self.residual_sum - self.offset * self.store.total;
        let shared = self.offset * (2.0 * plain + self.offset * self.store.total);
        (dot(&self.residual, &self.residual) + shared).max(0.0)
    }

    fn residual_target(&self, _w: &[f64]) -> f64 {
        dot(&self.residual, &self.target) + self.offset * self.target_sum
    }

    fn target_square(&self) -> f64 {
        dot(&self.target, &self.target)
    }
}
