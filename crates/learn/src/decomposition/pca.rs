//! Principal component analysis: the directions of largest variance.
//!
//! With X centered, X = U S Vᵀ; the first k rows of Vᵀ are the components, S² / (n − 1) the variances along them (Pearson 1901,
//! Hotelling 1933). Found from the singular values of X, or, for many more samples than features, from the eigenvectors of the
//! covariance matrix, whose rounding errors are of the size of the squares. The largest entry of each component is positive.
//!
//! ```
//! use tove_learn::{Fit, Pca, Transform};
//! use tove_tensor::Tensor;
//! // Points on a line: one component says it all.
//! let x = Tensor::from([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]);
//! let pca = Pca::default().n_components(1.into()).fit(&x, None)?;
//! assert!((pca.explained_variance_ratio().at::<f64>(&[0]) - 1.0).abs() < 1e-12);
//! let back = pca.inverse_transform(&pca.transform(&x)?)?;
//! assert!((&back - &x).abs().max().item::<f64>() < 1e-12);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Kind, Named, Setting, Value};
use tove_tensor::{DType, Tensor, TryOps, linalg};

use crate::{About, Algorithm, Capabilities, Fitted, LearnError, Model, Result, Rows, Samples};

/// Samples per feature from which on the covariance matrix is taken.
const TALL: usize = 10;

/// How many components are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Components {
    /// As many as there can be: the smaller of samples and features.
    #[default]
    All,
    /// This number of components.
    Count(usize),
    /// As many as explain this share of the variance, between 0 and 1.
    Share(f64),
}

impl From<usize> for Components {
    fn from(count: usize) -> Components {
        Components::Count(count)
    }
}

impl From<f64> for Components {
    fn from(share: f64) -> Components {
        Components::Share(share)
    }
}

impl Setting for Components {
    fn kind() -> Kind {
        Kind::Text
    }

    fn value(&self) -> Value {
        match self {
            Components::All => Value::Text("all".to_owned()),
            Components::Count(count) => Value::Whole(*count as u64),
            Components::Share(share) => Value::Real(*share),
        }
    }

    fn from_value(value: &Value) -> Option<Components> {
        match value {
            Value::None => Some(Components::All),
            Value::Text(text) if text.eq_ignore_ascii_case("all") => Some(Components::All),
            Value::Real(share) if *share > 0.0 && *share < 1.0 => Some(Components::Share(*share)),
            // 1.0 could mean one component or all of the variance.
            Value::Real(share) if *share == 1.0 => None,
            number => usize::from_value(number).filter(|&count| count > 0).map(Components::Count),
        }
    }

    fn parse(text: &str) -> Option<Components> {
        let text = text.trim();
        let count = || text.parse().ok().map(Value::Whole);
        let number = || count().or_else(|| f64::parse(text).map(Value::Real));
        Components::from_value(&Value::Text(text.to_owned())).or_else(|| Components::from_value(&number()?))
    }

    fn all_numbers(&self, test: &dyn Fn(f64) -> bool) -> bool {
        match self {
            Components::All => true,
            Components::Count(count) => *count > 0,
            Components::Share(share) => test(*share) && *share > 0.0 && *share < 1.0,
        }
    }

    fn expected() -> Option<&'static str> {
        Some("all, a number of components from 1, or a share of the variance between 0 and 1")
    }
}

/// Projects centered features onto the directions of largest variance, as scikit-learn's `PCA`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "PCA")]
pub struct Pca {
    /// Components kept: all, a number, or the share of the variance they explain together.
    #[hyper(default = Components::All, fix = "give all, a whole number from 1, or a share between 0 and 1, both excluded")]
    pub n_components: Components,
    /// Whether projections are divided by their standard deviations.
    #[hyper(default = false)]
    pub whiten: bool,
}

/// A fitted [`Pca`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = Pca)]
pub struct FittedPca {
    about: About,
    /// The directions, one per row, in descending order of variance.
    #[fitted(shape = "outputs, features")]
    components: Tensor,
    /// Variance along each component, with n − 1 in the denominator.
    #[fitted(shape = "outputs")]
    explained_variance: Tensor,
    /// Share of the whole variance along each component.
    #[fitted(shape = "outputs")]
    explained_variance_ratio: Tensor,
    /// Singular values of the centered features.
    #[fitted(shape = "outputs")]
    singular_values: Tensor,
    /// Mean of each feature.
    #[fitted(shape = "features")]
    mean: Tensor,
    /// What projections are divided by: standard deviations for whitening, else ones.
    #[fitted(shape = "outputs")]
    scale: Tensor,
    /// Mean variance along the directions that are left out.
    noise_variance: f64,
}

impl Algorithm for Pca {
    type Fitted = FittedPca;
    const CAPABILITIES: Capabilities =
        Capabilities { inverse_transform: true, accuracy: 1e-6, ..Capabilities::TRANSFORMER };

    fn train(&self, samples: &Samples) -> Result<FittedPca> {
        samples.require_moderate(Self::NAME, true)?;
        let x = samples.x().dense(Self::NAME)?;
        let (n, d, dtype) = (samples.len(), samples.width(), x.dtype());
        if n < 2 {
            let fix = "give at least two samples: one has no variance".to_owned();
            return Err(LearnError::TooFew { who: Self::NAME, found: n, needed: 2, fix });
        }
        let x = x.to_dtype(DType::F64);
        let mean = x.try_mean_axes(&[0], false)?;
        let centered = x.try_sub(&mean)?;
        let (variances, directions) = spectrum(&centered)?;
        let whole: f64 = variances.iter().sum();
        let kept = self.kept(&variances, whole, (n, d))?;
        let ratio: Vec<f64> = variances[..kept].iter().map(|v| if whole > 0.0 { v / whole } else { 0.0 }).collect();
        let left = variances.len() - kept;
        let noise = if left > 0 { variances[kept..].iter().sum::<f64>() / left as f64 } else { 0.0 };
        // A direction whose variance is nothing but rounding is not scaled up to noise.
        let rounding = f64::EPSILON * n.max(d) as f64 * variances[0].sqrt();
        let deviation = |v: &f64| if v.sqrt() > rounding { v.sqrt() } else { 1.0 };
        let scale: Vec<f64> = match self.whiten {
            true => variances[..kept].iter().map(deviation).collect(),
            false => vec![1.0; kept],
        };
        let singular: Vec<f64> = variances[..kept].iter().map(|v| (v * (n as f64 - 1.0)).sqrt()).collect();
        let vector = |values: &[f64]| Tensor::from_slice(values).to_dtype(dtype);
        Ok(FittedPca {
            about: About::of(self, samples).outputs(kept),
            components: directions.try_narrow(0, 0, kept)?.try_contiguous()?.to_dtype(dtype),
            explained_variance: vector(&variances[..kept]),
            explained_variance_ratio: vector(&ratio),
            singular_values: vector(&singular),
            mean: mean.to_dtype(dtype),
            scale: vector(&scale),
            noise_variance: noise,
        })
    }
}

impl Pca {
    fn kept(&self, variances: &[f64], whole: f64, (n, d): (usize, usize)) -> Result<usize> {
        match self.n_components {
            Components::All => Ok(variances.len()),
            Components::Count(count) if count <= variances.len() => Ok(count),
            Components::Count(count) => {
                let problem = format!("{count} components of {n} samples with {d} features; give at most {}", n.min(d));
                Err(LearnError::parameter(Self::NAME, problem))
            }
            Components::Share(share) => {
                let mut sum = 0.0;
                let enough = variances.iter().position(|v| {
                    sum += v;
                    sum > share * whole
                });
                Ok(enough.map_or(variances.len(), |place| place + 1))
            }
        }
    }
}

/// Variances, descending, and their directions as rows, of centered features (n, d): as many as the smaller of both.
fn spectrum(centered: &Tensor) -> Result<(Vec<f64>, Tensor)> {
    let (n, d) = (centered.dims()[0], centered.dims()[1]);
    let freedom = n as f64 - 1.0;
    let (variances, directions) = if n >= TALL * d {
        let covariance = centered.try_t()?.try_matmul(centered)? * (1.0 / freedom);
        let linalg::Eigh { values, vectors } = linalg::eigh(&covariance)?;
        let variances = values.to_f64_vec().into_iter().rev().map(|v| v.max(0.0)).collect::<Vec<f64>>();
        let vectors = vectors.to_f64_vec(); // (d, d), one vector per column, ascending
        let rows = (0..d).rev().flat_map(|j| (0..d).map(move |i| i * d + j)).map(|place| vectors[place]).collect();
        (variances, Tensor::try_from_vec(rows, [d, d])?)
    } else {
        let linalg::Svd { s, vt, .. } = linalg::svd(centered)?;
        (s.to_f64_vec().into_iter().map(|s| s * s / freedom).collect(), vt)
    };
    let mut rows = directions.try_contiguous()?.to_f64_vec();
    for row in rows.chunks_mut(d) {
        let largest = row.iter().fold(0.0f64, |most, x| if x.abs() > most.abs() { *x } else { most });
        if largest < 0.0 {
            row.iter_mut().for_each(|x| *x = -*x);
        }
    }
    let k = variances.len();
    Ok((variances, Tensor::try_from_vec(rows, [k, d])?))
}

impl Model for FittedPca {
    crate::fitted_methods!();

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let x = x.dense(self.name())?;
        let as_given = |tensor: &Tensor| tensor.to_dtype(x.dtype());
        let projected = x.try_sub(&as_given(&self.mean))?.try_matmul(&as_given(&self.components).try_t()?)?;
        Ok(Rows::Dense(projected.try_div(&as_given(&self.scale))?))
    }

    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        let x = x.dense(self.name())?;
        let as_given = |tensor: &Tensor| tensor.to_dtype(x.dtype());
        let scaled = x.try_mul(&as_given(&self.scale))?;
        Ok(Rows::Dense(scaled.try_matmul(&as_given(&self.components))?.try_add(&as_given(&self.mean))?))
    }
}
