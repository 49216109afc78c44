//! Bias-variance decomposition of a regression error: E_S (y₀ − f_S(x₀))² = σ² + (f(x₀) − E f_S(x₀))² + Var f_S(x₀),
//! over training sets S and a fresh y₀ = f(x₀) + noise.
//!
//! The experiment draws many training sets, fits each, and measures all four numbers; the error is measured with fresh
//! noise, not computed from the others.
//!
//! ```
//! use tove_learn::diagnostics::{Experiment, bias_variance};
//! use tove_learn::{DummyRegressor, Samples};
//! use tove_tensor::{DType, Key, Tensor};
//! // y = noise of variance 1: the mean of 25 samples has no bias and a variance of 1/25.
//! let draw = |key: Key| Samples::new(&Tensor::zeros([25, 1], DType::F64), &key.normal([25], DType::F64));
//! let noise = |key: Key| key.normal([1], DType::F64).to_f64_vec();
//! let points = Tensor::zeros([1, 1], DType::F64);
//! let experiment = Experiment { points: &points, truth: &[0.0], noise_variance: 1.0, draw: &draw, noise: &noise };
//! let parts = bias_variance(&DummyRegressor::default(), &experiment, 2000, 1)?;
//! assert!(parts.bias < 1e-3 && (parts.variance - 0.04).abs() < 0.005 && (parts.error - 1.04).abs() < 0.1);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_tensor::{Key, Tensor};

use crate::selection::in_parallel;
use crate::{Estimator, Fit, LearnError, Predict, Result, Samples};

/// A problem with known ground truth.
pub struct Experiment<'a> {
    /// The points x₀, (q, d).
    pub points: &'a Tensor,
    /// f at the points.
    pub truth: &'a [f64],
    /// Variance of the noise.
    pub noise_variance: f64,
    /// Draws a training set.
    pub draw: &'a (dyn Fn(Key) -> Result<Samples> + Sync),
    /// Draws noise for the points.
    pub noise: &'a (dyn Fn(Key) -> Vec<f64> + Sync),
}

/// The components of the error, averaged over the points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BiasVariance {
    /// Variance of the noise.
    pub noise: f64,
    /// Squared bias.
    pub bias: f64,
    /// Variance of the fits.
    pub variance: f64,
    /// The error, measured with fresh noise.
    pub error: f64,
}

impl BiasVariance {
    /// noise + bias + variance.
    pub fn sum(&self) -> f64 {
        self.noise + self.bias + self.variance
    }
}

/// Fits to `sets` training sets and measures the components of the error.
pub fn bias_variance(
    estimator: &dyn Estimator,
    experiment: &Experiment<'_>,
    sets: usize,
    seed: u64,
) -> Result<BiasVariance> {
    let q = experiment.truth.len();
    if sets < 2 || q == 0 || experiment.points.dims().first() != Some(&q) {
        let problem = "give at least two training sets, and the truth at every point";
        return Err(LearnError::parameter("bias_variance", problem));
    }
    let keys = Key::new(seed).split(sets);
    let fits = in_parallel(sets, |set| -> Result<(Vec<f64>, f64)> {
        let model = estimator.fit_samples(&(experiment.draw)(keys[set].fold(0))?)?;
        let found = model.predict(experiment.points)?.to_f64_vec();
        let noise = (experiment.noise)(keys[set].fold(1));
        let errors = found.iter().zip(experiment.truth).zip(&noise).map(|((fit, f), e)| (f + e - fit).powi(2));
        Ok((found.clone(), errors.sum::<f64>() / q as f64))
    });
    let fits: Vec<(Vec<f64>, f64)> = fits.into_iter().collect::<Result<_>>()?;
    let count = sets as f64;
    let (mut bias, mut variance) = (0.0, 0.0);
    for (point, truth) in experiment.truth.iter().enumerate() {
        let mean = fits.iter().map(|fit| fit.0[point]).sum::<f64>() / count;
        bias += (truth - mean).powi(2) / q as f64;
        variance += fits.iter().map(|fit| (fit.0[point] - mean).powi(2)).sum::<f64>() / count / q as f64;
    }
    let error = fits.iter().map(|fit| fit.1).sum::<f64>() / count;
    Ok(BiasVariance { noise: experiment.noise_variance, bias, variance, error })
}
