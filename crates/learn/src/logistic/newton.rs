//! Newton's method: w ← w − t H⁻¹ g with the exact Hessian (iteratively reweighted least squares), t from backtracking.
//!
//! With an l1 penalty the step minimises the quadratic model plus λ₁‖w‖₁ by coordinate descent (a proximal Newton step), which
//! keeps exact zeros and still converges quadratically. Without l2 the Hessian can be singular: the symmetric softmax does not
//! change when all outputs are shifted alike, and constant or doubled columns are not told apart. A ridge far below the
//! curvature picks the smallest step.

use tove_optim::interrupted;
use tove_tensor::kernels::math::Float;
use tove_tensor::{Element, Tensor, TryLinalg};

use super::kernels::Wide;
use super::objective::{Limits, Objective, Outcome, dot, largest, overflow};
use super::preconditioner::Preconditioner;
use crate::Result;

/// Passes over the coordinates for one proximal step.
const SWEEPS: usize = 1000;
const HALVINGS: usize = 40;
/// A decrease that is this small, relative to the value, is none.
const LEVEL: f64 = 1e-8;

/// Minimises from the parameters `start`.
pub(super) fn minimise<T: Float + Element>(
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
        let promised = dot(&step, &gradient) + objective.rough(&target) - objective.rough(&w);
        let (mut t, mut accepted, mut moved) = (1.0, false, false);
        for _ in 0..HALVINGS {
            let trial: Vec<f64> =
                if t == 1.0 { target.clone() } else { w.iter().zip(&step).map(|(w, d)| w + t * d).collect() };
            let mut slope = vec![0.0; gradient.len()];
            let reached = objective.smooth(&trial, &mut slope) + objective.rough(&trial);
            // Next to the minimum values differ by rounding alone; there the full step is right.
            if reached <= value + 1e-4 * t * promised + noise * value.abs() {
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
            // A step that was accepted, changed nothing and promised next to nothing: the minimum, to rounding.
            let converged = accepted && -promised <= LEVEL.max(10.0 * noise) * (value.abs() + LEVEL);
            return Ok(Outcome { parameters: w, value, residual, iterations, converged, curve });
        }
    }
}

/// H⁻¹ g by Cholesky with the smallest ridge that works, after scaling to a diagonal of ones.
#[allow(clippy::needless_range_loop)] // rows and columns by their places
fn solve(mut hessian: Vec<f64>, gradient: &[f64]) -> Result<Vec<f64>> {
    let size = gradient.len();
    // A parameter without curvature has scale 0: the ridge alone stands on its diagonal, and its step is 0.
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
    // A matrix with ones on its diagonal is positive definite with a ridge above its size, so this ends.
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

/// The minimiser of g·(v − w) + (v − w)ᵀH(v − w)/2 + λ₁‖v‖₁, to `tolerance` in the subgradient.
#[allow(clippy::needless_range_loop)] // coordinates by their places
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
                continue; // nothing depends on it, or only by rounding
            }
            let centre = v[i] - slope[i] / curvature;
            let next = if objective.is_weight(i) {
                centre.signum() * (centre.abs() - l1 / curvature).max(0.0)
            } else {
                centre
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

/// Conjugate gradient steps for one direction, at most.
const CONJUGATE: usize = 50;

/// As [`minimise`] for the smooth objective, without the matrix: each direction comes from conjugate gradients on products with
/// the Hessian, as exactly as the gradient's size asks for.
pub(super) fn minimise_by_products<T: Float + Element>(
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
        let promised = dot(&step, &gradient);
        iterations += 1;
        let (mut t, mut accepted, mut moved) = (1.0, false, false);
        for _ in 0..HALVINGS {
            let trial: Vec<f64> = w.iter().zip(&step).map(|(w, d)| w + t * d).collect();
            let mut slope = vec![0.0; gradient.len()];
            let reached = objective.smooth(&trial, &mut slope);
            if reached <= value + 1e-4 * t * promised + noise * value.abs() {
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
            let converged = accepted && -promised <= LEVEL.max(10.0 * noise) * (value.abs() + LEVEL);
            return Ok(Outcome { parameters: w, value, residual, iterations, converged, curve });
        }
    }
}

/// An approximate −H⁻¹ g.
#[allow(clippy::needless_range_loop)] // parameters by their places
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
    for _ in 0..CONJUGATE {
        objective.problem.curvature(w, &direction, &mut product);
        for place in 0..w.len() {
            if objective.is_weight(place) {
                product[place] += objective.strength.l2 * direction[place];
            }
        }
        let curvature = dot(&direction, &product);
        if curvature <= 0.0 {
            break; // flat to rounding
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
