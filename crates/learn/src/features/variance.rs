//! Removal of features with low variance; by default only constant ones.
//!
//! ```
//! use tove_learn::features::VarianceThreshold;
//! use tove_learn::{Fit, Transform};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0, 7.0], [2.0, 7.0]]);
//! let select = VarianceThreshold::default().fit(&x, None)?;
//! assert_eq!((select.variances().to_vec::<f64>(), select.columns()), (vec![1.0, 0.0], vec![0]));
//! assert_eq!(select.transform(&x)?.to_vec::<f64>(), [0.0, 2.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::Tensor;

use super::columns::{extremes, settings_of, without_infinite};
use super::select::take_columns;
use super::standard::{means, variances};
use crate::{About, Algorithm, Capabilities, Fitted, LearnError, Model, Result, Rows, Samples};

/// Removes features with low variance, like scikit-learn's `VarianceThreshold`. Ignores targets and NaN.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct VarianceThreshold {
    /// Features with a variance of at most this are removed.
    #[hyper(default = 0.0, range = "[0, inf)")]
    pub threshold: f64,
}

/// A fitted [`VarianceThreshold`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = VarianceThreshold)]
pub struct FittedVarianceThreshold {
    about: About,
    /// Variance of each feature, with n in the denominator; at threshold 0 bounded by its range, so that it is exactly
    /// 0 for constant features.
    #[fitted(shape = "features")]
    variances: Tensor,
}

impl Algorithm for VarianceThreshold {
    type Fitted = FittedVarianceThreshold;
    const CAPABILITIES: Capabilities = Capabilities { sparse: true, missing: true, ..Capabilities::TRANSFORMER };

    fn train(&self, samples: &Samples) -> Result<FittedVarianceThreshold> {
        let x = samples.x();
        without_infinite(x)?;
        let ones = vec![1.0; x.len()];
        let (total, mean) = means(x, &ones)?;
        let mut found = variances(x, &ones, &total, &mean)?;
        let (low, high) = extremes(x)?;
        for (found, (low, high)) in found.iter_mut().zip(low.iter().zip(&high)) {
            *found = match *found {
                _ if low.is_nan() => 0.0, // a feature without values
                var if self.threshold == 0.0 || low == high => var.min(high - low),
                var => var,
            };
        }
        let single = samples.x().dtype() == tove_tensor::DType::F32;
        let max = if single { f64::from(f32::MAX) } else { f64::MAX };
        let found: Vec<f64> = found.into_iter().map(|var| var.min(max)).collect();
        let variances = Tensor::from_slice(&found).to_dtype(x.dtype());
        let kept = variances.to_f64_vec().iter().filter(|&&var| var > self.threshold).count();
        if kept == 0 {
            let problem = format!("no feature meets the variance threshold {}", self.threshold);
            return Err(LearnError::data(Self::NAME, problem, "lower `threshold`, or give features that vary"));
        }
        let about = About::of(self, samples).outputs(kept);
        Ok(FittedVarianceThreshold { about, variances })
    }
}

impl FittedVarianceThreshold {
    /// The selected features, in ascending order.
    pub fn columns(&self) -> Vec<usize> {
        let threshold = settings_of::<VarianceThreshold>(&self.about).map_or(0.0, |own| own.threshold);
        let variances = self.variances.to_f64_vec();
        (0..variances.len()).filter(|&column| variances[column] > threshold).collect()
    }
}

impl Model for FittedVarianceThreshold {
    crate::fitted_methods!();

    fn outputs(&self) -> usize {
        self.columns().len()
    }

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        self.columns().iter().map(|&c| inputs.get(c).cloned().unwrap_or_else(|| format!("x{c}"))).collect()
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        take_columns(x, &self.columns())
    }
}
