//! Bayes' theorem, and Bayesian model averaging.
//!
//! posterior = likelihood × prior / evidence. Over finitely many models the evidence is a sum. The prediction is p(y |
//! x) = Σᵢ wᵢ p(y | fᵢ(x)) with the posterior weights wᵢ; or (1/k) Σᵢ p(y | fᵢ(x)) with fᵢ *drawn from* the posterior.
//! Weighting draws by the posterior again would count it twice, and the result would not sum to 1.
//!
//! ```
//! use tove_lessons::probability::FinitePosterior;
//! use tove_tensor::Tensor;
//! // Two coins, equally likely beforehand; three heads.
//! let posterior = FinitePosterior::new(&[0.5, 0.5])?.update(&[3.0 * 0.5f64.ln(), 3.0 * 0.9f64.ln()])?;
//! assert!((posterior.weights()[1] - 0.729 / (0.729 + 0.125)).abs() < 1e-12);
//! assert!((posterior.log_evidence().exp() - 0.427).abs() < 1e-12);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_tensor::linalg::Triangle;
use tove_tensor::{DType, Key, Tensor, TryLinalg, TryOps, TryUnary};

use tove_learn::{LearnError, Result};

/// A distribution over finitely many models, updated by data.
#[derive(Clone, Debug, PartialEq)]
pub struct FinitePosterior {
    weights: Vec<f64>,
    /// Log-weights up to a constant, with maximum 0: a weight that underflows can grow again.
    logs: Vec<f64>,
    log_evidence: f64,
}

impl FinitePosterior {
    /// Creates the prior: non-negative, summing to 1.
    pub fn new(prior: &[f64]) -> Result<FinitePosterior> {
        let total: f64 = prior.iter().sum();
        if prior.iter().any(|p| p.is_nan() || *p < 0.0) || (total - 1.0).abs() > 1e-9 {
            let problem = format!("prior weights must be non-negative and sum to 1; these sum to {total}");
            return Err(LearnError::parameter("FinitePosterior", problem));
        }
        let logs = prior.iter().map(|weight| weight.ln()).collect();
        Ok(FinitePosterior { weights: prior.to_vec(), logs, log_evidence: 0.0 })
    }

    /// The posterior after data with this log-likelihood under each model; −∞ for data that are impossible under the
    /// model. Sequential updates give the same result as one update, up to rounding.
    pub fn update(&self, log_likelihoods: &[f64]) -> Result<FinitePosterior> {
        if log_likelihoods.len() != self.weights.len() {
            let (found, needed) = (log_likelihoods.len(), self.weights.len());
            return Err(LearnError::parameter("FinitePosterior", format!("{found} likelihoods for {needed} models")));
        }
        if let Some(index) = log_likelihoods.iter().position(|log| log.is_nan() || *log == f64::INFINITY) {
            let problem = format!("the log-likelihood of model {index} is {}", log_likelihoods[index]);
            let fix = "give finite numbers, or −∞ for data that are impossible under a model";
            return Err(LearnError::data("FinitePosterior", problem, fix));
        }
        let logs: Vec<f64> = self.logs.iter().zip(log_likelihoods).map(|(weight, log)| weight + log).collect();
        let max = logs.iter().fold(f64::NEG_INFINITY, |max, &log| max.max(log));
        if !max.is_finite() {
            let fix = "extend the set of models, or check for impossible samples";
            return Err(LearnError::data("FinitePosterior", "the data are impossible under every model", fix));
        }
        let logs: Vec<f64> = logs.iter().map(|log| log - max).collect();
        let scaled: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
        let total: f64 = scaled.iter().sum();
        let weights = scaled.iter().map(|weight| weight / total).collect();
        // The accumulated normalization constants sum to the log-evidence.
        let before: f64 = self.logs.iter().map(|log| log.exp()).sum();
        let log_evidence = self.log_evidence - before.ln() + max + total.ln();
        Ok(FinitePosterior { weights, logs, log_evidence })
    }

    /// The weight of each model, summing to 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// log p(S): the logarithm of the sum of likelihood × prior, over all data so far.
    pub fn log_evidence(&self) -> f64 {
        self.log_evidence
    }

    /// The index of the most probable model.
    pub fn best(&self) -> usize {
        let better = |best: usize, index: usize| if self.weights[index] > self.weights[best] { index } else { best };
        (0..self.weights.len()).fold(0, better)
    }

    /// Σᵢ wᵢ pᵢ of the models' predictions, all of the same shape.
    pub fn average(&self, predictions: &[Tensor]) -> Result<Tensor> {
        if predictions.len() != self.weights.len() || predictions.is_empty() {
            let (found, needed) = (predictions.len(), self.weights.len());
            return Err(LearnError::parameter("FinitePosterior", format!("{found} predictions for {needed} models")));
        }
        let mut sum = &predictions[0] * self.weights[0];
        for (prediction, &weight) in predictions.iter().zip(&self.weights).skip(1) {
            sum = sum.try_add(&(prediction * weight))?;
        }
        Ok(sum)
    }

    /// Indices of `k` models drawn from the posterior, for [`average_of_draws`].
    pub fn draw(&self, k: usize, key: Key) -> Result<Vec<usize>> {
        let drawn = key.try_categorical(&Tensor::from_slice(&self.weights), k)?;
        Ok(drawn.to_vec::<i64>().into_iter().map(|index| index as usize).collect())
    }
}

/// (1/k) Σᵢ pᵢ of the predictions of models drawn from the posterior.
pub fn average_of_draws(predictions: &[Tensor]) -> Result<Tensor> {
    let [first, rest @ ..] = predictions else {
        return Err(LearnError::parameter("average_of_draws", "no predictions; draw at least one model"));
    };
    let sum = rest.iter().try_fold(first.clone(), |sum, prediction| sum.try_add(prediction))?;
    Ok(sum / predictions.len() as f64)
}

/// The success probability q with a Beta(a, b) prior; conjugate, so the posterior has the same form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetaBernoulli {
    /// Number of ones, plus the prior's.
    pub a: f64,
    /// Number of zeros, plus the prior's.
    pub b: f64,
}

impl BetaBernoulli {
    /// Creates Beta(a, b) with positive a and b.
    pub fn new(a: f64, b: f64) -> Result<BetaBernoulli> {
        if !(a > 0.0 && b > 0.0 && a.is_finite() && b.is_finite()) {
            return Err(LearnError::parameter("BetaBernoulli", format!("a = {a} and b = {b}; give positive numbers")));
        }
        Ok(BetaBernoulli { a, b })
    }

    /// The posterior after this many ones and zeros: Beta(a + ones, b + zeros).
    pub fn update(self, ones: usize, zeros: usize) -> BetaBernoulli {
        BetaBernoulli { a: self.a + ones as f64, b: self.b + zeros as f64 }
    }

    /// The mean of q, which is also the probability that the next value is 1: a/(a + b).
    pub fn mean(self) -> f64 {
        self.a / (self.a + self.b)
    }

    /// The variance of q: ab/((a + b)² (a + b + 1)).
    pub fn variance(self) -> f64 {
        let total = self.a + self.b;
        self.a * self.b / (total * total * (total + 1.0))
    }
}

/// Linear regression with known noise N(0, s²) and prior N(0, t²) on every weight: the posterior is normal with precision
/// A = XᵀX/s² + I/t² and mean A⁻¹Xᵀy/s²; the prediction at x is N(xᵀmean, s² + xᵀA⁻¹x).
#[derive(Clone, Debug)]
pub struct ConjugateLinear {
    mean: Tensor,   // (c)
    factor: Tensor, // (c, c), A = L Lᵀ
    noise: f64,
}

impl ConjugateLinear {
    /// Computes the posterior from rows X (n, c) and targets y (n).
    pub fn fit(x: &Tensor, y: &Tensor, noise: f64, prior: f64) -> Result<ConjugateLinear> {
        let good = |width: f64| width > 0.0 && width.is_finite();
        if !good(noise) || !good(prior) {
            let problem = format!("noise {noise} and prior {prior}; give positive standard deviations");
            return Err(LearnError::parameter("ConjugateLinear", problem));
        }
        let &[_, c] = x.dims() else { return Err(LearnError::NotTable { shape: x.shape().to_string() }) };
        let variance = noise * noise;
        let unit = Tensor::try_eye(c, DType::F64)? / (prior * prior);
        let precision = (x.try_t()?.try_matmul(x)? / variance).try_add(&unit)?;
        let factor = precision.try_cholesky()?;
        let right = x.try_t()?.try_matmul(y)? / variance;
        let half = factor.try_triangular_solve(&right, Triangle::LOWER)?;
        let mean = factor.try_triangular_solve(&half, Triangle::LOWER.transposed())?;
        Ok(ConjugateLinear { mean, factor, noise })
    }

    /// Posterior mean, which is also the mode.
    pub fn mean(&self) -> &Tensor {
        &self.mean
    }

    /// Samples weights from the posterior, (n, c).
    pub fn sample(&self, n: usize, key: Key) -> Result<Tensor> {
        let noise = key.try_normal([self.mean.numel(), n], DType::F64)?;
        let spread = self.factor.try_triangular_solve(&noise, Triangle::LOWER.transposed())?; // (c, n)
        Ok(spread.try_t()?.try_add(&self.mean)?)
    }

    /// Mean (n) and standard deviation (n) of the predictive distribution at rows (n, c), including noise.
    pub fn predict(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let mean = x.try_matmul(&self.mean)?;
        let half = self.factor.try_triangular_solve(&x.try_t()?.try_contiguous()?, Triangle::LOWER)?; // (c, n)
        let variance = half.try_square()?.try_sum_axes(&[0], false)? + self.noise * self.noise;
        Ok((mean, variance.try_sqrt()?))
    }
}
