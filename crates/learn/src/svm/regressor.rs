//! Shared code of kernel regressors: fitting, predictions, and serialization.

use tove_tensor::{Tensor, TryOps};

use super::rows::KernelRows;
use super::settings::{KernelSettings, SolverSettings};
use super::smo::{Problem, Solution, solve};
use super::smo_nu::{Group, Grouped, distribute};
use crate::kernel::{Expansion, Features, KernelFunction};
use crate::{About, Algorithm, Attributes, Fitted, Model, Reading, Record, Result, Rows, Samples};

/// An estimator whose fitted model is a kernel regressor.
pub trait KernelRegressor: Algorithm {
    /// The shared hyperparameters.
    fn settings(&self) -> Settings<'_>;
}

/// Hyperparameters of a kernel regressor.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The kernel.
    pub kernel: &'a KernelSettings,
    /// Hyperparameters of the solver.
    pub solver: &'a SolverSettings,
    /// Stop when the violation of the optimality conditions is below this.
    pub tol: f64,
    /// C, the penalty of errors outside the tube.
    pub cost: f64,
    /// How the width of the tube is determined.
    pub error: Error,
}

/// The errors that have no loss.
#[derive(Clone, Copy, Debug)]
pub enum Error {
    /// Errors up to ε.
    Tube(f64),
    /// Errors of all but a fraction ν of the samples.
    Share(f64),
}

impl Settings<'_> {
    /// Maximum number of steps for n variables.
    fn limit(&self, n: usize) -> usize {
        self.solver.max_iter.unwrap_or(10_000_000.max(100 * n))
    }
}

/// A fitted regression with a kernel, of the estimator `E`.
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = E, bound = "E: KernelRegressor", complete = FittedSupportRegressor::matched)]
#[fitted(attributes = FittedSupportRegressor::dual)]
pub struct FittedSupportRegressor<E> {
    about: About,
    /// Coefficients (support vectors, 1).
    #[fitted(flatten)]
    expansion: Expansion,
    #[fitted(hidden)]
    bias: f64,
    /// Places of the support vectors among the samples.
    #[fitted(shape = "support", empty)]
    support: Vec<i64>,
    estimator: std::marker::PhantomData<E>,
}

impl<E: KernelRegressor> FittedSupportRegressor<E> {
    /// Fits with the kernel of the settings.
    pub(super) fn fit(estimator: &E, samples: &Samples) -> Result<FittedSupportRegressor<E>> {
        let function = estimator.settings().kernel.function(samples)?;
        FittedSupportRegressor::solve(estimator, function, samples)
    }

    /// Fits with a user-defined kernel.
    pub(super) fn fit_with(estimator: &E, kernel: &KernelFunction, samples: &Samples) -> Result<Self> {
        estimator.validate()?;
        let samples = &crate::estimator::admit(estimator, samples)?;
        crate::kernel::require_answers(FittedSupportRegressor::solve(estimator, kernel.clone(), samples)?, samples)
    }

    fn solve(estimator: &E, function: KernelFunction, samples: &Samples) -> Result<FittedSupportRegressor<E>> {
        let (x, y, settings) = (samples.x(), samples.single_target(E::NAME)?, estimator.settings());
        let weights = samples.weights().map_or_else(|| vec![1.0; y.len()], Tensor::to_f64_vec);
        let indices: Vec<usize> = (0..y.len()).filter(|&index| weights[index] > 0.0).collect();
        let high: Vec<f64> = indices.iter().map(|&index| settings.cost * weights[index]).collect();
        let target: Vec<f64> = indices.iter().map(|&index| y[index]).collect();
        let features = Features::new(x, function)?;
        let mut rows = KernelRows::new(&features, &indices, (settings.solver.cache_size * 1e6) as usize)?;
        let solution = match settings.error {
            Error::Tube(epsilon) => by_tube(&settings, epsilon, target, high, &mut rows)?,
            Error::Share(nu) => by_nu(&settings, nu, &target, &high, &mut rows)?,
        };
        drop(rows);
        solution.require_finite(E::NAME)?;
        let summary = super::classifier::summary(E::NAME, std::slice::from_ref(&solution));
        let kept: Vec<usize> = (0..indices.len()).filter(|&i| solution.beta[i] != 0.0).collect();
        let support: Vec<usize> = kept.iter().map(|&i| indices[i]).collect();
        let beta: Vec<f64> = kept.iter().map(|&i| solution.beta[i]).collect();
        let beta = Tensor::try_from_vec(beta, [kept.len(), 1])?;
        Ok(FittedSupportRegressor {
            about: About::of(estimator, samples).summary(summary),
            expansion: Expansion::of(&features, &support, &beta)?,
            bias: solution.bias,
            support: support.iter().map(|&index| index as i64).collect(),
            estimator: std::marker::PhantomData,
        })
    }

    /// The support vectors, (s, d), sparse where the samples were; a precomputed kernel has none.
    pub fn support_vectors(&self) -> &Rows {
        self.expansion.points()
    }

    /// Coefficients of the support vectors, (s, 1).
    pub fn dual_coef(&self) -> &Tensor {
        self.expansion.coefficients()
    }

    /// The intercept.
    pub fn intercept(&self) -> f64 {
        self.bias
    }

    /// The kernel with its parameters.
    pub fn kernel(&self) -> &KernelFunction {
        self.expansion.function()
    }

    /// Reads a record of a model with a user-defined kernel, which must be passed again.
    pub fn restore_with(record: &Record, kernel: Option<&KernelFunction>) -> Result<FittedSupportRegressor<E>> {
        Self::read_state(&mut Reading::new(record)?.kernel(kernel))
    }

    fn matched(self, record: &Record) -> Result<FittedSupportRegressor<E>> {
        self.expansion.require_rows(record, self.support.len(), 1)?;
        Ok(self)
    }

    /// Attributes in scikit-learn's shapes: (1, s) and (1).
    fn dual(&self) -> Attributes {
        let mut all = self.expansion.named_points("support_vectors");
        all.extend(self.dual_coef().try_t().ok().map(|dual_coef| ("dual_coef", dual_coef)));
        all.push(("intercept", Tensor::from([self.bias])));
        all
    }
}

/// Solves for a tube of fixed width ε.
fn by_tube(
    settings: &Settings<'_>,
    epsilon: f64,
    target: Vec<f64>,
    high: Vec<f64>,
    rows: &mut KernelRows<'_>,
) -> Result<Solution> {
    let problem = Problem {
        limit: settings.limit(target.len()),
        target,
        low: high.iter().map(|high| -high).collect(),
        high,
        epsilon,
        tolerance: settings.tol,
        shrinking: settings.solver.shrinking,
    };
    solve(&problem, rows)
}

/// Solves for a tube with a fraction ν outside: errors above and below it are two groups of variables over the same
/// samples.
fn by_nu(
    settings: &Settings<'_>,
    nu: f64,
    target: &[f64],
    costs: &[f64],
    rows: &mut KernelRows<'_>,
) -> Result<Solution> {
    let n = target.len();
    let above = Group {
        row: (0..n).collect(),
        target: target.to_vec(),
        low: vec![0.0; n],
        high: costs.to_vec(),
        start: distribute(0.5 * nu * costs.iter().sum::<f64>(), costs),
    };
    let problem = Grouped {
        groups: [above.clone(), above.below()],
        tolerance: settings.tol,
        limit: settings.limit(n),
        shrinking: settings.solver.shrinking,
    };
    let end = problem.solve(rows, n)?;
    let beta = end.beta[0].iter().zip(&end.beta[1]).map(|(above, below)| above + below).collect();
    let bias = 0.5 * (end.levels[0] + end.levels[1]);
    let (objective, steps, gap, converged) = (end.objective, end.steps, end.gap, end.converged);
    Ok(Solution { beta, bias, objective, steps, gap, converged, flat: false })
}

impl<E: KernelRegressor> Model for FittedSupportRegressor<E> {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let values = self.expansion.at(x)?.to_f64_vec();
        let values: Vec<f64> = values.iter().map(|value| value + self.bias).collect();
        Ok(Tensor::from_slice(&values).to_dtype(self.dtype()))
    }
}
