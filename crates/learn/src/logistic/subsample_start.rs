//! A start for L-BFGS from a part of the samples.
//!
//! With many samples for each parameter, an eighth of them, evenly spaced, has nearly the same optimum and nearly the same Hessian
//! there. Both are found at an eighth of the price; from that point and with that Hessian as the preconditioner, a few passes over all
//! samples are left. The optimum is that of all samples, to the same tolerance.

use tove_tensor::Element;
use tove_tensor::kernels::math::Float;

use super::objective::{Limits, Objective, Strength};
use super::preconditioner::Preconditioner;
use super::problem::Problem;
use super::quasi_newton;
use crate::{Result, Rows};

/// Samples from which on a part is worth looking at.
const MANY: usize = 20_000;
/// Samples per parameter in the part, at least.
const EACH: usize = 32;
/// Parameters up to which the Hessian is computed.
const SIZE: usize = 512;
/// The tolerance for the part: sampling makes a difference of that order.
const COARSE: f64 = 1e-3;

/// The samples of two classes, with the penalty.
pub(super) struct Whole<'a> {
    pub(super) x: &'a Rows,
    pub(super) codes: &'a [usize],
    pub(super) weights: Option<&'a [f64]>,
    pub(super) intercept: bool,
    pub(super) strength: Strength,
}

impl Whole<'_> {
    /// Parameters near the optimum and the inverse of the Hessian there, where it is worth it.
    pub(super) fn start<T: Float + Element>(&self, limits: Limits) -> Result<Option<(Vec<f64>, Preconditioner)>> {
        let (n, p) = (self.x.len(), self.x.width() + usize::from(self.intercept));
        let count = (n / 8).max(EACH * p);
        let dense = matches!(self.x, Rows::Dense(_));
        if !dense || n < MANY || p > SIZE || 2 * count > n || self.strength.l1 > 0.0 || limits.max_iter == 0 {
            return Ok(None);
        }
        let places: Vec<usize> = (0..count).map(|i| i * n / count).collect();
        let codes: Vec<usize> = places.iter().map(|&place| self.codes[place]).collect();
        let weights: Option<Vec<f64>> =
            self.weights.map(|weights| places.iter().map(|&place| weights[place]).collect());
        let there = |class: usize| {
            let weight = |i: usize| weights.as_ref().map_or(1.0, |weights| weights[i]);
            (0..count).any(|i| codes[i] == class && weight(i) > 0.0)
        };
        if !there(0) || !there(1) {
            return Ok(None);
        }
        let x = self.x.take(&places)?;
        let problem = Problem::<T>::new(&x, &codes, 2, weights.as_deref(), self.intercept)?;
        let objective = Objective { problem: &problem, strength: self.strength };
        let limits = Limits { tol: limits.tol.max(COARSE), ..limits };
        let found = quasi_newton::minimise(&objective, limits, (vec![0.0; p], None))?.parameters;
        let model = Preconditioner::of_hessian(objective.hessian(&found)?, p)?;
        Ok(model.filter(|_| found.iter().all(|value| value.is_finite())).map(|model| (found, model)))
    }
}
