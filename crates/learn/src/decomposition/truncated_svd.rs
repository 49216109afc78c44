//! The largest singular values of features that are not centered: latent semantic analysis, and what PCA is for sparse rows.
//!
//! ```
//! use tove_learn::{Csr, Fit, Transform, decomposition::TruncatedSvd};
//! use tove_tensor::Tensor;
//! let counts = Csr::from_dense(&Tensor::from([[2.0, 1.0, 0.0, 0.0], [4.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 1.0]]))?;
//! let model = TruncatedSvd::default().fit(&counts, None)?;
//! let topics = model.transform(&counts)?;
//! assert!(topics.at::<f64>(&[0, 1]).abs() < 1e-9 && topics.at::<f64>(&[2, 0]).abs() < 1e-9);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{DType, Tensor, TryOps};

use super::spectrum::{randomized, upright};
use crate::{About, Algorithm, Capabilities, Fitted, LearnError, Model, Result, Rows, Samples};

/// Projects features onto the directions of the largest singular values, without centering them, so that sparse rows stay sparse; as
/// scikit-learn's `TruncatedSVD`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "TruncatedSVD")]
pub struct TruncatedSvd {
    /// Number of directions.
    #[hyper(default = 2, range = "[1, inf)", alias = "k")]
    pub n_components: usize,
    /// Rounds of products that turn the random subspace towards the largest directions.
    #[hyper(default = 5, range = "[0, 1000]")]
    pub n_iter: usize,
    /// Seed of the random subspace.
    #[hyper(default = 0, alias = "random_state")]
    pub seed: u64,
}

/// A fitted [`TruncatedSvd`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = TruncatedSvd)]
pub struct FittedTruncatedSvd {
    about: About,
    /// The directions, one per row, in descending order of their singular values.
    #[fitted(shape = "outputs, features")]
    components: Tensor,
    /// Variance of the samples along each direction.
    #[fitted(shape = "outputs")]
    explained_variance: Tensor,
    /// Share of the variance of all features.
    #[fitted(shape = "outputs")]
    explained_variance_ratio: Tensor,
    /// The singular values.
    #[fitted(shape = "outputs")]
    singular_values: Tensor,
}

impl Algorithm for TruncatedSvd {
    type Fitted = FittedTruncatedSvd;
    const CAPABILITIES: Capabilities =
        Capabilities { sparse: true, inverse_transform: true, accuracy: 1e-6, ..Capabilities::TRANSFORMER };

    fn train(&self, samples: &Samples) -> Result<FittedTruncatedSvd> {
        samples.require_moderate(Self::NAME, true)?;
        let (n, d, k, dtype) = (samples.len(), samples.width(), self.n_components, samples.x().dtype());
        if k > n.min(d) {
            let problem = format!("{k} components of {n} samples with {d} features; give at most {}", n.min(d));
            return Err(LearnError::parameter(Self::NAME, problem));
        }
        let x = samples.x().to_dtype(DType::F64);
        let (singular, directions) = randomized(&x, k, Some(self.n_iter), self.seed)?;
        let directions = upright(directions.to_f64_vec(), d)?;
        let projected = project(&x, &directions)?;
        let variances = variances(&Rows::Dense(projected))?;
        let whole: f64 = self::variances(&x)?.iter().sum();
        let ratio: Vec<f64> = variances.iter().map(|v| if whole > 0.0 { v / whole } else { 0.0 }).collect();
        let vector = |values: &[f64]| Tensor::from_slice(values).to_dtype(dtype);
        Ok(FittedTruncatedSvd {
            about: About::of(self, samples).outputs(k),
            components: directions.to_dtype(dtype),
            explained_variance: vector(&variances),
            explained_variance_ratio: vector(&ratio),
            singular_values: vector(&singular),
        })
    }
}

/// The variance of each column, with n in the denominator.
fn variances(x: &Rows) -> Result<Vec<f64>> {
    let (n, d) = (x.len() as f64, x.width());
    let mut means = vec![0.0; d];
    let mut squares = vec![0.0; d];
    match x {
        Rows::Dense(x) => {
            let rows = x.to_f64_vec();
            rows.chunks_exact(d).for_each(|row| means.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / n));
            for row in rows.chunks_exact(d) {
                let gaps = row.iter().zip(&means).map(|(x, mean)| x - mean);
                squares.iter_mut().zip(gaps).for_each(|(sum, gap)| *sum += gap * gap);
            }
        }
        Rows::Sparse(x) => {
            let (values, mut counts) = (x.values().to_f64_vec(), vec![0.0; d]);
            for (&column, value) in x.indices().iter().zip(&values) {
                means[column as usize] += value / n;
                counts[column as usize] += 1.0;
            }
            for (&column, value) in x.indices().iter().zip(&values) {
                squares[column as usize] += (value - means[column as usize]).powi(2);
            }
            // Numbers that are not stored are zeros.
            for ((sum, count), mean) in squares.iter_mut().zip(counts).zip(&means) {
                *sum += (n - count) * mean * mean;
            }
        }
    }
    Ok(squares.into_iter().map(|sum| sum / n).collect())
}

fn project(x: &Rows, directions: &Tensor) -> Result<Tensor> {
    match x {
        Rows::Dense(x) => Ok(x.try_matmul(&directions.try_t()?)?),
        Rows::Sparse(x) => x.dot(&directions.try_t()?.try_contiguous()?),
    }
}

impl Model for FittedTruncatedSvd {
    crate::fitted_methods!();

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        Ok(Rows::Dense(project(x, &self.components.to_dtype(x.dtype()))?))
    }

    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        let x = x.dense(self.name())?;
        Ok(Rows::Dense(x.try_matmul(&self.components.to_dtype(x.dtype()))?))
    }
}
