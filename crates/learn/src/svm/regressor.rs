//! What regressions with kernels share: the fit, predictions, and how they are stored.

use tove_tensor::{Tensor, TryOps};

use super::rows::KernelRows;
use super::settings::{KernelSettings, SolverSettings};
use super::smo::{Problem, Solution, solve};
use super::smo_nu::{Group, Grouped, share_out};
use crate::kernel::{Expansion, Features, KernelFunction};
use crate::{About, Algorithm, Attributes, Fitted, Model, Reading, Record, Result, Rows, Samples};

/// An estimator whose fitted model is a regression with a kernel.
pub trait KernelRegressor: Algorithm {
    /// What all such estimators have.
    fn settings(&self) -> Settings<'_>;
}

/// Settings of a regression with a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The kernel.
    pub kernel: &'a KernelSettings,
    /// How it is solved.
    pub solver: &'a SolverSettings,
    /// The violation of optimality at which to stop.
    pub tol: f64,
    /// C, the cost of an error beyond the tube.
    pub cost: f64,
    /// What decides how wide the tube is.
    pub error: Error,
}

/// Errors that cost nothing.
#[derive(Clone, Copy, Debug)]
pub enum Error {
    /// Up to ε.
    Tube(f64),
    /// All but a share ν of the samples.
    Share(f64),
}

impl Settings<'_> {
    /// Steps allowed for n variables.
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

    /// Fits with a kernel of the user's own.
    pub(super) fn fit_with(estimator: &E, kernel: &KernelFunction, samples: &Samples) -> Result<Self> {
        estimator.validate()?;
        let samples = &crate::estimator::admit(estimator, samples)?;
        crate::kernel::require_answers(FittedSupportRegressor::solve(estimator, kernel.clone(), samples)?, samples)
    }

    fn solve(estimator: &E, function: KernelFunction, samples: &Samples) -> Result<FittedSupportRegressor<E>> {
        let (x, y, settings) = (samples.x(), samples.single_target(E::NAME)?, estimator.settings());
        let weights = samples.weights().map_or_else(|| vec![1.0; y.len()], Tensor::to_f64_vec);
        let places: Vec<usize> = (0..y.len()).filter(|&place| weights[place] > 0.0).collect();
        let high: Vec<f64> = places.iter().map(|&place| settings.cost * weights[place]).collect();
        let target: Vec<f64> = places.iter().map(|&place| y[place]).collect();
        let features = Features::new(x, function)?;
        let mut rows = KernelRows::new(&features, &places, (settings.solver.cache_size * 1e6) as usize)?;
        let solution = match settings.error {
            Error::Tube(epsilon) => by_tube(&settings, epsilon, target, high, &mut rows)?,
            Error::Share(nu) => by_share(&settings, nu, &target, &high, &mut rows)?,
        };
        drop(rows);
        solution.require_finite(E::NAME)?;
        let summary = super::classifier::summary(E::NAME, std::slice::from_ref(&solution));
        let kept: Vec<usize> = (0..places.len()).filter(|&i| solution.beta[i] != 0.0).collect();
        let support: Vec<usize> = kept.iter().map(|&i| places[i]).collect();
        let beta: Vec<f64> = kept.iter().map(|&i| solution.beta[i]).collect();
        let beta = Tensor::try_from_vec(beta, [kept.len(), 1])?;
        Ok(FittedSupportRegressor {
            about: About::of(estimator, samples).summary(summary),
            expansion: Expansion::of(&features, &support, &beta)?,
            bias: solution.bias,
            support: support.iter().map(|&place| place as i64).collect(),
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

    /// The constant.
    pub fn intercept(&self) -> f64 {
        self.bias
    }

    /// The kernel with its numbers.
    pub fn kernel(&self) -> &KernelFunction {
        self.expansion.function()
    }

    /// Reads a record of a model with a kernel of the user's own, which is given again.
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

/// A tube of width ε.
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

/// A tube that leaves a share ν outside: errors above and below it are two groups of variables over the same samples.
fn by_share(
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
        start: share_out(0.5 * nu * costs.iter().sum::<f64>(), costs),
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
