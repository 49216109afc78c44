//! Sequential minimal optimization with second-order working set selection (Fan, Chen, Lin 2005).
//!
//! Classification and regression are the same problem: min ½ βᵀKβ − zᵀβ + ε ‖β‖₁ subject to Σβ = 0 and lowᵢ ≤ βᵢ ≤
//! highᵢ. For classification βᵢ = yᵢαᵢ, z = y, ε = 0 and the bounds are 0 and yᵢCᵢ; for regression they are ±Cᵢ and z
//! is the target. With the residual r = z − Kβ, the upper score rᵢ + uᵢ measures the gain of increasing βᵢ and the
//! lower score rᵢ + lᵢ that of decreasing it, where u and l are 0, ±ε or ∓∞ depending on the position of βᵢ between its
//! bounds. At the optimum max(r + u) ≤ min(r + l).
//!
//! A step takes the i with the largest upper score and the j with the largest predicted gain (mᵢⱼ² / (Kᵢᵢ + Kⱼⱼ −
//! 2Kᵢⱼ)), and moves βᵢ up and βⱼ down by the same amount. Rows of K are stored in single precision, residuals in
//! double, as in LIBSVM.

use super::rows::KernelRows;
use super::smo_scan::{Best, gain, update};
use crate::{LearnError, Result};

/// The data of a problem.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// Linear term z.
    pub(crate) target: Vec<f64>,
    /// Lower bounds, at most 0.
    pub(crate) low: Vec<f64>,
    /// Upper bounds, at least 0.
    pub(crate) high: Vec<f64>,
    /// Weight ε of ‖β‖₁.
    pub(crate) epsilon: f64,
    /// Stop at this gap max(r + u) − min(r + l).
    pub(crate) tolerance: f64,
    /// Maximum number of steps.
    pub(crate) limit: usize,
    /// Whether to use the shrinking heuristic.
    pub(crate) shrinking: bool,
}

/// The result of SMO.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// The variables.
    pub(crate) beta: Vec<f64>,
    /// The intercept b of f(x) = Σ βᵢ k(x, xᵢ) + b.
    pub(crate) bias: f64,
    /// ½ βᵀKβ − zᵀβ + ε ‖β‖₁.
    pub(crate) objective: f64,
    /// Number of steps.
    pub(crate) steps: usize,
    /// The final gap.
    pub(crate) gap: f64,
    /// Whether the gap is below the tolerance.
    pub(crate) converged: bool,
    /// Whether a margin to be scaled to 1 is not larger than the tolerance (ν-SVMs only).
    pub(crate) flat: bool,
}

impl Solution {
    /// Checks that no kernel value or residual overflowed.
    pub(crate) fn require_finite(&self, who: &'static str) -> Result<()> {
        if self.bias.is_finite() && self.beta.iter().all(|beta| beta.is_finite()) {
            return Ok(());
        }
        let fix = "scale the features and targets, for example with `StandardScaler`, or choose a smaller `degree` or `gamma`";
        Err(LearnError::data(who, "kernel values or targets overflow, so there is no solution", fix))
    }
}

/// The working state of the scans: only variables that were not shrunk.
#[derive(Default)]
pub(super) struct Active {
    pub(super) indices: Vec<usize>,
    pub(super) residual: Vec<f64>,
    pub(super) upper: Vec<f64>,
    pub(super) lower: Vec<f64>,
    pub(super) diagonal: Vec<f32>,
}

impl Active {
    /// Creates the working state of the variables at these indices, with u and l of each.
    pub(super) fn of(
        indices: Vec<usize>,
        residual: &[f64],
        diagonal: Vec<f32>,
        scores: impl Fn(usize) -> (f64, f64),
    ) -> Active {
        let (upper, lower) = indices.iter().map(|&index| scores(index)).unzip();
        Active { residual: indices.iter().map(|&index| residual[index]).collect(), diagonal, upper, lower, indices }
    }

    pub(super) fn best(&self) -> Best {
        Best::of(&self.residual, &self.upper, &self.lower)
    }

    /// The indices of the variables that can still be selected.
    pub(super) fn selectable(&self, best: Best) -> Vec<usize> {
        let keeps = |t: &usize| {
            let (upper, lower) = (self.residual[*t] + self.upper[*t], self.residual[*t] + self.lower[*t]);
            upper >= best.bottom || lower <= best.top
        };
        (0..self.indices.len()).filter(keeps).map(|t| self.indices[t]).collect()
    }

    /// Writes the residuals back to those of all variables.
    pub(super) fn store(&self, all: &mut [f64]) {
        self.indices.iter().zip(&self.residual).for_each(|(&index, &residual)| all[index] = residual);
    }
}

pub(crate) struct Solver<'a, 'k> {
    problem: &'a Problem,
    rows: &'a mut KernelRows<'k>,
    beta: Vec<f64>,
    /// Residuals of all variables; outdated for shrunk ones.
    residual: Vec<f64>,
    active: Active,
    unshrunk: bool,
}

/// Solves a problem with the kernel of `rows`.
pub(crate) fn solve(problem: &Problem, rows: &mut KernelRows<'_>) -> Result<Solution> {
    let n = problem.target.len();
    let mut solver = Solver {
        problem,
        beta: vec![0.0; n],
        residual: problem.target.clone(),
        active: Active::default(),
        rows,
        unshrunk: false,
    };
    solver.activate((0..n).collect());
    solver.run()
}

impl Solver<'_, '_> {
    /// u and l of a variable.
    fn scores(&self, index: usize) -> (f64, f64) {
        let (beta, epsilon) = (self.beta[index], self.problem.epsilon);
        let upper = match beta {
            _ if beta >= self.problem.high[index] => f64::NEG_INFINITY,
            _ if beta < 0.0 => epsilon,
            _ => -epsilon,
        };
        let lower = match beta {
            _ if beta <= self.problem.low[index] => f64::INFINITY,
            _ if beta > 0.0 => -epsilon,
            _ => epsilon,
        };
        (upper, lower)
    }

    /// Restricts the state to these variables.
    fn activate(&mut self, indices: Vec<usize>) {
        let diagonal = indices.iter().map(|&index| self.rows.diagonal(index)).collect();
        self.active = Active::of(indices, &self.residual, diagonal, |index| self.scores(index));
    }

    fn run(mut self) -> Result<Solution> {
        let n = self.beta.len();
        let period = n.clamp(1, 1000);
        let (mut steps, mut until_shrinking) = (0, period);
        let mut best = self.active.best();
        let tolerance = self.problem.tolerance;
        loop {
            if until_shrinking == 0 {
                until_shrinking = period;
                if self.problem.shrinking {
                    best = self.shrink(best)?;
                }
            }
            let gap = best.top - best.bottom;
            let converged = gap.is_nan() || gap < tolerance;
            let interrupted = tove_optim::interrupted();
            if converged || steps >= self.problem.limit || interrupted {
                // Reconstructing the gradient takes as long as many steps, so it is skipped after an interruption.
                if self.active.indices.len() < n && !interrupted {
                    best = self.unshrink()?;
                    until_shrinking = 1; // shrink again at once if it was not the end
                    if best.top - best.bottom >= tolerance && steps < self.problem.limit {
                        continue;
                    }
                }
                return self.finish(steps, best);
            }
            best = self.step(best)?;
            steps += 1;
            until_shrinking -= 1;
        }
    }

    /// Updates one pair of variables.
    fn step(&mut self, best: Best) -> Result<Best> {
        let active = &self.active;
        let i = best.top_index;
        self.rows.fetch(active.indices[i], || wanted(active, best))?;
        let row = self.rows.row(active.indices[i]);
        let j = gain(row, active.diagonal[i], &active.diagonal, &active.residual, &active.lower, best.top);
        self.rows.fetch(active.indices[j], || wanted(active, best))?;
        let (row, other) = (self.rows.row(active.indices[i]), self.rows.row(active.indices[j]));
        let curvature = f64::from(active.diagonal[i]) + f64::from(active.diagonal[j]) - 2.0 * f64::from(row[j]);
        let slope = best.top - (active.residual[j] + active.lower[j]);
        let (a, b) = (active.indices[i], active.indices[j]);
        // The distance to the next bound, or to 0 where the slope of ε|β| changes.
        let kink = self.problem.epsilon > 0.0;
        let (old_a, old_b) = (self.beta[a], self.beta[b]);
        let end_a = if kink && old_a < 0.0 { 0.0 } else { self.problem.high[a] };
        let end_b = if kink && old_b > 0.0 { 0.0 } else { self.problem.low[b] };
        let step = slope / curvature.max(1e-12);
        let (way_a, way_b) = (end_a - old_a, old_b - end_b);
        let step = step.min(way_a).min(way_b);
        // Bounds are hit exactly, so that comparing with them is safe.
        self.beta[a] = if step >= way_a { end_a } else { old_a + step };
        self.beta[b] = if step >= way_b { end_b } else { old_b - step };
        let (up, down) = (self.beta[a] - old_a, self.beta[b] - old_b);
        let ((upper_a, lower_a), (upper_b, lower_b)) = (self.scores(a), self.scores(b));
        let active = &mut self.active;
        (active.upper[i], active.lower[i]) = (upper_a, lower_a);
        (active.upper[j], active.lower[j]) = (upper_b, lower_b);
        Ok(update(&mut active.residual, row, up, other, down, &active.upper, &active.lower))
    }

    /// Shrinks variables at a bound that would not be selected.
    fn shrink(&mut self, best: Best) -> Result<Best> {
        let (n, tolerance) = (self.beta.len(), self.problem.tolerance);
        let mut best = best;
        if !self.unshrunk && best.top - best.bottom <= 10.0 * tolerance {
            self.unshrunk = true;
            if self.active.indices.len() < n {
                best = self.unshrink()?;
            }
        }
        let kept = self.active.selectable(best);
        // Shrinking only a few is not worth new rows.
        if kept.len() < 2 || kept.len() * 10 > self.active.indices.len() * 9 {
            return Ok(best);
        }
        self.active.store(&mut self.residual);
        self.rows.restrict(Some(kept.clone()));
        self.activate(kept);
        Ok(self.active.best())
    }

    /// Reactivates all variables, and recomputes the residuals of shrunk ones.
    fn unshrink(&mut self) -> Result<Best> {
        let n = self.beta.len();
        self.active.store(&mut self.residual);
        let mut shrunk = vec![true; n];
        self.active.indices.iter().for_each(|&index| shrunk[index] = false);
        let shrunk: Vec<usize> = (0..n).filter(|&index| shrunk[index]).collect();
        let sums = self.rows.sums(&shrunk, &self.beta)?;
        for (&index, sum) in shrunk.iter().zip(sums) {
            self.residual[index] = self.problem.target[index] - sum;
        }
        self.rows.restrict(None);
        self.activate((0..n).collect());
        Ok(self.active.best())
    }

    fn finish(self, steps: usize, best: Best) -> Result<Solution> {
        let (problem, gap) = (self.problem, best.top - best.bottom);
        let all = self.active.indices.len() == self.beta.len();
        let converged = all && (gap.is_nan() || gap < problem.tolerance);
        let (mut free, mut objective) = (Vec::new(), 0.0);
        for (t, &index) in self.active.indices.iter().enumerate() {
            let (beta, residual) = (self.beta[index], self.active.residual[t]);
            objective -= 0.5 * beta * (residual + problem.target[index]);
            objective += problem.epsilon * beta.abs();
            if beta > problem.low[index] && beta < problem.high[index] && beta != 0.0 {
                free.push(residual - problem.epsilon * beta.signum());
            }
        }
        let bias = level(free.into_iter(), best);
        let gap = if gap.is_finite() { gap.max(0.0) } else { 0.0 };
        Ok(Solution { beta: self.beta, bias, objective, steps, gap, converged, flat: false })
    }
}

/// The mean residual of the free variables, or the middle of the range that the bounds allow.
pub(super) fn level(free: impl Iterator<Item = f64>, best: Best) -> f64 {
    let (sum, count) = free.fold((0.0, 0usize), |(sum, count), residual| (sum + residual, count + 1));
    match (count, best.top.is_finite(), best.bottom.is_finite()) {
        (0, true, true) => 0.5 * (best.top + best.bottom),
        (0, true, false) => best.top,
        (0, false, true) => best.bottom,
        (0, false, false) => 0.0,
        _ => sum / count as f64,
    }
}

/// The indices whose rows are likely to be requested soon: the largest violations first.
pub(super) fn wanted(active: &Active, best: Best) -> Vec<usize> {
    const COUNT: usize = 64;
    let score = |t: usize| {
        let upper = active.residual[t] + active.upper[t] - best.bottom;
        let lower = best.top - (active.residual[t] + active.lower[t]);
        upper.max(lower)
    };
    let mut order: Vec<(f64, usize)> = (0..active.indices.len()).map(|t| (score(t), t)).collect();
    let worse = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if order.len() > COUNT {
        order.select_nth_unstable_by(COUNT, worse);
        order.truncate(COUNT);
    }
    order.sort_unstable_by(worse);
    order.into_iter().filter(|pair| pair.0 > 0.0).map(|pair| active.indices[pair.1]).collect()
}
