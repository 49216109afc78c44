//! A starting point for L-BFGS from a subsample.
//!
//! With many samples per parameter, an evenly spaced eighth of them has nearly the same optimum and Hessian. Both are
//! computed at an eighth of the cost. Starting there, with that Hessian as the preconditioner, only a few passes over
//! all samples are needed. The result is the optimum of all samples, to the same tolerance.

use tove_tensor::Element;
use tove_tensor::kernels::math::Float;

use super::objective::{Limits, Objective, Strength};
use super::preconditioner::Preconditioner;
use super::problem::Problem;
use super::quasi_newton;
use crate::{Result, Rows};

/// Minimum number of samples for a subsample start.
const MIN_SAMPLES: usize = 20_000;
/// Minimum number of subsampled samples per parameter.
const MIN_SAMPLES_PER_PARAMETER: usize = 32;
/// Largest number of parameters for which the Hessian is computed.
const MAX_PARAMETERS: usize = 512;
/// The tolerance for the subsample; its sampling error is of that order.
const SUBSAMPLE_TOL: f64 = 1e-3;

/// The full two-class problem, with the penalty.
pub(super) struct FullProblem<'a> {
    pub(super) x: &'a Rows,
    pub(super) codes: &'a [usize],
    pub(super) weights: Option<&'a [f64]>,
    pub(super) intercept: bool,
    pub(super) strength: Strength,
}

impl FullProblem<'_> {
    /// Returns parameters near the optimum and the inverse Hessian there, if that is worthwhile.
    pub(super) fn start<T: Float + Element>(&self, limits: Limits) -> Result<Option<(Vec<f64>, Preconditioner)>> {
        let (n, p) = (self.x.len(), self.x.width() + usize::from(self.intercept));
        let count = (n / 8).max(MIN_SAMPLES_PER_PARAMETER * p);
        let dense = matches!(self.x, Rows::Dense(_));
        if !dense
            || n < MIN_SAMPLES
            || p > MAX_PARAMETERS
            || 2 * count > n
            || self.strength.l1 > 0.0
            || limits.max_iter == 0
        {
            return Ok(None);
        }
        let indices: Vec<usize> = (0..count).map(|i| i * n / count).collect();
        let codes: Vec<usize> = indices.iter().map(|&index| self.codes[index]).collect();
        let weights: Option<Vec<f64>> =
            self.weights.map(|weights| indices.iter().map(|&index| weights[index]).collect());
        let there = |class: usize| {
            let weight = |i: usize| weights.as_ref().map_or(1.0, |weights| weights[i]);
            (0..count).any(|i| codes[i] == class && weight(i) > 0.0)
        };
        if !there(0) || !there(1) {
            return Ok(None);
        }
        let x = self.x.take(&indices)?;
        let problem = Problem::<T>::new(&x, &codes, 2, weights.as_deref(), self.intercept)?;
        let objective = Objective { problem: &problem, strength: self.strength };
        let limits = Limits { tol: limits.tol.max(SUBSAMPLE_TOL), ..limits };
        let found = quasi_newton::minimize(&objective, limits, (vec![0.0; p], None))?.parameters;
        let model = Preconditioner::of_hessian(objective.hessian(&found)?, p)?;
        Ok(model.filter(|_| found.iter().all(|value| value.is_finite())).map(|model| (found, model)))
    }
}
