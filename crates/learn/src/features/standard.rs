//! Standardization to mean 0 and variance 1: x' = (x − μ)/σ with μ and σ² = Σ(x − μ)²/n of each column.
//!
//! ```
//! use tove_learn::{Fit, StandardScaler, Transform};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0, 5.0], [4.0, 5.0]]); // the second column is constant: centered, not scaled
//! let scaler = StandardScaler::default().fit(&x, None)?;
//! assert_eq!((scaler.var(), scaler.scale()), (&[4.0, 0.0][..], &[2.0, 1.0][..]));
//! assert_eq!(scaler.transform(&x)?.to_vec::<f64>(), [-1.0, 0.0, 1.0, 0.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_data::ColumnMoments;
use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::Tensor;

use super::columns::{Direction, affine, by_column, each, reject_centering, without_infinite};
use super::moments::{Spreads, spreads};
use super::rescaled_moments;
use crate::{About, Algorithm, Capabilities, Fitted, Result, Rows, Samples, with_real};

/// Standardizes every column, like scikit-learn's `StandardScaler`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct StandardScaler {
    /// Whether to subtract the mean; not possible for sparse rows.
    #[hyper(default = true)]
    pub with_mean: bool,
    /// Whether to divide by the standard deviation.
    #[hyper(default = true)]
    pub with_std: bool,
}

/// A fitted [`StandardScaler`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = StandardScaler)]
pub struct FittedStandardScaler {
    about: About,
    settings: StandardScaler,
    /// Means of the columns.
    #[fitted(shape = "features", nonfinite)]
    mean: Vec<f64>,
    /// Variances of the columns, with n in the denominator; infinite or 0 where they leave the range of numbers, though
    /// [`FittedStandardScaler::scale`] does not.
    #[fitted(shape = "features", nonfinite)]
    var: Vec<f64>,
    /// What columns are divided by: the standard deviation, 1 for a constant column.
    #[fitted(shape = "features", nonfinite)]
    scale: Vec<f64>,
}

impl FittedStandardScaler {
    fn admit(&self, x: &Rows) -> Result<()> {
        reject_centering(StandardScaler::NAME, x, self.settings.with_mean, "with_mean")
    }

    fn change(&self, x: &Rows, direction: Direction) -> Result<Rows> {
        let (zeros, ones) = (vec![0.0; self.about.width], vec![1.0; self.about.width]);
        let center = if self.settings.with_mean { &self.mean } else { &zeros };
        affine(x, center, if self.settings.with_std { &self.scale } else { &ones }, direction)
    }
}

by_column!(FittedStandardScaler);

impl Algorithm for StandardScaler {
    type Fitted = FittedStandardScaler;
    const CAPABILITIES: Capabilities = Capabilities {
        missing: true,
        weights: true,
        inverse_transform: true,
        partial_fit: true,
        ..Capabilities::TRANSFORMER
    };

    fn capabilities_of(settings: &StandardScaler) -> Capabilities {
        Capabilities { sparse: !settings.with_mean, ..Self::CAPABILITIES }
    }

    fn train(&self, samples: &Samples) -> Result<FittedStandardScaler> {
        let mut fitted = self.of_spreads(About::of(self, samples), self.spreads(samples)?);
        let weights = samples.weights().map(Tensor::to_f64_vec);
        rescaled_moments::repair(samples.x(), weights.as_deref(), &mut fitted.mean, &fitted.var, &mut fitted.scale)?;
        Ok(fitted)
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn crate::AnyLearner>> {
        crate::partial::boxed(self, classes)
    }
}

impl StandardScaler {
    /// Weight, mean and variance of each column.
    pub(super) fn spreads(&self, samples: &Samples) -> Result<Spreads> {
        let x = samples.x();
        reject_centering(Self::NAME, x, self.with_mean, "with_mean")?;
        let weights = samples.weights().map(Tensor::to_f64_vec);
        if let Some(spreads) = dense_spreads(x, weights.as_deref())? {
            return Ok(spreads);
        }
        without_infinite(x)?;
        let weights = weights.unwrap_or_else(|| vec![1.0; x.len()]);
        let (total, mean) = means(x, &weights)?;
        let var = variances(x, &weights, &total, &mean)?;
        Ok(Spreads { total, mean, var })
    }

    /// Creates the scaler from these moments.
    pub(super) fn of_spreads(&self, about: About, spreads: Spreads) -> FittedStandardScaler {
        let scale = |column: &ColumnMoments| if column.is_constant() { 1.0 } else { column.deviation() };
        let scale = spreads.columns().iter().map(scale).collect();
        let Spreads { mean, var, .. } = spreads;
        FittedStandardScaler { about, settings: self.clone(), mean, var, scale }
    }
}

/// The moments of dense rows, if their sums are finite.
fn dense_spreads(x: &Rows, weights: Option<&[f64]>) -> Result<Option<Spreads>> {
    match x {
        Rows::Dense(x) if x.dims()[1] > 0 => {
            Ok(with_real!(x.dtype(), T => spreads(x.as_slice::<T>()?, x.dims()[1], weights)))
        }
        _ => Ok(None),
    }
}

/// Weight of the non-missing values and weighted mean of each column, including zeros that are not stored.
pub(super) fn means(x: &Rows, weights: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
    let mut missing = vec![0.0; x.width()];
    let mut sums = vec![0.0; x.width()];
    each(x, |row, column, value| {
        if value.is_nan() {
            missing[column] += weights[row];
        } else {
            sums[column] += weights[row] * value;
        }
    })?;
    let all: f64 = weights.iter().sum();
    let total: Vec<f64> = missing.iter().map(|missing| all - missing).collect();
    let mean = sums.iter().zip(&total).map(|(sum, total)| sum / total).collect();
    Ok((total, mean))
}

/// Σ w (x − μ)² / Σ w of each column, corrected for the rounding of μ.
pub(super) fn variances(x: &Rows, weights: &[f64], total: &[f64], mean: &[f64]) -> Result<Vec<f64>> {
    let width = x.width();
    let (mut squares, mut rests, mut stored) = (vec![0.0; width], vec![0.0; width], vec![0.0; width]);
    each(x, |row, column, value| {
        if !value.is_nan() {
            let off = value - mean[column];
            squares[column] += weights[row] * off * off;
            rests[column] += weights[row] * off;
            stored[column] += weights[row];
        }
    })?;
    Ok((0..width)
        .map(|c| {
            let absent = if matches!(x, Rows::Sparse(_)) { total[c] - stored[c] } else { 0.0 }; // zeros
            let (square, rest) = (squares[c] + absent * mean[c] * mean[c], rests[c] - absent * mean[c]);
            ((square - rest * rest / total[c]) / total[c]).max(0.0)
        })
        .collect())
}
