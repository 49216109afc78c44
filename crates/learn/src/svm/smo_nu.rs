//! SMO for ν-SVMs: two groups of variables, each with a fixed sum (Chang and Lin 2001).
//!
//! min ½ βᵀKβ − zᵀβ subject to lowᵥ ≤ βᵥ ≤ highᵥ and Σβ = sum of the start within each group. For classification the
//! groups are the classes, β = yα, 0 ≤ α ≤ wᵢ and Σα = ν Σw / 2 in each; for regression they are the errors above and
//! below the tube. As both sums are fixed, a step changes two variables of the same group. At the optimum the residual
//! r = z − Kβ of the free variables of group g is a constant t_g; the two constants give the bias and the width of the
//! margin or of the tube.
//!
//! Each group is scanned separately with the SIMD code of SMO, with the same shrinking heuristic.

use super::rows::KernelRows;
use super::smo::{Active, level, wanted};
use super::smo_scan::{Best, gain, update};
use crate::Result;

/// Variables with a fixed sum.
#[derive(Clone)]
pub(super) struct Group {
    /// The row of the kernel matrix of each variable.
    pub(super) row: Vec<usize>,
    pub(super) target: Vec<f64>,
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
    /// A feasible point.
    pub(super) start: Vec<f64>,
}

impl Group {
    /// The same variables with flipped signs.
    pub(super) fn below(self) -> Group {
        let negated = |values: &[f64]| values.iter().map(|value| -value).collect();
        Group { low: negated(&self.high), high: negated(&self.low), start: negated(&self.start), ..self }
    }

    /// u and l of a variable: 0 if it can be increased or decreased, otherwise an infinity that excludes it.
    fn scores(&self, index: usize, beta: f64) -> (f64, f64) {
        let upper = if beta >= self.high[index] { f64::NEG_INFINITY } else { 0.0 };
        let lower = if beta <= self.low[index] { f64::INFINITY } else { 0.0 };
        (upper, lower)
    }
}

/// A problem with two groups; variables of both may share a row of the kernel matrix.
pub(super) struct Grouped {
    pub(super) groups: [Group; 2],
    pub(super) tolerance: f64,
    pub(super) limit: usize,
    /// Whether to use the shrinking heuristic.
    pub(super) shrinking: bool,
}

/// The solution.
pub(super) struct Solution {
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
    /// Number of rows of the kernel matrix.
    n: usize,
    beta: [Vec<f64>; 2],
    /// Residuals of all variables; outdated for shrunk ones.
    residual: [Vec<f64>; 2],
    active: [Active; 2],
    best: [Best; 2],
    unshrunk: bool,
}

/// A pair of variables of one group, by their indices among the active ones.
struct Pair {
    group: usize,
    i: usize,
    j: usize,
}

impl Grouped {
    /// Solves with a kernel matrix of n rows.
    pub(super) fn solve(&self, rows: &mut KernelRows<'_>, n: usize) -> Result<Solution> {
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

    fn all_active(&self) -> bool {
        (0..2).all(|group| self.active[group].indices.len() == self.beta[group].len())
    }

    fn run(mut self) -> Result<Solution> {
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
            let converged = gap.is_nan() || gap < tolerance;
            let over = steps >= limit || tove_optim::interrupted();
            if converged || over {
                if !self.all_active() {
                    self.unshrink()?;
                    until_shrinking = 1; // shrink again at once if it was not the end
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

    /// Selects the variable to increase as the largest violation of its group, and the one to decrease by the largest
    /// predicted gain over both groups.
    fn pair(&mut self) -> Result<Pair> {
        let mut found = (f32::NEG_INFINITY, Pair { group: 0, i: 0, j: 0 });
        for group in 0..2 {
            let (active, best) = (&self.active[group], self.best[group]);
            if best.top - best.bottom < self.problem.tolerance {
                continue;
            }
            let (i, row) = (best.top_index, &self.problem.groups[group].row);
            let likely = || wanted(active, best).into_iter().map(|index| row[index]).collect();
            self.rows.fetch(row[active.indices[i]], likely)?;
            let values = by_group(self.rows.row(row[active.indices[i]]), self.counts())[group];
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
        [0, 1].map(|group| self.active[group].indices.len())
    }

    fn step(&mut self, pair: &Pair) -> Result<()> {
        let &Pair { group, i, j } = pair;
        let (active, own) = (&self.active[group], &self.problem.groups[group]);
        let (a, b) = (active.indices[i], active.indices[j]);
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

    /// Shrinks variables at a bound that would not be selected.
    fn shrink(&mut self) -> Result<()> {
        if !self.unshrunk && self.gap() <= 10.0 * self.problem.tolerance {
            self.unshrunk = true;
            if !self.all_active() {
                self.unshrink()?;
            }
        }
        let kept = [0, 1].map(|group| self.active[group].selectable(self.best[group]));
        let (count, before) = (kept[0].len() + kept[1].len(), self.counts().iter().sum::<usize>());
        // Shrinking only a few is not worth new rows.
        if count < 4 || count * 10 > before * 9 {
            return Ok(());
        }
        self.store();
        let indices = kept.iter().zip(&self.problem.groups);
        let columns = indices.flat_map(|(kept, group)| kept.iter().map(|&index| group.row[index])).collect();
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

    /// Reactivates all variables, and recomputes the residuals of shrunk ones.
    fn unshrink(&mut self) -> Result<()> {
        self.store();
        let mut by_row = vec![0.0; self.n];
        for (group, beta) in self.problem.groups.iter().zip(&self.beta) {
            group.row.iter().zip(beta).for_each(|(&row, beta)| by_row[row] += beta);
        }
        let sums = self.rows.sums(&(0..self.n).collect::<Vec<_>>(), &by_row)?;
        for (group, own) in self.problem.groups.iter().enumerate() {
            let mut shrunk = vec![true; own.row.len()];
            self.active[group].indices.iter().for_each(|&index| shrunk[index] = false);
            for index in (0..shrunk.len()).filter(|&index| shrunk[index]) {
                self.residual[group][index] = own.target[index] - sums[own.row[index]];
            }
        }
        self.rows.restrict(None);
        self.activate([0, 1].map(|group| (0..self.beta[group].len()).collect()));
        Ok(())
    }

    /// Restricts the state to these variables.
    fn activate(&mut self, indices: [Vec<usize>; 2]) {
        for (group, indices) in indices.into_iter().enumerate() {
            let (own, beta) = (&self.problem.groups[group], &self.beta[group]);
            let diagonal = indices.iter().map(|&index| self.rows.diagonal(own.row[index])).collect();
            let scores = |index: usize| own.scores(index, beta[index]);
            self.active[group] = Active::of(indices, &self.residual[group], diagonal, scores);
            self.best[group] = self.active[group].best();
        }
    }

    fn finish(self, steps: usize) -> Solution {
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
        Solution { beta: self.beta, levels, objective, steps, gap, converged }
    }
}

/// Splits a row of the kernel matrix into the active variables of each group.
fn by_group(values: &[f32], [first, second]: [usize; 2]) -> [&[f32]; 2] {
    // If no variable is shrunk, both groups use the same values.
    if first + second > values.len() { [values, values] } else { values.split_at(first).into() }
}

/// Distributes a sum among variables in order, each up to its bound.
pub(super) fn distribute(mut sum: f64, bounds: &[f64]) -> Vec<f64> {
    let mut share = |bound: &f64| {
        let own = bound.min(sum);
        sum -= own;
        own
    };
    bounds.iter().map(&mut share).collect()
}
