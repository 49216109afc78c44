//! The interior-point method behind quantile regression.
//!
//! In the form min cᵀx subject to Ax = b, 0 ≤ x ≤ 1 (c = −y, A = Zᵀ) the conditions are Ax = b, x + s = 1, Aᵀλ + z − w = c,
//! xz = μ, sw = μ. Eliminating all but λ leaves (A Q Aᵀ) dλ = right-hand side with the diagonal Q = 1/(z/x + w/s): a weighted
//! Gram matrix of the rows. The regression coefficients are −λ.

use tove_tensor::linalg::Triangle;
use tove_tensor::{Tensor, TryLinalg};

use super::moments::{Data, Moments};
use super::operator::Operator;
use super::quantile::QuantileRegressor;
use crate::Result;

/// Fraction of the way to the boundary that a step may take.
const NEAR: f64 = 0.99995;

/// Result of the iterations.
pub(super) struct End {
    pub(super) coefficients: Vec<f64>,
    pub(super) intercept: f64,
    pub(super) iterations: usize,
    pub(super) converged: bool,
    pub(super) gap: f64,
    pub(super) objective: f64,
}

/// The linear program over rows r·(z, 1), with implicitly centered and scaled features z.
pub(super) struct LinearProgram<'a> {
    pub(super) data: &'a Data<'a>,
    operator: Operator<'a>,
    pub(super) moments: &'a Moments,
    /// Standard deviations of the columns, 1 for constant ones.
    pub(super) scales: Vec<f64>,
    /// Factors of the rows: the sample weights.
    pub(super) weights: Vec<f64>,
    /// Weighted, centered and scaled targets, followed by zeros for the penalty rows.
    pub(super) target: Vec<f64>,
    /// Entry of each penalty row, 2αW/scale; empty without a penalty.
    penalties: Vec<f64>,
    quantile: f64,
    pub(super) intercept: bool,
    unit: f64,
}

/// The variables, one per row, and λ.
#[derive(Clone)]
pub(super) struct State {
    pub(super) x: Vec<f64>,
    pub(super) s: Vec<f64>,
    z: Vec<f64>,
    w: Vec<f64>,
    pub(super) lambda: Vec<f64>,
}

struct Step {
    x: Vec<f64>,
    z: Vec<f64>,
    w: Vec<f64>,
    lambda: Vec<f64>,
}

impl<'a> LinearProgram<'a> {
    pub(super) fn new(settings: &QuantileRegressor, data: &'a Data, moments: &'a Moments) -> Result<LinearProgram<'a>> {
        let (n, d) = (data.len(), data.width());
        let spread = |j: usize| (moments.gram[j * d + j] / moments.weight).sqrt();
        let noise = |j: usize| 8.0 * f64::EPSILON * moments.mean_x[j].abs();
        let scales: Vec<f64> = (0..d).map(|j| if spread(j) > noise(j) { spread(j) } else { 1.0 }).collect();
        let unit = (moments.squares[0] / moments.weight).sqrt();
        let unit = if unit > 0.0 { unit } else { 1.0 };
        let weights = data.weights_or_ones().into_owned();
        let level = moments.mean_y[0];
        let mut target: Vec<f64> = (0..n).map(|i| weights[i] * (data.y[i] - level) / unit).collect();
        let strength = 2.0 * settings.alpha * moments.weight;
        let penalties = if strength > 0.0 { scales.iter().map(|scale| strength / scale).collect() } else { Vec::new() };
        target.resize(n + penalties.len(), 0.0);
        let (operator, quantile, intercept) = (Operator::plain(data.x), settings.quantile, settings.fit_intercept);
        Ok(LinearProgram { data, operator, moments, scales, weights, target, penalties, quantile, intercept, unit })
    }

    pub(super) fn parameters(&self) -> usize {
        self.scales.len() + usize::from(self.intercept)
    }

    /// Aᵀv: one value per row.
    pub(super) fn rows(&self, v: &[f64]) -> Result<Vec<f64>> {
        let d = self.scales.len();
        let scaled: Vec<f64> = v[..d].iter().zip(&self.scales).map(|(v, scale)| v / scale).collect();
        let offset: f64 = self.moments.mean_x.iter().zip(&scaled).map(|(mean, v)| mean * v).sum();
        let offset = if self.intercept { v[d] - offset } else { -offset };
        let mut out = self.operator.times(&scaled)?;
        out.iter_mut().zip(&self.weights).for_each(|(out, weight)| *out = (*out + offset) * weight);
        out.extend(self.penalties.iter().zip(v).map(|(penalty, v)| penalty * v));
        Ok(out)
    }

    /// A u: one value per parameter.
    fn columns(&self, u: &[f64]) -> Result<Vec<f64>> {
        let (n, d) = (self.weights.len(), self.scales.len());
        let weighted: Vec<f64> = u[..n].iter().zip(&self.weights).map(|(u, weight)| u * weight).collect();
        let total: f64 = weighted.iter().sum();
        let mut out = self.operator.transposed(&weighted)?;
        for j in 0..d {
            out[j] = (out[j] - self.moments.mean_x[j] * total) / self.scales[j];
            out[j] += self.penalties.get(j).map_or(0.0, |penalty| penalty * u[n + j]);
        }
        if self.intercept {
            out.push(total);
        }
        Ok(out)
    }

    /// The Cholesky factor of A Q Aᵀ.
    fn factor(&self, q: &[f64]) -> Result<Tensor> {
        let (n, d, p) = (self.weights.len(), self.scales.len(), self.parameters());
        let weights = q[..n].iter().zip(&self.weights).map(|(q, weight)| q * weight * weight).collect();
        let rows = Data { x: self.data.x, y: vec![1.0; n], outputs: 1, weights: Some(weights), unchecked: false };
        let sums = Moments::shifted(&rows, &self.moments.mean_x)?;
        let mut matrix = vec![0.0; p * p];
        let mut largest = if self.intercept { sums.squares[0] } else { f64::MIN_POSITIVE };
        for i in 0..d {
            largest = largest.max(sums.gram[i * d + i] / (self.scales[i] * self.scales[i]));
            for j in 0..d {
                matrix[i * p + j] = sums.gram[i * d + j] / (self.scales[i] * self.scales[j]);
            }
            matrix[i * p + i] += self.penalties.get(i).map_or(0.0, |penalty| q[n + i] * penalty * penalty);
            if self.intercept {
                let entry = sums.cross[i] / self.scales[i];
                (matrix[i * p + d], matrix[d * p + i]) = (entry, entry);
            }
        }
        if self.intercept {
            matrix[p * p - 1] = sums.squares[0];
        }
        // Jitter for dependent columns. It is relative to the samples, not to the penalty, which is larger by orders of
        // magnitude for small features and would dominate the intercept.
        let mut jitter = 1e-15;
        loop {
            let mut lifted = matrix.clone();
            (0..p).for_each(|i| lifted[i * p + i] += jitter * (matrix[i * p + i] + 1e-3 * largest));
            match Tensor::try_from_vec(lifted, [p, p])?.try_cholesky() {
                Err(_) if jitter < 1e-3 => jitter *= 100.0,
                factor => return Ok(factor?),
            }
        }
    }

    fn start(&self) -> Result<State> {
        let (n, rows) = (self.weights.len(), self.target.len());
        let x: Vec<f64> = (0..rows).map(|i| if i < n { 1.0 - self.quantile } else { 0.5 }).collect();
        let s = x.iter().map(|x| 1.0 - x).collect();
        // λ from least squares, dual variables from its residual.
        let factor = self.factor(&vec![1.0; rows])?;
        let lambda: Vec<f64> = solve(&factor, &self.columns(&self.target)?)?.iter().map(|b| -b).collect();
        let fitted = self.rows(&lambda)?;
        let residual: Vec<f64> = self.target.iter().zip(&fitted).map(|(y, f)| -y - f).collect();
        let size = residual.iter().map(|r| r.abs()).sum::<f64>() / rows as f64;
        let lift = 0.1 * size + 1e-6;
        let z = residual.iter().map(|r| r.max(0.0) + lift).collect();
        let w = residual.iter().map(|r| (-r).max(0.0) + lift).collect();
        Ok(State { x, s, z, w, lambda })
    }

    /// The objective at the coefficients −λ, and the duality gap.
    pub(super) fn objective(&self, state: &State) -> Result<(f64, f64)> {
        let n = self.weights.len();
        let fitted = self.rows(&state.lambda)?;
        let mut primal = 0.0;
        let mut dual = 0.0;
        for (i, y) in self.target.iter().enumerate() {
            let q = if i < n { self.quantile } else { 0.5 };
            let r = y + fitted[i];
            primal += if r >= 0.0 { q * r } else { (q - 1.0) * r };
            dual += y * (state.x[i] - (1.0 - q));
        }
        Ok((primal, primal - dual))
    }

    pub(super) fn solve(&self, max_iter: usize, tol: f64) -> Result<End> {
        let mut state = self.start()?;
        let (mut objective, mut gap) = self.objective(&state)?;
        let (mut best, mut best_gap) = (state.clone(), gap.abs());
        let (mut iterations, mut idle) = (0, 0);
        while iterations < max_iter && best_gap > tol * (1e-3 * self.target.len() as f64 + objective.abs()) && idle < 8
        {
            if tove_optim::interrupted() {
                break;
            }
            iterations += 1;
            self.advance(&mut state)?;
            (objective, gap) = self.objective(&state)?;
            if gap.abs() < best_gap {
                (best, best_gap, idle) = (state.clone(), gap.abs(), 0);
            } else {
                idle += 1;
            }
        }
        if let Some(lambda) = self.vertex(&best)? {
            best.lambda = lambda;
        }
        let (objective, _) = self.objective(&best)?;
        let relative = best_gap / (1e-3 * self.target.len() as f64 + objective.abs());
        let d = self.scales.len();
        let coefficients: Vec<f64> = (0..d).map(|j| -best.lambda[j] * self.unit / self.scales[j]).collect();
        let offset: f64 = self.moments.mean_x.iter().zip(&coefficients).map(|(mean, w)| mean * w).sum();
        let intercept = if self.intercept { self.moments.mean_y[0] - best.lambda[d] * self.unit - offset } else { 0.0 };
        let objective = objective * self.unit / self.moments.weight;
        // A gap at the limit of rounding counts as converged.
        Ok(End { coefficients, intercept, iterations, converged: relative < tol.max(1e-8), gap: relative, objective })
    }

    /// One Mehrotra predictor-corrector step.
    fn advance(&self, state: &mut State) -> Result<()> {
        let rows = self.target.len();
        let q: Vec<f64> = (0..rows).map(|i| 1.0 / (state.z[i] / state.x[i] + state.w[i] / state.s[i])).collect();
        let factor = self.factor(&q)?;
        let fitted = self.rows(&state.lambda)?;
        let dual: Vec<f64> = (0..rows).map(|i| -self.target[i] - fitted[i] - state.z[i] + state.w[i]).collect();
        let n = self.weights.len();
        let lack: Vec<f64> = (0..rows).map(|i| if i < n { 1.0 - self.quantile } else { 0.5 } - state.x[i]).collect();
        let lack = self.columns(&lack)?;
        let products: Vec<f64> = (0..rows).map(|i| state.x[i] * state.z[i]).collect();
        let slacks: Vec<f64> = (0..rows).map(|i| state.s[i] * state.w[i]).collect();
        let mu = (products.iter().sum::<f64>() + slacks.iter().sum::<f64>()) / (2 * rows) as f64;
        let plain_x: Vec<f64> = products.iter().map(|p| -p).collect();
        let plain_s: Vec<f64> = slacks.iter().map(|p| -p).collect();
        let newton = Newton { programme: self, state, factor: &factor, q: &q, dual: &dual, lack: &lack };
        let guess = newton.step(&plain_x, &plain_s)?;
        let (primal_size, dual_size) = guess.sizes(state);
        let after: f64 = (0..rows)
            .map(|i| {
                let (x, s) = (state.x[i] + primal_size * guess.x[i], state.s[i] - primal_size * guess.x[i]);
                let (z, w) = (state.z[i] + dual_size * guess.z[i], state.w[i] + dual_size * guess.w[i]);
                x * z + s * w
            })
            .sum::<f64>()
            / (2 * rows) as f64;
        let center = mu * (after / mu).clamp(0.0, 1.0).powi(3);
        let right_x: Vec<f64> = (0..rows).map(|i| center - products[i] - guess.x[i] * guess.z[i]).collect();
        let right_s: Vec<f64> = (0..rows).map(|i| center - slacks[i] + guess.x[i] * guess.w[i]).collect();
        let step = newton.step(&right_x, &right_s)?;
        let (primal_size, dual_size) = step.sizes(state);
        for i in 0..rows {
            state.x[i] += primal_size * step.x[i];
            state.s[i] -= primal_size * step.x[i];
            state.z[i] += dual_size * step.z[i];
            state.w[i] += dual_size * step.w[i];
        }
        state.lambda.iter_mut().zip(&step.lambda).for_each(|(l, step)| *l += dual_size * step);
        Ok(())
    }
}

/// Data that both systems of an iteration share.
struct Newton<'a> {
    programme: &'a LinearProgram<'a>,
    state: &'a State,
    factor: &'a Tensor,
    q: &'a [f64],
    dual: &'a [f64],
    lack: &'a [f64],
}

impl Newton<'_> {
    /// Computes the direction for the right-hand sides of xz and sw.
    fn step(&self, right_x: &[f64], right_s: &[f64]) -> Result<Step> {
        let State { x, s, z, w, .. } = self.state;
        let rows = x.len();
        let inner: Vec<f64> = (0..rows).map(|i| right_x[i] / x[i] - right_s[i] / s[i] - self.dual[i]).collect();
        let scaled: Vec<f64> = (0..rows).map(|i| self.q[i] * inner[i]).collect();
        let right: Vec<f64> =
            self.programme.columns(&scaled)?.iter().zip(self.lack).map(|(a, lack)| lack - a).collect();
        let lambda = solve(self.factor, &right)?;
        let moved = self.programme.rows(&lambda)?;
        let dx: Vec<f64> = (0..rows).map(|i| self.q[i] * (moved[i] + inner[i])).collect();
        let dz = (0..rows).map(|i| (right_x[i] - z[i] * dx[i]) / x[i]).collect();
        let dw = (0..rows).map(|i| (right_s[i] + w[i] * dx[i]) / s[i]).collect();
        Ok(Step { x: dx, z: dz, w: dw, lambda })
    }
}

impl Step {
    /// The longest primal and dual steps that keep the variables positive, slightly short of the boundary.
    fn sizes(&self, state: &State) -> (f64, f64) {
        let limit = |value: f64, change: f64| if change < 0.0 { -value / change } else { f64::INFINITY };
        let (mut primal, mut dual) = (f64::INFINITY, f64::INFINITY);
        for i in 0..self.x.len() {
            primal = primal.min(limit(state.x[i], self.x[i])).min(limit(state.s[i], -self.x[i]));
            dual = dual.min(limit(state.z[i], self.z[i])).min(limit(state.w[i], self.w[i]));
        }
        ((NEAR * primal).min(1.0), (NEAR * dual).min(1.0))
    }
}

/// (L Lᵀ)⁻¹ b.
fn solve(factor: &Tensor, right: &[f64]) -> Result<Vec<f64>> {
    let half = factor.try_triangular_solve(&Tensor::from_slice(right), Triangle::LOWER)?;
    Ok(factor.try_triangular_solve(&half, Triangle::LOWER.transposed())?.to_f64_vec())
}
