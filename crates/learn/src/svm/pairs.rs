//! One-vs-one: one SVM per pair of classes.
//!
//! With several classes the kernel of each class with itself is needed in many pairs. If memory allows it is computed
//! once and shared, so that a pair only costs its off-diagonal block. Pairs are solved in parallel; the result does not
//! depend on the number of threads.
//!
//! Kernel values are stored in single precision. The products behind them are also computed in single precision if the
//! tolerance allows: errors of n kernel values, each multiplied by at most C, add up to about C √n times one of them.

use std::borrow::Cow;

use super::rows::KernelRows;
use super::smo::{Problem, Solution, solve};
use super::smo_nu::{Group, Grouped, distribute};
use crate::kernel::{Features, between_f32, symmetric_f32};
use crate::{LearnError, Result};

/// Mean error of kernel values from products in single precision.
const ERROR: f64 = 1.0 / (1u32 << 21) as f64;

/// Settings that all pairs share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Training {
    /// The estimator, for messages.
    pub(super) who: &'static str,
    /// ν, if it replaces C; then costs are weights.
    pub(super) nu: Option<f64>,
    pub(super) tolerance: f64,
    pub(super) limit: Option<usize>,
    pub(super) shrinking: bool,
    /// Memory limit for kernel values.
    pub(super) bytes: usize,
}

/// The training data.
pub(super) struct Classes<'a> {
    pub(super) features: Cow<'a, Features>,
    /// Row indices of each class.
    pub(super) groups: Vec<Vec<usize>>,
    /// C of each row.
    pub(super) costs: Vec<f64>,
}

impl Training {
    /// Groups rows by class, converted to class order and single precision if that is useful.
    pub(super) fn classes<'a>(
        &self,
        features: &'a Features,
        groups: &[Vec<usize>],
        costs: &[f64],
    ) -> Result<Classes<'a>> {
        let order = groups.concat();
        let largest = order.iter().map(|&index| costs[index]).fold(0.0, f64::max);
        let serves = largest * (order.len() as f64).sqrt() * ERROR <= self.tolerance;
        let single = if serves { features.single(&order)? } else { None };
        let Some(single) = single else {
            return Ok(Classes { features: Cow::Borrowed(features), groups: groups.to_vec(), costs: costs.to_vec() });
        };
        let mut next = 0..order.len();
        let groups = groups.iter().map(|group| next.by_ref().take(group.len()).collect()).collect();
        Ok(Classes { features: Cow::Owned(single), groups, costs: order.iter().map(|&index| costs[index]).collect() })
    }

    /// The problem of separating `first` samples of one class from those of another; `costs` holds C of each sample.
    fn problem(&self, first: usize, costs: &[f64]) -> Problem {
        let side = |i: usize| if i < first { 1.0 } else { -1.0 };
        let n = costs.len();
        Problem {
            target: (0..n).map(side).collect(),
            low: (0..n).map(|i| if i < first { 0.0 } else { -costs[i] }).collect(),
            high: (0..n).map(|i| if i < first { costs[i] } else { 0.0 }).collect(),
            epsilon: 0.0,
            tolerance: self.tolerance,
            limit: self.limit(n),
            shrinking: self.shrinking,
        }
    }

    /// Solves one pair with the kernel of `rows`.
    fn run(&self, first: usize, costs: &[f64], rows: &mut KernelRows<'_>) -> Result<Solution> {
        match self.nu {
            None => solve(&self.problem(first, costs), rows),
            Some(nu) => self.by_nu(nu, first, costs, rows),
        }
    }

    /// Solves one pair with at most a fraction ν of margin errors. The resulting margin ρ is scaled to 1 by dividing β
    /// and b by it.
    fn by_nu(&self, nu: f64, first: usize, weights: &[f64], rows: &mut KernelRows<'_>) -> Result<Solution> {
        let n = weights.len();
        let half = 0.5 * nu * weights.iter().sum::<f64>();
        let (positive, negative) = weights.split_at(first);
        let least = positive.iter().sum::<f64>().min(negative.iter().sum::<f64>());
        if half > least * (1.0 + 1e-12) {
            let problem = format!("nu is {nu}, but the smaller of two classes allows {:.4} at most", nu * least / half);
            return Err(LearnError::data(self.who, problem, "choose a smaller `nu`, or balance the classes"));
        }
        let group = |row: std::ops::Range<usize>| {
            let weights = &weights[row.clone()];
            let (zeros, start) = (vec![0.0; row.len()], distribute(half, weights));
            Group { row: row.collect(), target: zeros.clone(), low: zeros, high: weights.to_vec(), start }
        };
        let problem = Grouped {
            groups: [group(0..first), group(first..n).below()],
            tolerance: self.tolerance,
            limit: self.limit(n),
            shrinking: self.shrinking,
        };
        let end = problem.solve(rows, n)?;
        let (margin, bias) = (0.5 * (end.levels[1] - end.levels[0]), 0.5 * (end.levels[0] + end.levels[1]));
        let scale = if margin > 0.0 { 1.0 / margin } else { 1.0 };
        Ok(Solution {
            beta: end.beta.iter().flatten().map(|beta| beta * scale).collect(),
            bias: bias * scale,
            objective: end.objective,
            steps: end.steps,
            gap: end.gap,
            converged: end.converged,
            flat: margin <= self.tolerance,
        })
    }

    /// Maximum number of steps for n variables.
    pub(super) fn limit(&self, n: usize) -> usize {
        self.limit.unwrap_or(10_000_000.max(100 * n))
    }

    /// Separates the first samples of `indices` from the others.
    pub(super) fn two(&self, features: &Features, indices: &[usize], first: usize, costs: &[f64]) -> Result<Solution> {
        self.run(first, costs, &mut KernelRows::new(features, indices, self.bytes)?)
    }

    /// Solves all pairs (a, b) with a < b, in the order (0, 1), (0, 2), …, (1, 2), …; variables of class a come first.
    pub(super) fn all(&self, classes: &Classes<'_>) -> Result<Vec<Solution>> {
        let Classes { features, groups, costs } = classes;
        let pairs = pairs(groups.len());
        let one = pairs.len() == 1;
        let training = Training { bytes: if one { self.bytes } else { self.bytes / 2 }, ..*self };
        let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
        let squares: usize = sizes.iter().map(|size| 4 * size * size).sum();
        let largest = pairs.iter().map(|&(a, b)| 4 * (sizes[a] + sizes[b]).pow(2)).max().unwrap_or(0);
        let shared = !one && squares <= self.bytes / 2 && largest <= training.bytes / 2;
        let own: Vec<Vec<f32>> = match shared {
            true => super::parallel(groups.len(), |class| symmetric_f32(features, &groups[class]))?,
            false => Vec::new(),
        };
        super::parallel(pairs.len(), |pair| {
            let (a, b) = pairs[pair];
            let indices: Vec<usize> = groups[a].iter().chain(&groups[b]).copied().collect();
            let costs: Vec<f64> = indices.iter().map(|&index| costs[index]).collect();
            if !shared {
                return training.two(features, &indices, groups[a].len(), &costs);
            }
            let between = between_f32(features, &groups[a], &groups[b])?;
            let mut rows = KernelRows::from_parts(features, &indices, [&own[a], &own[b]], between, training.bytes);
            training.run(groups[a].len(), &costs, &mut rows)
        })
    }
}

/// All pairs of classes.
pub(super) fn pairs(classes: usize) -> Vec<(usize, usize)> {
    (0..classes).flat_map(|a| (a + 1..classes).map(move |b| (a, b))).collect()
}
