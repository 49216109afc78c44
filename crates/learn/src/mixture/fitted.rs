//! A fitted mixture: densities, shares of the components, samples.

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::random::{fill_normal, fill_uniform};
use tove_tensor::{DType, Key, Tensor};

use super::GaussianMixture;
use super::covariance::{CovarianceType, Factors, Parameters};
use super::em::{self, Expectation};
use crate::{About, LearnError, Model, Record, Restore, Result, Rows};

// Not derived: the covariance type among the settings decides the shape of the covariances, and their factors are computed when
// they are read, which is also the check that they are positive definite.
/// A fitted [`GaussianMixture`].
#[derive(Clone, Debug)]
pub struct FittedGaussianMixture {
    pub(super) about: About,
    pub(super) parameters: Parameters,
    pub(super) factors: Factors,
    pub(super) lower_bound: f64,
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
