//! SMO for ν-machines: two groups of variables, the sum of each fixed (Chang and Lin 2001).
//!
//! min ½ βᵀKβ − zᵀβ subject to lowᵥ ≤ βᵥ ≤ highᵥ and Σβ = sum of the start within each group. For classification the groups are
//! the classes, β = yα, 0 ≤ α ≤ wᵢ and Σα = ν Σw / 2 in each; for regression they are the errors above and below the tube. As
//! both sums are fixed, a step moves two variables of the same group. At the optimum the residual r = z − Kβ of the free
//! variables of group g is a constant t_g; the two constants give the bias and the width of the margin or of the tube.
//!
//! Each group is scanned by itself with the vector code of SMO, and variables that seem settled are set aside as there.

use super::rows::KernelRows;
use super::smo::{Active, level, wanted};
use super::smo_scan::{Best, gain, update};
use crate::Result;

/// Variables whose sum is fixed.
#[derive(Clone)]
pub(super) struct Group {
    /// The row of the kernel matrix of each variable.
    pub(super) row: Vec<usize>,
    pub(super) target: Vec<f64>,
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
    /// A point that fulfils all constraints.
    pub(super) start: Vec<f64>,
}

impl Group {
    /// The same variables with their signs turned.
    pub(super) fn below(self) -> Group {
        let turned = |values: &[f64]| values.iter().map(|value| -value).collect();
        Group { low: turned(&self.high), high: turned(&self.low), start: turned(&self.start), ..self }
    }

    /// u and l of a variable: 0 where it may rise or fall, else an infinity that keeps it from being chosen.
    fn scores(&self, place: usize, beta: f64) -> (f64, f64) {
        let upper = if beta >= self.high[place] { f64::NEG_INFINITY } else { 0.0 };
        let lower = if beta <= self.low[place] { f64::INFINITY } else { 0.0 };
        (upper, lower)
    }
}

/// A problem in two groups; variables of both may share a row of the kernel matrix.
pub(super) struct Grouped {
    pub(super) groups: [Group; 2],
    pub(super) tolerance: f64,
    pub(super) limit: usize,
    /// Whether variables that seem settled are set aside.
    pub(super) shrinking: bool,
}

/// What was found.
pub(super) struct Settled {
    pub(super) beta: [Vec<f64>; 2],
    /// t₀ and t₁.
    pub(super) levels: [f64; 2],
    pub(super) objective: f64,
    pub(super) steps: usize,
    pub(super) gap: f64,
    pub(super) converged: bool,
}

struct Solver<'a, 'k> {
    problem: &'a Grouped,
    rows: &'a mut KernelRows<'k>,
    /// Rows of the kernel matrix.
    n: usize,
    beta: [Vec<f64>; 2],
    /// Residuals of all variables; stale for those set aside.
    residual: [Vec<f64>; 2],
    active: [Active; 2],
    best: [Best; 2],
    unshrunk: bool,
}

/// A pair of variables of one group, by their places among the active ones.
struct Pair {
    group: usize,
    i: usize,
    j: usize,
}

impl Grouped {
    /// Solves over a kernel matrix of n rows.
    pub(super) fn solve(&self, rows: &mut KernelRows<'_>, n: usize) -> Result<Settled> {
        let solver = Solver {
            problem: self,
            rows,
            n,
            beta: [0, 1].map(|group| self.groups[group].start.clone()),
            residual: [0, 1].map(|group| vec![0.0; self.groups[group].row.len()]),
            active: Default::default(),
            best: [Best::NONE; 2],
            unshrunk: false,
        };
        solver.run()
    }
}

impl Solver<'_, '_> {
    fn gap(&self) -> f64 {
        self.best.iter().map(|best| best.top - best.bottom).fold(f64::NEG_INFINITY, f64::max)
    }

    fn whole(&self) -> bool {
        (0..2).all(|group| self.active[group].places.len() == self.beta[group].len())
    }

    fn run(mut self) -> Result<Settled> {
        self.unshrink()?;
        let (tolerance, limit) = (self.problem.tolerance, self.problem.limit);
        let period = self.n.clamp(1, 1000);
        let (mut steps, mut until_shrinking) = (0, period);
        loop {
            if until_shrinking == 0 {
                until_shrinking = period;
                if self.problem.shrinking {
                    self.shrink()?;
                }
            }
            let gap = self.gap();
            let settled = gap.is_nan() || gap < tolerance;
            let over = steps >= limit || tove_optim::interrupted();
            if settled || over {
                if !self.whole() {
                    self.unshrink()?;
                    until_shrinking = 1; // shrink at once if it was not the end
                    if self.gap() >= tolerance && !over {
                        continue;
                    }
                }
                return Ok(self.finish(steps));
            }
            let pair = self.pair()?;
            self.step(&pair)?;
            steps += 1;
            until_shrinking -= 1;
        }
    }

    /// The variable to raise is the worst of its group; the one to lower promises the largest gain over both groups.
    fn pair(&mut self) -> Result<Pair> {
        let mut found = (f32::NEG_INFINITY, Pair { group: 0, i: 0, j: 0 });
        for group in 0..2 {
            let (active, best) = (&self.active[group], self.best[group]);
            if best.top - best.bottom < self.problem.tolerance {
                continue;
            }
            let (i, row) = (best.top_place, &self.problem.groups[group].row);
            let likely = || wanted(active, best).into_iter().map(|place| row[place]).collect();
            self.rows.fetch(row[active.places[i]], likely)?;
            let values = by_group(self.rows.row(row[active.places[i]]), self.counts())[group];
            let j = gain(values, active.diagonal[i], &active.diagonal, &active.residual, &active.lower, best.top);
            let slope = (best.top - (active.residual[j] + active.lower[j])) as f32;
            let curvature = active.diagonal[i] + active.diagonal[j] - 2.0 * values[j];
            let promise = slope * (slope / curvature.max(1e-12));
            if promise > found.0 {
                found = (promise, Pair { group, i, j });
            }
        }
        Ok(found.1)
    }

    fn counts(&self) -> [usize; 2] {
        [0, 1].map(|group| self.active[group].places.len())
    }

    fn step(&mut self, pair: &Pair) -> Result<()> {
        let &Pair { group, i, j } = pair;
        let (active, own) = (&self.active[group], &self.problem.groups[group]);
        let (a, b) = (active.places[i], active.places[j]);
        self.rows.fetch(own.row[b], Vec::new)?;
        let counts = self.counts();
        let row = by_group(self.rows.row(own.row[a]), counts);
        let other = by_group(self.rows.row(own.row[b]), counts);
        let curvature = f64::from(active.diagonal[i]) + f64::from(active.diagonal[j]) - 2.0 * f64::from(row[group][j]);
        let slope = active.residual[i] - active.residual[j];
        let (old_a, old_b) = (self.beta[group][a], self.beta[group][b]);
        let (way_a, way_b) = (own.high[a] - old_a, old_b - own.low[b]);
        let step = (slope / curvature.max(1e-12)).min(way_a).min(way_b);
        // Bounds are hit exactly, so that comparing with them is safe.
        let new_a = if step >= way_a { own.high[a] } else { old_a + step };
        let new_b = if step >= way_b { own.low[b] } else { old_b - step };
        let active = &mut self.active[group];
        (active.upper[i], active.lower[i]) = own.scores(a, new_a);
        (active.upper[j], active.lower[j]) = own.scores(b, new_b);
        let (up, down) = (new_a - old_a, new_b - old_b);
        for (group, active) in self.active.iter_mut().enumerate() {
            let Active { residual, upper, lower, .. } = active;
            self.best[group] = update(residual, row[group], up, other[group], down, upper, lower);
        }
        (self.beta[group][a], self.beta[group][b]) = (new_a, new_b);
        Ok(())
    }

    /// Sets aside variables at a bound that would not be chosen.
    fn shrink(&mut self) -> Result<()> {
        if !self.unshrunk && self.gap() <= 10.0 * self.problem.tolerance {
            self.unshrunk = true;
            if !self.whole() {
                self.unshrink()?;
            }
        }
        let kept = [0, 1].map(|group| self.active[group].unsettled(self.best[group]));
        let (count, before) = (kept[0].len() + kept[1].len(), self.counts().iter().sum::<usize>());
        // Setting aside a few is not worth new rows.
        if count < 4 || count * 10 > before * 9 {
            return Ok(());
        }
        self.store();
        let places = kept.iter().zip(&self.problem.groups);
        let columns = places.flat_map(|(kept, group)| kept.iter().map(|&place| group.row[place])).collect();
        self.rows.restrict(Some(columns));
        self.activate(kept);
        Ok(())
    }

    /// Writes the residuals of the active variables back.
    fn store(&mut self) {
        for (residual, active) in self.residual.iter_mut().zip(&self.active) {
            active.store(residual);
        }
    }

    /// Brings all variables back, with residuals computed anew for those that were set aside.
    fn unshrink(&mut self) -> Result<()> {
        self.store();
        let mut by_row = vec![0.0; self.n];
        for (group, beta) in self.problem.groups.iter().zip(&self.beta) {
            group.row.iter().zip(beta).for_each(|(&row, beta)| by_row[row] += beta);
        }
        let sums = self.rows.sums(&(0..self.n).collect::<Vec<_>>(), &by_row)?;
        for (group, own) in self.problem.groups.iter().enumerate() {
            let mut aside = vec![true; own.row.len()];
            self.active[group].places.iter().for_each(|&place| aside[place] = false);
            for place in (0..aside.len()).filter(|&place| aside[place]) {
                self.residual[group][place] = own.target[place] - sums[own.row[place]];
            }
        }
        self.rows.restrict(None);
        self.activate([0, 1].map(|group| (0..self.beta[group].len()).collect()));
        Ok(())
    }

    /// Goes on with these variables only.
    fn activate(&mut self, places: [Vec<usize>; 2]) {
        for (group, places) in places.into_iter().enumerate() {
            let (own, beta) = (&self.problem.groups[group], &self.beta[group]);
            let diagonal = places.iter().map(|&place| self.rows.diagonal(own.row[place])).collect();
            let scores = |place: usize| own.scores(place, beta[place]);
            self.active[group] = Active::of(places, &self.residual[group], diagonal, scores);
            self.best[group] = self.active[group].best();
        }
    }

    fn finish(self, steps: usize) -> Settled {
        let gap = self.gap();
        let converged = gap.is_nan() || gap < self.problem.tolerance;
        let mut objective = 0.0;
        let levels = [0, 1].map(|group| {
            let (own, beta, residual) = (&self.problem.groups[group], &self.beta[group], &self.active[group].residual);
            let terms = beta.iter().zip(residual).zip(&own.target);
            objective -= terms.map(|((beta, residual), target)| 0.5 * beta * (residual + target)).sum::<f64>();
            let free = (0..beta.len()).filter(|&v| beta[v] > own.low[v] && beta[v] < own.high[v]);
            level(free.map(|v| residual[v]), self.best[group])
        });
        let gap = if gap.is_finite() { gap.max(0.0) } else { 0.0 };
        Settled { beta: self.beta, levels, objective, steps, gap, converged }
    }
}

/// A row of the kernel matrix at the active variables of each group, of which there are so many.
fn by_group(values: &[f32], [first, second]: [usize; 2]) -> [&[f32]; 2] {
    // Groups over the same rows, of which none is set aside, read the same values.
    if first + second > values.len() { [values, values] } else { values.split_at(first).into() }
}

/// Shares out a sum among variables in their order, each up to its bound.
pub(super) fn share_out(mut sum: f64, bounds: &[f64]) -> Vec<f64> {
    let mut share = |bound: &f64| {
        let own = bound.min(sum);
        sum -= own;
        own
    };
    bounds.iter().map(&mut share).collect()
}
