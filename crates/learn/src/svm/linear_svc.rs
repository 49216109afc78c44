//! Linear support vector classification, for dense and sparse rows.

use tove_optim::settings::{Choice, Hyperparameters, Named, SettingError};
use tove_tensor::{Tensor, TryOps};

use super::coordinate::Classes;
use super::coordinate_l1::{Columns, DescentResult, Selected};
use super::design::with_design;
use super::newton::{Newton, SquaredLoss};
use super::weights::labels_and_weights;
use crate::class_weight::against_rest;
use crate::logistic::linear::{Linear, decide, undecided};
use crate::{
    About, Algorithm, Capabilities, ClassWeight, Fitted, Labels, LearnError, Model, Record, Result, Rows, Samples,
    Summary,
};

/// The loss of a margin violation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum HingeLoss {
    /// max(0, 1 − yf).
    Hinge,
    /// max(0, 1 − yf)².
    #[default]
    SquaredHinge,
}

/// The norm in the penalty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum MarginPenalty {
    /// ½‖w‖².
    #[default]
    L2,
    /// ‖w‖₁, which gives sparse weights; only with the squared hinge and the primal problem.
    L1,
}

/// Whether to solve the dual or the primal problem; the solution is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Dual {
    /// The primal if the loss is squared and there are at least as many samples as features, else the dual.
    #[default]
    Auto,
    /// The dual, by coordinate descent.
    True,
    /// The primal, by Newton's method; only for squared losses.
    False,
}

impl Dual {
    /// Whether to solve the primal; an error if it is requested but not possible.
    pub(super) fn primal(self, who: &'static str, squared: bool, samples: &Samples) -> Result<bool> {
        match (self, squared) {
            (Dual::True, _) | (Dual::Auto, false) => Ok(false),
            (Dual::Auto, true) => Ok(samples.len() >= samples.width()),
            (Dual::False, true) => Ok(true),
            (Dual::False, false) => {
                let fix = "set `dual` to true, or choose the squared loss";
                Err(LearnError::unsupported(who, "solves the primal problem for squared losses only", fix))
            }
        }
    }
}

/// Linear support vector classification: min ½‖w‖² + C Σ wᵢ ℓ(yᵢ f(xᵢ)) with f(x) = xᵀw + b, one-vs-rest.
///
/// As in LIBLINEAR, the intercept is the weight of a constant feature of value `intercept_scaling`, and is penalized
/// like the others; a larger value reduces this effect.
///
/// ```
/// use tove_learn::{Fit, Model, Predict, svm::LinearSvc};
/// use tove_tensor::Tensor;
/// let (x, y) = (Tensor::from([[0.0], [1.0], [3.0], [4.0]]), Tensor::from([0i64, 0, 1, 1]));
/// let model = LinearSvc::default().fit(&x, &y)?;
/// assert_eq!(model.predict(&x)?.to_vec::<i64>(), [0, 0, 1, 1]);
/// assert!(model.summary().residual.is_some_and(|gap| gap < 1e-3)); // the duality gap
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "LinearSVC", check = check)]
pub struct LinearSvc {
    /// The norm in the penalty: l2, or l1 for sparse weights.
    #[hyper(default = MarginPenalty::L2)]
    pub penalty: MarginPenalty,
    /// The loss of a margin violation.
    #[hyper(default = HingeLoss::SquaredHinge)]
    pub loss: HingeLoss,
    /// Whether to solve the dual or the primal problem.
    #[hyper(default = Dual::Auto)]
    pub dual: Dual,
    /// Stop when the violation of the optimality conditions is below this.
    #[hyper(default = 1e-4, range = "(0, inf)")]
    pub tol: f64,
    /// Inverse regularization strength: the penalty of margin violations.
    #[hyper(default = 1.0, range = "(0, inf)", alias = "C")]
    pub c: f64,
    /// Whether an intercept is fitted.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Value of the constant feature that represents the intercept.
    #[hyper(default = 1.0, range = "(0, inf)")]
    pub intercept_scaling: f64,
    /// Class weights: none, balanced, or a list such as 0:1,1:5.
    #[hyper(default = ClassWeight::None)]
    pub class_weight: ClassWeight,
    /// Seed of the order in which the dual solver visits samples.
    #[hyper(default = 0)]
    pub random_state: u64,
    /// Maximum number of passes (dual) or steps (primal).
    #[hyper(default = 1000, range = "[1, inf)")]
    pub max_iter: usize,
}

fn check(settings: &LinearSvc) -> Result<(), SettingError> {
    let possible = settings.loss == HingeLoss::SquaredHinge && settings.dual != Dual::True;
    if settings.penalty == MarginPenalty::L2 || possible {
        return Ok(());
    }
    let problem = "l1 is supported with the squared hinge and the primal problem only";
    let fix = "set `loss` to squared_hinge and `dual` to false or auto, or choose the penalty l2";
    Err(SettingError::conflict(LinearSvc::NAME, "penalty", problem, fix))
}

/// A fitted [`LinearSvc`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = LinearSvc, complete = FittedLinearSvc::matched)]
pub struct FittedLinearSvc {
    about: About,
    #[fitted(flatten)]
    linear: Linear,
}

impl FittedLinearSvc {
    fn matched(self, record: &Record) -> Result<FittedLinearSvc> {
        self.linear.require_classes(record, &self.about.classes)?;
        Ok(self)
    }

    /// Weights: (1, d) for two classes, else (classes, d).
    pub fn coef(&self) -> &Tensor {
        &self.linear.coef
    }

    /// Intercepts: (1) for two classes, else (classes).
    pub fn intercept(&self) -> &Tensor {
        &self.linear.intercept
    }
}

/// The result of one class against the rest.
struct Side {
    w: Vec<f64>,
    iterations: usize,
    converged: bool,
    /// ½‖w‖² + C Σ wᵢ ℓᵢ.
    objective: f64,
    /// Duality gap.
    gap: f64,
}

struct Margin<'a> {
    y: &'a [f64],
    costs: &'a [f64],
}

impl SquaredLoss for Margin<'_> {
    #[inline(always)]
    fn at(&self, row: usize, f: f64) -> (f64, f64, f64) {
        let (y, cost) = (self.y[row], self.costs[row]);
        let slack = 1.0 - y * f;
        if slack > 0.0 { (cost * slack * slack, -2.0 * cost * y * slack, 2.0 * cost) } else { (0.0, 0.0, 0.0) }
    }
}

impl LinearSvc {
    fn constant(&self) -> f64 {
        if self.fit_intercept { self.intercept_scaling } else { 0.0 }
    }

    fn side(&self, samples: &Samples, y: &[f64], costs: &[f64], primal: bool) -> Result<Side> {
        let squared = self.loss == HingeLoss::SquaredHinge;
        let (rows, constant) = (samples.x(), self.constant());
        // LIBLINEAR scales the tolerance by the size of the rarer class.
        let positive = y.iter().filter(|&&y| y > 0.0).count();
        let rare = positive.min(y.len() - positive).max(1) as f64 / y.len() as f64;
        if self.penalty == MarginPenalty::L1 {
            let columns = Columns::of(rows, constant)?;
            let (tolerance, limit) = (self.tol * rare, self.max_iter);
            let mut result = Selected { columns: &columns, y, costs, tolerance, limit }.solve();
            result.w.resize(samples.width() + 1, 0.0);
            let DescentResult { w, rounds: iterations, converged, objective, violation: gap } = result;
            return Ok(Side { w, iterations, converged, objective, gap });
        }
        if primal {
            let newton = Newton { loss: &Margin { y, costs }, tolerance: self.tol * rare, limit: self.max_iter };
            let reached = with_design(rows, constant, newton)??;
            // α = 2C max(0, 1 − yf) is feasible for any w.
            let slack = |i: usize| (1.0 - y[i] * reached.fitted[i]).max(0.0);
            let alpha: Vec<f64> = (0..y.len()).map(|i| 2.0 * costs[i] * slack(i)).collect();
            let signed: Vec<f64> = alpha.iter().zip(y).map(|(alpha, y)| alpha * y).collect();
            let built = with_design(rows, constant, Rebuild { r: &signed })??;
            let dual = dual_value(&built, &alpha, costs, squared);
            let gap = (reached.objective - dual).max(0.0);
            let (iterations, converged) = (reached.steps, reached.converged);
            return Ok(Side { w: reached.w, iterations, converged, objective: reached.objective, gap });
        }
        let seed = self.random_state;
        let classes = Classes { y, costs, squared, tolerance: self.tol, limit: self.max_iter, seed };
        let solution = with_design(rows, constant, classes)?;
        let fitted = with_design(rows, constant, Apply { w: &solution.w })??;
        let loss = |i: usize| {
            let slack = (1.0 - y[i] * fitted[i]).max(0.0);
            costs[i] * if squared { slack * slack } else { slack }
        };
        let square: f64 = solution.w.iter().map(|w| w * w).sum();
        let objective = 0.5 * square + (0..y.len()).map(loss).sum::<f64>();
        let gap = (objective - dual_value(&solution.w, &solution.alpha, costs, squared)).max(0.0);
        Ok(Side { w: solution.w, iterations: solution.rounds, converged: solution.converged, objective, gap })
    }
}

/// Σα − ½‖Σ αᵢyᵢxᵢ‖² − ½ Σ αᵢ²/(2Cᵢ), the last term for the squared hinge only.
fn dual_value(w: &[f64], alpha: &[f64], costs: &[f64], squared: bool) -> f64 {
    let quadratic =
        |(alpha, cost): (&f64, &f64)| if squared && *cost > 0.0 { alpha * alpha / (4.0 * cost) } else { 0.0 };
    let linear: f64 = alpha.iter().sum();
    linear - 0.5 * w.iter().map(|w| w * w).sum::<f64>() - alpha.iter().zip(costs).map(quadratic).sum::<f64>()
}

/// Computes Xᵀr.
pub(super) struct Rebuild<'a> {
    pub(super) r: &'a [f64],
}

impl super::design::Task for Rebuild<'_> {
    type Output = Result<Vec<f64>>;

    fn run<D: super::design::Design>(self, design: &D) -> Result<Vec<f64>> {
        super::design::transposed_times(design, self.r)
    }
}

/// Computes Xw.
pub(super) struct Apply<'a> {
    pub(super) w: &'a [f64],
}

impl super::design::Task for Apply<'_> {
    type Output = Result<Vec<f64>>;

    fn run<D: super::design::Design>(self, design: &D) -> Result<Vec<f64>> {
        super::design::times(design, self.w)
    }
}

impl Algorithm for LinearSvc {
    type Fitted = FittedLinearSvc;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        sparse: true,
        accuracy: 1e-3,
        decision_function: true,
        ..Capabilities::CLASSIFIER
    };

    fn train(&self, samples: &Samples) -> Result<FittedLinearSvc> {
        let (labels, weights) = labels_and_weights(Self::NAME, samples, &ClassWeight::None)?;
        let (classes, codes) = (labels.classes(), labels.codes());
        let factors = self.class_weight.factors(Self::NAME, classes, codes, Some(&weights))?;
        let factors = factors.unwrap_or_else(|| vec![1.0; classes.len()]);
        let primal = self.dual.primal(Self::NAME, self.loss == HingeLoss::SquaredHinge, samples)?;
        let k = labels.classes().len();
        let targets: Vec<usize> = if k == 2 { vec![1] } else { (0..k).collect() };
        let one = |class: usize| {
            let y: Vec<f64> = codes.iter().map(|&code| if code == class { 1.0 } else { -1.0 }).collect();
            let weights = against_rest(&factors, codes, class, Some(&weights));
            let costs: Vec<f64> = weights.iter().map(|weight| self.c * weight).collect();
            self.side(samples, &y, &costs, primal)
        };
        let sides = super::parallel(targets.len(), |target| one(targets[target]))?;
        let weights: Vec<Vec<f64>> = sides.iter().map(|side| side.w.clone()).collect();
        let summary = Summary::iterative(
            Self::NAME,
            sides.iter().map(|side| side.iterations).max().unwrap_or(0),
            sides.iter().all(|side| side.converged),
            sides.iter().fold(0.0, |gap, side| gap.max(side.gap)),
            sides.iter().map(|side| side.objective).sum(),
        );
        let linear = Linear::with_constant(&weights, self.constant(), samples.x().dtype())?;
        Ok(FittedLinearSvc { about: About::of(self, samples).classes(labels.classes()).summary(summary), linear })
    }
}

impl Model for FittedLinearSvc {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let (scores, outputs) = (self.linear.at(x)?.to_f64_vec(), self.linear.outputs());
        let code = |(row, scores): (usize, &[f64])| decide(scores).ok_or_else(|| undecided(LinearSvc::NAME, row));
        let codes: Result<Vec<usize>> = scores.chunks_exact(outputs).enumerate().map(code).collect();
        Ok(Labels::decode(self.classes(), codes?))
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        let scores = self.linear.at(x)?;
        Ok(if self.classes().len() == 2 { scores.try_reshape([x.len()])? } else { scores })
    }

    fn proba_rows(&self, _x: &Rows) -> Result<Tensor> {
        let fix = "use `decision_function`, logistic regression, or SVC with `probability`";
        Err(LearnError::unsupported(self.name(), "has decision scores but no probabilities", fix))
    }

    fn coefficients(&self) -> Option<&Tensor> {
        Some(&self.linear.coef)
    }
}
