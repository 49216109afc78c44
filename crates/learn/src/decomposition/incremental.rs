//! Principal components from one part of the data after another (Ross, Lim, Lin, Yang 2008).
//!
//! After each part, the singular values of the components so far, of the part, and of the movement of the mean are found together; what
//! does not fit into `n_components` directions is forgotten. With all directions kept the result is that of all data at once.
//!
//! ```
//! use tove_learn::{Fit, Transform, decomposition::IncrementalPca};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [4.0, 8.0]]);
//! let model = IncrementalPca::default().n_components(Some(1)).batch_size(Some(2)).fit(&x, None)?;
//! assert!((model.explained_variance_ratio().at::<f64>(&[0]) - 1.0).abs() < 1e-12);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{DType, Tensor, TryOps, linalg};

use super::pca::{back, project, scales};
use super::spectrum::upright;
use crate::{
    About, Algorithm, AnyLearner, Capabilities, Fitted, LearnError, Learner, Model, PartialFit, Result, Rows, Samples,
};

/// Principal components of data in pieces, as scikit-learn's `IncrementalPCA`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "IncrementalPCA")]
pub struct IncrementalPca {
    /// Components kept; as many as the first piece allows if none are given.
    #[hyper(default = None, range = "[1, inf)")]
    pub n_components: Option<usize>,
    /// Whether projections are divided by their standard deviations.
    #[hyper(default = false)]
    pub whiten: bool,
    /// Samples of a piece when all data are fitted at once; five times the features if none are given.
    #[hyper(default = None, range = "[1, inf)")]
    pub batch_size: Option<usize>,
}

/// A fitted [`IncrementalPca`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = IncrementalPca)]
pub struct FittedIncrementalPca {
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
    /// Variance of each feature, with n in the denominator.
    #[fitted(shape = "features")]
    var: Tensor,
    /// What projections are divided by: standard deviations for whitening, else ones.
    #[fitted(shape = "outputs")]
    scale: Tensor,
    /// Mean variance along the directions that are left out, with what was forgotten along the way.
    noise_variance: f64,
}

/// Learns [`IncrementalPca`] from pieces. The first must have as many samples as there are components.
pub struct IncrementalPcaLearner {
    settings: IncrementalPca,
    state: Option<State>,
}

struct State {
    dtype: DType,
    /// Samples so far.
    count: f64,
    mean: Vec<f64>,
    /// Σ (x − mean)² of each feature.
    squares: Vec<f64>,
    singular: Vec<f64>,
    directions: Tensor, // (k, d)
}

impl PartialFit for IncrementalPca {
    type Learner = IncrementalPcaLearner;

    fn learner(&self, _classes: &[i64]) -> Result<IncrementalPcaLearner> {
        self.validate()?;
        Ok(IncrementalPcaLearner { settings: self.clone(), state: None })
    }
}

impl Algorithm for IncrementalPca {
    type Fitted = FittedIncrementalPca;
    const CAPABILITIES: Capabilities =
        Capabilities { inverse_transform: true, partial_fit: true, accuracy: 1e-6, ..Capabilities::TRANSFORMER };

    fn train(&self, samples: &Samples) -> Result<FittedIncrementalPca> {
        let (n, d) = (samples.len(), samples.width());
        if n < 2 {
            let fix = "give at least two samples: one has no variance".to_owned();
            return Err(LearnError::TooFew { who: Self::NAME, found: n, needed: 2, fix });
        }
        let size = self.batch_size.unwrap_or(5 * d).max(self.n_components.unwrap_or(1));
        let mut learner = self.learner(&[])?;
        let mut first = 0;
        while first < n {
            if tove_optim::interrupted() {
                return Err(LearnError::Interrupted { who: Self::NAME });
            }
            // A rest that is too small for a piece joins the last one.
            let end = if n - first < 2 * size { n } else { first + size };
            learner.learn(&samples.take(&(first..end).collect::<Vec<_>>())?)?;
            first = end;
        }
        learner.model()
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        crate::partial::boxed(self, classes)
    }
}

impl Learner for IncrementalPcaLearner {
    type Fitted = FittedIncrementalPca;

    fn learn(&mut self, samples: &Samples) -> Result<()> {
        let samples = crate::estimator::admit(&self.settings, samples)?;
        samples.require_moderate(IncrementalPca::NAME, true)?;
        let (n, d) = (samples.len(), samples.width());
        if let Some(state) = &self.state {
            samples.x().check_width(IncrementalPca::NAME, state.mean.len())?;
        }
        let known = self.state.as_ref().map(|state| state.singular.len());
        let k = known.or(self.settings.n_components).unwrap_or(n.min(d));
        if k > d || (known.is_none() && k > n) {
            let problem = format!("{k} components of a first piece of {n} samples with {d} features");
            return Err(LearnError::parameter(IncrementalPca::NAME, format!("{problem}; give at most {}", n.min(d))));
        }
        let dtype = self.state.as_ref().map_or(samples.x().dtype(), |state| state.dtype);
        let x = samples.x().dense(IncrementalPca::NAME)?.to_dtype(DType::F64);
        let mean = x.try_mean_axes(&[0], false)?;
        let centered = x.try_sub(&mean)?;
        let own_squares = centered.try_mul(&centered)?.try_sum_axes(&[0], false)?.to_f64_vec();
        let (mean, rows) = (mean.to_f64_vec(), n as f64);
        let next = match self.state.take() {
            None => {
                let linalg::Svd { s, vt, .. } = linalg::svd(&centered)?;
                let (singular, directions) = first(&s, &vt, k)?;
                State { dtype, count: rows, mean, squares: own_squares, singular, directions }
            }
            Some(old) => {
                let total = old.count + rows;
                let gaps: Vec<f64> = old.mean.iter().zip(&mean).map(|(old, new)| old - new).collect();
                let moved: Vec<f64> = gaps.iter().map(|gap| (old.count * rows / total).sqrt() * gap).collect();
                let scaled = old.directions.try_mul(&Tensor::from_slice(&old.singular).try_reshape([k, 1])?)?;
                let moved = Tensor::try_from_vec(moved, [1, d])?;
                let linalg::Svd { s, vt, .. } = linalg::svd(&Tensor::try_concat(&[&scaled, &centered, &moved], 0)?)?;
                let (singular, directions) = first(&s, &vt, k)?;
                let joined = |i: usize| old.squares[i] + own_squares[i] + old.count * rows / total * gaps[i] * gaps[i];
                State {
                    dtype,
                    count: total,
                    squares: (0..d).map(joined).collect(),
                    mean: old.mean.iter().zip(&gaps).map(|(old, gap)| old - gap * rows / total).collect(),
                    singular,
                    directions,
                }
            }
        };
        self.state = Some(next);
        Ok(())
    }

    fn model(&self) -> Result<FittedIncrementalPca> {
        let state = self.state.as_ref().filter(|state| state.count >= 2.0);
        let Some(State { dtype, count, mean, squares, singular, directions }) = state else {
            let fix = "call `learn` with at least two samples".to_owned();
            return Err(LearnError::TooFew { who: IncrementalPca::NAME, found: 0, needed: 2, fix });
        };
        let (d, k, freedom) = (mean.len(), singular.len(), count - 1.0);
        let variances: Vec<f64> = singular.iter().map(|s| s * s / freedom).collect();
        let whole = squares.iter().sum::<f64>() / freedom;
        let ratio: Vec<f64> = variances.iter().map(|v| if whole > 0.0 { v / whole } else { 0.0 }).collect();
        let left = d.min(*count as usize) - k;
        let rest = (whole - variances.iter().sum::<f64>()).max(0.0);
        let var: Vec<f64> = squares.iter().map(|sum| sum / count).collect();
        let vector = |values: &[f64]| Tensor::from_slice(values).to_dtype(*dtype);
        let about = About::new(&self.settings, d, *dtype).outputs(k);
        Ok(FittedIncrementalPca {
            about,
            components: upright(directions.to_f64_vec(), d)?.to_dtype(*dtype),
            explained_variance: vector(&variances),
            explained_variance_ratio: vector(&ratio),
            singular_values: vector(singular),
            mean: vector(mean),
            var: vector(&var),
            scale: vector(&scales(&variances, self.settings.whiten, *count as usize, d)),
            noise_variance: if left > 0 { rest / left as f64 } else { 0.0 },
        })
    }
}

/// The first k singular values and directions.
fn first(s: &Tensor, vt: &Tensor, k: usize) -> Result<(Vec<f64>, Tensor)> {
    Ok((s.to_f64_vec()[..k].to_vec(), vt.try_narrow(0, 0, k)?.try_contiguous()?))
}

impl Model for FittedIncrementalPca {
    crate::fitted_methods!();

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        project(x.dense(self.name())?, &self.mean, &self.components, &self.scale)
    }

    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        back(x.dense(self.name())?, &self.mean, &self.components, &self.scale)
    }
}
