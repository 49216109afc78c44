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
use tove_tensor::random::{fill_normal, fill_uniform};
use tove_tensor::{DType, Key, Tensor, TryOps};

use super::covariance::{CovarianceType, Factors, Parameters};
use super::em::{self, Expectation};
use crate::cluster::{KMeans, given_rows};
use crate::{
    About, Algorithm, Capabilities, Fit, LearnError, Model, Record, Restore, Result, Rows, Samples, Stop, Summary,
};

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

/// A fitted [`GaussianMixture`].
#[derive(Clone, Debug)]
pub struct FittedGaussianMixture {
    about: About,
    parameters: Parameters,
    factors: Factors,
    lower_bound: f64,
}

struct Start {
    parameters: Parameters,
    bound: f64,
    change: f64,
    iterations: usize,
    stop: Stop,
    curve: Vec<f64>,
}

impl Algorithm for GaussianMixture {
    type Fitted = FittedGaussianMixture;
    const CAPABILITIES: Capabilities = Capabilities {
        probabilities: true,
        score_samples: true,
        order_free: false,
        anytime: true,
        ..Capabilities::CLUSTERER
    };

    fn train(&self, samples: &Samples) -> Result<FittedGaussianMixture> {
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
        let starts = if self.means_init.is_some() { 1 } else { self.n_init };
        for start in 0..starts {
            if best.is_some() && tove_optim::interrupted() {
                break;
            }
            let first = self.start(&rows, &centered, &mean, Key::new(self.seed).fold(start as u64))?;
            let found = self.iterate(&rows, first)?;
            if best.as_ref().is_none_or(|best| found.bound > best.bound) {
                best = Some(found);
            }
        }
        let Some(Start { mut parameters, bound, change, iterations, stop, curve }) = best else {
            return Err(LearnError::parameter(Self::NAME, "n_init is 0; give at least 1"));
        };
        for center in parameters.means.chunks_exact_mut(d) {
            center.iter_mut().zip(&mean).for_each(|(x, mean)| *x += mean);
        }
        let converged = stop == Stop::Tolerance;
        let summary = Summary::iterative(Self::NAME, iterations, converged, change, bound).ended(stop, curve);
        let factors = parameters.factors(Self::NAME)?;
        Ok(FittedGaussianMixture {
            about: About::of(self, samples).summary(summary),
            parameters,
            factors,
            lower_bound: bound,
        })
    }
}

impl GaussianMixture {
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
            if !mean.is_finite() {
                let fix = "scale the features, for instance with `StandardScaler`, or raise `reg_covar`";
                return Err(LearnError::data(Self::NAME, "the log-likelihood is not finite", fix));
            }
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

impl FittedGaussianMixture {
    /// A mixture with these weights (k), means (k, d) and covariances, in the shape that belongs to the covariance type of `settings`:
    /// (k, d, d), (d, d), (k, d) or (k).
    ///
    /// # Errors
    /// Shapes that do not fit, weights that are negative or do not sum to 1, covariances that are not positive definite.
    pub fn from_parameters(
        settings: &GaussianMixture,
        weights: &Tensor,
        means: &Tensor,
        covariances: &Tensor,
    ) -> Result<FittedGaussianMixture> {
        settings.validate()?;
        let wrong = |problem: String| Err(LearnError::parameter(GaussianMixture::NAME, problem));
        let &[k, d] = means.dims() else {
            return wrong(format!("means of shape {}; give a row per component", means.shape()));
        };
        let kind = settings.covariance_type;
        if k == 0
            || d == 0
            || k != settings.n_components
            || weights.dims() != [k]
            || covariances.dims() != kind.shape(k, d)
        {
            return wrong(format!(
                "weights of shape {}, means of shape {} and covariances of shape {} for {} components with covariance type {}",
                weights.shape(),
                means.shape(),
                covariances.shape(),
                settings.n_components,
                kind.name()
            ));
        }
        let (weights, means, covariances) = (weights.to_f64_vec(), means.to_f64_vec(), covariances.to_f64_vec());
        let finite = means.iter().chain(&covariances).chain(&weights).all(|value| value.is_finite());
        let total: f64 = weights.iter().sum();
        if !finite || weights.iter().any(|&weight| weight < 0.0) || (total - 1.0).abs() > 1e-6 {
            return wrong("weights must be positive and sum to 1, means and covariances finite".to_owned());
        }
        let parameters = Parameters { kind, d, weights, means, covariances };
        let factors = parameters.factors(GaussianMixture::NAME)?;
        let about = About::new(settings, d, DType::F64);
        Ok(FittedGaussianMixture { about, parameters, factors, lower_bound: 0.0 })
    }

    /// Share of each component.
    pub fn weights(&self) -> &[f64] {
        &self.parameters.weights
    }

    /// The means (k, d), as doubles.
    pub fn means(&self) -> Result<Tensor> {
        let Parameters { means, d, .. } = &self.parameters;
        Ok(Tensor::try_from_vec(means.clone(), [means.len() / d, *d])?)
    }

    /// The covariances, as doubles: (k, d, d), (d, d), (k, d) or (k), by their type.
    pub fn covariances(&self) -> Result<Tensor> {
        let Parameters { covariances, kind, d, .. } = &self.parameters;
        Ok(Tensor::try_from_vec(covariances.clone(), kind.shape(self.parameters.count(), *d))?)
    }

    /// Mean log-likelihood of a sample of the fit, before the last maximization.
    pub fn lower_bound(&self) -> f64 {
        self.lower_bound
    }

    fn expect(&self, x: &Rows, logarithms: bool) -> Result<Expectation> {
        let x = x.dense(self.name())?.to_f64_vec();
        let rows = em::Rows { x: &x, d: self.width() };
        let found = rows.expect(&self.parameters, &self.factors, logarithms)?;
        match found.log_likelihood.iter().position(|value| !value.is_finite()) {
            None => Ok(found),
            Some(row) => {
                let problem = format!("the log-likelihood of row {row} is not finite");
                Err(crate::model::overflow(self.name(), &problem))
            }
        }
    }

    /// Free numbers of the model.
    fn free(&self) -> f64 {
        let (k, d) = (self.parameters.count(), self.width());
        (self.parameters.kind.free(k, d) + k * d + k - 1) as f64
    }

    /// Bayesian information criterion on these rows: −2 ln L + p ln n, smaller is better.
    ///
    /// # Errors
    /// As [`Predict::score_samples`](crate::Predict::score_samples).
    pub fn bic(&self, x: impl Into<Rows>) -> Result<f64> {
        let likelihood = crate::Predict::score_samples(self, x)?.to_f64_vec();
        Ok(-2.0 * likelihood.iter().sum::<f64>() + self.free() * (likelihood.len() as f64).ln())
    }

    /// Akaike information criterion on these rows: −2 ln L + 2 p, smaller is better.
    ///
    /// # Errors
    /// As [`FittedGaussianMixture::bic`].
    pub fn aic(&self, x: impl Into<Rows>) -> Result<f64> {
        let likelihood = crate::Predict::score_samples(self, x)?.to_f64_vec();
        Ok(-2.0 * likelihood.iter().sum::<f64>() + 2.0 * self.free())
    }

    /// n rows (n, d) drawn from the mixture, and the component (n) of each.
    ///
    /// # Errors
    /// No rows asked for.
    pub fn sample(&self, n: usize, seed: u64) -> Result<(Tensor, Tensor)> {
        if n == 0 {
            return Err(LearnError::parameter(GaussianMixture::NAME, "0 rows asked for; give at least 1"));
        }
        let (d, key) = (self.width(), Key::new(seed));
        let Parameters { kind, weights, means, covariances, .. } = &self.parameters;
        let (mut shares, mut noise) = (vec![0.0f64; n], vec![0.0f64; n * d]);
        fill_uniform(key.fold(0), &mut shares);
        fill_normal(key.fold(1), &mut noise);
        let lower: Vec<Vec<f64>> = match kind {
            CovarianceType::Full | CovarianceType::Tied => {
                self.parameters.cholesky(self.name())?.iter().map(Tensor::to_f64_vec).collect()
            }
            _ => Vec::new(),
        };
        let (mut labels, mut rows) = (Vec::with_capacity(n), Vec::with_capacity(n * d));
        for (share, noise) in shares.iter().zip(noise.chunks_exact(d)) {
            let mut sum = 0.0;
            let passed = weights.iter().position(|weight| {
                sum += weight;
                sum > *share
            });
            let j = passed.unwrap_or(weights.len() - 1);
            labels.push(j as i64);
            for (i, mean) in means[j * d..(j + 1) * d].iter().enumerate() {
                rows.push(
                    mean + match kind {
                        CovarianceType::Full | CovarianceType::Tied => {
                            let own = lower.get(j).unwrap_or(&lower[0]);
                            own[i * d..i * d + i + 1].iter().zip(noise).map(|(l, noise)| l * noise).sum::<f64>()
                        }
                        CovarianceType::Diag => covariances[j * d + i].sqrt() * noise[i],
                        CovarianceType::Spherical => covariances[j].sqrt() * noise[i],
                    },
                );
            }
        }
        Ok((Tensor::try_from_vec(rows, [n, d])?.to_dtype(self.dtype()), Tensor::from_slice(&labels)))
    }
}

impl Model for FittedGaussianMixture {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let k = self.parameters.count();
        let shares = self.expect(x, true)?.shares;
        let best = |row: &[f64]| (1..k).fold(0, |best, j| if row[j] > row[best] { j } else { best }) as i64;
        Ok(Tensor::from_slice(&shares.chunks_exact(k).map(best).collect::<Vec<i64>>()))
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        let k = self.parameters.count();
        Ok(Tensor::try_from_vec(self.expect(x, false)?.shares, [x.len(), k])?.to_dtype(self.dtype()))
    }

    fn score_rows(&self, x: &Rows) -> Result<Tensor> {
        Ok(Tensor::from_slice(&self.expect(x, false)?.log_likelihood).to_dtype(self.dtype()))
    }

    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        let mut all = self.about.attributes();
        all.push(("weights", Tensor::from_slice(self.weights())));
        all.extend(self.means().ok().map(|means| ("means", means)));
        all.extend(self.covariances().ok().map(|covariances| ("covariances", covariances)));
        all.push(("lower_bound", Tensor::scalar(self.lower_bound)));
        all
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.about.write_shape(&mut record);
        record.put_tensor("weights", &Tensor::from_slice(self.weights()));
        for (name, tensor) in [("means", self.means()), ("covariances", self.covariances())] {
            if let Ok(tensor) = tensor {
                record.put_tensor(name, &tensor);
            }
        }
        record.put_real("lower_bound", self.lower_bound);
        record
    }
}

impl Restore for FittedGaussianMixture {
    fn restore(record: &Record) -> Result<FittedGaussianMixture> {
        let settings: GaussianMixture = record.settings(GaussianMixture::NAME, 1)?;
        let read = |name: &str| {
            let tensor = record.tensor(name)?;
            if tensor.dtype() == DType::F64 { Ok(tensor) } else { Err(record.wrong(name, "of type f64")) }
        };
        let (weights, means, covariances) = (read("weights")?, read("means")?, read("covariances")?);
        let model = FittedGaussianMixture::from_parameters(&settings, weights, means, covariances);
        let model = model.map_err(|error| record.wrong("weights, means or covariances", &error.to_string()))?;
        let about = About::read(&settings, record, model.width(), record.precision()?)?;
        if record.count("width")? != model.width() {
            return Err(record.wrong("width", "that of the means"));
        }
        Ok(FittedGaussianMixture { about, lower_bound: record.real("lower_bound")?, ..model })
    }
}
