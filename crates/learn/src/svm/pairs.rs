//! One machine for each pair of classes.
//!
//! With several classes the kernel of each class with itself is needed in many pairs: where memory allows it is computed once
//! and shared, so that a pair costs only its rectangle. Pairs are solved on all cores; each is the same computation whichever
//! core runs it.
//!
//! Kernel values are kept in single precision. The products behind them are computed in single precision too where the
//! tolerance allows: errors of n kernel values, each times C at most, add up to about C √n times one of them.

use std::borrow::Cow;

use super::rows::KernelRows;
use super::smo::{Problem, Solution, solve};
use super::smo_nu::{Group, Grouped, share_out};
use crate::kernel::{Features, between_f32, symmetric_f32};
use crate::{LearnError, Result};

/// How much kernel values from products in single precision err in the mean.
const ERROR: f64 = 1.0 / (1u32 << 21) as f64;

/// What all machines share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Training {
    /// The estimator, for messages.
    pub(super) who: &'static str,
    /// ν, where it takes the place of C; costs are weights then.
    pub(super) nu: Option<f64>,
    pub(super) tolerance: f64,
    pub(super) limit: Option<usize>,
    pub(super) shrinking: bool,
    /// Memory for kernel values.
    pub(super) bytes: usize,
}

/// What the machines are trained on.
pub(super) struct Classes<'a> {
    pub(super) features: Cow<'a, Features>,
    /// Places of the rows of each class.
    pub(super) groups: Vec<Vec<usize>>,
    /// C of the row at each place.
    pub(super) costs: Vec<f64>,
}

impl Training {
    /// Rows by class; put into the order of the classes and into single precision where that serves.
    pub(super) fn classes<'a>(
        &self,
        features: &'a Features,
        groups: &[Vec<usize>],
        costs: &[f64],
    ) -> Result<Classes<'a>> {
        let order = groups.concat();
        let largest = order.iter().map(|&place| costs[place]).fold(0.0, f64::max);
        let serves = largest * (order.len() as f64).sqrt() * ERROR <= self.tolerance;
        let single = if serves { features.single(&order)? } else { None };
        let Some(single) = single else {
            return Ok(Classes { features: Cow::Borrowed(features), groups: groups.to_vec(), costs: costs.to_vec() });
        };
        let mut next = 0..order.len();
        let groups = groups.iter().map(|group| next.by_ref().take(group.len()).collect()).collect();
        Ok(Classes { features: Cow::Owned(single), groups, costs: order.iter().map(|&place| costs[place]).collect() })
    }

    /// The problem of telling `first` samples of one class from the rest of another; `costs` holds C of each sample.
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

    /// Solves one pair over the kernel of `rows`.
    fn run(&self, first: usize, costs: &[f64], rows: &mut KernelRows<'_>) -> Result<Solution> {
        match self.nu {
            None => solve(&self.problem(first, costs), rows),
            Some(nu) => self.by_share(nu, first, costs, rows),
        }
    }

    /// The machine whose margin errors are at most a share ν. The margin ρ that comes out becomes 1 by dividing β and b by it.
    fn by_share(&self, nu: f64, first: usize, weights: &[f64], rows: &mut KernelRows<'_>) -> Result<Solution> {
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
            let (zeros, start) = (vec![0.0; row.len()], share_out(half, weights));
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

    /// Steps allowed for n variables.
    pub(super) fn limit(&self, n: usize) -> usize {
        self.limit.unwrap_or(10_000_000.max(100 * n))
    }

    /// Tells the first samples at `places` from the others.
    pub(super) fn two(&self, features: &Features, places: &[usize], first: usize, costs: &[f64]) -> Result<Solution> {
        self.run(first, costs, &mut KernelRows::new(features, places, self.bytes)?)
    }

    /// The machines of all pairs (a, b) with a < b, in this order: (0, 1), (0, 2), …, (1, 2), …; variables of class a come first.
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
            let places: Vec<usize> = groups[a].iter().chain(&groups[b]).copied().collect();
            let costs: Vec<f64> = places.iter().map(|&place| costs[place]).collect();
            if !shared {
                return training.two(features, &places, groups[a].len(), &costs);
            }
            let between = between_f32(features, &groups[a], &groups[b])?;
            let mut rows = KernelRows::from_parts(features, &places, [&own[a], &own[b]], between, training.bytes);
            training.run(groups[a].len(), &costs, &mut rows)
        })
    }
}

/// All pairs of classes.
pub(super) fn pairs(classes: usize) -> Vec<(usize, usize)> {
    (0..classes).flat_map(|a| (a + 1..classes).map(move |b| (a, b))).collect()
}
