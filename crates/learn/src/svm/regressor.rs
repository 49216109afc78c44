//! Shared code of kernel regressors: fitting, predictions, and serialization.

use tove_tensor::Tensor;

use super::rows::KernelRows;
use super::settings::{KernelSettings, SolverSettings};
use super::smo::{Problem, Solution, solve};
use super::smo_nu::{Group, Grouped, distribute};
use crate::kernel::{Expansion, Features, KernelFunction};
use crate::{About, Algorithm, Model, Record, Restore, Result, Rows, Samples};

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

/// A fitted kernel regressor of the estimator `E`.
#[derive(Clone, Debug)]
pub struct FittedSupportRegressor<E> {
    about: About,
    expansion: Expansion, // coefficients (support vectors, 1)
    bias: f64,
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

    /// Indices of the support vectors in the training samples.
    pub fn support(&self) -> &[i64] {
        &self.support
    }

    /// The support vectors (s, d), sparse if the samples were; empty for a precomputed kernel.
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
        let settings: E = record.settings(E::NAME, 1)?;
        let (expansion, support) = (Expansion::read(record, kernel)?, record.integers("support")?);
        if expansion.coefficients().dims() != [support.len(), 1] {
            return Err(record.wrong("coefficients", "a column with a row per support vector"));
        }
        let about = About::read(&settings, record, expansion.width(), expansion.dtype())?;
        let (bias, estimator) = (record.real("bias")?, std::marker::PhantomData);
        Ok(FittedSupportRegressor { about, expansion, bias, support, estimator })
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
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let values = self.expansion.at(x)?.to_f64_vec();
        let values: Vec<f64> = values.iter().map(|value| value + self.bias).collect();
        Ok(Tensor::from_slice(&values).to_dtype(self.dtype()))
    }

    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        let mut all = self.about.attributes();
        all.extend([("support", Tensor::from_slice(&self.support)), ("intercept", Tensor::scalar(self.intercept()))]);
        all.extend(self.support_vectors().to_dense().ok().map(|points| ("support_vectors", points)));
        all.push(("dual_coef", self.dual_coef().clone()));
        all
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.expansion.write(&mut record);
        record.put_tensor("support", &Tensor::from_slice(&self.support));
        record.put_real("bias", self.bias);
        record
    }
}

impl<E: KernelRegressor> Restore for FittedSupportRegressor<E> {
    fn restore(record: &Record) -> Result<FittedSupportRegressor<E>> {
        FittedSupportRegressor::restore_with(record, None)
    }
}
