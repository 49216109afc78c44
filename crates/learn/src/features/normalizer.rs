//! Normalization of samples to unit norm: x' = x / ‖x‖ with the l1, l2 or max norm. Rows of zeros are unchanged.
//!
//! ```
//! use tove_learn::features::{NormKind, Normalizer};
//! use tove_learn::{Fit, Transform};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[3.0, -4.0], [0.0, 0.0]]);
//! assert_eq!(Normalizer::default().fit(&x, None)?.transform(&x)?.to_vec::<f64>(), [0.6, -0.8, 0.0, 0.0]);
//! let largest = Normalizer::default().norm(NormKind::Max).fit(&x, None)?;
//! assert_eq!(largest.transform(&x)?.to_vec::<f64>(), [0.75, -1.0, 0.0, 0.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters};
use tove_tensor::Tensor;

use super::columns::{each, settings_of};
use crate::{About, Algorithm, Capabilities, Csr, Fitted, Model, Real, Result, Rows, Samples, with_real};

/// A norm of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum NormKind {
    /// Sum of absolute values.
    L1,
    /// Square root of the sum of squares.
    #[default]
    L2,
    /// Largest absolute value.
    Max,
}

/// Scales every sample to unit norm, like scikit-learn's `Normalizer`; sparse rows stay sparse.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct Normalizer {
    /// The norm: l1, l2 or max.
    #[hyper(default = NormKind::L2)]
    pub norm: NormKind,
}

/// A fitted [`Normalizer`], which only stores the number of features.
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = Normalizer)]
pub struct FittedNormalizer {
    about: About,
}

impl Algorithm for Normalizer {
    type Fitted = FittedNormalizer;
    const CAPABILITIES: Capabilities = Capabilities { sparse: true, ..Capabilities::TRANSFORMER };

    fn train(&self, samples: &Samples) -> Result<FittedNormalizer> {
        Ok(FittedNormalizer { about: About::of(self, samples) })
    }
}

/// The norm of each row as the largest absolute value and the norm of the row divided by it, to avoid overflow.
fn norms(x: &Rows, kind: NormKind) -> Result<Vec<(f64, f64)>> {
    let mut norms = vec![(0.0f64, 0.0f64); x.len()];
    each(x, |row, _, value| norms[row].0 = norms[row].0.max(value.abs()))?;
    each(x, |row, _, value| {
        let (largest, sum) = &mut norms[row];
        let share = if *largest > 0.0 { value.abs() / *largest } else { 0.0 };
        *sum += if kind == NormKind::L1 { share } else { share * share };
    })?;
    for (largest, sum) in &mut norms {
        *sum = match kind {
            _ if *largest == 0.0 => 1.0,
            NormKind::L1 => *sum,
            NormKind::L2 => sum.sqrt(),
            NormKind::Max => 1.0,
        };
        *largest = if *largest == 0.0 { 1.0 } else { *largest };
    }
    Ok(norms)
}

impl Model for FittedNormalizer {
    crate::fitted_methods!();

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        inputs.to_vec()
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let norms = norms(x, settings_of::<Normalizer>(&self.about)?.norm)?;
        let width = x.width().max(1);
        let scaled = |value: f64, (largest, norm): (f64, f64)| value / largest / norm;
        match x {
            Rows::Dense(x) => with_real!(x.dtype(), T => {
                let rows = x.as_slice::<T>()?.chunks(width).zip(&norms);
                let out: Vec<T> = rows.flat_map(|(row, &norm)| row.iter().map(move |x| T::of(scaled(x.f64(), norm)))).collect();
                Ok(Rows::Dense(Tensor::try_from_vec(out, x.dims().to_vec())?))
            }),
            Rows::Sparse(x) => with_real!(x.dtype(), T => {
                let values = x.values().as_slice::<T>()?;
                let rows = x.indptr().windows(2).zip(&norms);
                let out: Vec<T> =
                    rows.flat_map(|(two, &norm)| values[two[0]..two[1]].iter().map(move |x| T::of(scaled(x.f64(), norm)))).collect();
                let entries = out.len();
                let values = Tensor::try_from_vec(out, [entries])?;
                Ok(Rows::Sparse(Csr::new(x.indptr().to_vec(), x.indices().to_vec(), values, x.columns())?))
            }),
        }
    }
}
