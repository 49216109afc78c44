//! Newton's method: w ← w − t H⁻¹ g with the exact Hessian (iteratively reweighted least squares), t from backtracking.
//!
//! With an l1 penalty the step minimizes the quadratic model plus λ₁‖w‖₁ by coordinate descent (a proximal Newton
//! step), which keeps exact zeros and still converges quadratically. Without an l2 penalty the Hessian can be singular:
//! the symmetric softmax does not change when all outputs are shifted equally, and constant or duplicate columns are
//! not identifiable. A ridge far below the curvature selects the smallest step.

use tove_optim::interrupted;
use tove_tensor::kernels::math::Float;
use tove_tensor::{Element, Tensor, TryLinalg};

use super::kernels::Wide;
use super::objective::{Limits, Objective, Outcome, dot, largest, overflow};
use super::preconditioner::Preconditioner;
use crate::Result;

/// Maximum number of passes over the coordinates for one proximal step.
const SWEEPS: usize = 1000;
const HALVINGS: usize = 40;
/// A relative decrease below this counts as none.
const LEVEL: f64 = 1e-8;

/// Minimizes from the parameters `start`.
pub(super) fn minimize<T: Float + Element>(
    objective: &Objective<'_, '_, T>,
    limits: Limits,
    start: Vec<f64>,
) -> Result<Outcome> {
    let (mut w, mut gradient) = (start, vec![0.0; objective.problem.size()]);
    let mut value = objective.smooth(&w, &mut gradient) + objective.rough(&w);
    let noise = 4.0 * T::EPSILON.wide() / (objective.problem.n as f64).sqrt();
    let (mut iterations, mut curve) = (0, vec![value]);
    loop {
        let residual = largest(&objective.subgradient(&w, &gradient));
        let done = residual <= limits.tol;
        if done || iterations >= limits.max_iter || interrupted() {
            return Ok(Outcome { parameters: w, value, residual, iterations, converged: done, curve });
        }
        if !residual.is_finite() {
            return Err(overflow());
        }
        let hessian = objective.hessian(&w)?;
        if !hessian.iter().all(|value| value.is_finite()) {
            return Err(overflow());
        }
        let target = if objective.strength.l1 > 0.0 {
            proximal(objective, &hessian, &w, &gradient, 0.01 * residual)
        } else {
            let step = solve(hessian, &gradient)?;
            w.iter().zip(step).map(|(w, step)| w - step).collect()
        };
        let step: Vec<f64> = target.iter().zip(&w).map(|(a, b)| a - b).collect();
        let predicted = dot(&step, &gradient) + objective.rough(&target) - objective.rough(&w);
        let (mut t, mut accepted, mut moved) = (1.0, false, false);
        for _ in 0..HALVINGS {
            let trial: Vec<f64> =
                if t == 1.0 { target.clone() } else { w.iter().zip(&step).map(|(w, d)| w + t * d).collect() };
            let mut slope = vec![0.0; gradient.len()];
            let reached = objective.smooth(&trial, &mut slope) + objective.rough(&trial);
            // Near the minimum values differ by rounding only; there the full step is correct.
            if reached <= value + 1e-4 * t * predicted + noise * value.abs() {
                accepted = largest(&step) > 0.0;
                moved = reached < value || largest(&objective.subgradient(&trial, &slope)) < residual;
                if moved {
                    (w, gradient, value) = (trial, slope, reached);
                }
                break;
            }
            t *= 0.5;
        }
        iterations += 1;
        curve.push(value);
        if !moved {
            // An accepted step with no change and a negligible predicted decrease: the minimum within rounding.
            let converged = accepted && -predicted <= LEVEL.max(10.0 * noise) * (value.abs() + LEVEL);
            return Ok(Outcome { parameters: w, value, residual, iterations, converged, curve });
        }
    }
}

/// H⁻¹ g by Cholesky factorization with the smallest sufficient ridge, after scaling to a unit diagonal.
#[allow(clippy::needless_range_loop)] // row and column indices
fn solve(mut hessian: Vec<f64>, gradient: &[f64]) -> Result<Vec<f64>> {
    let size = gradient.len();
    // A parameter without curvature has scale 0: its diagonal is the ridge alone, and its step is 0.
    let scale = |i: usize| if hessian[i * size + i].is_normal() { 1.0 / hessian[i * size + i].sqrt() } else { 0.0 };
    let scale: Vec<f64> = (0..size).map(scale).collect();
    for i in 0..size {
        for j in 0..size {
            hessian[i * size + j] *= scale[i] * scale[j];
        }
    }
    let g: Vec<f64> = gradient.iter().zip(&scale).map(|(g, s)| g * s).collect();
    if !hessian.iter().chain(&g).all(|value| value.is_finite()) {
        return Err(overflow());
    }
    let right = Tensor::try_from_vec(g, [size, 1])?;
    let mut ridge = 1e-13 * size as f64;
    // A matrix with unit diagonal is positive definite with a ridge above its size, so this terminates.
    while ridge < 1e6 * size as f64 {
        let mut matrix = hessian.clone();
        (0..size).for_each(|i| matrix[i * size + i] += ridge);
        let matrix = Tensor::try_from_vec(matrix, [size, size])?;
        if matrix.try_cholesky().is_ok() {
            let step = matrix.try_solve(&right)?.into_vec::<f64>()?;
            if step.iter().all(|step| step.is_finite()) {
                return Ok(step.into_iter().zip(&scale).map(|(step, s)| step * s).collect());
            }
        }
        ridge *= 100.0;
    }
    Err(overflow())
}

/// The minimizer of g·(v − w) + (v − w)ᵀH(v − w)/2 + λ₁‖v‖₁, to `tolerance` in the subgradient.
#[allow(clippy::needless_range_loop)] // coordinate indices
fn proximal<T: Float + Element>(
    objective: &Objective<'_, '_, T>,
    hessian: &[f64],
    w: &[f64],
    gradient: &[f64],
    tolerance: f64,
) -> Vec<f64> {
    let (size, l1) = (w.len(), objective.strength.l1);
    let (mut v, mut slope) = (w.to_vec(), gradient.to_vec());
    for _ in 0..SWEEPS {
        let mut change = 0.0f64;
        for i in 0..size {
            let curvature = hessian[i * size + i];
            if !curvature.is_normal() {
                continue; // the objective does not depend on it beyond rounding
            }
            let center = v[i] - slope[i] / curvature;
            let next = if objective.is_weight(i) {
                center.signum() * (center.abs() - l1 / curvature).max(0.0)
            } else {
                center
            };
            let step = next - v[i];
            if step != 0.0 {
                v[i] = next;
                let row = &hessian[i * size..(i + 1) * size];
                slope.iter_mut().zip(row).for_each(|(slope, h)| *slope += h * step);
                change = change.max(curvature * step.abs());
            }
        }
        if change <= tolerance {
            break;
        }
    }
    v
}

/// Maximum number of conjugate gradient steps per direction.
const MAX_CG_STEPS: usize = 50;

/// Like [`minimize`] for the smooth objective, but without forming the Hessian: each direction comes from conjugate
/// gradients on Hessian-vector products, with an accuracy that follows the gradient norm.
pub(super) fn minimize_by_products<T: Float + Element>(
    objective: &Objective<'_, '_, T>,
    limits: Limits,
    start: Vec<f64>,
) -> Result<Outcome> {
    let model = Preconditioner::new(objective.problem, objective.strength.l2, false)?;
    let (mut w, mut gradient) = (start, vec![0.0; objective.problem.size()]);
    let mut value = objective.smooth(&w, &mut gradient);
    let noise = 4.0 * T::EPSILON.wide() / (objective.problem.n as f64).sqrt();
    let (mut iterations, mut curve) = (0, vec![value]);
    loop {
        let residual = largest(&gradient);
        if residual <= limits.tol || iterations >= limits.max_iter || interrupted() {
            let converged = residual <= limits.tol;
            return Ok(Outcome { parameters: w, value, residual, iterations, converged, curve });
        }
        if !residual.is_finite() {
            return Err(overflow());
        }
        let step = conjugate(objective, &model, &w, &gradient)?;
        let predicted = dot(&step, &gradient);
        iterations += 1;
        let (mut t, mut accepted, mut moved) = (1.0, false, false);
        for _ in 0..HALVINGS {
            let trial: Vec<f64> = w.iter().zip(&step).map(|(w, d)| w + t * d).collect();
            let mut slope = vec![0.0; gradient.len()];
            let reached = objective.smooth(&trial, &mut slope);
            if reached <= value + 1e-4 * t * predicted + noise * value.abs() {
                accepted = largest(&step) > 0.0;
                moved = reached < value || largest(&slope) < residual;
                if moved {
                    (w, gradient, value) = (trial, slope, reached);
                }
                break;
            }
            t *= 0.5;
        }
        curve.push(value);
        if !moved {
            let converged = accepted && -predicted <= LEVEL.max(10.0 * noise) * (value.abs() + LEVEL);
            return Ok(Outcome { parameters: w, value, residual, iterations, converged, curve });
        }
    }
}

/// An approximate −H⁻¹ g.
#[allow(clippy::needless_range_loop)] // parameter indices
fn conjugate<T: Float + Element>(
    objective: &Objective<'_, '_, T>,
    model: &Preconditioner,
    w: &[f64],
    gradient: &[f64],
) -> Result<Vec<f64>> {
    let mut step = vec![0.0; w.len()];
    let mut rest: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut z = model.apply(&rest)?;
    let mut direction = z.clone();
    let mut size = dot(&rest, &z);
    let first = size;
    let mut product = vec![0.0; w.len()];
    for _ in 0..MAX_CG_STEPS {
        objective.problem.curvature(w, &direction, &mut product);
        for index in 0..w.len() {
            if objective.is_weight(index) {
                product[index] += objective.strength.l2 * direction[index];
            }
        }
        let curvature = dot(&direction, &product);
        if curvature <= 0.0 {
            break; // zero curvature within rounding
        }
        let t = size / curvature;
        step.iter_mut().zip(&direction).for_each(|(step, d)| *step += t * d);
        rest.iter_mut().zip(&product).for_each(|(rest, h)| *rest -= t * h);
        z = model.apply(&rest)?;
        let next = dot(&rest, &z);
        if next <= first * 1e-2 * largest(gradient).min(1.0) {
            break;
        }
        direction.iter_mut().zip(&z).for_each(|(d, z)| *d = z + next / size * *d);
        size = next;
    }
    Ok(if largest(&step) == 0.0 { z } else { step })
}
