//! The saddle point of the Lagrangian by exponentiated gradient, with a linear program over the classifiers found so far.

use std::sync::Arc;

use tove_learn::Estimator;
use tove_tensor::Tensor;

use super::classifier::{Part, RandomizedClassifier, RandomizedPart};
use super::moments::Moments;
use super::simplex::cheapest_mixture;
use crate::fairness::ParityConstraint;
use crate::{Result, TrustError};

const NAME: &str = "ExponentiatedGradient";
/// A new classifier must be better than the known ones by this much.
const PRECISION: f64 = 1e-8;
/// The first iteration after which the search may end, and after which the step size is reviewed.
const FIRST_CHECK: usize = 5;

/// A randomized classifier with the least error under a fairness constraint, from any classifier that takes sample weights. Defaults and
/// method are fairlearn's.
///
/// ```
/// use tove_learn::LogisticRegression;
/// use tove_tensor::{DType, Key, Tensor};
/// use tove_trust::fairness::ExponentiatedGradient;
/// let group = Tensor::from_slice(&(0..400).map(|i| i % 2).collect::<Vec<i64>>());
/// let x = Key::new(1).normal([400, 2], DType::F64) + group.to_dtype(DType::F64).reshape([400, 1]) * Tensor::from([1.0, 0.0]);
/// let y: Vec<i64> = x.sum_axes(&[1], false).to_vec::<f64>().iter().map(|&z| i64::from(z > 0.5)).collect();
/// let reduction = ExponentiatedGradient::default();
/// let fitted = reduction.fit(&LogisticRegression::default(), &x, &Tensor::from_slice(&y), &group, None)?;
/// assert!(fitted.violation < 0.011 + fitted.duality_gap);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ExponentiatedGradient {
    /// What has to be equal; demographic parity by default.
    pub constraint: ParityConstraint,
    /// ε: how far the rate of a group may be from that of all rows on the training rows; 0.01 by default.
    pub tolerance: f64,
    /// Maximum number of iterations; 50 by default.
    pub max_iter: usize,
    /// The duality gap at which iterations stop; by default half the standard error of the training error.
    pub gap_tolerance: Option<f64>,
    /// η₀, the step size in units of ε; 2 by default.
    pub step: f64,
}

impl Default for ExponentiatedGradient {
    fn default() -> ExponentiatedGradient {
        ExponentiatedGradient {
            constraint: ParityConstraint::DemographicParity,
            tolerance: 0.01,
            max_iter: 50,
            gap_tolerance: None,
            step: 2.0,
        }
    }
}

/// Classifiers found so far.
struct Found<'a> {
    moments: &'a Moments<'a>,
    parts: Vec<Arc<Part>>,
    errors: Vec<f64>,
    /// Gaps minus ε of every cell, then those of opposite sign.
    excess: Vec<Vec<f64>>,
    tolerance: f64,
    fits: usize,
}

/// A random choice among the classifiers, and how far it is from the saddle point.
#[derive(Clone)]
struct Mixture {
    probabilities: Vec<f64>,
    gap: f64,
}

impl ExponentiatedGradient {
    /// Fits classifiers to features (n, d), labels 0 and 1, groups (n) and optional weights.
    ///
    /// # Errors
    /// Invalid settings or data; an estimator that is not a classifier with sample weights, or fails.
    pub fn fit(
        &self,
        estimator: &dyn Estimator,
        x: &Tensor,
        labels: &Tensor,
        groups: &Tensor,
        weights: Option<&Tensor>,
    ) -> Result<RandomizedClassifier> {
        self.check()?;
        let moments = Moments::new(NAME, self.constraint, estimator, (x, labels, groups, weights))?;
        let cells = 2 * moments.cells();
        let bound = 1.0 / self.tolerance;
        let mut found = Found {
            moments: &moments,
            parts: Vec::new(),
            errors: Vec::new(),
            excess: Vec::new(),
            tolerance: self.tolerance,
            fits: 0,
        };
        let (mut theta, mut total) = (vec![0.0; cells], vec![0.0; cells]);
        let mut chosen: Vec<f64> = Vec::new();
        let (mut step, mut wanted) = (self.step * self.tolerance, self.gap_tolerance.unwrap_or(0.0));
        let (mut best, mut own_gaps): (Option<Mixture>, Vec<f64>) = (None, Vec::new());
        let (mut reviewed, mut reviewed_gap) = (FIRST_CHECK, f64::INFINITY);
        let mut solved: Option<(usize, Mixture)> = None;
        for iteration in 0..self.max_iter {
            let multipliers = softened(&theta, bound);
            total.iter_mut().zip(&multipliers).for_each(|(total, multiplier)| *total += multiplier);
            let mean: Vec<f64> = total.iter().map(|total| total / (iteration + 1) as f64).collect();
            let answer = found.best(&multipliers)?;
            if iteration == 0 && self.gap_tolerance.is_none() {
                let error = found.errors[answer];
                wanted = 0.5 * (error * (1.0 - error) / moments.len() as f64).sqrt();
            }
            chosen.resize(found.parts.len().max(chosen.len()), 0.0);
            chosen[answer] += 1.0;
            let probabilities: Vec<f64> = chosen.iter().map(|count| count / (iteration + 1) as f64).collect();
            let mut candidate = found.evaluated(probabilities, &mean, bound, wanted)?;
            own_gaps.push(candidate.gap);
            if iteration > 0 {
                let size = found.parts.len();
                let known = solved.take().filter(|(count, _)| *count == size);
                let (count, mixture) = match known {
                    Some(known) => known,
                    None => {
                        let (q, multipliers) = cheapest_mixture(&found.errors, &found.excess, bound);
                        (size, found.evaluated(q, &multipliers, bound, wanted)?)
                    }
                };
                if mixture.gap <= candidate.gap {
                    candidate = mixture.clone();
                }
                solved = Some((count, mixture));
            }
            if best.as_ref().is_none_or(|best| candidate.gap <= best.gap + PRECISION) {
                best = Some(candidate);
            }
            if iteration >= FIRST_CHECK && best.as_ref().is_some_and(|best| best.gap < wanted) {
                break;
            }
            if iteration as f64 >= 1.6 * reviewed as f64 {
                let smallest = own_gaps.iter().copied().fold(f64::INFINITY, f64::min);
                if smallest > 0.8 * reviewed_gap {
                    step *= 0.8;
                }
                (reviewed, reviewed_gap) = (iteration, smallest);
            }
            let excess = &found.excess[answer];
            theta.iter_mut().zip(excess).for_each(|(theta, excess)| *theta += step * excess);
        }
        let best = best.ok_or_else(|| TrustError::argument(NAME, "`max_iter` is 0; give at least 1"))?;
        Ok(found.classifier(best, x.dims()[1], wanted))
    }

    fn check(&self) -> Result<()> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if !positive(self.tolerance) || self.tolerance >= 1.0 {
            let problem = format!("`tolerance` is {}; give a number between 0 and 1, such as 0.01", self.tolerance);
            return Err(TrustError::argument(NAME, problem));
        }
        if !positive(self.step) {
            return Err(TrustError::argument(NAME, format!("`step` is {}; give a positive number", self.step)));
        }
        if self.max_iter == 0 {
            return Err(TrustError::argument(NAME, "`max_iter` is 0; give at least 1"));
        }
        match self.gap_tolerance.filter(|&gap| !positive(gap)) {
            Some(gap) => Err(TrustError::argument(NAME, format!("`gap_tolerance` is {gap}; give a positive number"))),
            None => Ok(()),
        }
    }
}

/// Multipliers B e^θ/(1 + Σ e^θ).
fn softened(theta: &[f64], bound: f64) -> Vec<f64> {
    let largest = theta.iter().copied().fold(0.0, f64::max);
    let powers: Vec<f64> = theta.iter().map(|theta| (theta - largest).exp()).collect();
    let sum = (-largest).exp() + powers.iter().sum::<f64>();
    powers.iter().map(|power| bound * power / sum).collect()
}

impl Found<'_> {
    /// The index of the best classifier for multipliers, after fitting one for them.
    fn best(&mut self, multipliers: &[f64]) -> Result<usize> {
        let half = multipliers.len() / 2;
        let signed: Vec<f64> = (0..half).map(|cell| multipliers[cell] - multipliers[half + cell]).collect();
        let candidate = self.moments.best(&signed)?;
        self.fits += 1;
        let excess: Vec<f64> = [1.0, -1.0]
            .into_iter()
            .flat_map(|sign| candidate.gaps.iter().map(move |gap| sign * gap))
            .map(|gap| gap - self.tolerance)
            .collect();
        let value = |error: f64, excess: &[f64]| error + dot(excess, multipliers);
        let new = value(candidate.error, &excess);
        let known = (0..self.parts.len()).map(|index| (value(self.errors[index], &self.excess[index]), index));
        match known.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|(value, _)| new >= value - PRECISION) {
            Some((_, index)) => Ok(index),
            None => {
                self.parts.push(Arc::new(candidate.part));
                self.errors.push(candidate.error);
                self.excess.push(excess);
                Ok(self.parts.len() - 1)
            }
        }
    }

    /// Error and excess of a random choice.
    fn mixed(&self, probabilities: &[f64]) -> (f64, Vec<f64>) {
        let mut excess = vec![0.0; 2 * self.moments.cells()];
        for (probability, own) in probabilities.iter().zip(&self.excess) {
            excess.iter_mut().zip(own).for_each(|(excess, own)| *excess += probability * own);
        }
        (dot(probabilities, &self.errors), excess)
    }

    /// The duality gap of a random choice and multipliers.
    fn evaluated(&mut self, probabilities: Vec<f64>, multipliers: &[f64], bound: f64, wanted: f64) -> Result<Mixture> {
        let half = multipliers.len() / 2;
        // Of a gap and its opposite only one can bind.
        let projected: Vec<f64> =
            (0..2 * half).map(|cell| (multipliers[cell] - multipliers[(cell + half) % (2 * half)]).max(0.0)).collect();
        let (error, excess) = self.mixed(&probabilities);
        let value = error + dot(&excess, &projected);
        let high = error + bound * excess.iter().copied().fold(0.0, f64::max);
        let mut low = value;
        let gap = |low: f64| (value - low).max(high - value);
        for times in [1.0, 2.0, 5.0, 10.0] {
            let scaled: Vec<f64> = multipliers.iter().map(|multiplier| times * multiplier).collect();
            let answer = self.best(&scaled)?;
            low = low.min(self.errors[answer] + dot(&self.excess[answer], &projected));
            if gap(low) > wanted + PRECISION {
                break;
            }
        }
        Ok(Mixture { probabilities, gap: gap(low) })
    }

    fn classifier(self, best: Mixture, width: usize, wanted: f64) -> RandomizedClassifier {
        let (error, excess) = self.mixed(&best.probabilities);
        let violation = excess.iter().copied().fold(f64::NEG_INFINITY, f64::max) + self.tolerance;
        let used = best.probabilities.iter().zip(&self.parts).filter(|(probability, _)| **probability > 0.0);
        RandomizedClassifier {
            parts: used.map(|(&probability, part)| RandomizedPart::new(part.clone(), probability)).collect(),
            width,
            error,
            violation,
            duality_gap: best.gap,
            converged: best.gap < wanted,
            fits: self.fits,
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
