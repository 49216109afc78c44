//! SAGA (Defazio, Bach, Lacoste-Julien 2014): variance-reduced stochastic gradients.
//!
//! The last derivative rᵢ of every sample's loss is stored, with the mean ḡ = (1/n) Σ rᵢ xᵢ. A step draws a sample,
//! recomputes its derivative r and sets w ← prox(w − γ ((r − rᵢ) x + ḡ + λ₂ w)), where prox soft-thresholds every
//! weight by γ λ₁. The expected direction is the gradient, and its variance goes to 0 near the optimum, so a constant
//! step size converges linearly to the optimum. With L the largest curvature of a sample's loss, γ = 1/(2L + min(2nλ₂,
//! L)).
//!
//! An epoch is n steps. When the mean of the stored gradients is small, and at every tenth epoch, the exact
//! (sub)gradient decides whether to stop; in between, the curve is the mean of the losses as samples were drawn. With
//! sparse rows a step only touches the weights of the row's columns: see [`saga_lazy`](super::saga_lazy) and
//! [`saga_scaled`](super::saga_scaled).

use tove_optim::interrupted;
use tove_tensor::kernels::math::Float;
use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::{Element, Key};

use super::kernels::Wide;
use super::objective::{Limits, Objective, Outcome, largest, overflow};
use super::problem::{Data, Problem};
use super::saga_lazy::{LazyUpdates, soft};
use super::saga_scaled::{self, Csr};
use crate::Result;

pub(super) struct State {
    /// Parameters (k, p).
    pub(super) w: Vec<f64>,
    /// Mean of the stored gradients (k, p).
    pub(super) mean: Vec<f64>,
    /// Stored derivatives (n, k).
    pub(super) slopes: Vec<f64>,
}

/// Epochs between exact evaluations.
const EXACT_INTERVAL: usize = 10;
/// The gradient is evaluated exactly if its estimate is within this factor of the tolerance.
const NEAR: f64 = 4.0;

/// Minimizes from the parameters `start`.
pub(super) fn minimize<T: Float + Element>(
    objective: &Objective<'_, '_, T>,
    limits: Limits,
    start: Vec<f64>,
    seed: u64,
) -> Result<Outcome> {
    let problem = objective.problem;
    let mut gradient = vec![0.0; start.len()];
    let mut state = State { mean: vec![0.0; start.len()], slopes: vec![0.0; problem.n * problem.outputs], w: start };
    let (step, strength) = (rate(problem, objective.strength.l2), objective.strength);
    if step == 0.0 {
        return Err(overflow()); // the squared norm of a row is infinite
    }
    let pace = Pace { step, keep: 1.0 - step * strength.l2, threshold: step * strength.l1 };
    let plain = problem.outputs == 1 && pace.threshold == 0.0;
    let mut lazy = match problem.data {
        Data::Sparse(..) if !plain => Some(LazyUpdates::new(pace, problem.n, problem.d)),
        _ => None,
    };
    let (mut epochs, mut curve, mut drawn) = (0, Vec::new(), 0.0);
    loop {
        let stopped = interrupted();
        // Before the first epoch no gradients are stored, so there is no estimate.
        let estimate = estimate(objective, &state);
        let exact =
            epochs % EXACT_INTERVAL == 0 || epochs >= limits.max_iter || estimate <= NEAR * limits.tol || stopped;
        if exact || !estimate.is_finite() {
            let value = objective.smooth(&state.w, &mut gradient) + objective.rough(&state.w);
            curve.push(value);
            let residual = largest(&objective.subgradient(&state.w, &gradient));
            if !residual.is_finite() {
                return Err(overflow());
            }
            if residual <= limits.tol || epochs >= limits.max_iter || stopped {
                let converged = residual <= limits.tol;
                return Ok(Outcome { parameters: state.w, value, residual, iterations: epochs, converged, curve });
            }
        } else {
            curve.push(drawn / problem.n as f64 + objective.penalty(&state.w));
        }
        let key = Key::new(seed).fold(epochs as u64);
        let order = key.try_integers(0, problem.n as i64, [problem.n])?.into_vec::<i64>()?;
        drawn = match problem.data {
            Data::Sparse(starts, columns, values) if plain => {
                let rows = Csr { starts, columns, values };
                dispatch(saga_scaled::Epoch { problem, rows, state: &mut state, pace, order: &order })
            }
            _ => dispatch(Epoch { problem, state: &mut state, pace, lazy: lazy.as_mut(), order: &order }),
        };
        epochs += 1;
    }
}

/// The largest entry of the (sub)gradient, with the mean of the stored gradients instead of the exact one.
fn estimate<T: Float + Element>(objective: &Objective<'_, '_, T>, state: &State) -> f64 {
    let mut gradient = state.mean.clone();
    for (index, gradient) in gradient.iter_mut().enumerate() {
        if objective.is_weight(index) {
            *gradient += objective.strength.l2 * state.w[index];
        }
    }
    largest(&objective.subgradient(&state.w, &gradient))
}

/// The normalized weight of a sample: its factor in the mean loss.
#[inline(always)]
pub(super) fn normalized_weight<T: Float + Element>(problem: &Problem<'_, T>, row: usize) -> f64 {
    problem.weights.as_ref().map_or(1.0, |weights| weights[row].wide() * problem.n as f64 / problem.total)
}

/// 1/(2L + min(2nλ₂, L)); the curvature of a logistic loss is at most ‖x‖²/4, that of a softmax ‖x‖²/2.
fn rate<T: Float + Element>(problem: &Problem<'_, T>, l2: f64) -> f64 {
    let bound = if problem.outputs == 1 { 0.25 } else { 0.5 };
    let square = |values: &[T]| values.iter().map(|x| x.wide() * x.wide()).sum::<f64>();
    let norm = |row: usize| match problem.data {
        Data::Dense(x) => square(&x[row * problem.d..(row + 1) * problem.d]),
        Data::Sparse(starts, _, x) => square(&x[starts[row]..starts[row + 1]]),
    };
    let constant = f64::from(u8::from(problem.intercept));
    let curvature = |row: usize| bound * normalized_weight(problem, row) * (norm(row) + constant);
    let max = (0..problem.n).map(curvature).fold(0.0, f64::max) + l2;
    if max > 0.0 { 1.0 / (2.0 * max + (2.0 * problem.n as f64 * l2).min(max)) } else { 1.0 }
}

/// Constants of a step on a weight w with mean gradient ḡ: w ← prox(keep · w − step · ḡ).
#[derive(Clone, Copy)]
pub(super) struct Pace {
    pub(super) step: f64,
    /// 1 − γ λ₂.
    pub(super) keep: f64,
    /// γ λ₁.
    pub(super) threshold: f64,
}

struct Epoch<'a, 'b, T> {
    problem: &'a Problem<'b, T>,
    state: &'a mut State,
    pace: Pace,
    /// For sparse rows, the pending lazy updates of each weight.
    lazy: Option<&'a mut LazyUpdates>,
    order: &'a [i64],
}

impl<T: Float + Element> Kernel for Epoch<'_, '_, T> {
    type Output = f64;

    /// Returns the sum of the losses of the drawn samples.
    #[inline(always)]
    fn run(self) -> f64 {
        let Epoch { problem, state, pace, mut lazy, order } = self;
        let (k, d, p) = (problem.outputs, problem.d, problem.width());
        let (mut z, mut losses) = (vec![0.0; k], 0.0);
        for (time, &row) in order.iter().enumerate() {
            let row = row as usize;
            if let (Some(lazy), Data::Sparse(starts, columns, _)) = (&mut lazy, problem.data) {
                lazy.catch_up(&columns[starts[row]..starts[row + 1]], time, p, &mut state.w, &state.mean);
            }
            for (z, w) in z.iter_mut().zip(state.w.chunks_exact(p)) {
                let bias = if problem.intercept { w[d] } else { 0.0 };
                *z = bias + dot(problem.data, row, d, w);
            }
            losses += slopes(&mut z, problem.codes[row] as usize, normalized_weight(problem, row));
            let old = &mut state.slopes[row * k..(row + 1) * k];
            for (output, (slope, old)) in z.iter().zip(old).enumerate() {
                let change = slope - *old;
                *old = *slope;
                let (w, mean) = (&mut state.w[output * p..][..p], &mut state.mean[output * p..][..p]);
                let part = change / problem.n as f64;
                if problem.intercept {
                    w[d] -= pace.step * (mean[d] + change);
                    mean[d] += part;
                }
                Move { change, part, pace }.apply(problem.data, row, &mut w[..d], &mut mean[..d]);
            }
        }
        if let Some(lazy) = lazy {
            lazy.catch_up_all(order.len(), p, &mut state.w, &state.mean);
        }
        losses
    }
}

/// wᵀx of a row.
#[inline(always)]
fn dot<T: Float>(data: Data<'_, T>, row: usize, d: usize, w: &[f64]) -> f64 {
    match data {
        Data::Dense(x) => x[row * d..(row + 1) * d].iter().zip(w).map(|(x, w)| x.wide() * w).sum(),
        Data::Sparse(starts, columns, x) => {
            let range = starts[row]..starts[row + 1];
            columns[range.clone()].iter().zip(&x[range]).map(|(&j, x)| x.wide() * w[j as usize]).sum()
        }
    }
}

/// Derivative and value of the binary loss, times the normalized sample weight.
#[inline(always)]
pub(super) fn slope(z: f64, code: usize, normalized_weight: f64) -> (f64, f64) {
    let e = (-z.abs()).exp();
    let p = if z >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
    let t = if code == 1 { -z } else { z };
    (normalized_weight * (p - code as f64), normalized_weight * (t.max(0.0) + e.ln_1p()))
}

/// Replaces scores by derivatives of the loss, times the normalized sample weight; returns the weighted loss.
#[inline(always)]
fn slopes(z: &mut [f64], code: usize, normalized_weight: f64) -> f64 {
    if let [z] = z {
        let (slope, loss) = slope(*z, code, normalized_weight);
        *z = slope;
        return loss;
    }
    let max = z.iter().fold(f64::NEG_INFINITY, |max, &z| max.max(z));
    let own = z[code] - max;
    z.iter_mut().for_each(|z| *z = (*z - max).exp());
    let sum: f64 = z.iter().sum();
    z.iter_mut()
        .enumerate()
        .for_each(|(class, z)| *z = normalized_weight * (*z / sum - f64::from(u8::from(class == code))));
    normalized_weight * (sum.ln() - own)
}

/// One step of the weights of one output: all of them, or those of the columns of a sparse row.
struct Move {
    change: f64,
    part: f64,
    pace: Pace,
}

impl Move {
    #[inline(always)]
    fn apply<T: Float>(&self, data: Data<'_, T>, row: usize, w: &mut [f64], mean: &mut [f64]) {
        let d = w.len();
        match data {
            Data::Dense(x) => {
                for ((w, mean), x) in w.iter_mut().zip(mean).zip(&x[row * d..(row + 1) * d]) {
                    self.one(x.wide(), w, mean);
                }
            }
            Data::Sparse(starts, columns, x) => {
                let range = starts[row]..starts[row + 1];
                for (&j, x) in columns[range.clone()].iter().zip(&x[range]) {
                    self.one(x.wide(), &mut w[j as usize], &mut mean[j as usize]);
                }
            }
        }
    }

    #[inline(always)]
    fn one(&self, x: f64, w: &mut f64, mean: &mut f64) {
        let Pace { step, keep, threshold } = self.pace;
        *w = soft(keep * *w - step * (*mean + self.change * x), threshold);
        *mean += self.part * x;
    }
}
