//! SMO for ν-machines: two groups of variables, the sum of each fixed (Chang and Lin 2001).
//!
//! min ½ βᵀKβ − zᵀβ subject to lowᵥ ≤ βᵥ ≤ highᵥ and Σβ = sum of the start within each group. For classification the groups are
//! the classes, β = yα, 0 ≤ α ≤ wᵢ and Σα = ν Σw / 2 in each; for regression they are the errors above and below the tube. As
//! both sums are fixed, a step moves two variables of the same group. At the optimum the residual r = z − Kβ of the free
//! variables of group g is a constant t_g; the two constants give the bias and the width of the margin or of the tube.

use super::rows::KernelRows;
use crate::Result;

/// A problem in two groups. A variable belongs to a row of the kernel matrix; several may share one.
pub(super) struct Grouped {
    /// The row of each variable.
    pub(super) row: Vec<usize>,
    /// 0 or 1.
    pub(super) group: Vec<usize>,
    pub(super) target: Vec<f64>,
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
    /// A point that fulfils all constraints.
    pub(super) start: Vec<f64>,
    pub(super) tolerance: f64,
    pub(super) limit: usize,
}

/// What was found.
pub(super) struct Settled {
    pub(super) beta: Vec<f64>,
    /// t₀ and t₁.
    pub(super) levels: [f64; 2],
    pub(super) objective: f64,
    pub(super) steps: usize,
    pub(super) gap: f64,
    pub(super) converged: bool,
}

/// The largest residual of a variable that may rise, and the smallest of one that may fall, within a group.
#[derive(Clone, Copy)]
struct Ends {
    top: f64,
    place: usize,
    bottom: f64,
}

impl Grouped {
    pub(super) fn solve(&self, rows: &mut KernelRows<'_>, n: usize) -> Result<Settled> {
        let mut beta = self.start.clone();
        let mut sums = self.sums(rows, &beta, n)?;
        let mut steps = 0;
        loop {
            let residual = |v: usize| self.target[v] - sums[self.row[v]];
            let ends = [0, 1].map(|group| self.ends(group, &beta, residual));
            let gap = ends.iter().map(|ends| ends.top - ends.bottom).fold(f64::NEG_INFINITY, f64::max);
            let done = gap.is_nan() || gap < self.tolerance;
            if done || steps >= self.limit || tove_optim::interrupted() {
                let levels = [0, 1].map(|group| self.level(group, &beta, residual, ends[group]));
                let objective = beta.iter().enumerate().map(|(v, b)| -0.5 * b * (residual(v) + self.target[v])).sum();
                let gap = if gap.is_finite() { gap.max(0.0) } else { 0.0 };
                return Ok(Settled { beta, levels, objective, steps, gap, converged: done });
            }
            let Some((i, j)) = self.pair(rows, &beta, &sums, ends)? else {
                return Ok(Settled {
                    levels: ends.map(|e| e.top),
                    beta,
                    objective: f64::NAN,
                    steps,
                    gap,
                    converged: false,
                });
            };
            self.step(rows, &mut beta, &mut sums, i, j)?;
            steps += 1;
        }
    }

    /// Kβ of all rows.
    fn sums(&self, rows: &KernelRows<'_>, beta: &[f64], n: usize) -> Result<Vec<f64>> {
        let mut by_row = vec![0.0; n];
        self.row.iter().zip(beta).for_each(|(&row, beta)| by_row[row] += beta);
        rows.sums(&(0..n).collect::<Vec<_>>(), &by_row)
    }

    fn ends(&self, group: usize, beta: &[f64], residual: impl Fn(usize) -> f64) -> Ends {
        let mut ends = Ends { top: f64::NEG_INFINITY, place: 0, bottom: f64::INFINITY };
        for v in (0..beta.len()).filter(|&v| self.group[v] == group) {
            let r = residual(v);
            if beta[v] < self.high[v] && r > ends.top {
                (ends.top, ends.place) = (r, v);
            }
            if beta[v] > self.low[v] {
                ends.bottom = ends.bottom.min(r);
            }
        }
        ends
    }

    /// The variable to raise is the worst of its group; the one to lower promises the largest gain over both groups.
    fn pair(
        &self,
        rows: &mut KernelRows<'_>,
        beta: &[f64],
        sums: &[f64],
        ends: [Ends; 2],
    ) -> Result<Option<(usize, usize)>> {
        let (mut best, mut found) = (0.0, None);
        for (group, ends) in ends.into_iter().enumerate() {
            if ends.top - ends.bottom < self.tolerance || !ends.top.is_finite() {
                continue;
            }
            let i = ends.place;
            rows.fetch(self.row[i], Vec::new)?;
            let (row, own) = (rows.row(self.row[i]), f64::from(rows.diagonal(self.row[i])));
            for j in (0..beta.len()).filter(|&j| self.group[j] == group && beta[j] > self.low[j]) {
                let slope = ends.top - (self.target[j] - sums[self.row[j]]);
                if slope > 0.0 {
                    let other = f64::from(rows.diagonal(self.row[j]));
                    let curvature = own + other - 2.0 * f64::from(row[self.row[j]]);
                    let gain = slope * slope / curvature.max(1e-12);
                    if gain > best {
                        (best, found) = (gain, Some((i, j)));
                    }
                }
            }
        }
        Ok(found)
    }

    fn step(&self, rows: &mut KernelRows<'_>, beta: &mut [f64], sums: &mut [f64], i: usize, j: usize) -> Result<()> {
        let (a, b) = (self.row[i], self.row[j]);
        rows.fetch(a, Vec::new)?;
        rows.fetch(b, Vec::new)?;
        let (row, other) = (rows.row(a), rows.row(b));
        let curvature = f64::from(rows.diagonal(a)) + f64::from(rows.diagonal(b)) - 2.0 * f64::from(row[b]);
        let slope = (self.target[i] - sums[a]) - (self.target[j] - sums[b]);
        let (way_i, way_j) = (self.high[i] - beta[i], beta[j] - self.low[j]);
        let step = (slope / curvature.max(1e-12)).min(way_i).min(way_j);
        // Bounds are hit exactly, so that comparing with them is safe.
        beta[i] = if step >= way_i { self.high[i] } else { beta[i] + step };
        beta[j] = if step >= way_j { self.low[j] } else { beta[j] - step };
        let pairs = row.iter().zip(other);
        sums.iter_mut().zip(pairs).for_each(|(sum, (&k, &l))| *sum += step * (f64::from(k) - f64::from(l)));
        Ok(())
    }

    /// The mean residual of the free variables, or the middle of what the bounds allow.
    fn level(&self, group: usize, beta: &[f64], residual: impl Fn(usize) -> f64, ends: Ends) -> f64 {
        let free = |v: &usize| self.group[*v] == group && beta[*v] > self.low[*v] && beta[*v] < self.high[*v];
        let (mut sum, mut count) = (0.0, 0usize);
        for v in (0..beta.len()).filter(free) {
            (sum, count) = (sum + residual(v), count + 1);
        }
        match count {
            0 => match (ends.top.is_finite(), ends.bottom.is_finite()) {
                (true, true) => 0.5 * (ends.top + ends.bottom),
                (true, false) => ends.top,
                _ => ends.bottom,
            },
            _ => sum / count as f64,
        }
    }
}

/// Shares out a sum among variables in their order, each up to its bound.
pub(super) fn share_out(mut sum: f64, bounds: impl Iterator<Item = f64>) -> Vec<f64> {
    bounds
        .map(|bound| {
            let own = bound.min(sum);
            sum -= own;
            own
        })
        .collect()
}
