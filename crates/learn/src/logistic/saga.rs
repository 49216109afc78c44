//! SAGA (Defazio, Bach, Lacoste-Julien 2014): stochastic gradients whose noise dies out.
//!
//! The last slope rᵢ of every sample's loss is remembered, with the mean ḡ = (1/n) Σ rᵢ xᵢ. A step draws a sample, computes its
//! slope r anew and goes w ← prox(w − γ ((r − rᵢ) x + ḡ + λ₂ w)), where prox moves every weight towards 0 by γ λ₁. The expected
//! direction is the gradient, and its variance falls to 0 with the distance from the optimum, so a constant rate converges at a
//! geometric pace to the optimum itself. With L the largest curvature of a sample's loss, γ = 1/(2L + min(2nλ₂, L)).
//!
//! An epoch is n steps. When the mean of the remembered gradients is small, and at every tenth epoch, the exact (sub)gradient
//! decides whether to stop; the curve in between is the mean of the losses as samples were drawn. With sparse rows a step touches
//! only the weights of the columns that its row has: see [`lagged`](super::lagged) and [`scaled`](super::scaled).

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
    /// Mean of the remembered gradients (k, p).
    pub(super) mean: Vec<f64>,
    /// Remembered slopes (n, k).
    pub(super) slopes: Vec<f64>,
}

/// Epochs between exact evaluations.
const EXACT: usize = 10;
/// An exact evaluation is worth its price when the estimated gradient is within this factor of the tolerance.
const NEAR: f64 = 4.0;

/// Minimises from the parameters `start`.
pub(super) fn minimise<T: Float + Element>(
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
        return Err(overflow()); // the squared length of a row is infinite
    }
    let pace = Pace { step, keep: 1.0 - step * strength.l2, threshold: step * strength.l1 };
    let plain = problem.outputs == 1 && pace.threshold == 0.0;
    let mut lagged = match problem.data {
        Data::Sparse(..) if !plain => Some(LazyUpdates::new(pace, problem.n, problem.d)),
        _ => None,
    };
    let (mut epochs, mut curve, mut drawn) = (0, Vec::new(), 0.0);
    loop {
        let stopped = interrupted();
        // Before the first epoch nothing is remembered yet, so there is no estimate.
        let estimate = estimate(objective, &state);
        let exact = epochs % EXACT == 0 || epochs >= limits.max_iter || estimate <= NEAR * limits.tol || stopped;
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
            _ => dispatch(Epoch { problem, state: &mut state, pace, lagged: lagged.as_mut(), order: &order }),
        };
        epochs += 1;
    }
}

/// The largest entry of the (sub)gradient, with the mean of the remembered gradients in place of the exact one.
fn estimate<T: Float + Element>(objective: &Objective<'_, '_, T>, state: &State) -> f64 {
    let mut gradient = state.mean.clone();
    for (place, gradient) in gradient.iter_mut().enumerate() {
        if objective.is_weight(place) {
            *gradient += objective.strength.l2 * state.w[place];
        }
    }
    largest(&objective.subgradient(&state.w, &gradient))
}

/// What the weight of a sample makes of its loss in the mean.
#[inline(always)]
pub(super) fn share<T: Float + Element>(problem: &Problem<'_, T>, row: usize) -> f64 {
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
    let curvature = |row: usize| bound * share(problem, row) * (norm(row) + constant);
    let most = (0..problem.n).map(curvature).fold(0.0, f64::max) + l2;
    if most > 0.0 { 1.0 / (2.0 * most + (2.0 * problem.n as f64 * l2).min(most)) } else { 1.0 }
}

/// What a step does to a weight w with mean gradient ḡ: w ← prox(keep · w − step · ḡ).
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
    /// For sparse rows, how far each weight lags behind.
    lagged: Option<&'a mut LazyUpdates>,
    order: &'a [i64],
}

impl<T: Float + Element> Kernel for Epoch<'_, '_, T> {
    type Output = f64;

    /// Gives the sum of the losses met on the way.
    #[inline(always)]
    fn run(self) -> f64 {
        let Epoch { problem, state, pace, mut lagged, order } = self;
        let (k, d, p) = (problem.outputs, problem.d, problem.width());
        let (mut z, mut losses) = (vec![0.0; k], 0.0);
        for (time, &row) in order.iter().enumerate() {
            let row = row as usize;
            if let (Some(lagged), Data::Sparse(starts, columns, _)) = (&mut lagged, problem.data) {
                lagged.catch_up(&columns[starts[row]..starts[row + 1]], time, p, &mut state.w, &state.mean);
            }
            for (z, w) in z.iter_mut().zip(state.w.chunks_exact(p)) {
                let bias = if problem.intercept { w[d] } else { 0.0 };
                *z = bias + dot(problem.data, row, d, w);
            }
            losses += slopes(&mut z, problem.codes[row] as usize, share(problem, row));
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
        if let Some(lagged) = lagged {
            lagged.catch_up_all(order.len(), p, &mut state.w, &state.mean);
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

/// The slope of the loss of two classes and the loss, times the sample's share.
#[inline(always)]
pub(super) fn slope(z: f64, code: usize, share: f64) -> (f64, f64) {
    let e = (-z.abs()).exp();
    let p = if z >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
    let t = if code == 1 { -z } else { z };
    (share * (p - code as f64), share * (t.max(0.0) + e.ln_1p()))
}

/// Scores become slopes of the loss, times the sample's share; gives the loss, times the same.
#[inline(always)]
fn slopes(z: &mut [f64], code: usize, share: f64) -> f64 {
    if let [z] = z {
        let (slope, loss) = slope(*z, code, share);
        *z = slope;
        return loss;
    }
    let most = z.iter().fold(f64::NEG_INFINITY, |most, &z| most.max(z));
    let own = z[code] - most;
    z.iter_mut().for_each(|z| *z = (*z - most).exp());
    let sum: f64 = z.iter().sum();
    z.iter_mut().enumerate().for_each(|(class, z)| *z = share * (*z / sum - f64::from(u8::from(class == code))));
    share * (sum.ln() - own)
}

/// One step of the weights of one output: all of them, or those of the columns that a sparse row has.
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
