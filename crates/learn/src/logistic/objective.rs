//! The objective: mean loss + λ₂/2 ‖w‖² + λ₁ ‖w‖₁; intercepts are not penalized.

use tove_tensor::Element;
use tove_tensor::kernels::math::Float;

use super::problem::Problem;
use crate::{LearnError, Result};

/// Regularization strengths of the two penalties, relative to the mean loss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strength {
    pub(crate) l1: f64,
    pub(crate) l2: f64,
}

/// Stopping criteria.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) tol: f64,
    pub(crate) max_iter: usize,
}

/// The result of a minimization.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) parameters: Vec<f64>,
    pub(crate) value: f64,
    /// Largest absolute entry of the (sub)gradient.
    pub(crate) residual: f64,
    pub(crate) iterations: usize,
    pub(crate) converged: bool,
    /// The objective at the start and after each iteration.
    pub(crate) curve: Vec<f64>,
}

/// The objective of a problem.
pub(crate) struct Objective<'a, 'b, T> {
    pub(crate) problem: &'a Problem<'b, T>,
    pub(crate) strength: Strength,
}

impl<T: Float + Element> Objective<'_, '_, T> {
    /// Iterates over the indices of the weights, without the intercepts.
    fn penalized(&self) -> impl Iterator<Item = usize> + use<T> {
        let (k, d, p) = (self.problem.outputs, self.problem.d, self.problem.width());
        (0..k).flat_map(move |output| output * p..output * p + d)
    }

    /// Whether the parameter at this index is a weight, not an intercept.
    pub(super) fn is_weight(&self, index: usize) -> bool {
        index % self.problem.width() < self.problem.d
    }

    /// Loss and l2 penalty with their gradient.
    pub(super) fn smooth(&self, w: &[f64], gradient: &mut [f64]) -> f64 {
        let mut value = self.problem.evaluate(w, gradient);
        if self.strength.l2 > 0.0 {
            for index in self.penalized() {
                value += 0.5 * self.strength.l2 * w[index] * w[index];
                gradient[index] += self.strength.l2 * w[index];
            }
        }
        value
    }

    /// λ₁ ‖w‖₁.
    pub(super) fn rough(&self, w: &[f64]) -> f64 {
        if self.strength.l1 == 0.0 { 0.0 } else { self.strength.l1 * self.penalized().map(|i| w[i].abs()).sum::<f64>() }
    }

    /// λ₂/2 ‖w‖² + λ₁ ‖w‖₁.
    pub(super) fn penalty(&self, w: &[f64]) -> f64 {
        0.5 * self.strength.l2 * self.penalized().map(|i| w[i] * w[i]).sum::<f64>() + self.rough(w)
    }

    /// The minimum-norm subgradient, from the gradient of the smooth part.
    pub(super) fn subgradient(&self, w: &[f64], gradient: &[f64]) -> Vec<f64> {
        let l1 = self.strength.l1;
        let mut out = gradient.to_vec();
        if l1 > 0.0 {
            for index in self.penalized() {
                let (w, g) = (w[index], gradient[index]);
                out[index] = if w != 0.0 { g + l1 * w.signum() } else { g - g.clamp(-l1, l1) };
            }
        }
        out
    }

    /// The Hessian of the smooth part, (k p, k p) row-major.
    pub(super) fn hessian(&self, w: &[f64]) -> Result<Vec<f64>> {
        let mut hessian = super::hessian::hessian(self.problem, w)?;
        let size = self.problem.size();
        for index in self.penalized() {
            hessian[index * size + index] += self.strength.l2;
        }
        Ok(hessian)
    }
}

/// Creates an error for features whose squares, or sums of products, overflow.
#[cold]
pub(super) fn overflow() -> LearnError {
    let problem = "the features are so large that sums of their squares overflow";
    let fix = "divide them by a constant first, so that their magnitude is near 1";
    LearnError::data("LogisticRegression", problem, fix)
}

/// Largest absolute value.
pub(super) fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |max: f64, x| if x.is_nan() { f64::NAN } else { max.max(x.abs()) })
}

/// Σ aᵢ bᵢ.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
