//! Gaussian mixtures: p(x) = Σ π N(x | μ, Σ), fitted by expectation and maximization.
//!
//! The expectation step gives each component its share q of every sample; the maximization step takes weighted means and covariances.
//! Together they never lower the log-likelihood, since each maximizes a lower bound of it that is tight after the expectation step.
//! `reg_covar` is added to all variances, so that no component collapses onto a point. Iterations end when the mean log-likelihood of
//! a sample rises by less than `tol`.
//!
//! ```
//! use tove_learn::{Fit, Predict, mixture::GaussianMixture};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[-0.1], [0.0], [0.1], [4.9], [5.0], [5.1]]);
//! let model = GaussianMixture::default().n_components(2).fit(&x, None)?;
//! let labels = model.predict(&x)?.to_vec::<i64>();
//! assert!(labels[0] == labels[2] && labels[3] == labels[5] && labels[0] != labels[3]);
//! assert!((model.weights()[0] - 0.5).abs() < 1e-9);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::random::fill_uniform;
use tove_tensor::{DType, Key, Tensor, TryOps};

use super::FittedGaussianMixture;
use super::covariance::{CovarianceType, Parameters};
use super::em::{self, Expectation};
use crate::cluster::{KMeans, given_rows, same_count};
use crate::{About, Algorithm, AnyLearner, Capabilities, Fit, LearnError, Result, Samples, Stop, Summary};

/// Where the components begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum MixtureInit {
    /// At the clusters of k-means.
    #[default]
    Kmeans,
    /// With random shares in every sample.
    Random,
    /// At samples drawn at random, each with the samples that are nearest to it.
    RandomFromData,
}

/// A mixture of normal distributions, as scikit-learn's `GaussianMixture`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct GaussianMixture {
    /// Number of components.
    #[hyper(default = 1, range = "[1, inf)", alias = "k")]
    pub n_components: usize,
    /// Covariance matrices: full, tied, diag or spherical.
    #[hyper(default = CovarianceType::Full)]
    pub covariance_type: CovarianceType,
    /// Rise of the mean log-likelihood below which the iterations end.
    #[hyper(default = 1e-3, range = "[0, inf)")]
    pub tol: f64,
    /// Added to all variances, so that no component collapses.
    #[hyper(default = 1e-6, range = "[0, inf)")]
    pub reg_covar: f64,
    /// Iterations of a start at most.
    #[hyper(default = 100, range = "[1, inf)")]
    pub max_iter: usize,
    /// Starts, of which the one with the largest likelihood is kept.
    #[hyper(default = 1, range = "[1, inf)")]
    pub n_init: usize,
    /// Where the components begin: kmeans, random or random_from_data.
    #[hyper(default = MixtureInit::Kmeans)]
    pub init_params: MixtureInit,
    /// Means to begin with, a row each, in place of `init_params`; weights and covariances are those of the samples nearest to each.
    #[hyper(default = None)]
    pub means_init: Option<Vec<Vec<f64>>>,
    /// Seed of the start.
    #[hyper(default = 0, alias = "random_state")]
    pub seed: u64,
}

pub(super) struct Start {
    pub(super) parameters: Parameters,
    pub(super) bound: f64,
    pub(super) change: f64,
    pub(super) iterations: usize,
    pub(super) stop: Stop,
    pub(super) curve: Vec<f64>,
}

impl Algorithm for GaussianMixture {
    type Fitted = FittedGaussianMixture;
    const CAPABILITIES: Capabilities = Capabilities {
        probabilities: true,
        score_samples: true,
        order_free: false,
        anytime: true,
        passes: true,
        warm_start: true,
        ..Capabilities::CLUSTERER
    };

    fn train(&self, samples: &Samples) -> Result<FittedGaussianMixture> {
        self.run(samples, None)
    }

    fn train_from(&self, start: &FittedGaussianMixture, samples: &Samples) -> Result<FittedGaussianMixture> {
        same_count(Self::NAME, self.n_components, start.parameters.count())?;
        let (wanted, found) = (self.covariance_type.name(), start.parameters.kind.name());
        if wanted != found {
            let problem = format!("covariance type {wanted}, and the model to continue from has {found}");
            return Err(LearnError::parameter(Self::NAME, format!("{problem}; use {found}, or fit from the start")));
        }
        self.run(samples, Some(&start.parameters))
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        crate::partial::boxed(self, classes)
    }
}

impl GaussianMixture {
    /// The best of all starts, or the end of the iterations from these parameters.
    fn run(&self, samples: &Samples, from: Option<&Parameters>) -> Result<FittedGaussianMixture> {
        let (n, d, k) = (samples.len(), samples.width(), self.n_components);
        if n < 2 || n < k {
            let fix = format!("give more samples, or ask for at most {n} components");
            return Err(LearnError::TooFew { who: Self::NAME, found: n, needed: k.max(2), fix });
        }
        let x = samples.x().dense(Self::NAME)?.to_dtype(DType::F64);
        // Around the mean, where rounding is smallest.
        let mean = x.try_mean_axes(&[0], false)?;
        let centered = x.try_sub(&mean)?.try_contiguous()?;
        let (rows, mean) = (em::Rows { x: centered.as_slice::<f64>()?, d }, mean.to_f64_vec());
        let mut best: Option<Start> = None;
        let starts = if self.means_init.is_some() || from.is_some() { 1 } else { self.n_init };
        for start in 0..starts {
            if best.is_some() && tove_optim::interrupted() {
                break;
            }
            let first = match from {
                Some(parameters) => {
                    let mut first = parameters.clone();
                    first.shift(&mean, -1.0);
                    first
                }
                None => self.start(&rows, &centered, &mean, Key::new(self.seed).fold(start as u64))?,
            };
            let found = self.iterate(&rows, first)?;
            if best.as_ref().is_none_or(|best| found.bound > best.bound) {
                best = Some(found);
            }
        }
        let mut best = best.ok_or_else(|| LearnError::parameter(Self::NAME, "n_init is 0; give at least 1"))?;
        best.parameters.shift(&mean, 1.0);
        self.fitted(best, d, samples.x().dtype())
    }

    /// The model at the end of the iterations.
    pub(super) fn fitted(&self, found: Start, d: usize, dtype: DType) -> Result<FittedGaussianMixture> {
        let Start { parameters, bound, change, iterations, stop, curve } = found;
        let converged = stop == Stop::Tolerance;
        let summary = Summary::iterative(Self::NAME, iterations, converged, change, bound).ended(stop, curve);
        let factors = parameters.factors(Self::NAME)?;
        let about = About::new(self, d, dtype).summary(summary);
        Ok(FittedGaussianMixture { about, parameters, factors, lower_bound: bound })
    }

    fn start(&self, rows: &em::Rows<'_>, x: &Tensor, mean: &[f64], key: Key) -> Result<Parameters> {
        let (n, d, k) = (rows.len(), rows.d, self.n_components);
        let one_hot = |labels: &[i64]| {
            let mut shares = vec![0.0; n * k];
            labels.iter().enumerate().for_each(|(row, &label)| shares[row * k + label as usize] = 1.0);
            shares
        };
        let nearest = |centers: Vec<f64>| {
            let place = |row: &[f64]| {
                let squares = centers.chunks_exact(d).map(|center| crate::distance::squared(row, center));
                let (label, _) = squares
                    .enumerate()
                    .fold((0, f64::INFINITY), |best, (j, square)| if square < best.1 { (j, square) } else { best });
                label as i64
            };
            rows.x.chunks_exact(d).map(place).collect::<Vec<i64>>()
        };
        let mut given = None;
        let shares = match (&self.means_init, self.init_params) {
            (Some(means), _) => {
                let mut means = given_rows(Self::NAME, "means_init", means, k, d)?;
                means.chunks_exact_mut(d).for_each(|row| row.iter_mut().zip(mean).for_each(|(x, mean)| *x -= mean));
                let shares = one_hot(&nearest(means.clone()));
                given = Some(means);
                shares
            }
            (None, MixtureInit::Kmeans) => {
                let mut seed = [0.0f64];
                fill_uniform(key, &mut seed);
                let clusters = KMeans::default().n_clusters(k).seed((seed[0] * 9e15) as u64);
                one_hot(crate::quietly(|| clusters.fit(x, None))?.labels())
            }
            (None, MixtureInit::Random) => {
                let mut shares = vec![0.0; n * k];
                fill_uniform(key, &mut shares);
                for row in shares.chunks_exact_mut(k) {
                    let total: f64 = row.iter().map(|share| share + f64::EPSILON).sum();
                    row.iter_mut().for_each(|share| *share = (*share + f64::EPSILON) / total);
                }
                shares
            }
            (None, MixtureInit::RandomFromData) => {
                let order = key.permutation(n).to_vec::<i64>();
                let centers =
                    order[..k].iter().flat_map(|&i| rows.x[i as usize * d..(i as usize + 1) * d].iter().copied());
                one_hot(&nearest(centers.collect()))
            }
        };
        let mut first = rows.maximize(&shares, self.covariance_type, self.reg_covar)?;
        if let Some(means) = given {
            first.means = means;
        }
        Ok(first)
    }

    fn iterate(&self, rows: &em::Rows<'_>, mut parameters: Parameters) -> Result<Start> {
        let (mut bound, mut change, mut stop) = (f64::NEG_INFINITY, f64::INFINITY, Stop::MaxIter);
        let (mut iterations, mut curve) = (0, Vec::new());
        let largest = rows.x.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        parameters.require_spread(Self::NAME, largest)?;
        while iterations < self.max_iter {
            if iterations > 0 && tove_optim::interrupted() {
                stop = Stop::Interrupted;
                break;
            }
            iterations += 1;
            let factors = parameters.factors(Self::NAME)?;
            let Expectation { log_likelihood, shares } = rows.expect(&parameters, &factors, false)?;
            let mean = log_likelihood.iter().sum::<f64>() / rows.len() as f64;
            require_finite(mean)?;
            change = mean - bound;
            bound = mean;
            curve.push(mean);
            parameters = rows.maximize(&shares, self.covariance_type, self.reg_covar)?;
            parameters.require_spread(Self::NAME, largest)?;
            if change.abs() < self.tol {
                stop = Stop::Tolerance;
                break;
            }
        }
        Ok(Start { parameters, bound, change, iterations, stop, curve })
    }
}

/// That the mean log-likelihood is a number.
pub(super) fn require_finite(mean: f64) -> Result<()> {
    if mean.is_finite() {
        return Ok(());
    }
    let fix = "scale the features, for instance with `StandardScaler`, or raise `reg_covar`";
    Err(LearnError::data(GaussianMixture::NAME, "the log-likelihood is not finite", fix))
}
