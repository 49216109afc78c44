//! The linear model with normal noise, y = Xw + ε with ε ~ N(0, s²).
//!
//! log p(y | X, w, s) = −n log s − (n/2) log 2π − ‖y − Xw‖²/(2s²): for any s, the best w is that of least squares, and
//! the best s² is ‖y − Xw‖²/n. That estimate is biased, with expectation (n − c)/n · s² for c columns.
//!
//! The Fisher information of w in the whole sample is F = −E ∂² log p/∂w∂wᵀ = Cov(score) = XᵀX/s². No unbiased
//! estimator has a covariance below F⁻¹ (Cramér and Rao), and least squares attains it. Per sample the information is
//! F/n, and √n (w − w_true) converges to N(0, (F/n)⁻¹) in distribution.
//!
//! ```
//! use tove_lessons::probability::LinearGaussian;
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), Tensor::from([1.0, 3.0, 5.0]));
//! let fitted = LinearGaussian::fit(&x, &(&y + &Tensor::from([0.1, -0.2, 0.1])))?;
//! assert!((fitted.weights().at::<f64>(&[1]) - 2.0).abs() < 1e-12);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::f64::consts::PI;

use tove_tensor::{Tensor, TryLinalg, TryOps, TryUnary, linalg};

use tove_learn::{LearnError, Result, Samples};

/// A linear model with normal noise: weights (c) and standard deviation.
#[derive(Clone, Debug)]
pub struct LinearGaussian {
    weights: Tensor, // (c)
    std: f64,
}

impl LinearGaussian {
    /// Creates a model with known weights and noise standard deviation.
    pub fn new(weights: Tensor, std: f64) -> Result<LinearGaussian> {
        if weights.rank() != 1 || !(std > 0.0 && std.is_finite()) {
            let problem = format!("weights of shape {} and deviation {std}", weights.shape());
            return Err(LearnError::parameter("LinearGaussian", format!("{problem}; give (c) and a positive number")));
        }
        Ok(LinearGaussian { weights, std })
    }

    /// Maximum likelihood: least squares for the weights, and the mean squared residual for the variance. Data without
    /// residuals have no finite maximum.
    pub fn fit(x: &Tensor, y: &Tensor) -> Result<LinearGaussian> {
        let samples = Samples::new(x, y)?;
        let x = samples.x().dense("LinearGaussian")?;
        let y = samples.y()?.to_dtype(x.dtype());
        let weights = linalg::lstsq(x, &y, None)?.solution;
        let residual = y.try_sub(&x.try_matmul(&weights)?)?;
        let variance = residual.try_square()?.try_mean()?.to_f64_vec()[0];
        if variance == 0.0 {
            let fix = "the likelihood grows without bound as the deviation falls; use least squares alone";
            return Err(LearnError::data("LinearGaussian", "the weights fit the data exactly", fix));
        }
        LinearGaussian::new(weights, variance.sqrt())
    }

    /// The weights.
    pub fn weights(&self) -> &Tensor {
        &self.weights
    }

    /// Standard deviation of the noise.
    pub fn std(&self) -> f64 {
        self.std
    }

    /// log p(y | X, w, s), differentiable with respect to the weights.
    pub fn log_likelihood(&self, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let residual = y.try_sub(&x.try_matmul(&self.weights)?)?;
        let constant = y.numel() as f64 * (self.std.ln() + 0.5 * (2.0 * PI).ln());
        Ok(residual.try_square()?.try_sum()? * (-0.5 / (self.std * self.std)) - constant)
    }

    /// Fisher information of the weights in a sample with these rows: XᵀX/s².
    pub fn fisher_information(&self, x: &Tensor) -> Result<Tensor> {
        Ok(x.try_t()?.try_matmul(x)? / (self.std * self.std))
    }

    /// The Cramér-Rao lower bound on the covariance of an unbiased estimator of the weights: s² (XᵀX)⁻¹.
    pub fn cramer_rao(&self, x: &Tensor) -> Result<Tensor> {
        Ok(self.fisher_information(x)?.try_inverse()?)
    }
}
