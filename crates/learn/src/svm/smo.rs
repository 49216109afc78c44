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
use super::scan::{Best, gain, update};
use crate::Result;

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
}

/// The part of the state that the scans go over: only variables that are not set aside.
struct Active {
    places: Vec<usize>,
    residual: Vec<f64>,
    upper: Vec<f64>,
    lower: Vec<f64>,
    diagonal: Vec<f32>,
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
        active: Active {
            places: Vec::new(),
            residual: Vec::new(),
            upper: Vec::new(),
            lower: Vec::new(),
            diagonal: Vec::new(),
        },
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
        let (upper, lower) = places.iter().map(|&place| self.scores(place)).unzip();
        self.active = Active {
            residual: places.iter().map(|&place| self.residual[place]).collect(),
            diagonal: places.iter().map(|&place| self.rows.diagonal(place)).collect(),
            upper,
            lower,
            places,
        };
    }

    fn run(mut self) -> Result<Solution> {
        let n = self.beta.len();
        let period = n.clamp(1, 1000);
        let (mut steps, mut until_shrinking) = (0, period);
        let mut best = Best::of(&self.active.residual, &self.active.upper, &self.active.lower);
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
            let over = steps >= self.problem.limit || tove_optim::interrupted();
            if settled || over {
                if self.active.places.len() < n {
                    best = self.unshrink()?;
                    until_shrinking = 1; // shrink at once if it was not the end
                    if best.top - best.bottom >= tolerance && !over {
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
        let active = &self.active;
        let keeps = |t: &usize| {
            let (upper, lower) = (active.residual[*t] + active.upper[*t], active.residual[*t] + active.lower[*t]);
            upper >= best.bottom || lower <= best.top
        };
        let kept: Vec<usize> = (0..active.places.len()).filter(keeps).collect();
        // Setting aside a few is not worth new rows.
        if kept.len() < 2 || kept.len() * 10 > active.places.len() * 9 {
            return Ok(best);
        }
        self.store();
        let places: Vec<usize> = kept.iter().map(|&t| self.active.places[t]).collect();
        self.rows.restrict(&places, n);
        self.activate(places);
        Ok(Best::of(&self.active.residual, &self.active.upper, &self.active.lower))
    }

    /// Writes the residuals of the active variables back.
    fn store(&mut self) {
        for (&place, &residual) in self.active.places.iter().zip(&self.active.residual) {
            self.residual[place] = residual;
        }
    }

    /// Brings all variables back, with residuals computed anew for those that were set aside.
    fn unshrink(&mut self) -> Result<Best> {
        let n = self.beta.len();
        self.store();
        let mut aside = vec![true; n];
        self.active.places.iter().for_each(|&place| aside[place] = false);
        let aside: Vec<usize> = (0..n).filter(|&place| aside[place]).collect();
        let sums = self.rows.sums(&aside, &self.beta)?;
        for (&place, sum) in aside.iter().zip(sums) {
            self.residual[place] = self.problem.target[place] - sum;
        }
        let all: Vec<usize> = (0..n).collect();
        self.rows.restrict(&all, n);
        self.activate(all);
        Ok(Best::of(&self.active.residual, &self.active.upper, &self.active.lower))
    }

    fn finish(self, steps: usize, best: Best) -> Result<Solution> {
        let (problem, gap) = (self.problem, best.top - best.bottom);
        let converged = gap.is_nan() || gap < problem.tolerance;
        let (mut sum, mut free, mut objective) = (0.0, 0usize, 0.0);
        for (t, &place) in self.active.places.iter().enumerate() {
            let (beta, residual) = (self.beta[place], self.active.residual[t]);
            objective -= 0.5 * beta * (residual + problem.target[place]);
            objective += problem.epsilon * beta.abs();
            if beta > problem.low[place] && beta < problem.high[place] && beta != 0.0 {
                sum += residual - problem.epsilon * beta.signum();
                free += 1;
            }
        }
        let bias = match free {
            0 => match (best.top.is_finite(), best.bottom.is_finite()) {
                (true, true) => 0.5 * (best.top + best.bottom),
                (true, false) => best.top,
                (false, true) => best.bottom,
                (false, false) => 0.0,
            },
            _ => sum / free as f64,
        };
        let gap = if gap.is_finite() { gap.max(0.0) } else { 0.0 };
        Ok(Solution { beta: self.beta, bias, objective, steps, gap, converged })
    }
}

/// The places whose rows are likely to be asked for soon: those that violate the optimum most, worst first.
fn wanted(active: &Active, best: Best) -> Vec<usize> {
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
