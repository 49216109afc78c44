//! Distributions with log-densities, sampling, and maximum-likelihood fits.
//!
//! | distribution | density |
//! |---|---|
//! | [`Normal`] | log p(y) = −log s − ½ log 2π − (y − μ)²/(2s²) |
//! | [`MultivariateNormal`] | log p(y) = −½ (d log 2π + log det Σ + (y − μ)ᵀ Σ⁻¹ (y − μ)), Σ positive definite |
//! | [`Laplace`] | p(y) = exp(−∣y − μ∣/b)/(2b) |
//! | [`Categorical`] | p(y) = Πᵢ fᵢ^yᵢ for a one-hot y |
//! | [`Bernoulli`] | p(1) = q |
//!
//! ```
//! use tove_lessons::probability::{Distribution, Normal};
//! use tove_tensor::{Tensor, grad};
//! let y = Tensor::from([1.0, 2.0, 6.0]);
//! let fitted = Normal::fit(&y)?; // mean 3, variance 14 / 3 (divided by n)
//! let score = grad(|mean: &Tensor| Normal::new(mean.clone(), fitted.std().clone()).unwrap().log_prob(&y).unwrap().sum());
//! assert!(score(fitted.mean()).item::<f64>().abs() < 1e-12); // the likelihood is stationary there
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::f64::consts::PI;

use tove_tensor::linalg::Triangle;
use tove_tensor::{DType, Key, Tensor, TryIndex, TryLinalg, TryOps, TryReduce, TryUnary};

use tove_learn::{LearnError, Result};

/// A distribution over numbers, vectors or classes.
pub trait Distribution {
    /// Log-density (or log-probability) of each value, differentiable with respect to the value and the parameters.
    fn log_prob(&self, y: &Tensor) -> Result<Tensor>;

    /// Density (or probability) of each value.
    fn prob(&self, y: &Tensor) -> Result<Tensor> {
        Ok(self.log_prob(y)?.try_exp()?)
    }

    /// `n` independent draws along a new first axis.
    fn sample(&self, n: usize, key: Key) -> Result<Tensor>;
}

/// Checks that every value satisfies a condition.
fn require(what: &'static str, x: &Tensor, holds: impl Fn(f64) -> bool, needed: &str) -> Result<()> {
    match x.to_f64_vec().into_iter().find(|&value| !holds(value)) {
        None => Ok(()),
        Some(value) => Err(LearnError::parameter(what, format!("{value} is not {needed}"))),
    }
}

/// Shape of `n` draws: a new first axis, followed by the broadcast shape of the parameters.
fn draws(n: usize, a: &Tensor, b: &Tensor) -> Result<Vec<usize>> {
    let mut shape = vec![n];
    shape.extend_from_slice(a.try_add(b)?.dims());
    Ok(shape)
}

/// The normal distribution N(μ, s²); parameters broadcast against the values.
#[derive(Clone, Debug)]
pub struct Normal {
    mean: Tensor,
    std: Tensor,
}

impl Normal {
    /// Creates N(mean, std²) with std > 0.
    pub fn new(mean: impl Into<Tensor>, std: impl Into<Tensor>) -> Result<Normal> {
        let (mean, std) = (mean.into(), std.into());
        require("Normal: the mean", &mean, f64::is_finite, "a finite number")?;
        require("Normal: the standard deviation", &std, |s| s > 0.0 && s.is_finite(), "a positive number")?;
        Ok(Normal { mean, std })
    }

    /// Maximum likelihood: the mean, and the variance divided by n (not n − 1).
    pub fn fit(y: &Tensor) -> Result<Normal> {
        Normal::new(y.try_mean()?, y.try_std(0)?)
    }

    /// μ.
    pub fn mean(&self) -> &Tensor {
        &self.mean
    }

    /// s.
    pub fn std(&self) -> &Tensor {
        &self.std
    }
}

impl Distribution for Normal {
    fn log_prob(&self, y: &Tensor) -> Result<Tensor> {
        require("Normal: the value", y, |y| !y.is_nan(), "a number")?;
        let z = y.try_sub(&self.mean)?.try_div(&self.std)?;
        let constant = 0.5 * (2.0 * PI).ln();
        Ok((z.try_square()? * -0.5).try_sub(&self.std.try_ln()?)? - constant)
    }

    fn sample(&self, n: usize, key: Key) -> Result<Tensor> {
        let noise = key.try_normal(draws(n, &self.mean, &self.std)?, self.mean.dtype())?;
        Ok(noise.try_mul(&self.std)?.try_add(&self.mean)?)
    }
}

/// The normal distribution over vectors, N(μ, Σ).
#[derive(Clone, Debug)]
pub struct MultivariateNormal {
    mean: Tensor,   // (d)
    factor: Tensor, // (d, d), lower triangle of Σ = L Lᵀ
}

impl MultivariateNormal {
    /// Creates N(mean, covariance). A singular covariance has no density and is an error.
    pub fn new(mean: Tensor, covariance: &Tensor) -> Result<MultivariateNormal> {
        let d = mean.numel();
        if mean.rank() != 1 || covariance.dims() != [d, d] {
            let problem = format!("mean of shape {} and covariance of shape {}", mean.shape(), covariance.shape());
            return Err(LearnError::parameter("MultivariateNormal", format!("{problem}; give (d) and (d, d)")));
        }
        require("MultivariateNormal: the mean", &mean, f64::is_finite, "a finite number")?;
        require("MultivariateNormal: the covariance", covariance, f64::is_finite, "a finite number")?;
        let asymmetry = covariance.try_sub(&covariance.try_t()?)?.try_abs()?.try_max()?.to_f64_vec();
        let size = covariance.try_abs()?.try_max()?.to_f64_vec();
        if asymmetry[0] > 1e-10 * size[0] {
            return Err(LearnError::parameter("MultivariateNormal", "the covariance is not symmetric"));
        }
        let singular = || {
            let fix = "remove dependent columns, or add a small multiple of the identity matrix";
            LearnError::data(
                "MultivariateNormal",
                "the covariance is not positive definite, so there is no density",
                fix,
            )
        };
        let factor = covariance.try_cholesky().map_err(|_| singular())?;
        // Rounding accepts some singular matrices, with pivots of the size of the rounding error.
        let pivots = factor.try_diagonal(0)?.to_f64_vec();
        let largest = pivots.iter().fold(0.0f64, |max, &pivot| max.max(pivot));
        if pivots.iter().any(|&pivot| pivot * pivot <= largest * largest * covariance.dtype().epsilon() * d as f64) {
            return Err(singular());
        }
        Ok(MultivariateNormal { mean, factor })
    }

    /// Maximum likelihood from rows (n, d): mean and covariance divided by n.
    pub fn fit(y: &Tensor) -> Result<MultivariateNormal> {
        let mean = y.try_mean_axes(&[0], false)?;
        let centered = y.try_sub(&mean)?;
        let n = y.dims().first().copied().unwrap_or(0).max(1);
        let covariance = centered.try_t()?.try_matmul(&centered)? / n as f64;
        MultivariateNormal::new(mean, &covariance)
    }

    /// μ.
    pub fn mean(&self) -> &Tensor {
        &self.mean
    }

    /// Σ.
    pub fn covariance(&self) -> Result<Tensor> {
        Ok(self.factor.try_matmul(&self.factor.try_t()?)?)
    }
}

impl Distribution for MultivariateNormal {
    /// For a vector (d), or for each row of (n, d).
    fn log_prob(&self, y: &Tensor) -> Result<Tensor> {
        let d = self.mean.numel();
        require("MultivariateNormal: the value", y, |y| !y.is_nan(), "a number")?;
        let rows = y.try_reshape([y.numel() / d.max(1), d])?;
        let centered = rows.try_sub(&self.mean)?.try_t()?; // (d, n)
        let z = self.factor.try_triangular_solve(&centered, Triangle::LOWER)?;
        let log_det = self.factor.try_diagonal(0)?.try_ln()?.try_sum()?; // half of log det Σ
        let constant = 0.5 * d as f64 * (2.0 * PI).ln();
        let values = (z.try_square()?.try_sum_axes(&[0], false)? * -0.5).try_sub(&log_det)? - constant;
        Ok(if y.rank() == 1 { values.try_reshape(())? } else { values })
    }

    fn sample(&self, n: usize, key: Key) -> Result<Tensor> {
        let noise = key.try_normal([n, self.mean.numel()], self.mean.dtype())?;
        Ok(noise.try_matmul(&self.factor.try_t()?)?.try_add(&self.mean)?)
    }
}

/// The Laplace distribution, p(y) = exp(−|y − μ|/b)/(2b); parameters broadcast against the values.
#[derive(Clone, Debug)]
pub struct Laplace {
    center: Tensor,
    scale: Tensor,
}

impl Laplace {
    /// Creates a distribution with center μ and scale b > 0.
    pub fn new(center: impl Into<Tensor>, scale: impl Into<Tensor>) -> Result<Laplace> {
        let (center, scale) = (center.into(), scale.into());
        require("Laplace: the center", &center, f64::is_finite, "a finite number")?;
        require("Laplace: the scale", &scale, |b| b > 0.0 && b.is_finite(), "a positive number")?;
        Ok(Laplace { center, scale })
    }

    /// Maximum likelihood: the median, and the mean distance to it.
    pub fn fit(y: &Tensor) -> Result<Laplace> {
        let center = y.try_median()?;
        let scale = y.try_sub(&center)?.try_abs()?.try_mean()?;
        Laplace::new(center, scale)
    }

    /// μ.
    pub fn centre(&self) -> &Tensor {
        &self.center
    }

    /// b.
    pub fn scale(&self) -> &Tensor {
        &self.scale
    }
}

impl Distribution for Laplace {
    fn log_prob(&self, y: &Tensor) -> Result<Tensor> {
        require("Laplace: the value", y, |y| !y.is_nan(), "a number")?;
        let distance = y.try_sub(&self.center)?.try_abs()?.try_div(&self.scale)?;
        Ok((-distance).try_sub(&(&self.scale * 2.0).try_ln()?)?)
    }

    fn sample(&self, n: usize, key: Key) -> Result<Tensor> {
        // The difference of two exponential draws.
        let shape = draws(n, &self.center, &self.scale)?;
        let dtype = self.center.dtype();
        let up = key.fold(0).try_exponential(1.0, shape.clone(), dtype)?;
        let down = key.fold(1).try_exponential(1.0, shape, dtype)?;
        Ok(up.try_sub(&down)?.try_mul(&self.scale)?.try_add(&self.center)?)
    }
}

/// A distribution over classes: p(y) = Πᵢ fᵢ^yᵢ for a one-hot y, with 0⁰ = 1.
#[derive(Clone, Debug)]
pub struct Categorical {
    probabilities: Tensor, // (m) or (n, m)
}

impl Categorical {
    /// Creates a distribution from probabilities (m), or one row per sample (n, m): non-negative, each row summing to
    /// 1.
    pub fn new(probabilities: Tensor) -> Result<Categorical> {
        let m = probabilities.dims().last().copied().unwrap_or(0);
        let tolerance = 1e3 * probabilities.dtype().epsilon();
        for row in probabilities.to_f64_vec().chunks(m.max(1)) {
            let total: f64 = row.iter().sum();
            if row.iter().any(|p| p.is_nan() || *p < 0.0) || (total - 1.0).abs() > tolerance {
                let problem = format!("probabilities must be non-negative and sum to 1; a row sums to {total}");
                return Err(LearnError::parameter("Categorical", problem));
            }
        }
        Ok(Categorical { probabilities })
    }

    /// Maximum likelihood: the fraction of each of `m` classes among labels 0 … m − 1.
    pub fn fit(labels: &Tensor, m: usize) -> Result<Categorical> {
        let counts = labels.try_bincount(None, m)?.to_dtype(DType::F64);
        Categorical::new(&counts / labels.numel().max(1) as f64)
    }

    /// The probabilities.
    pub fn probabilities(&self) -> &Tensor {
        &self.probabilities
    }

    /// Checks that values are labels below m, or one-hot rows of length m.
    fn check(&self, y: &Tensor, m: usize) -> Result<()> {
        if !y.dtype().is_float() {
            return require("Categorical: the label", y, |y| y >= 0.0 && y < m as f64, "the number of a class");
        }
        let last = y.dims().last().copied().unwrap_or(0);
        let one_hot =
            |row: &[f64]| row.iter().all(|&y| y == 0.0 || y == 1.0) && row.iter().filter(|&&y| y == 1.0).count() == 1;
        if last != m || !y.to_f64_vec().chunks(m.max(1)).all(one_hot) {
            let problem = format!("values of shape {} that are not one-hot rows of length {m}", y.shape());
            return Err(LearnError::parameter("Categorical", format!("{problem}; give those, or integer labels")));
        }
        Ok(())
    }
}

impl Distribution for Categorical {
    /// For labels 0 … m − 1, or one-hot rows (…, m) in floating point; other values are an error. A class of
    /// probability 0 has log-probability −∞.
    fn log_prob(&self, y: &Tensor) -> Result<Tensor> {
        let m = self.probabilities.dims().last().copied().unwrap_or(0);
        self.check(y, m)?;
        let one_hot = if y.dtype().is_float() { y.clone() } else { y.try_one_hot(m, self.probabilities.dtype())? };
        // Where y is 0 the factor is 1, even for f = 0.
        let chosen = one_hot.try_gt_scalar(0.0)?;
        let ones = one_hot.ones_like();
        let f = chosen.try_select(&self.probabilities.try_broadcast_to(one_hot.shape().clone())?, &ones)?;
        Ok(f.try_ln()?.try_sum_axes(&[-1], false)?)
    }

    /// Labels (n) from probabilities (m); (k, m) gives one label per row, (n, k).
    fn sample(&self, n: usize, key: Key) -> Result<Tensor> {
        let drawn = key.try_categorical(&self.probabilities, n)?;
        Ok(if drawn.rank() == 2 { drawn.try_t()?.try_contiguous()? } else { drawn })
    }
}

/// A distribution over 0 and 1: p(1) = q; parameters broadcast against the values.
#[derive(Clone, Debug)]
pub struct Bernoulli {
    q: Tensor,
}

impl Bernoulli {
    /// Creates p(1) = q in \[0, 1\].
    pub fn new(q: impl Into<Tensor>) -> Result<Bernoulli> {
        let q = q.into();
        require("Bernoulli", &q, |q| (0.0..=1.0).contains(&q), "a probability")?;
        Ok(Bernoulli { q })
    }

    /// Maximum likelihood: the mean of zeros and ones.
    pub fn fit(y: &Tensor) -> Result<Bernoulli> {
        let y = y.to_dtype(DType::F64);
        require("Bernoulli: the value", &y, |y| y == 0.0 || y == 1.0, "0 or 1")?;
        Bernoulli::new(y.try_mean()?)
    }

    /// q.
    pub fn q(&self) -> &Tensor {
        &self.q
    }
}

impl Distribution for Bernoulli {
    fn log_prob(&self, y: &Tensor) -> Result<Tensor> {
        let y = y.to_dtype(self.q.dtype());
        require("Bernoulli: the value", &y, |y| y == 0.0 || y == 1.0, "0 or 1")?;
        let chosen = y.try_gt_scalar(0.5)?;
        let q = self.q.try_add(&y.zeros_like())?; // broadcast to the common shape
        let p = chosen.try_broadcast_to(q.shape().clone())?.try_select(&q, &(1.0 - &q))?;
        Ok(p.try_ln()?)
    }

    fn sample(&self, n: usize, key: Key) -> Result<Tensor> {
        let mut shape = vec![n];
        shape.extend_from_slice(self.q.dims());
        let draw = key.try_uniform(shape, self.q.dtype())?;
        Ok(draw.try_lt(&self.q)?.to_dtype(self.q.dtype()))
    }
}
