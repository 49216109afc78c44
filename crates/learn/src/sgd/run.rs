//! SGD steps: one sample at a time, in a random order for each epoch.

use tove_tensor::kernels::math::Float;
use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::{Element, Key};

use super::LearningRate;
use super::loss::Loss;
use super::weights::{Row, Sums, Weights};
use crate::logistic::problem::Data;
use crate::{LearnError, Result};

/// Hyperparameters of a run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) who: &'static str,
    pub(super) loss: Loss,
    pub(super) alpha: f64,
    /// Fractions of l1 and l2 in the penalty; both 0 without one.
    pub(super) l1: f64,
    pub(super) l2: f64,
    pub(super) fit_intercept: bool,
    pub(super) schedule: LearningRate,
    pub(super) eta0: f64,
    pub(super) power_t: f64,
    pub(super) max_iter: usize,
    pub(super) tol: Option<f64>,
    pub(super) shuffle: bool,
    pub(super) patience: usize,
    /// The first step that is averaged; 0 for no averaging.
    pub(super) average: usize,
}

/// Derivatives are clipped to this magnitude, as in scikit-learn.
const MAX_DERIVATIVE: f64 = 1e12;

/// A run has diverged if its loss is this many times that of the initial weights.
const DIVERGED: f64 = 1e3;

/// The weights during training.
#[derive(Clone, Debug)]
pub(super) struct State {
    weights: Weights,
    intercept: f64,
    mean_intercept: f64,
    /// Whether any step was averaged.
    averaged: bool,
    /// Number of steps plus one.
    t: f64,
    eta: f64,
    /// l1 penalty accumulated and applied.
    due: f64,
    paid: Vec<f64>,
    norms: Norms,
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
    /// Training rows and validation rows.
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

/// Result of a run.
#[derive(Clone, Debug)]
pub(super) struct RunResult {
    pub(super) epochs: usize,
    pub(super) converged: bool,
    /// Mean regularized loss over the last epoch.
    pub(super) objective: f64,
    /// Decrease of the objective in the last epoch.
    pub(super) fall: f64,
    /// The objective of each epoch.
    pub(super) curve: Vec<f64>,
}

impl State {
    pub(super) fn new(plan: &Plan, d: usize) -> State {
        let paid = if plan.l1 > 0.0 { vec![0.0; d] } else { Vec::new() };
        let weights = Weights::new(d, plan.average > 0);
        let norms = Norms::default();
        let (intercept, mean_intercept, averaged) = (0.0, 0.0, false);
        let (t, eta, due, epochs) = (1.0, plan.eta0, 0.0, 0);
        State { weights, intercept, mean_intercept, averaged, t, eta, due, paid, norms, epochs }
    }

    /// Number of features.
    pub(super) fn width(&self) -> usize {
        self.weights.now().len()
    }

    /// Weights and intercept of the model: the averages if enabled.
    pub(super) fn parameters(&mut self) -> (Vec<f64>, f64) {
        self.weights.apply_scale();
        match self.weights.mean() {
            Some(mean) if self.averaged => (mean.to_vec(), self.mean_intercept),
            _ => (self.weights.now().to_vec(), self.intercept),
        }
    }

    /// Runs epochs until the objective (or the validation score) stops improving.
    pub(super) fn run<T: Float + Element>(&mut self, plan: &Plan, set: Set<'_, T>, key: Key) -> Result<RunResult> {
        let (mut best, mut patience, mut before) = (f64::INFINITY, 0, f64::INFINITY);
        let mut result =
            RunResult { epochs: 0, converged: false, objective: f64::NAN, fall: f64::INFINITY, curve: Vec::new() };
        while result.epochs < plan.max_iter && !tove_optim::interrupted() {
            let loss = self.epoch(plan, set, key)?;
            result.epochs += 1;
            result.objective = loss;
            result.curve.push(loss);
            result.fall = before - loss;
            before = loss;
            let Some(tol) = plan.tol else { continue };
            let figure = if set.watch.is_empty() { loss } else { self.watched(plan, set) };
            patience = if figure > best - tol { patience + 1 } else { 0 };
            best = best.min(figure);
            if patience < plan.patience {
                continue;
            }
            if plan.schedule == LearningRate::Adaptive && self.eta > 1e-6 {
                self.eta /= 5.0;
                patience = 0;
            } else {
                result.converged = true;
                break;
            }
        }
        result.converged |= plan.tol.is_none() && result.epochs == plan.max_iter;
        if let Loss::Regression(..) = plan.loss {
            let still =
                set.train.iter().map(|&row| plan.loss.value(0.0, set.y[row])).sum::<f64>() / set.train.len() as f64;
            if still > 0.0 && result.objective > DIVERGED * still {
                let problem = format!(
                    "SGD diverged: the mean loss is {:e}, compared with {still:e} for the initial weights",
                    result.objective
                );
                return Err(LearnError::data(plan.who, problem, "scale the features, or choose a smaller `eta0`"));
            }
        }
        Ok(result)
    }

    /// One pass over the rows. Returns the mean of loss and penalty, each sample evaluated at the weights before its
    /// step (see [`Norms`] for l1). As in scikit-learn, sample weights do not enter it, so rescaled weights stop at the
    /// same epoch if they lead to the same steps.
    pub(super) fn epoch<T: Float + Element>(&mut self, plan: &Plan, set: Set<'_, T>, key: Key) -> Result<f64> {
        let order: Option<Vec<i64>> =
            plan.shuffle.then(|| key.fold(self.epochs).permutation(set.train.len()).into_vec::<i64>()).transpose()?;
        self.epochs += 1;
        let loss = dispatch(Epoch { state: self, plan, set, order: order.as_deref() });
        if !self.weights.is_finite() || !self.intercept.is_finite() {
            let problem = "the weights overflowed";
            return Err(LearnError::data(plan.who, problem, "scale the features, or choose a smaller `eta0`"));
        }
        Ok(loss / set.train.len() as f64)
    }

    /// The validation error: the fraction of misclassified rows; for regression, the mean squared error relative to the
    /// variance.
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

/// The norms of the weights that a penalty needs, updated in time proportional to the entries of a row.
///
/// With l1, they match scikit-learn's for dense rows, so that training stops at the same epoch: the norms after the
/// last step that added a row, before its l1 penalty was applied, times the l2 factors since. Steps that add nothing
/// skip their penalty. Sparse rows follow the same rule, with the norms of all weights.
#[derive(Clone, Debug, Default)]
struct Norms {
    /// ‖w‖₁, tracked with l1 only.
    magnitude: f64,
    /// ‖w‖².
    square: f64,
    /// With l1: the sums over all v including every penalty, where the weights are a scale times v, and the scale that
    /// they belong to. Dense rows do not need them.
    total: Sums,
    scale: f64,
}

impl Norms {
    /// Recomputes the sums at the start of an epoch, which removes the rounding errors of the last one.
    fn refresh(&mut self, plan: &Plan, weights: &Weights) {
        self.scale = weights.scale();
        self.total = weights.sums();
        if plan.l1 <= 0.0 {
            self.square = self.total.squares * self.scale * self.scale;
        }
    }

    #[inline(always)]
    fn penalty(&self, plan: &Plan) -> f64 {
        let square = if plan.l2 > 0.0 { self.square } else { 0.0 }; // without l2 it may overflow
        plan.alpha * (0.5 * plan.l2 * square + plan.l1 * self.magnitude)
    }

    /// Without l1: the squared norm of factor · w + update · x, given the product x·w from before.
    #[inline(always)]
    fn grow<T: Float>(&mut self, row: Row<'_, T>, factor: f64, update: f64, product: f64) {
        self.square *= factor * factor;
        if update != 0.0 {
            self.square += update * (2.0 * factor * product + update * row.square());
            self.square = self.square.max(0.0);
        }
    }

    /// With l1: updates the norms after the weights were scaled by a factor; returns the sums over the entries that a
    /// sparse row will change.
    #[inline(always)]
    fn shrink<T: Float>(&mut self, weights: &Weights, row: Row<'_, T>, factor: f64) -> Sums {
        self.magnitude *= factor;
        self.square *= factor * factor;
        let Row::Sparse(..) = row else { return Sums::default() };
        if weights.scale() != self.scale * factor {
            self.total = weights.sums(); // the factors were multiplied out
        }
        self.scale = weights.scale();
        weights.touched(row)
    }

    /// With l1: updates the norms after a row was added and before its penalty is applied; its entries had the sums
    /// `before`.
    #[inline(always)]
    fn add<T: Float>(&mut self, weights: &Weights, row: Row<'_, T>, before: Sums) {
        let sums = match row {
            Row::Dense(_) => weights.sums(),
            Row::Sparse(..) => self.total.replaced(before, weights.touched(row)),
        };
        self.magnitude = sums.magnitudes * weights.scale();
        self.square = sums.squares * weights.scale() * weights.scale();
    }

    /// With l1: updates the sums after the penalty of a sparse row was applied; its entries had the sums `before` when
    /// the step began.
    #[inline(always)]
    fn charge<T: Float>(&mut self, weights: &Weights, row: Row<'_, T>, before: Sums) {
        if let Row::Sparse(..) = row {
            self.total = self.total.replaced(before, weights.touched(row));
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
        // Bottou's heuristic: the first step is as large as the weights are expected to become. As in scikit-learn, it
        // is not damped for losses with derivatives beyond 1.
        let typical = (1.0 / plan.alpha.sqrt()).sqrt();
        let offset = 1.0 / (typical * plan.alpha);
        let mut total = 0.0;
        let (l1, l2) = (plan.l1 > 0.0, plan.l2 > 0.0);
        state.norms.refresh(plan, &state.weights);
        for index in 0..set.train.len() {
            let row = set.train[order.map_or(index, |order| order[index] as usize)];
            let (x, y) = (set.row(row), set.y[row]);
            let weight = set.weights.map_or(1.0, |weights| weights[row]);
            let product = state.weights.dot(x);
            let p = product + state.intercept;
            total += plan.loss.value(p, y) + state.norms.penalty(plan);
            let eta = match plan.schedule {
                LearningRate::Optimal => 1.0 / (plan.alpha * (offset + state.t - 1.0)),
                LearningRate::Invscaling => plan.eta0 / state.t.powf(plan.power_t),
                LearningRate::Constant | LearningRate::Adaptive => state.eta,
            };
            let update = -eta * weight * plan.loss.slope(p, y).clamp(-MAX_DERIVATIVE, MAX_DERIVATIVE);
            let factor = if l2 { (1.0 - plan.l2 * eta * plan.alpha).max(0.0) } else { 1.0 };
            if l2 {
                state.weights.shrink(factor);
            }
            let mut before = Sums::default();
            if l1 {
                before = state.norms.shrink(&state.weights, x, factor);
            } else if l2 {
                state.norms.grow(x, factor, update, product);
            }
            if update != 0.0 {
                state.weights.add(x, update);
                if l1 {
                    state.norms.add(&state.weights, x, before);
                }
                if plan.fit_intercept {
                    state.intercept += update;
                }
            }
            if plan.average > 0 && state.t >= plan.average as f64 {
                let count = state.t - plan.average as f64 + 1.0;
                state.weights.average(x, update, count);
                state.mean_intercept += (state.intercept - state.mean_intercept) / count;
                state.averaged = true;
            }
            if l1 {
                state.due += plan.l1 * eta * plan.alpha;
                state.weights.charge(x, state.due, &mut state.paid);
                state.norms.charge(&state.weights, x, before);
            }
            state.t += 1.0;
        }
        total
    }
}
