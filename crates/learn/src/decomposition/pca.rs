//! Principal component analysis: the directions of largest variance.
//!
//! With X centered, X = U S Vᵀ; the first k rows of Vᵀ are the components, S² / (n − 1) the variances along them (Pearson 1901,
//! Hotelling 1933). `svd_solver` chooses between all singular values of X, the eigenvectors of the covariance matrix (for many more
//! samples than features; rounding errors are of the size of the squares), and a randomized search for the largest. The largest entry
//! of each component is positive.
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

use tove_optim::settings::{Hyperparameters, Named, Setting, Value, ValueKind};
use tove_tensor::{DType, Tensor, TryOps};

use super::spectrum::{Spectrum, SvdSolver, column_means, spectrum};
use crate::{About, Algorithm, AnyLearner, Capabilities, Fitted, LearnError, Model, Result, Rows, Samples};

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
    fn kind() -> ValueKind {
        ValueKind::Text
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
    /// How the directions are found: auto, full, covariance_eigh or randomized.
    #[hyper(default = SvdSolver::Auto)]
    pub svd_solver: SvdSolver,
    /// Seed of the randomized solver.
    #[hyper(default = 0, alias = "random_state")]
    pub seed: u64,
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
        Capabilities { inverse_transform: true, partial_fit: true, accuracy: 1e-6, ..Capabilities::TRANSFORMER };

    fn train(&self, samples: &Samples) -> Result<FittedPca> {
        samples.require_moderate(Self::NAME, true)?;
        let x = samples.x().dense(Self::NAME)?;
        let (n, d, dtype) = (samples.len(), samples.width(), x.dtype());
        if n < 2 {
            let fix = "give at least two samples: one has no variance".to_owned();
            return Err(LearnError::TooFew { who: Self::NAME, found: n, needed: 2, fix });
        }
        let wanted = match self.n_components {
            Components::Count(count) if count > n.min(d) => return Err(too_many(count, n, d)),
            Components::Count(count) => Some(count),
            _ => None,
        };
        let solver = self.svd_solver.resolve(n, d, wanted);
        if solver == SvdSolver::Randomized && matches!(self.n_components, Components::Share(_)) {
            let problem = "the randomized solver cannot know how many components a share of the variance needs";
            return Err(LearnError::parameter(
                Self::NAME,
                format!("{problem}; give a number, or another `svd_solver`"),
            ));
        }
        let mean = column_means(x)?;
        let found = spectrum(x, &mean, solver, wanted.unwrap_or(n.min(d)), self.seed)?;
        self.fitted(found, &mean, n, solver, dtype)
    }

    fn capabilities_of(settings: &Pca) -> Capabilities {
        let partial_fit = !matches!(settings.svd_solver, SvdSolver::Full | SvdSolver::Randomized);
        Capabilities { partial_fit, ..Self::CAPABILITIES }
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        crate::partial::boxed(self, classes)
    }
}

impl Pca {
    /// The model of n rows with this spectrum, found in this way.
    pub(super) fn fitted(
        &self,
        found: Spectrum,
        mean: &[f64],
        n: usize,
        solver: SvdSolver,
        dtype: DType,
    ) -> Result<FittedPca> {
        let (Spectrum { variances, directions, whole }, d) = (found, mean.len());
        let kept = self.kept(&variances, whole);
        let ratio: Vec<f64> = variances[..kept].iter().map(|v| if whole > 0.0 { v / whole } else { 0.0 }).collect();
        let left = n.min(d) - kept;
        let rest = match solver {
            SvdSolver::Randomized => (whole - variances[..kept].iter().sum::<f64>()).max(0.0),
            _ => variances[kept..].iter().sum::<f64>(),
        };
        let noise = if left > 0 { rest / left as f64 } else { 0.0 };
        let scale = scales(&variances[..kept], self.whiten, n, d);
        let singular: Vec<f64> = variances[..kept].iter().map(|v| (v * (n as f64 - 1.0)).sqrt()).collect();
        let vector = |values: &[f64]| Tensor::from_slice(values).to_dtype(dtype);
        Ok(FittedPca {
            about: About::new(self, d, dtype).outputs(kept),
            components: directions.try_narrow(0, 0, kept)?.try_contiguous()?.to_dtype(dtype),
            explained_variance: vector(&variances[..kept]),
            explained_variance_ratio: vector(&ratio),
            singular_values: vector(&singular),
            mean: vector(mean),
            scale: vector(&scale),
            noise_variance: noise,
        })
    }

    fn kept(&self, variances: &[f64], whole: f64) -> usize {
        match self.n_components {
            Components::All => variances.len(),
            Components::Count(count) => count,
            Components::Share(share) => {
                let mut sum = 0.0;
                let enough = variances.iter().position(|v| {
                    sum += v;
                    sum > share * whole
                });
                enough.map_or(variances.len(), |place| place + 1)
            }
        }
    }
}

#[cold]
pub(super) fn too_many(count: usize, n: usize, d: usize) -> LearnError {
    let problem = format!("{count} components of {n} samples with {d} features; give at most {}", n.min(d));
    LearnError::parameter(Pca::NAME, problem)
}

/// What projections are divided by: deviations for whitening, else ones. A direction whose variance is nothing but rounding is not
/// scaled up to noise.
pub(super) fn scales(variances: &[f64], whiten: bool, n: usize, d: usize) -> Vec<f64> {
    let rounding = f64::EPSILON * n.max(d) as f64 * variances.first().copied().unwrap_or(0.0).sqrt();
    let deviation = |v: &f64| if whiten && v.sqrt() > rounding { v.sqrt() } else { 1.0 };
    variances.iter().map(deviation).collect()
}

/// (x − mean) componentsᵀ / scale, in the precision of the rows.
pub(super) fn project(x: &Tensor, mean: &Tensor, components: &Tensor, scale: &Tensor) -> Result<Rows> {
    let as_given = |tensor: &Tensor| tensor.to_dtype(x.dtype());
    let projected = x.try_sub(&as_given(mean))?.try_matmul(&as_given(components).try_t()?)?;
    Ok(Rows::Dense(projected.try_div(&as_given(scale))?))
}

/// (x · scale) components + mean.
pub(super) fn back(x: &Tensor, mean: &Tensor, components: &Tensor, scale: &Tensor) -> Result<Rows> {
    let as_given = |tensor: &Tensor| tensor.to_dtype(x.dtype());
    let scaled = x.try_mul(&as_given(scale))?;
    Ok(Rows::Dense(scaled.try_matmul(&as_given(components))?.try_add(&as_given(mean))?))
}

impl Model for FittedPca {
    crate::fitted_methods!();

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        project(x.dense(self.name())?, &self.mean, &self.components, &self.scale)
    }

    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        back(x.dense(self.name())?, &self.mean, &self.components, &self.scale)
    }
}
