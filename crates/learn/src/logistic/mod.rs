//! Logistic and softmax regression: linear classifiers by maximum likelihood.
//!
//! For two classes p(1 | x) = σ(w·x + b); for m classes p = softmax(W x + b), all m rows of W kept (the symmetric form). The
//! objective, with the weights s of the samples, is
//!
//! (1/Σs) Σᵢ sᵢ (−ln p(yᵢ | xᵢ)) + 1/(C Σs) · ( (1 − ρ)/2 ‖W‖² + ρ ‖W‖₁ ),
//!
//! scikit-learn's divided by C Σs; intercepts are not penalised; ρ is `l1_ratio` (0 for l2, 1 for l1). [`LogisticRegression`]
//! stops when no entry of the (sub)gradient exceeds `tol`. Solvers:
//!
//! - `newton`: the exact Hessian and Cholesky (iteratively reweighted least squares); with an l1 part proximal Newton steps; with
//!   too many parameters for a matrix, conjugate gradients on products with the Hessian;
//! - `lbfgs`: L-BFGS preconditioned with the columns' second moments, orthant-wise with an l1 part; for two classes and many samples
//!   from a start that an eighth of them gives;
//! - `saga`: stochastic gradients of single samples whose noise dies out, for all penalties; features should be scaled.
//!
//! `auto` takes the cheaper of `newton` and `lbfgs`, as estimated from the shape of the rows: `newton` for few samples or few
//! parameters, else `lbfgs`. Rows are read where they lie, in blocks; the result has the
//! same bits for any number of threads.
//!
//! Without a penalty the weights of separable classes grow without bound: the fit stops at `tol` or `max_iter`, and the
//! summary's warning says so.
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

use crate::{Algorithm, Capabilities, ClassWeight, Labels, Result, Samples, Summary, with_real};
use linear::{Linear, Soft};
use objective::{Limits, Objective, Outcome, Strength};
use problem::Problem;

/// What is added to the loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Penalty {
    /// Nothing.
    None,
    /// Squares of the weights.
    #[default]
    L2,
    /// Magnitudes of the weights; many become exactly 0.
    L1,
    /// Both, in the proportion of `l1_ratio`.
    Elasticnet,
}

/// How the optimum is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Solver {
    /// By the estimated cost: Newton for few samples or few parameters, else L-BFGS.
    #[default]
    Auto,
    /// Preconditioned L-BFGS; orthant-wise with an l1 part.
    Lbfgs,
    /// Newton's method; proximal with an l1 part.
    Newton,
    /// Stochastic gradients with memory, one sample at a time; `max_iter` counts passes over the samples.
    Saga,
}

/// Logistic regression for two classes, softmax regression for more.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct LogisticRegression {
    /// What is added to the loss: none, l2, l1 or elasticnet.
    #[hyper(default = Penalty::L2)]
    pub penalty: Penalty,
    /// Inverse strength of the penalty; infinite for none.
    #[hyper(default = 1.0, range = "(0, inf]", alias = "C")]
    pub c: f64,
    /// Share of l1 in an elasticnet penalty.
    #[hyper(default = 0.0, range = "[0, 1]")]
    pub l1_ratio: f64,
    /// Whether there is an intercept.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Largest entry of the gradient of the mean loss with penalty at which the fit is done.
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub tol: f64,
    /// Iterations at most.
    #[hyper(default = 100, range = "[0, inf)")]
    pub max_iter: usize,
    /// Weights of the classes: none, balanced, or a list such as 0:1,1:5.
    #[hyper(default = ClassWeight::None)]
    pub class_weight: ClassWeight,
    /// How the optimum is found.
    #[hyper(default = Solver::Auto)]
    pub solver: Solver,
    /// Seed of the order in which saga draws samples.
    #[hyper(default = 0)]
    pub random_state: u64,
}

/// [`LogisticRegression`] under the name it has for more than two classes; the estimator is the same.
pub type SoftmaxRegression = LogisticRegression;

/// Parameters up to which `auto` considers Newton's method.
const SMALL: usize = 256;
/// Estimated nanoseconds below which `auto` takes Newton's method without comparing: it ends nearer to the optimum.
const BRIEF: f64 = 5e6;
/// Parameters up to which the Hessian is a matrix.
const MATRIX: usize = 1500;
/// Scores beyond which a probability is 0 or 1 to rounding.
const CERTAIN: f64 = 36.0;

impl Algorithm for LogisticRegression {
    type Fitted = FittedLogisticRegression;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        sparse: true,
        probabilities: true,
        accuracy: 1e-6,
        decision_function: true,
        ..Capabilities::CLASSIFIER
    };

    fn train(&self, samples: &Samples) -> Result<FittedLogisticRegression> {
        let labels = Labels::several(Self::NAME, samples.y()?)?;
        let given = samples.weights().map(Tensor::to_f64_vec);
        let weights = self.class_weight.apply(Self::NAME, labels.classes(), labels.codes(), given)?;
        with_real!(samples.x().dtype(), T => self.solve::<T>(samples, &labels, weights.as_deref()))
    }
}

/// A fitted [`LogisticRegression`].
pub type FittedLogisticRegression = FittedLinearClassifier<LogisticRegression>;

impl LinearClassifier for LogisticRegression {
    fn soft(&self) -> Option<Soft> {
        Some(Soft::Softmax)
    }
}

/// Below this tolerance rounding stops L-BFGS before it gets there, while Newton's method doubles its digits with every step.
const TIGHT: f64 = 1e-7;

/// Whether Newton's method is estimated to cost less than L-BFGS. Both estimates are in nanoseconds of one core, of which only the
/// ratio matters: 8 Hessians, that is k(k + 1)/2 products of 2np² operations each with a factorization, against 12 passes over the
/// numbers that are stored.
fn newton_is_cheaper<T: Float + Element>(problem: &Problem<'_, T>) -> bool {
    let (n, p, k) = (problem.n as f64, problem.width() as f64, problem.outputs as f64);
    let stored = problem.stored() as f64;
    let newton = 8.0 * (n * k * (k + 1.0) * p * p / 30.0 + (k * p).powi(3) / 15.0);
    let quasi = 12.0 * stored * (0.6 + 0.4 * k);
    newton <= quasi.max(BRIEF)
}

/// The softmax does not change when all classes' scores are shifted alike: of the equal optima, the one whose intercepts (and
/// weights, where nothing penalises them) sum to 0.
fn centre(parameters: &mut [f64], width: usize, d: usize, penalised: bool) {
    let outputs = parameters.len() / width;
    if outputs == 1 {
        return;
    }
    let first = if penalised { d } else { 0 };
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
    ) -> Result<FittedLogisticRegression> {
        let classes = labels.classes();
        let problem = Problem::<T>::new(samples.x(), labels.codes(), classes.len(), weights, self.fit_intercept)?;
        let objective = Objective { problem: &problem, strength: self.strength(problem.total()) };
        let whole = subsample_start::Whole {
            x: samples.x(),
            codes: labels.codes(),
            weights,
            intercept: self.fit_intercept,
            strength: objective.strength,
        };
        let mut outcome = self.minimise(&objective, &whole)?;
        centre(&mut outcome.parameters, problem.width(), samples.width(), self.is_penalised());
        let linear = Linear::from_parameters(&outcome.parameters, samples.width(), classes.len(), T::DTYPE)?;
        Ok(FittedLinearClassifier::new(self, classes, linear, self.summary(&problem, &outcome)))
    }

    fn is_penalised(&self) -> bool {
        self.penalty != Penalty::None && self.c.is_finite()
    }

    fn strength(&self, total: f64) -> Strength {
        let share = match self.penalty {
            Penalty::None => return Strength { l1: 0.0, l2: 0.0 },
            Penalty::L2 => 0.0,
            Penalty::L1 => 1.0,
            Penalty::Elasticnet => self.l1_ratio,
        };
        let whole = 1.0 / (self.c * total);
        Strength { l1: share * whole, l2: (1.0 - share) * whole }
    }

    fn minimise<T: Float + Element>(
        &self,
        objective: &Objective<'_, '_, T>,
        whole: &subsample_start::Whole<'_>,
    ) -> Result<Outcome> {
        let size = objective.problem.size();
        let limits = Limits { tol: self.tol, max_iter: self.max_iter };
        let start = vec![0.0; size];
        let newton = match self.solver {
            Solver::Auto => {
                size <= SMALL
                    && (objective.strength.l1 > 0.0 || self.tol < TIGHT || newton_is_cheaper(objective.problem))
            }
            Solver::Lbfgs => false,
            Solver::Newton => true,
            Solver::Saga => return saga::minimise(objective, limits, start, self.random_state),
        };
        match (newton, size <= MATRIX, objective.strength.l1 > 0.0) {
            (true, true, _) => newton::minimise(objective, limits, start),
            (true, false, false) => newton::minimise_by_products(objective, limits, start),
            _ if objective.problem.outputs == 1 => match whole.start::<T>(limits)? {
                Some((start, model)) => {
                    // Steps are few and good here: one more costs little and ends well within the tolerance.
                    let closer = Limits { tol: 0.3 * limits.tol, ..limits };
                    let outcome = quasi_newton::minimise(objective, closer, (start, Some(model)))?;
                    Ok(Outcome { converged: outcome.converged || outcome.residual <= limits.tol, ..outcome })
                }
                None => quasi_newton::minimise(objective, limits, (start, None)),
            },
            _ => quasi_newton::minimise(objective, limits, (start, None)),
        }
    }

    fn summary<T: Float + Element>(&self, problem: &Problem<'_, T>, outcome: &Outcome) -> Summary {
        let who = Self::NAME;
        let mut summary =
            Summary::iterative(who, outcome.iterations, outcome.converged, outcome.residual, outcome.value);
        summary.curve.clone_from(&outcome.curve);
        if !self.is_penalised() {
            let (least, most) = problem.margins(&outcome.parameters);
            if least > 0.0 {
                summary.warn(format!(
                    "{who}: a hyperplane separates the classes perfectly, so without a penalty the weights grow without \
                     bound and where they stop means nothing; set `penalty` to l2, or collect samples of the border"
                ));
            } else if most > CERTAIN {
                summary.warn(format!(
                    "{who}: some probabilities are 0 or 1 to rounding (a score of {most:.0}); part of the classes may be \
                     separable, and the weights too large to mean something; set `penalty` to l2"
                ));
            }
        }
        summary
    }
}
