//! A grid of multipliers, each of which gives one classifier.

use std::sync::Arc;

use tove_learn::Estimator;
use tove_tensor::Tensor;

use super::classifier::{RandomizedClassifier, RandomizedPart};
use super::moments::Moments;
use crate::fairness::ParityConstraint;
use crate::{Result, TrustError};

const NAME: &str = "FairGridSearch";

/// Fits one classifier per point of a grid of multipliers and keeps the one with the best trade-off between error and violation. The
/// answer is a single classifier without randomness; with many groups the grid gets coarse, and
/// [`ExponentiatedGradient`](super::ExponentiatedGradient) is better.
#[derive(Clone, Debug, PartialEq)]
pub struct FairGridSearch {
    /// What has to be equal; demographic parity by default.
    pub constraint: ParityConstraint,
    /// Number of grid points, at least: the grid is the smallest ball of whole-number points that has as many; 10 by default.
    pub points: usize,
    /// The largest sum of magnitudes of the multipliers; 2 by default.
    pub limit: f64,
    /// Weight w of the violation in w · violation + (1 − w) · error; 0.5 by default.
    pub constraint_weight: f64,
}

impl Default for FairGridSearch {
    fn default() -> FairGridSearch {
        let constraint = ParityConstraint::DemographicParity;
        FairGridSearch { constraint, points: 10, limit: 2.0, constraint_weight: 0.5 }
    }
}

/// A grid point.
#[derive(Clone, Debug, PartialEq)]
pub struct GridCandidate {
    /// One multiplier per event and group.
    pub multipliers: Vec<f64>,
    /// Training error.
    pub error: f64,
    /// The largest |P(h = 1 | E, A = a) − P(h = 1 | E)| on the training rows.
    pub violation: f64,
}

/// The result of a [`FairGridSearch`].
pub struct GridResult {
    /// All grid points.
    pub candidates: Vec<GridCandidate>,
    /// The index of the best one.
    pub best: usize,
    /// Its classifier, with probability 1.
    pub classifier: RandomizedClassifier,
}

impl FairGridSearch {
    /// Fits a classifier per grid point to features (n, d), labels 0 and 1, groups (n) and optional weights.
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
    ) -> Result<GridResult> {
        if self.points == 0 || !(self.limit.is_finite() && self.limit > 0.0) {
            let problem = format!("{} points and limit {}; give positive numbers", self.points, self.limit);
            return Err(TrustError::argument(NAME, problem));
        }
        if !(0.0..=1.0).contains(&self.constraint_weight) {
            let problem = format!("`constraint_weight` is {}; give a number from 0 to 1", self.constraint_weight);
            return Err(TrustError::argument(NAME, problem));
        }
        let moments = Moments::new(NAME, self.constraint, estimator, (x, labels, groups, weights))?;
        let (mut candidates, mut parts) = (Vec::new(), Vec::new());
        for multipliers in self.grid(moments.events, moments.groups) {
            let found = moments.best(&multipliers)?;
            let violation = found.gaps.iter().fold(0.0f64, |most, gap| most.max(gap.abs()));
            candidates.push(GridCandidate { multipliers, error: found.error, violation });
            parts.push(Arc::new(found.part));
        }
        let loss =
            |one: &GridCandidate| self.constraint_weight * one.violation + (1.0 - self.constraint_weight) * one.error;
        let best = (1..candidates.len())
            .fold(0, |best, index| if loss(&candidates[index]) < loss(&candidates[best]) { index } else { best });
        let GridCandidate { error, violation, .. } = candidates[best];
        let classifier = RandomizedClassifier {
            parts: vec![RandomizedPart::new(parts[best].clone(), 1.0)],
            width: x.dims()[1],
            error,
            violation,
            duality_gap: f64::INFINITY,
            converged: true,
            fits: candidates.len(),
        };
        Ok(GridResult { candidates, best, classifier })
    }

    /// Whole-number points of the ball of the 1-norm, scaled to the limit. The last group of every event has multiplier 0: adding a
    /// multiple of the groups' shares to the multipliers of an event changes nothing, so one of them can be fixed.
    fn grid(&self, events: usize, groups: usize) -> Vec<Vec<f64>> {
        let free = events * (groups - 1);
        let mut radius = 0;
        while lattice(free, radius, self.points).len() < self.points {
            radius += 1;
        }
        let scale = if radius > 0 { self.limit / f64::from(radius) } else { 0.0 };
        let spread = |point: Vec<i32>| {
            let row = |event: usize| {
                let own = &point[event * (groups - 1)..(event + 1) * (groups - 1)];
                own.iter().map(|&step| scale * f64::from(step)).chain([0.0]).collect::<Vec<f64>>()
            };
            (0..events).flat_map(row).collect()
        };
        lattice(free, radius, usize::MAX).into_iter().map(spread).collect()
    }
}

/// The points with whole coordinates whose magnitudes sum to at most `radius`; no more than `limit` of them.
fn lattice(dimension: usize, radius: i32, limit: usize) -> Vec<Vec<i32>> {
    let mut points = vec![(Vec::new(), radius)];
    for _ in 0..dimension {
        let extend = |(point, left): (Vec<i32>, i32)| {
            (-left..=left).map(move |step| {
                let mut longer = point.clone();
                longer.push(step);
                (longer, left - step.abs())
            })
        };
        points = points.into_iter().flat_map(extend).take(limit).collect();
    }
    points.into_iter().map(|(point, _)| point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_fill_the_ball() {
        let grid = FairGridSearch { points: 11, ..FairGridSearch::default() }.grid(1, 2);
        assert_eq!(grid.len(), 11);
        assert_eq!((grid[0].clone(), grid[10].clone()), (vec![-2.0, 0.0], vec![2.0, 0.0]));
        let grid = FairGridSearch { points: 20, ..FairGridSearch::default() }.grid(2, 2);
        assert_eq!(grid.len(), 25); // radius 3 in the plane
        assert!(grid.iter().all(|point| point.iter().map(|x| x.abs()).sum::<f64>() <= 2.0 + 1e-12));
        assert_eq!(FairGridSearch { points: 1, ..FairGridSearch::default() }.grid(2, 5), [vec![0.0; 10]]);
    }
}
