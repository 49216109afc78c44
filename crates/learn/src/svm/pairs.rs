//! One machine for each pair of classes.
//!
//! With several classes the kernel of each class with itself is needed in many pairs: where memory allows it is computed once
//! and shared, so that a pair costs only its rectangle. Pairs are solved on all cores; each is the same computation whichever
//! core runs it.

use std::sync::{Mutex, PoisonError};

use super::grouped::{Grouped, share_out};
use super::rows::KernelRows;
use super::smo::{Problem, Solution, solve};
use crate::kernel::{Features, over_tasks, symmetric_f32};
use crate::{LearnError, Real, Result, with_real};

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

impl Training {
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
        let below = share_out(half, negative.iter().copied()).into_iter().map(|alpha| -alpha);
        let problem = Grouped {
            row: (0..n).collect(),
            group: (0..n).map(|i| usize::from(i >= first)).collect(),
            target: vec![0.0; n],
            low: (0..n).map(|i| if i < first { 0.0 } else { -weights[i] }).collect(),
            high: (0..n).map(|i| if i < first { weights[i] } else { 0.0 }).collect(),
            start: share_out(half, positive.iter().copied()).into_iter().chain(below).collect(),
            tolerance: self.tolerance,
            limit: self.limit(n),
        };
        let end = problem.solve(rows, n)?;
        let (margin, bias) = (0.5 * (end.levels[1] - end.levels[0]), 0.5 * (end.levels[0] + end.levels[1]));
        let scale = if margin > 0.0 { 1.0 / margin } else { 1.0 };
        Ok(Solution {
            beta: end.beta.iter().map(|beta| beta * scale).collect(),
            bias: bias * scale,
            objective: end.objective,
            steps: end.steps,
            gap: end.gap,
            converged: end.converged,
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
    pub(super) fn all(&self, features: &Features, groups: &[Vec<usize>], costs: &[f64]) -> Result<Vec<Solution>> {
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
            let whole = assemble(features, &groups[a], &groups[b], &own[a], &own[b])?;
            let mut rows = KernelRows::from_whole(features, &places, whole, training.bytes);
            training.run(groups[a].len(), &costs, &mut rows)
        })
    }
}

/// All pairs of classes.
pub(super) fn pairs(classes: usize) -> Vec<(usize, usize)> {
    (0..classes).flat_map(|a| (a + 1..classes).map(move |b| (a, b))).collect()
}

/// The kernel matrix of two classes from those of each and the rectangle between them.
fn assemble(features: &Features, a: &[usize], b: &[usize], own_a: &[f32], own_b: &[f32]) -> Result<Vec<f32>> {
    const ROWS: usize = 256;
    const COLUMNS: usize = 512;
    let (m, k) = (a.len(), b.len());
    let n = m + k;
    let mut whole = vec![0.0f32; n * n];
    let (top, bottom) = whole.split_at_mut(m * n);
    for (row, own) in top.chunks_exact_mut(n).zip(own_a.chunks_exact(m)) {
        row[..m].copy_from_slice(own);
    }
    for (row, own) in bottom.chunks_exact_mut(n).zip(own_b.chunks_exact(k)) {
        row[m..].copy_from_slice(own);
    }
    let bands: Vec<Mutex<&mut [f32]>> = top.chunks_mut(ROWS * n).map(Mutex::new).collect();
    over_tasks(k.div_ceil(COLUMNS), |tile| {
        let (start, end) = (tile * COLUMNS, k.min((tile + 1) * COLUMNS));
        let right = features.part(b[start..end].iter().copied())?;
        for (band, out) in bands.iter().enumerate() {
            let left = features.part(a[band * ROWS..m.min((band + 1) * ROWS)].iter().copied())?;
            let block = features.block(&left, &right)?;
            let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
            with_real!(block.dtype(), T => {
                for (row, values) in out.chunks_exact_mut(n).zip(block.as_slice::<T>()?.chunks_exact(end - start)) {
                    let row = &mut row[m + start..m + end];
                    row.iter_mut().zip(values).for_each(|(out, value)| *out = value.f64() as f32);
                }
            });
        }
        Ok(())
    })?;
    drop(bands);
    transpose(top, bottom, m, n);
    Ok(whole)
}

/// Copies the rectangle right of the first m columns of `top` to the left of `bottom`.
fn transpose(top: &[f32], bottom: &mut [f32], m: usize, n: usize) {
    const SQUARE: usize = 32;
    for row in (0..n - m).step_by(SQUARE) {
        for column in (0..m).step_by(SQUARE) {
            for i in row..(row + SQUARE).min(n - m) {
                for j in column..(column + SQUARE).min(m) {
                    bottom[i * n + j] = top[j * n + m + i];
                }
            }
        }
    }
}
