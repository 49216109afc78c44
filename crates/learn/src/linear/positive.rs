//! Non-negative least squares (Lawson and Hanson 1974).
//!
//! min ‖y − Xw‖² subject to w ≥ 0. Coefficients are free or fixed at 0. The fixed coefficient with the largest gradient
//! Xᵀ(y − Xw) is freed, the free ones are solved for, and those that would become negative are fixed again. At the end
//! the gradient of every fixed coefficient is at most 0: the Karush-Kuhn-Tucker conditions. Only XᵀX and Xᵀy are
//! needed.

use tove_tensor::linalg::lstsq;
use tove_tensor::{Tensor, TryLinalg};

use super::moments::Moments;
use crate::Result;

/// Coefficients of one output, the number of iterations, and whether the optimality conditions hold.
pub(super) struct Positive {
    pub(super) coefficients: Vec<f64>,
    pub(super) iterations: usize,
    pub(super) converged: bool,
    /// The largest gradient of a coefficient fixed at 0, relative to ‖x‖ ‖y‖; at convergence only rounding.
    pub(super) residual: f64,
}

/// Solves for one output.
pub(super) fn positive(moments: &Moments, output: usize) -> Result<Positive> {
    let (d, m) = (moments.width, moments.outputs);
    let cross: Vec<f64> = (0..d).map(|j| moments.cross[j * m + output]).collect();
    let sizes: Vec<f64> = (0..d).map(|j| (moments.gram[j * d + j] * moments.squares[output]).sqrt()).collect();
    let mut w = vec![0.0; d];
    let mut free = vec![false; d];
    let mut refused = vec![false; d];
    let rounding = 1e-13 * (d as f64).sqrt();
    let limit = 3 * d + 30;
    let mut iterations = 0;
    loop {
        let gradient = slopes(moments, &cross, &w);
        let relative = |j: usize| if sizes[j] > 0.0 { gradient[j] / sizes[j] } else { 0.0 };
        let held = (0..d).filter(|&j| !free[j] && !refused[j]);
        let steepest = held.max_by(|&a, &b| relative(a).total_cmp(&relative(b)));
        let residual = steepest.map_or(0.0, |j| relative(j).max(0.0));
        let done = residual <= rounding;
        if done || iterations >= limit {
            return Ok(Positive { coefficients: w, iterations, converged: done, residual });
        }
        let Some(entering) = steepest else { continue };
        iterations += 1;
        free[entering] = true;
        let before = w.clone();
        solve_free(moments, &cross, &mut free, &mut w)?;
        // A column that is dependent on the free ones within rounding may enter and leave again; stop if nothing
        // changes.
        if w == before {
            free[entering] = false;
            refused[entering] = true;
        } else {
            refused.fill(false);
        }
    }
}

/// Xᵀ(y − Xw).
fn slopes(moments: &Moments, cross: &[f64], w: &[f64]) -> Vec<f64> {
    let d = moments.width;
    let row = |j: usize| moments.gram[j * d..(j + 1) * d].iter().zip(w).map(|(g, w)| g * w).sum::<f64>();
    (0..d).map(|j| cross[j] - row(j)).collect()
}

/// Moves to the optimum of the free coefficients, fixing those that reach 0 on the way.
fn solve_free(moments: &Moments, cross: &[f64], free: &mut [bool], w: &mut [f64]) -> Result<()> {
    let d = moments.width;
    loop {
        let indices: Vec<usize> = (0..d).filter(|&j| free[j]).collect();
        if indices.is_empty() {
            return Ok(());
        }
        let k = indices.len();
        let gram: Vec<f64> = indices
            .iter()
            .flat_map(|&i| indices.iter().map(move |&j| (i, j)))
            .map(|(i, j)| moments.gram[i * d + j])
            .collect();
        let gram = Tensor::try_from_vec(gram, [k, k])?;
        let right = Tensor::try_from_vec(indices.iter().map(|&j| cross[j]).collect(), [k, 1])?;
        let wanted = match gram.try_cholesky() {
            Ok(_) => gram.try_solve(&right)?.to_f64_vec(),
            Err(_) => lstsq(&gram, &right, None)?.solution.to_f64_vec(),
        };
        if wanted.iter().all(|&value| value > 0.0) {
            indices.iter().zip(&wanted).for_each(|(&j, &value)| w[j] = value);
            return Ok(());
        }
        let max_step = |(&j, &value): (&usize, &f64)| if value <= 0.0 { w[j] / (w[j] - value) } else { f64::INFINITY };
        let step = indices.iter().zip(&wanted).map(max_step).fold(f64::INFINITY, f64::min);
        let step = if step.is_finite() { step } else { 0.0 };
        for (&j, &value) in indices.iter().zip(&wanted) {
            let blocking = value <= 0.0 && w[j] / (w[j] - value) <= step;
            w[j] += step * (value - w[j]);
            if blocking || w[j] <= 0.0 || w[j].is_nan() {
                (w[j], free[j]) = (0.0, false);
            }
        }
    }
}
