//! Binarization: x' = 1 if x > threshold, else 0.
//!
//! ```
//! use tove_learn::features::Binarizer;
//! use tove_learn::{Fit, Transform};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.5, 2.0], [1.0, -3.0]]);
//! assert_eq!(Binarizer::default().threshold(0.5).fit(&x, None)?.transform(&x)?.to_vec::<f64>(), [0.0, 1.0, 1.0, 0.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::Hyperparameters;
use tove_tensor::Tensor;

use super::columns::{map, settings_of};
use crate::{About, Algorithm, Capabilities, Csr, Fitted, Model, Result, Rows, Samples};

/// Thresholds every value, like scikit-learn's `Binarizer`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct Binarizer {
    /// Values above it become 1, others 0; must not be negative for sparse rows, whose zeros would all become 1.
    #[hyper(default = 0.0, range = "(-inf, inf)")]
    pub threshold: f64,
}

/// A fitted [`Binarizer`], which only stores the number of features.
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = Binarizer)]
pub struct FittedBinarizer {
    about: About,
}

impl Algorithm for Binarizer {
    type Fitted = FittedBinarizer;
    const CAPABILITIES: Capabilities = Capabilities { sparse: true, ..Capabilities::TRANSFORMER };

    fn capabilities_of(settings: &Binarizer) -> Capabilities {
        Capabilities { sparse: settings.threshold >= 0.0, ..Self::CAPABILITIES }
    }

    fn train(&self, samples: &Samples) -> Result<FittedBinarizer> {
        Ok(FittedBinarizer { about: About::of(self, samples) })
    }
}

impl Model for FittedBinarizer {
    crate::fitted_methods!();

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        inputs.to_vec()
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let threshold = settings_of::<Binarizer>(&self.about)?.threshold;
        if threshold < 0.0 {
            x.dense(self.about.name)?;
        }
        let changed = map(x, |_, value| f64::from(value > threshold))?;
        match changed {
            Rows::Dense(_) => Ok(changed),
            // Values that became 0 are not stored.
            Rows::Sparse(changed) => {
                let (old, mut indptr, mut indices) = (changed.values().to_f64_vec(), vec![0], Vec::new());
                for two in changed.indptr().windows(2) {
                    indices.extend((two[0]..two[1]).filter(|&i| old[i] > 0.0).map(|i| changed.indices()[i]));
                    indptr.push(indices.len());
                }
                let ones = Tensor::try_full([indices.len()], 1.0, changed.dtype())?;
                Ok(Rows::Sparse(Csr::new(indptr, indices, ones, changed.columns())?))
            }
        }
    }
}
