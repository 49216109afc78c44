//! SAGA for sparse rows with two classes and no l1 penalty, where lazy updates need no tables.
//!
//! Write w = s u with s = kᵗ after t steps, k = 1 − γ λ₂. A step that does not touch a column, w ← k w − γ ḡ, is u ← u
//! − (γ/s') ḡ with the new s'. Several of them are u ← u − (C − c) ḡ, where C sums γ/s' over all steps and c is its
//! value at the last update of the column. The data of a column is contiguous: one memory access instead of five.

use tove_tensor::Element;
use tove_tensor::kernels::math::Float;
use tove_tensor::kernels::simd::Kernel;

use super::kernels::Wide;
use super::problem::Problem;
use super::saga::{Pace, State, normalized_weight, slope};

/// The scale below which all columns are updated, so that 1/s stays finite.
const MIN_SCALE: f64 = 1e-60;

#[derive(Clone, Copy, Default)]
struct Column {
    u: f64,
    /// ḡ of the column.
    mean: f64,
    /// c.
    seen: f64,
}

/// All columns with s and C.
struct Scaled {
    columns: Vec<Column>,
    scale: f64,
    drift: f64,
}

impl Scaled {
    /// Applies all pending updates and restarts with s = 1.
    fn apply_pending(&mut self) {
        for column in &mut self.columns {
            column.u = self.scale * (self.drift - column.seen).mul_add(-column.mean, column.u);
            column.seen = 0.0;
        }
        (self.scale, self.drift) = (1.0, 0.0);
    }
}

/// The rows of a sparse matrix.
#[derive(Clone, Copy)]
pub(super) struct Csr<'a, T> {
    pub(super) starts: &'a [usize],
    pub(super) columns: &'a [u32],
    pub(super) values: &'a [T],
}

/// One epoch; returns the sum of the losses of the drawn samples.
pub(super) struct Epoch<'a, 'b, T> {
    pub(super) problem: &'a Problem<'b, T>,
    pub(super) rows: Csr<'a, T>,
    pub(super) state: &'a mut State,
    pub(super) pace: Pace,
    pub(super) order: &'a [i64],
}

impl<T: Float + Element> Kernel for Epoch<'_, '_, T> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let Epoch { problem, rows, state, pace, order } = self;
        let (d, n) = (problem.d, problem.n as f64);
        let columns = state.w[..d].iter().zip(&state.mean[..d]).map(|(&u, &mean)| Column { u, mean, seen: 0.0 });
        let mut scaled = Scaled { columns: columns.collect(), scale: 1.0, drift: 0.0 };
        let (mut bias, mut bias_mean) = match problem.intercept {
            true => (state.w[d], state.mean[d]),
            false => (0.0, 0.0),
        };
        let mut losses = 0.0;
        for &row in order {
            let row = row as usize;
            let range = rows.starts[row]..rows.starts[row + 1];
            let (columns, values) = (&rows.columns[range.clone()], &rows.values[range]);
            let mut sum = 0.0;
            for (&j, x) in columns.iter().zip(values) {
                let column = &mut scaled.columns[j as usize];
                column.u = (scaled.drift - column.seen).mul_add(-column.mean, column.u);
                sum = x.wide().mul_add(column.u, sum);
            }
            let (new, loss) =
                slope(scaled.scale.mul_add(sum, bias), problem.codes[row] as usize, normalized_weight(problem, row));
            losses += loss;
            let change = new - state.slopes[row];
            state.slopes[row] = new;
            let part = change / n;
            scaled.scale *= pace.keep;
            let stride = pace.step / scaled.scale;
            scaled.drift += stride;
            for (&j, x) in columns.iter().zip(values) {
                let (column, x) = (&mut scaled.columns[j as usize], x.wide());
                column.u = stride.mul_add(-change.mul_add(x, column.mean), column.u);
                column.mean = part.mul_add(x, column.mean);
                column.seen = scaled.drift;
            }
            if problem.intercept {
                bias -= pace.step * (bias_mean + change);
                bias_mean += part;
            }
            if scaled.scale < MIN_SCALE {
                scaled.apply_pending();
            }
        }
        scaled.apply_pending();
        for (j, column) in scaled.columns.iter().enumerate() {
            (state.w[j], state.mean[j]) = (column.u, column.mean);
        }
        if problem.intercept {
            (state.w[d], state.mean[d]) = (bias, bias_mean);
        }
        losses
    }
}
