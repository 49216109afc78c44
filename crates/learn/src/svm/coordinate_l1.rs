//! Linear SVM with an l1 penalty: min ‖w‖₁ + Σ Cᵢ max(0, 1 − yᵢ xᵢᵀw)², by coordinate descent (Yuan, Chang, Hsieh and
//! Lin 2010).
//!
//! Along one weight the loss is piecewise quadratic with first derivative G and second derivative H. The minimum of the
//! quadratic model plus |w + d| is a soft threshold; the step is halved until the objective decreases enough. Only bᵢ =
//! 1 − yᵢ xᵢᵀw changes, for the rows where the column is not 0. The intercept is the weight of a constant feature and
//! is penalized like the others, as in LIBLINEAR.

use crate::{Real, Result, Rows, with_real};

/// The stored values in column-major order; the last column is the constant feature.
pub(super) struct Columns {
    starts: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f64>,
}

impl Columns {
    pub(super) fn of(x: &Rows, constant: f64) -> Result<Columns> {
        let (n, d) = (x.len(), x.width());
        let mut lists: Vec<Vec<(u32, f64)>> = vec![Vec::new(); d];
        match x {
            Rows::Dense(x) => with_real!(x.dtype(), T => {
                for (row, x) in x.as_slice::<T>()?.chunks_exact(d.max(1)).enumerate() {
                    let stored = lists.iter_mut().zip(x).filter(|(_, x)| x.f64() != 0.0);
                    stored.for_each(|(list, x)| list.push((row as u32, x.f64())));
                }
            }),
            Rows::Sparse(x) => with_real!(x.dtype(), T => {
                let values = x.values().as_slice::<T>()?;
                for row in 0..n {
                    for index in x.indptr()[row]..x.indptr()[row + 1] {
                        lists[x.indices()[index] as usize].push((row as u32, values[index].f64()));
                    }
                }
            }),
        }
        if constant != 0.0 {
            lists.push((0..n as u32).map(|row| (row, constant)).collect());
        }
        let mut starts = vec![0];
        lists.iter().for_each(|list| starts.push(starts[starts.len() - 1] + list.len()));
        let (rows, values) = lists.into_iter().flatten().unzip();
        Ok(Columns { starts, rows, values })
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn column(&self, j: usize) -> impl Iterator<Item = (usize, f64)> + Clone + '_ {
        let range = self.starts[j]..self.starts[j + 1];
        self.rows[range.clone()].iter().zip(&self.values[range]).map(|(&row, &value)| (row as usize, value))
    }
}

/// A one-vs-rest problem.
pub(super) struct Selected<'a> {
    pub(super) columns: &'a Columns,
    pub(super) y: &'a [f64],
    pub(super) costs: &'a [f64],
    /// Stop at this sum of violations, relative to that at w = 0.
    pub(super) tolerance: f64,
    pub(super) limit: usize,
}

/// Result of coordinate descent.
pub(super) struct DescentResult {
    pub(super) w: Vec<f64>,
    pub(super) rounds: usize,
    pub(super) converged: bool,
    pub(super) objective: f64,
    /// The sum of violations of the optimality conditions.
    pub(super) violation: f64,
}

/// Fraction of the predicted decrease that a step must achieve.
const SUFFICIENT_DECREASE: f64 = 0.01;

impl Selected<'_> {
    pub(super) fn solve(&self) -> DescentResult {
        let (mut w, mut slack) = (vec![0.0; self.columns.len()], vec![1.0; self.y.len()]);
        let (mut first, mut violation, mut rounds, mut converged) = (None, 0.0, 0, false);
        while rounds < self.limit && !tove_optim::interrupted() {
            violation = (0..w.len()).map(|j| self.step(j, &mut w[j], &mut slack)).sum();
            rounds += 1;
            if violation <= self.tolerance * *first.get_or_insert(violation) {
                converged = true;
                break;
            }
        }
        let loss: f64 = slack.iter().zip(self.costs).map(|(b, cost)| cost * b.max(0.0).powi(2)).sum();
        let objective = loss + w.iter().map(|w| w.abs()).sum::<f64>();
        DescentResult { w, rounds, converged, objective, violation }
    }

    /// Updates one weight and returns its violation before the update.
    fn step(&self, j: usize, w: &mut f64, slack: &mut [f64]) -> f64 {
        let (mut slope, mut curvature) = (0.0, 1e-12);
        for (row, x) in self.columns.column(j) {
            if slack[row] > 0.0 {
                slope -= 2.0 * self.costs[row] * self.y[row] * x * slack[row];
                curvature += 2.0 * self.costs[row] * x * x;
            }
        }
        let violation = match *w {
            w if w > 0.0 => (slope + 1.0).abs(),
            w if w < 0.0 => (slope - 1.0).abs(),
            _ => (slope.abs() - 1.0).max(0.0),
        };
        let mut step = if slope + 1.0 < curvature * *w {
            -(slope + 1.0) / curvature
        } else if slope - 1.0 > curvature * *w {
            -(slope - 1.0) / curvature
        } else {
            -*w
        };
        if step.abs() < 1e-15 * w.abs().max(f64::MIN_POSITIVE) {
            return violation;
        }
        let mut predicted = (*w + step).abs() - w.abs() + slope * step;
        for _ in 0..30 {
            let change = |(row, x): (usize, f64)| {
                let (old, new) = (slack[row].max(0.0), (slack[row] - self.y[row] * x * step).max(0.0));
                self.costs[row] * (new * new - old * old)
            };
            let fall = self.columns.column(j).map(change).sum::<f64>() + (*w + step).abs() - w.abs();
            if fall <= SUFFICIENT_DECREASE * predicted {
                self.columns.column(j).for_each(|(row, x)| slack[row] -= self.y[row] * x * step);
                *w += step;
                break;
            }
            step *= 0.5;
            predicted *= 0.5;
        }
        violation
    }
}
