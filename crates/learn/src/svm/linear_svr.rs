//! Linear support vector regression with an ε-insensitive loss, for dense and sparse rows.

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::{Tensor, TryOps};

use super::coordinate::Numbers;
use super::design::with_design;
use super::linear_svc::{Apply, Dual, Rebuild};
use super::newton::{Newton, SquaredLoss};
use crate::logistic::linear::Linear;
use crate::{About, Algorithm, Capabilities, Fitted, Model, Record, Result, Rows, Samples, Summary};

/// The loss of an error outside the tube.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum TubeLoss {
    /// max(0, |y − f| − ε).
    #[default]
    EpsilonInsensitive,
    /// max(0, |y − f| − ε)².
    SquaredEpsilonInsensitive,
}

/// Linear support vector regression: min ½‖w‖² + C Σ wᵢ ℓ(yᵢ − f(xᵢ)) with f(x) = xᵀw + b.
///
/// The intercept is the weight of a constant feature, as in [`LinearSvc`](super::LinearSvc).
///
/// ```
/// use tove_learn::{Fit, Predict, svm::LinearSvr};
/// use tove_tensor::Tensor;
/// let (x, y) = (Tensor::from([[0.0], [1.0], [2.0]]), Tensor::from([1.0, 2.0, 3.0]));
/// let model = LinearSvr::default().c(100.0).fit(&x, &y)?;
/// assert!((model.predict(&Tensor::from([[3.0]]))?.item::<f64>() - 4.0).abs() < 1e-2);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "LinearSVR")]
pub struct LinearSvr {
    /// The epsilon-tube: errors up to this size have no loss.
    #[hyper(default = 0.0, range = "[0, inf)")]
    pub epsilon: f64,
    /// Stop when the violation of the optimality conditions, relative to the start, is below this.
    #[hyper(default = 1e-4, range = "(0, inf)")]
    pub tol: f64,
    /// Inverse regularization strength: the penalty of errors outside the tube.
    #[hyper(default = 1.0, range = "(0, inf)", alias = "C")]
    pub c: f64,
    /// The loss: linear or squared outside the tube.
    #[hyper(default = TubeLoss::EpsilonInsensitive)]
    pub loss: TubeLoss,
    /// Whether an intercept is fitted.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Value of the constant feature that represents the intercept.
    #[hyper(default = 1.0, range = "(0, inf)")]
    pub intercept_scaling: f64,
    /// Whether to solve the dual or the primal problem.
    #[hyper(default = Dual::Auto)]
    pub dual: Dual,
    /// Seed of the order in which the dual solver visits samples.
    #[hyper(default = 0)]
    pub random_state: u64,
    /// Maximum number of passes (dual) or steps (primal).
    #[hyper(default = 1000, range = "[1, inf)")]
    pub max_iter: usize,
}

/// A fitted [`LinearSvr`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = LinearSvr, complete = FittedLinearSvr::flat)]
pub struct FittedLinearSvr {
    about: About,
    /// Weights, (d).
    #[fitted(shape = "features | outputs, features")]
    coef: Tensor,
    /// The intercept, (1).
    #[fitted(shape = "intercepts")]
    intercept: Tensor,
}

impl FittedLinearSvr {
    /// Files of earlier versions have weights of shape (1, d).
    fn flat(mut self, record: &Record) -> Result<FittedLinearSvr> {
        if self.coef.numel() != self.about.width || self.intercept.numel() != 1 {
            return Err(record.wrong("coef", "the weights of one output"));
        }
        self.about.outputs = self.about.width;
        self.coef = self.coef.try_reshape([self.about.width])?;
        Ok(self)
    }
}

struct Tube<'a> {
    y: &'a [f64],
    costs: &'a [f64],
    epsilon: f64,
}

impl SquaredLoss for Tube<'_> {
    #[inline(always)]
    fn at(&self, row: usize, f: f64) -> (f64, f64, f64) {
        let (error, cost) = (f - self.y[row], self.costs[row]);
        let out = error.abs() - self.epsilon;
        if out > 0.0 { (cost * out * out, 2.0 * cost * out * error.signum(), 2.0 * cost) } else { (0.0, 0.0, 0.0) }
    }
}

impl LinearSvr {
    /// Returns weights, βᵢ, the number of iterations and whether they converged.
    fn solve(&self, rows: &Rows, y: &[f64], costs: &[f64], primal: bool) -> Result<(Vec<f64>, Vec<f64>, usize, bool)> {
        let (constant, epsilon) = (self.constant(), self.epsilon);
        if primal {
            let loss = Tube { y, costs, epsilon };
            let newton = Newton { loss: &loss, tolerance: self.tol, limit: self.max_iter };
            let reached = with_design(rows, constant, newton)??;
            let beta = reached.fitted.iter().enumerate().map(|(i, &f)| -loss.at(i, f).1).collect();
            return Ok((reached.w, beta, reached.steps, reached.converged));
        }
        let squared = self.loss == TubeLoss::SquaredEpsilonInsensitive;
        let (tolerance, limit, seed) = (self.tol, self.max_iter, self.random_state);
        let solution = with_design(rows, constant, Numbers { y, costs, epsilon, squared, tolerance, limit, seed })?;
        Ok((solution.w, solution.alpha, solution.rounds, solution.converged))
    }

    fn constant(&self) -> f64 {
        if self.fit_intercept { self.intercept_scaling } else { 0.0 }
    }
}

impl Algorithm for LinearSvr {
    type Fitted = FittedLinearSvr;
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, sparse: true, accuracy: 1e-2, ..Capabilities::REGRESSOR };

    fn train(&self, samples: &Samples) -> Result<FittedLinearSvr> {
        let y = samples.single_target(Self::NAME)?;
        let weights = samples.weights().map_or_else(|| vec![1.0; y.len()], Tensor::to_f64_vec);
        let costs: Vec<f64> = weights.iter().map(|weight| self.c * weight).collect();
        let squared = self.loss == TubeLoss::SquaredEpsilonInsensitive;
        let primal = self.dual.primal(Self::NAME, squared, samples)?;
        let (w, beta, iterations, converged) = self.solve(samples.x(), &y, &costs, primal)?;
        let fitted = with_design(samples.x(), self.constant(), Apply { w: &w })??;
        let built = with_design(samples.x(), self.constant(), Rebuild { r: &beta })??;
        let (mut objective, mut dual) = (0.5 * square(&w), -0.5 * square(&built));
        for i in (0..y.len()).filter(|&i| costs[i] > 0.0) {
            let out = ((y[i] - fitted[i]).abs() - self.epsilon).max(0.0);
            objective += costs[i] * if squared { out * out } else { out };
            dual += y[i] * beta[i] - self.epsilon * beta[i].abs();
            dual -= if squared { beta[i] * beta[i] / (4.0 * costs[i]) } else { 0.0 };
        }
        let gap = (objective - dual).max(0.0);
        let summary = Summary::iterative(Self::NAME, iterations, converged, gap, objective);
        let linear = Linear::with_constant(&[w], self.constant(), samples.x().dtype())?;
        let coef = linear.coef.try_reshape([linear.width()])?;
        Ok(FittedLinearSvr { about: About::of(self, samples).summary(summary), coef, intercept: linear.intercept })
    }
}

fn square(w: &[f64]) -> f64 {
    w.iter().map(|w| w * w).sum()
}

impl Model for FittedLinearSvr {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let coef = self.coef.try_reshape([1, self.about.width])?;
        let linear = Linear { coef, intercept: self.intercept.clone() };
        Ok(linear.at(x)?.try_reshape([x.len()])?)
    }

    fn coefficients(&self) -> Option<&Tensor> {
        Some(&self.coef)
    }
}
