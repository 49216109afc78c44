//! Sequential minimal optimisation with second-order working sets (Fan, Chen, Lin 2005).
//!
//! Classification and regression are the same problem: min ½ βᵀKβ − zᵀβ + ε ‖β‖₁ subject to Σβ = 0 and lowᵢ ≤ βᵢ ≤ highᵢ. For
//! classification βᵢ = yᵢαᵢ, z = y, ε = 0 and the bounds are 0 and yᵢCᵢ; for regression they are ±Cᵢ and z is the target. With
//! the residual r = z − Kβ, βᵢ may rise if its upper score rᵢ + uᵢ counts and fall if its lower score rᵢ + lᵢ does, where u
//! and l are 0, ±ε or ∓∞ by the place of βᵢ between its bounds. At the optimum max(r + u) ≤ min(r + l).
//!
//! A step takes the i of the largest upper score and the j that promises the largest gain (mᵢⱼ² / (Kᵢᵢ + Kⱼⱼ − 2Kᵢⱼ)), and moves
//! βᵢ up and βⱼ down by the same amount. Rows of K are kept in single precision, residuals in double, as LIBSVM does.

use super::rows::KernelRows;
use super::smo_scan::{Best, gain, update};
use crate::{LearnError, Result};

/// The numbers of a problem.
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
    /// The gap max(r + u) − min(r + l) at which to stop.
    pub(crate) tolerance: f64,
    /// Steps at most.
    pub(crate) limit: usize,
    /// Whether variables that seem settled are set aside.
    pub(crate) shrinking: bool,
}

/// What SMO found.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// The variables.
    pub(crate) beta: Vec<f64>,
    /// The constant b of f(x) = Σ βᵢ k(x, xᵢ) + b.
    pub(crate) bias: f64,
    /// ½ βᵀKβ − zᵀβ + ε ‖β‖₁.
    pub(crate) objective: f64,
    /// Steps made.
    pub(crate) steps: usize,
    /// The gap at the end.
    pub(crate) gap: f64,
    /// Whether the gap is below the tolerance.
    pub(crate) converged: bool,
    /// Whether a margin that was to be scaled to 1 is no larger than the tolerance (ν-machines only).
    pub(crate) flat: bool,
}

impl Solution {
    /// That no kernel value or residual left the range of numbers on the way.
    pub(crate) fn require_finite(&self, who: &'static str) -> Result<()> {
        if self.bias.is_finite() && self.beta.iter().all(|beta| beta.is_finite()) {
            return Ok(());
        }
        let fix = "scale the features and targets, for instance with `StandardScaler`, or choose a smaller `degree` or `gamma`";
        Err(LearnError::data(who, "kernel values or targets overflow, so that there is no solution", fix))
    }
}

/// The part of the state that the scans go over: only variables that are not set aside.
#[derive(Default)]
pub(super) struct Active {
    pub(super) places: Vec<usize>,
    pub(super) residual: Vec<f64>,
    pub(super) upper: Vec<f64>,
    pub(super) lower: Vec<f64>,
    pub(super) diagonal: Vec<f32>,
}

impl Active {
    /// The variables at these places, with u and l of each.
    pub(super) fn of(
        places: Vec<usize>,
        residual: &[f64],
        diagonal: Vec<f32>,
        scores: impl Fn(usize) -> (f64, f64),
    ) -> Active {
        let (upper, lower) = places.iter().map(|&place| scores(place)).unzip();
        Active { residual: places.iter().map(|&place| residual[place]).collect(), diagonal, upper, lower, places }
    }

    pub(super) fn best(&self) -> Best {
        Best::of(&self.residual, &self.upper, &self.lower)
    }

    /// The places of the variables that may be chosen yet.
    pub(super) fn unsettled(&self, best: Best) -> Vec<usize> {
        let keeps = |t: &usize| {
            let (upper, lower) = (self.residual[*t] + self.upper[*t], self.residual[*t] + self.lower[*t]);
            upper >= best.bottom || lower <= best.top
        };
        (0..self.places.len()).filter(keeps).map(|t| self.places[t]).collect()
    }

    /// Writes the residuals back to those of all variables.
    pub(super) fn store(&self, all: &mut [f64]) {
        self.places.iter().zip(&self.residual).for_each(|(&place, &residual)| all[place] = residual);
    }
}

pub(crate) struct Solver<'a, 'k> {
    problem: &'a Problem,
    rows: &'a mut KernelRows<'k>,
    beta: Vec<f64>,
    /// Residuals of all variables; stale for those set aside.
    residual: Vec<f64>,
    active: Active,
    unshrunk: bool,
}

/// Solves a problem over the kernel of `rows`.
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
    fn scores(&self, place: usize) -> (f64, f64) {
        let (beta, epsilon) = (self.beta[place], self.problem.epsilon);
        let upper = match beta {
            _ if beta >= self.problem.high[place] => f64::NEG_INFINITY,
            _ if beta < 0.0 => epsilon,
            _ => -epsilon,
        };
        let lower = match beta {
            _ if beta <= self.problem.low[place] => f64::INFINITY,
            _ if beta > 0.0 => -epsilon,
            _ => epsilon,
        };
        (upper, lower)
    }

    /// Goes on with these variables only.
    fn activate(&mut self, places: Vec<usize>) {
        let diagonal = places.iter().map(|&place| self.rows.diagonal(place)).collect();
        self.active = Active::of(places, &self.residual, diagonal, |place| self.scores(place));
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
            let settled = gap.is_nan() || gap < tolerance;
            let interrupted = tove_optim::interrupted();
            if settled || steps >= self.problem.limit || interrupted {
                // Looking at all variables again takes as long as many steps, and nobody waits for the solution any more.
                if self.active.places.len() < n && !interrupted {
                    best = self.unshrink()?;
                    until_shrinking = 1; // shrink at once if it was not the end
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

    /// One pair of variables.
    fn step(&mut self, best: Best) -> Result<Best> {
        let active = &self.active;
        let i = best.top_place;
        self.rows.fetch(active.places[i], || wanted(active, best))?;
        let row = self.rows.row(active.places[i]);
        let j = gain(row, active.diagonal[i], &active.diagonal, &active.residual, &active.lower, best.top);
        self.rows.fetch(active.places[j], || wanted(active, best))?;
        let (row, other) = (self.rows.row(active.places[i]), self.rows.row(active.places[j]));
        let curvature = f64::from(active.diagonal[i]) + f64::from(active.diagonal[j]) - 2.0 * f64::from(row[j]);
        let slope = best.top - (active.residual[j] + active.lower[j]);
        let (a, b) = (active.places[i], active.places[j]);
        // The way to the next bound, or to 0 where the slope of ε|β| changes.
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

    /// Sets aside variables at a bound that would not be chosen.
    fn shrink(&mut self, best: Best) -> Result<Best> {
        let (n, tolerance) = (self.beta.len(), self.problem.tolerance);
        let mut best = best;
        if !self.unshrunk && best.top - best.bottom <= 10.0 * tolerance {
            self.unshrunk = true;
            if self.active.places.len() < n {
                best = self.unshrink()?;
            }
        }
        let kept = self.active.unsettled(best);
        // Setting aside a few is not worth new rows.
        if kept.len() < 2 || kept.len() * 10 > self.active.places.len() * 9 {
            return Ok(best);
        }
        self.active.store(&mut self.residual);
        self.rows.restrict(Some(kept.clone()));
        self.activate(kept);
        Ok(self.active.best())
    }

    /// Brings all variables back, with residuals computed anew for those that were set aside.
    fn unshrink(&mut self) -> Result<Best> {
        let n = self.beta.len();
        self.active.store(&mut self.residual);
        let mut aside = vec![true; n];
        self.active.places.iter().for_each(|&place| aside[place] = false);
        let aside: Vec<usize> = (0..n).filter(|&place| aside[place]).collect();
        let sums = self.rows.sums(&aside, &self.beta)?;
        for (&place, sum) in aside.iter().zip(sums) {
            self.residual[place] = self.problem.target[place] - sum;
        }
        self.rows.restrict(None);
        self.activate((0..n).collect());
        Ok(self.active.best())
    }

    fn finish(self, steps: usize, best: Best) -> Result<Solution> {
        let (problem, gap) = (self.problem, best.top - best.bottom);
        let all = self.active.places.len() == self.beta.len();
        let converged = all && (gap.is_nan() || gap < problem.tolerance);
        let (mut free, mut objective) = (Vec::new(), 0.0);
        for (t, &place) in self.active.places.iter().enumerate() {
            let (beta, residual) = (self.beta[place], self.active.residual[t]);
            objective -= 0.5 * beta * (residual + problem.target[place]);
            objective += problem.epsilon * beta.abs();
            if beta > problem.low[place] && beta < problem.high[place] && beta != 0.0 {
                free.push(residual - problem.epsilon * beta.signum());
            }
        }
        let bias = level(free.into_iter(), best);
        let gap = if gap.is_finite() { gap.max(0.0) } else { 0.0 };
        Ok(Solution { beta: self.beta, bias, objective, steps, gap, converged, flat: false })
    }
}

/// The mean residual of the free variables, or the middle of what the bounds allow.
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

/// The places whose rows are likely to be asked for soon: those that violate the optimum most, worst first.
pub(super) fn wanted(active: &Active, best: Best) -> Vec<usize> {
    const COUNT: usize = 64;
    let score = |t: usize| {
        let upper = active.residual[t] + active.upper[t] - best.bottom;
        let lower = best.top - (active.residual[t] + active.lower[t]);
        upper.max(lower)
    };
    let mut order: Vec<(f64, usize)> = (0..active.places.len()).map(|t| (score(t), t)).collect();
    let worse = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if order.len() > COUNT {
        order.select_nth_unstable_by(COUNT, worse);
        order.truncate(COUNT);
    }
    order.sort_unstable_by(worse);
    order.into_iter().filter(|pair| pair.0 > 0.0).map(|pair| active.places[pair.1]).collect()
}
