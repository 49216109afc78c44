//! Automatic relevance determination: Bayesian regression with a precision for every weight.
//!
//! w ~ N(0, diag(λ)⁻¹), y ~ N(Xw, α⁻¹). The precisions maximize the evidence (MacKay 1992, Tipping 2001); a weight whose precision passes
//! `threshold_lambda` is 0 from then on.
//!
//! ```
//! use tove_learn::{Fit, linear::ArdRegression};
//! use tove_tensor::{DType, Key};
//! let x = Key::new(3).normal([60, 4], DType::F64);
//! let y = x.matmul(&tove_tensor::Tensor::from([2.0, 0.0, 0.0, -1.0])) + 0.01 * Key::new(4).normal([60], DType::F64);
//! let model = ArdRegression::default().fit(&x, &y)?;
//! assert!((model.coef().at::<f64>(&[0]) - 2.0).abs() < 0.01 && model.coef().at::<f64>(&[1]).abs() < 0.01);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::linalg::Triangle;
use tove_tensor::{DType, Tensor, TryLinalg};

use super::centered::{Centred, dot};
use super::model::{Extras, FittedLinear};
use crate::{Algorithm, Capabilities, Fitted, LearnError, Result, Samples, Summary, memory};

/// Bayesian regression with a precision for every weight, as scikit-learn's `ARDRegression`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "ARDRegression")]
pub struct ArdRegression {
    /// Maximum number of iterations.
    #[hyper(default = 300, range = "[1, inf)")]
    pub max_iter: usize,
    /// Stop when the weights change by less in sum.
    #[hyper(default = 1e-3, range = "(0, inf)")]
    pub tol: f64,
    /// Shape of the gamma prior of the noise's precision.
    #[hyper(default = 1e-6, range = "[0, inf)")]
    pub alpha_1: f64,
    /// Rate of the gamma prior of the noise's precision.
    #[hyper(default = 1e-6, range = "[0, inf)")]
    pub alpha_2: f64,
    /// Shape of the gamma prior of the weights' precisions.
    #[hyper(default = 1e-6, range = "[0, inf)")]
    pub lambda_1: f64,
    /// Rate of the gamma prior of the weights' precisions.
    #[hyper(default = 1e-6, range = "[0, inf)")]
    pub lambda_2: f64,
    /// Weights with a larger precision are 0.
    #[hyper(default = 1e4, range = "(0, inf)")]
    pub threshold_lambda: f64,
    /// Whether an intercept is fitted.
    #[hyper(default = true)]
    pub fit_intercept: bool,
}

/// The precisions of an [`ArdRegression`].
#[derive(Clone, Debug, Fitted)]
pub struct Relevance {
    alpha: f64,
    #[fitted(shape = "features")]
    lambda: Vec<f64>,
    #[fitted(shape = "kept, kept", double, empty)]
    sigma: Tensor,
}

impl Extras for Relevance {}

/// A fitted [`ArdRegression`].
pub type FittedArdRegression = FittedLinear<ArdRegression, Relevance>;

impl FittedArdRegression {
    /// Precision of the noise.
    pub fn alpha(&self) -> f64 {
        self.extras().alpha
    }

    /// Precision of each weight.
    pub fn lambda(&self) -> &[f64] {
        &self.extras().lambda
    }

    /// Covariance of the weights that are kept, in double precision.
    pub fn sigma(&self) -> &Tensor {
        &self.extras().sigma
    }
}

impl Algorithm for ArdRegression {
    type Fitted = FittedArdRegression;
    const CAPABILITIES: Capabilities = Capabilities { accuracy: 1e-4, ..Capabilities::REGRESSOR };

    fn train(&self, samples: &Samples) -> Result<FittedArdRegression> {
        let (data, n, d) = (Centred::of(Self::NAME, samples, self.fit_intercept)?, samples.len(), samples.width());
        let what = format!("a covariance of {d} x {d} numbers");
        memory::require(Self::NAME, what, memory::matrix(d, 4 * d, 8), "choose features first")?;
        let all: Vec<usize> = (0..d).collect();
        let run = Run {
            gram: data.gram(&all)?.to_f64_vec(),
            cross: all.iter().map(|&j| dot(&data.columns[j], &data.y)).collect(),
        };
        let mean = data.y.iter().sum::<f64>() / n as f64;
        let variance = data.y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n as f64;
        let (mut alpha, mut lambda, mut kept) = (1.0 / (variance + f64::EPSILON), vec![1.0; d], all);
        let (mut w, mut old) = (vec![0.0; d], None::<Vec<f64>>);
        let (mut change, mut iterations) = (f64::INFINITY, 0);
        while iterations < self.max_iter && !kept.is_empty() && change >= self.tol {
            if tove_optim::interrupted() {
                return Err(LearnError::Interrupted { who: Self::NAME });
            }
            iterations += 1;
            let sigma = run.posterior(alpha, &lambda, &kept, &mut w)?;
            let error: f64 = data.residual(&w).iter().map(|rest| rest * rest).sum();
            let mut determined = 0.0;
            for (i, &j) in kept.iter().enumerate() {
                let gamma = 1.0 - lambda[j] * sigma[i * kept.len() + i];
                determined += gamma;
                lambda[j] = ((gamma + 2.0 * self.lambda_1) / (w[j] * w[j] + 2.0 * self.lambda_2)).clamp(1e-300, 1e300);
            }
            alpha = ((n as f64 - determined + 2.0 * self.alpha_1) / (error + 2.0 * self.alpha_2)).clamp(1e-300, 1e300);
            kept.retain(|&j| lambda[j] < self.threshold_lambda);
            (0..d).filter(|j| !kept.contains(j)).for_each(|j| w[j] = 0.0);
            if let Some(old) = &old {
                change = old.iter().zip(&w).map(|(old, w)| (old - w).abs()).sum();
            }
            old = Some(w.clone());
        }
        let sigma = run.posterior(alpha, &lambda, &kept, &mut w)?;
        let sigma = Tensor::try_from_vec(sigma, [kept.len(), kept.len()])?.to_dtype(DType::F64);
        let error: f64 = data.residual(&w).iter().map(|rest| rest * rest).sum();
        let done = change < self.tol || kept.is_empty();
        let last = if kept.is_empty() { 0.0 } else { change };
        let summary = Summary::iterative(Self::NAME, iterations, done, last, 0.5 * alpha * error);
        let intercept = data.intercept(&w);
        FittedLinear::single(self, samples, (w, intercept), summary, Relevance { alpha, lambda, sigma })
    }
}

struct Run {
    gram: Vec<f64>,
    cross: Vec<f64>,
}

impl Run {
    /// Σ of the kept weights, and their means in their places.
    fn posterior(&self, alpha: f64, lambda: &[f64], kept: &[usize], w: &mut [f64]) -> Result<Vec<f64>> {
        let (m, d) = (kept.len(), self.cross.len());
        if m == 0 {
            return Ok(Vec::new());
        }
        // Scaled to a diagonal near 1, since precisions differ by many orders of magnitude.
        let scale: Vec<f64> = kept.iter().map(|&j| 1.0 / (lambda[j] + alpha * self.gram[j * d + j]).sqrt()).collect();
        let mut matrix = vec![0.0; m * m];
        for (i, &a) in kept.iter().enumerate() {
            for (j, &b) in kept.iter().enumerate() {
                let own = if a == b { lambda[a] } else { 0.0 };
                matrix[i * m + j] = (own + alpha * self.gram[a * d + b]) * scale[i] * scale[j];
            }
        }
        let factor = Tensor::try_from_vec(matrix, [m, m])?.try_cholesky().map_err(|_| {
            let fix = "scale the features, or raise `lambda_1` and `lambda_2`";
            LearnError::data(ArdRegression::NAME, "the precisions of the weights differ too much", fix)
        })?;
        let half = factor.try_triangular_solve(&Tensor::eye(m, DType::F64), Triangle::LOWER)?;
        let mut sigma = factor.try_triangular_solve(&half, Triangle::LOWER.transposed())?.to_f64_vec();
        for i in 0..m {
            (0..m).for_each(|j| sigma[i * m + j] *= scale[i] * scale[j]);
            w[kept[i]] = alpha * kept.iter().enumerate().map(|(j, &b)| sigma[i * m + j] * self.cross[b]).sum::<f64>();
        }
        Ok(sigma)
    }
}
