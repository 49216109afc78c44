//! The steps: one sample at a time, in an order drawn anew for each epoch.

use tove_tensor::kernels::math::Float;
use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::{Element, Key};

use super::Schedule;
use super::loss::Loss;
use super::weights::{Row, Weights};
use crate::logistic::problem::Data;
use crate::{LearnError, Result};

/// What a run of stochastic gradient descent needs to know.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) who: &'static str,
    pub(super) loss: Loss,
    pub(super) alpha: f64,
    /// Shares of l1 and l2 in the penalty; both 0 without one.
    pub(super) l1: f64,
    pub(super) l2: f64,
    pub(super) fit_intercept: bool,
    pub(super) schedule: Schedule,
    pub(super) eta0: f64,
    pub(super) power_t: f64,
    pub(super) max_iter: usize,
    pub(super) tol: Option<f64>,
    pub(super) shuffle: bool,
    pub(super) patience: usize,
    pub(super) average: bool,
}

/// Slopes beyond this are cut, as in scikit-learn.
const STEEPEST: f64 = 1e12;

/// Weights under way.
#[derive(Clone, Debug)]
pub(super) struct State {
    weights: Weights,
    intercept: f64,
    mean_intercept: f64,
    /// Steps made, and one.
    t: f64,
    eta: f64,
    /// l1 due and paid.
    due: f64,
    paid: Vec<f64>,
    epochs: u64,
}

/// The samples of one run, as slices.
#[derive(Clone, Copy)]
pub(super) struct Set<'a, T> {
    pub(super) data: Data<'a, T>,
    pub(super) d: usize,
    /// ±1 or numbers.
    pub(super) y: &'a [f64],
    pub(super) weights: Option<&'a [f64]>,
    /// Rows to learn from, and rows to watch.
    pub(super) train: &'a [usize],
    pub(super) watch: &'a [usize],
}

impl<'a, T: Float + Element> Set<'a, T> {
    #[inline(always)]
    fn row(&self, row: usize) -> Row<'a, T> {
        match self.data {
            Data::Dense(x) => Row::Dense(&x[row * self.d..(row + 1) * self.d]),
            Data::Sparse(starts, columns, values) => {
                let range = starts[row]..starts[row + 1];
                Row::Sparse(&columns[range.clone()], &values[range])
            }
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) epochs: usize,
    pub(super) converged: bool,
    /// Mean loss with penalty over the last epoch.
    pub(super) objective: f64,
    /// Fall of the objective in the last epoch.
    pub(super) fall: f64,
    /// The objective of each epoch.
    pub(super) curve: Vec<f64>,
}

impl State {
    pub(super) fn new(plan: &Plan, d: usize) -> State {
        let paid = if plan.l1 > 0.0 { vec![0.0; d] } else { Vec::new() };
        let weights = Weights::new(d, plan.average);
        State { weights, intercept: 0.0, mean_intercept: 0.0, t: 1.0, eta: plan.eta0, due: 0.0, paid, epochs: 0 }
    }

    /// Number of features.
    pub(super) fn width(&self) -> usize {
        self.weights.now().len()
    }

    /// Weights and intercept of the model: the means if they are kept.
    pub(super) fn parameters(&mut self) -> (Vec<f64>, f64) {
        self.weights.settle();
        match self.weights.mean() {
            Some(mean) => (mean.to_vec(), self.mean_intercept),
            None => (self.weights.now().to_vec(), self.intercept),
        }
    }

    /// Epochs until the objective (or the score of the watched rows) stops improving.
    pub(super) fn run<T: Float + Element>(&mut self, plan: &Plan, set: Set<'_, T>, key: Key) -> Result<Ended> {
        let (mut best, mut patience, mut before) = (f64::INFINITY, 0, f64::INFINITY);
        let mut ended =
            Ended { epochs: 0, converged: false, objective: f64::NAN, fall: f64::INFINITY, curve: Vec::new() };
        while ended.epochs < plan.max_iter && !tove_optim::interrupted() {
            let loss = self.epoch(plan, set, key)?;
            ended.epochs += 1;
            ended.objective = loss;
            ended.curve.push(loss);
            ended.fall = before - loss;
            before = loss;
            let Some(tol) = plan.tol else { continue };
            let figure = if set.watch.is_empty() { loss } else { self.watched(plan, set) };
            patience = if figure > best - tol { patience + 1 } else { 0 };
            best = best.min(figure);
            if patience < plan.patience {
                continue;
            }
            if plan.schedule == Schedule::Adaptive && self.eta > 1e-6 {
                self.eta /= 5.0;
                patience = 0;
            } else {
                ended.converged = true;
                break;
            }
        }
        ended.converged |= plan.tol.is_none() && ended.epochs == plan.max_iter;
        Ok(ended)
    }

    /// One pass over the rows; the mean loss with penalty.
    pub(super) fn epoch<T: Float + Element>(&mut self, plan: &Plan, set: Set<'_, T>, key: Key) -> Result<f64> {
        let order: Option<Vec<i64>> =
            plan.shuffle.then(|| key.fold(self.epochs).permutation(set.train.len()).into_vec::<i64>()).transpose()?;
        self.epochs += 1;
        let loss = dispatch(Epoch { state: self, plan, set, order: order.as_deref() });
        if !self.weights.is_finite() || !self.intercept.is_finite() {
            let problem = "the weights grew beyond all numbers";
            return Err(LearnError::data(plan.who, problem, "scale the features, or choose a smaller `eta0`"));
        }
        let penalty = if plan.l1 + plan.l2 > 0.0 {
            plan.alpha * (0.5 * plan.l2 * self.weights.squares() + plan.l1 * self.weights.magnitudes())
        } else {
            0.0
        };
        Ok(loss / set.train.len() as f64 + penalty)
    }

    /// The share of watched rows that are wrong; for numbers, their mean square error relative to their variance.
    fn watched<T: Float + Element>(&self, plan: &Plan, set: Set<'_, T>) -> f64 {
        let count = set.watch.len() as f64;
        let score = |row: usize| self.weights.dot(set.row(row)) + self.intercept;
        match plan.loss {
            Loss::Class(_) => {
                let wrong = set.watch.iter().filter(|&&row| (score(row) > 0.0) != (set.y[row] > 0.0)).count();
                wrong as f64 / count
            }
            Loss::Regression(..) => {
                let mean = set.watch.iter().map(|&row| set.y[row]).sum::<f64>() / count;
                let spread: f64 = set.watch.iter().map(|&row| (set.y[row] - mean).powi(2)).sum();
                let error: f64 = set.watch.iter().map(|&row| (set.y[row] - score(row)).powi(2)).sum();
                error / spread.max(f64::MIN_POSITIVE)
            }
        }
    }
}

struct Epoch<'a, 'b, T> {
    state: &'a mut State,
    plan: &'a Plan,
    set: Set<'b, T>,
    order: Option<&'a [i64]>,
}

impl<T: Float + Element> Kernel for Epoch<'_, '_, T> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let Epoch { state, plan, set, order } = self;
        // Bottou's heuristic: the first step is as large as the weights are expected to become. Like scikit-learn's, it is not
        // damped for losses with slopes beyond 1.
        let typical = (1.0 / plan.alpha.sqrt()).sqrt();
        let offset = 1.0 / (typical * plan.alpha);
        let mut total = 0.0;
        for place in 0..set.train.len() {
            let row = set.train[order.map_or(place, |order| order[place] as usize)];
            let (x, y) = (set.row(row), set.y[row]);
            let weight = set.weights.map_or(1.0, |weights| weights[row]);
            let p = state.weights.dot(x) + state.intercept;
            total += weight * plan.loss.value(p, y);
            let eta = match plan.schedule {
                Schedule::Optimal => 1.0 / (plan.alpha * (offset + state.t - 1.0)),
                Schedule::Invscaling => plan.eta0 / state.t.powf(plan.power_t),
                Schedule::Constant | Schedule::Adaptive => state.eta,
            };
            let update = -eta * weight * plan.loss.slope(p, y).clamp(-STEEPEST, STEEPEST);
            if plan.l2 > 0.0 {
                state.weights.shrink((1.0 - plan.l2 * eta * plan.alpha).max(0.0));
            }
            if update != 0.0 {
                state.weights.add(x, update);
                if plan.fit_intercept {
                    state.intercept += update;
                }
            }
            if plan.average {
                state.weights.average(x, update, state.t);
                state.mean_intercept += (state.intercept - state.mean_intercept) / state.t;
            }
            if plan.l1 > 0.0 {
                state.due += plan.l1 * eta * plan.alpha;
                state.weights.charge(x, state.due, &mut state.paid);
            }
            state.t += 1.0;
        }
        total
    }
}
