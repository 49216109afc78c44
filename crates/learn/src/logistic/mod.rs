//! Logistic and softmax regression: linear classifiers fitted by maximum likelihood.
//!
//! For two classes p(1 | x) = σ(w·x + b); for m classes p = softmax(W x + b) with all m rows of W (the overparametrized
//! symmetric form). The objective with sample weights s is
//!
//! (1/Σs) Σᵢ sᵢ (−ln p(yᵢ | xᵢ)) + 1/(C Σs) · ( (1 − ρ)/2 ‖W‖² + ρ ‖W‖₁ ),
//!
//! which is scikit-learn's objective divided by C Σs. Intercepts are not penalized; ρ is `l1_ratio` (0 for l2, 1 for
//! l1). [`LogisticRegression`] stops when no entry of the (sub)gradient exceeds `tol`. Solvers:
//!
//! - `newton`: the exact Hessian and Cholesky factorization (iteratively reweighted least squares); proximal Newton
//!   steps with an l1 penalty; conjugate gradients on Hessian-vector products if there are too many parameters for a
//!   matrix;
//! - `lbfgs`: L-BFGS preconditioned with the second moments of the columns, orthant-wise with an l1 penalty; for two
//!   classes and many samples, started from the solution on an eighth of them;
//! - `saga`: variance-reduced stochastic gradients, for all penalties; features should be scaled.
//!
//! `auto` chooses the cheaper of `newton` and `lbfgs` by an estimate from the shape of the rows: `newton` for few
//! samples or few parameters, else `lbfgs`. Rows are read in place, in blocks; the result has the same bits for any
//! number of threads.
//!
//! Without a penalty the weights of separable classes grow without bound: the fit stops at `tol` or `max_iter`, and the
//! summary contains a warning.
//!
//! ```
//! use tove_learn::{Fit, LogisticRegression, Predict};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [1.0], [2.0], [3.0]]);
//! let y = Tensor::from([0i64, 1, 0, 1]);
//! let model = LogisticRegression::default().fit(&x, &y)?;
//! assert_eq!(model.predict(&x)?.to_vec::<i64>(), [0, 0, 1, 1]);
//! assert!((model.predict_proba(&x)?.at::<f64>(&[0, 0]) - 0.6636).abs() < 1e-3);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

mod cross_validated;
mod hessian;
pub(crate) mod kernels;
pub(crate) mod linear;
mod links;
mod model;
mod newton;
mod objective;
mod one_vs_rest;
mod preconditioner;
pub(crate) mod problem;
mod quasi_newton;
mod saga;
mod saga_lazy;
mod saga_scaled;
mod subsample_start;

pub use cross_validated::{Cs, FittedLogisticRegressionCv, LogisticRegressionCv};
pub use model::FittedLinearClassifier;
pub(crate) use model::LinearClassifier;
pub use one_vs_rest::{FittedOneVsRest, OneVsRest};

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::kernels::math::Float;
use tove_tensor::{Element, Tensor};

use crate::{Algorithm, Capabilities, ClassWeight, Labels, LearnError, Model, Result, Samples, Summary, with_real};
use linear::{Linear, Soft};
use objective::{Limits, Objective, Outcome, Strength};
use problem::Problem;

/// The penalty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Penalty {
    /// No penalty.
    None,
    /// Squared weights.
    #[default]
    L2,
    /// Absolute weights; many become exactly 0.
    L1,
    /// A combination of both, mixed by `l1_ratio`.
    Elasticnet,
}

/// The solver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Solver {
    /// The cheaper one by estimate: Newton for few samples or few parameters, else L-BFGS.
    #[default]
    Auto,
    /// Preconditioned L-BFGS; orthant-wise with an l1 penalty.
    Lbfgs,
    /// Newton's method; proximal with an l1 penalty.
    Newton,
    /// Stochastic average gradient (SAGA); `max_iter` is the number of passes over the samples.
    Saga,
}

/// Logistic regression for two classes, softmax regression for more.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct LogisticRegression {
    /// The penalty: none, l2, l1 or elasticnet.
    #[hyper(default = Penalty::L2)]
    pub penalty: Penalty,
    /// Inverse regularization strength; infinite for no penalty.
    #[hyper(default = 1.0, range = "(0, inf]", alias = "C")]
    pub c: f64,
    /// Fraction of l1 in an elasticnet penalty.
    #[hyper(default = 0.0, range = "[0, 1]")]
    pub l1_ratio: f64,
    /// Whether an intercept is fitted.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Stop when the largest absolute entry of the gradient of the regularized mean loss is at most this.
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub tol: f64,
    /// Maximum number of iterations.
    #[hyper(default = 100, range = "[0, inf)")]
    pub max_iter: usize,
    /// Class weights: none, balanced, or a list such as 0:1,1:5.
    #[hyper(default = ClassWeight::None)]
    pub class_weight: ClassWeight,
    /// The solver.
    #[hyper(default = Solver::Auto)]
    pub solver: Solver,
    /// Seed of the order in which saga draws samples.
    #[hyper(default = 0)]
    pub random_state: u64,
}

/// [`LogisticRegression`] under its name for more than two classes; the estimator is the same.
pub type SoftmaxRegression = LogisticRegression;

/// Largest number of parameters for which `auto` considers Newton's method.
const MAX_NEWTON_PARAMETERS: usize = 256;
/// Estimated nanoseconds below which `auto` uses Newton's method without comparing, because it is more accurate.
const NEWTON_NANOSECONDS: f64 = 5e6;
/// Largest number of parameters for which the Hessian is formed as a matrix.
const MAX_HESSIAN_PARAMETERS: usize = 1500;
/// Scores beyond which a probability is 0 or 1 within rounding.
const SATURATED_SCORE: f64 = 36.0;

impl Algorithm for LogisticRegression {
    type Fitted = FittedLogisticRegression;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        sparse: true,
        probabilities: true,
        accuracy: 1e-6,
        decision_function: true,
        warm_start: true,
        ..Capabilities::CLASSIFIER
    };

    fn train(&self, samples: &Samples) -> Result<FittedLogisticRegression> {
        self.run(samples, None)
    }

    fn train_from(&self, start: &FittedLogisticRegression, samples: &Samples) -> Result<FittedLogisticRegression> {
        self.run(samples, Some(start))
    }
}

impl LogisticRegression {
    fn run(&self, samples: &Samples, from: Option<&FittedLogisticRegression>) -> Result<FittedLogisticRegression> {
        let labels = Labels::several(Self::NAME, samples.y()?)?;
        let given = samples.weights().map(Tensor::to_f64_vec);
        let weights = self.class_weight.apply(Self::NAME, labels.classes(), labels.codes(), given)?;
        if from.is_some_and(|model| model.classes() != labels.classes()) {
            let fix = "fit from the start, or to samples of the same classes";
            return Err(LearnError::unsupported(Self::NAME, "cannot continue from a model of other classes", fix));
        }
        let start = from.map(|model| model.parameters(self.fit_intercept));
        with_real!(samples.x().dtype(), T => self.solve::<T>(samples, &labels, weights.as_deref(), start))
    }
}

/// A fitted [`LogisticRegression`].
pub type FittedLogisticRegression = FittedLinearClassifier<LogisticRegression>;

impl LinearClassifier for LogisticRegression {
    fn soft(&self) -> Option<Soft> {
        Some(Soft::Softmax)
    }
}

/// Below this tolerance L-BFGS is limited by rounding, while Newton's method converges quadratically.
const MIN_LBFGS_TOL: f64 = 1e-7;

/// Whether Newton's method is estimated to cost less than L-BFGS. Both estimates are in nanoseconds on one core; only
/// their ratio matters: 8 Hessians, that is k(k + 1)/2 products of 2np² operations each plus a factorization, versus 12
/// passes over the stored values.
fn newton_is_cheaper<T: Float + Element>(problem: &Problem<'_, T>) -> bool {
    let (n, p, k) = (problem.n as f64, problem.width() as f64, problem.outputs as f64);
    let stored = problem.stored() as f64;
    let newton = 8.0 * (n * k * (k + 1.0) * p * p / 30.0 + (k * p).powi(3) / 15.0);
    let quasi = 12.0 * stored * (0.6 + 0.4 * k);
    newton <= quasi.max(NEWTON_NANOSECONDS)
}

/// The softmax does not change when the scores of all classes are shifted equally. Of the equivalent optima, chooses
/// the one whose intercepts (and weights, if not penalized) sum to 0.
fn center(parameters: &mut [f64], width: usize, d: usize, penalized: bool) {
    let outputs = parameters.len() / width;
    if outputs == 1 {
        return;
    }
    let first = if penalized { d } else { 0 };
    for column in first..width {
        let mean = parameters.iter().skip(column).step_by(width).sum::<f64>() / outputs as f64;
        parameters.iter_mut().skip(column).step_by(width).for_each(|value| *value -= mean);
    }
}

impl LogisticRegression {
    fn solve<T: Float + Element>(
        &self,
        samples: &Samples,
        labels: &Labels,
        weights: Option<&[f64]>,
        start: Option<Vec<f64>>,
    ) -> Result<FittedLogisticRegression> {
        let classes = labels.classes();
        let problem = Problem::<T>::new(samples.x(), labels.codes(), classes.len(), weights, self.fit_intercept)?;
        let objective = Objective { problem: &problem, strength: self.strength(problem.total()) };
        let problem_data = subsample_start::FullProblem {
            x: samples.x(),
            codes: labels.codes(),
            weights,
            intercept: self.fit_intercept,
            strength: objective.strength,
        };
        let mut outcome = self.minimize(&objective, &problem_data, start)?;
        center(&mut outcome.parameters, problem.width(), samples.width(), self.is_penalized());
        let linear = Linear::from_parameters(&outcome.parameters, samples.width(), classes.len(), T::DTYPE)?;
        Ok(FittedLinearClassifier::new(self, classes, linear, self.summary(&problem, &outcome)))
    }

    fn is_penalized(&self) -> bool {
        self.penalty != Penalty::None && self.c.is_finite()
    }

    fn strength(&self, total: f64) -> Strength {
        let l1_ratio = match self.penalty {
            Penalty::None => return Strength { l1: 0.0, l2: 0.0 },
            Penalty::L2 => 0.0,
            Penalty::L1 => 1.0,
            Penalty::Elasticnet => self.l1_ratio,
        };
        let strength = 1.0 / (self.c * total);
        Strength { l1: l1_ratio * strength, l2: (1.0 - l1_ratio) * strength }
    }

    fn minimize<T: Float + Element>(
        &self,
        objective: &Objective<'_, '_, T>,
        problem_data: &subsample_start::FullProblem<'_>,
        from: Option<Vec<f64>>,
    ) -> Result<Outcome> {
        let size = objective.problem.size();
        let limits = Limits { tol: self.tol, max_iter: self.max_iter };
        let fresh = from.is_none();
        let start = from.unwrap_or_else(|| vec![0.0; size]);
        let newton = match self.solver {
            Solver::Auto => {
                size <= MAX_NEWTON_PARAMETERS
                    && (objective.strength.l1 > 0.0 || self.tol < MIN_LBFGS_TOL || newton_is_cheaper(objective.problem))
            }
            Solver::Lbfgs => false,
            Solver::Newton => true,
            Solver::Saga => return saga::minimize(objective, limits, start, self.random_state),
        };
        match (newton, size <= MAX_HESSIAN_PARAMETERS, objective.strength.l1 > 0.0) {
            (true, true, _) => newton::minimize(objective, limits, start),
            (true, false, false) => newton::minimize_by_products(objective, limits, start),
            _ if fresh && objective.problem.outputs == 1 => match problem_data.start::<T>(limits)? {
                Some((start, model)) => {
                    // There are only a few, accurate steps here: a tighter tolerance costs little.
                    let closer = Limits { tol: 0.3 * limits.tol, ..limits };
                    let outcome = quasi_newton::minimize(objective, closer, (start, Some(model)))?;
                    Ok(Outcome { converged: outcome.converged || outcome.residual <= limits.tol, ..outcome })
                }
                None => quasi_newton::minimize(objective, limits, (start, None)),
            },
            _ => quasi_newton::minimize(objective, limits, (start, None)),
        }
    }

    fn summary<T: Float + Element>(&self, problem: &Problem<'_, T>, outcome: &Outcome) -> Summary {
        let who = Self::NAME;
        let mut summary =
            Summary::iterative(who, outcome.iterations, outcome.converged, outcome.residual, outcome.value);
        summary.curve.clone_from(&outcome.curve);
        if !self.is_penalized() {
            let (smallest, largest) = problem.margins(&outcome.parameters);
            if smallest > 0.0 {
                summary.warn(format!(
                    "{who}: a hyperplane separates the classes perfectly, so without a penalty the weights grow without \
                     bound and depend on when the solver stops; set `penalty` to l2, or collect samples near the boundary"
                ));
            } else if largest > SATURATED_SCORE {
                summary.warn(format!(
                    "{who}: some probabilities are 0 or 1 within rounding (a score of {largest:.0}); part of the classes may be \
                     separable and the weights unreliable; set `penalty` to l2"
                ));
            }
        }
        summary
    }
}
