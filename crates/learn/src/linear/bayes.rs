//! Bayesian linear regression: y ~ N(Xw, α⁻¹), w ~ N(0, λ⁻¹ I).
//!
//! The posterior is N(m, Σ) with Σ = (λI + αXᵀX)⁻¹ and m = αΣXᵀy, a ridge with penalty λ/α; a prediction at x has mean xᵀm and
//! variance xᵀΣx + 1/α. The precisions α (noise) and λ (weights) are held at given values, or chosen by maximizing the
//! evidence p(y | α, λ): with γ = Σₖ αsₖ²/(λ + αsₖ²), the number of directions that the data determine,
//! λ ← (γ + 2λ₁)/(‖m‖² + 2λ₂) and α ← (n − γ + 2α₁)/(‖y − Xm‖² + 2α₂) (MacKay 1992; Tipping 2001). One eigendecomposition
//! serves all iterations.
//!
//! ```
//! use tove_learn::{Fit, linear::BayesianRidge};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.0], [1.0], [2.0], [3.0]]), Tensor::from([0.1, 0.9, 2.1, 2.9]));
//! let model = BayesianRidge::default().fit(&x, &y)?;
//! let (mean, std) = model.predict_with_std(&Tensor::from([[1.5], [30.0]]))?;
//! assert!((mean.at::<f64>(&[0]) - 1.5).abs() < 0.05);
//! assert!(std.at::<f64>(&[1]) > 5.0 * std.at::<f64>(&[0])); // far from the data
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{DType, Tensor, TryOps};

use super::model::{Extras, FittedLinear};
use super::moments::{Data, read_row};
use super::spectrum::Spectrum;
use crate::{Algorithm, Capabilities, Fitted, Model, Result, Rows, Samples, Summary, memory};

/// Ridge regression with the precisions of noise and weights as random variables.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct BayesianRidge {
    /// Maximum number of iterations.
    #[hyper(default = 300, range = "[1, inf)")]
    pub max_iter: usize,
    /// Stop when the coefficients change by less, in sum.
    #[hyper(default = 1e-3, range = "(0, inf)")]
    pub tol: f64,
    /// Shape of the Gamma prior of the noise's precision.
    #[hyper(default = 1e-6, range = "[0, inf)")]
    pub alpha_1: f64,
    /// Rate of the Gamma prior of the noise's precision.
    #[hyper(default = 1e-6, range = "[0, inf)")]
    pub alpha_2: f64,
    /// Shape of the Gamma prior of the weights' precision.
    #[hyper(default = 1e-6, range = "[0, inf)")]
    pub lambda_1: f64,
    /// Rate of the Gamma prior of the weights' precision.
    #[hyper(default = 1e-6, range = "[0, inf)")]
    pub lambda_2: f64,
    /// First value of the noise's precision; by default one over the variance of the targets.
    #[hyper(default = None, range = "(0, inf)")]
    pub alpha_init: Option<f64>,
    /// First value of the weights' precision; by default 1.
    #[hyper(default = None, range = "(0, inf)")]
    pub lambda_init: Option<f64>,
    /// Whether the precisions are chosen by maximizing the evidence; otherwise they stay at their first values.
    #[hyper(default = true)]
    pub evidence: bool,
    /// Whether an intercept is fitted.
    #[hyper(default = true)]
    pub fit_intercept: bool,
}

/// The posterior of a [`BayesianRidge`].
#[derive(Clone, Debug, Fitted)]
pub struct Posterior {
    alpha: f64,
    lambda: f64,
    #[fitted(hidden)]
    log_evidence: f64,
    #[fitted(shape = "features, features", double)]
    sigma: Tensor,
    #[fitted(shape = "features", double, hidden)]
    centre: Tensor,
}

impl Extras for Posterior {}

/// A fitted [`BayesianRidge`].
pub type FittedBayesianRidge = FittedLinear<BayesianRidge, Posterior>;

impl FittedBayesianRidge {
    /// Precision of the noise, α.
    pub fn alpha(&self) -> f64 {
        self.extras().alpha
    }

    /// Precision of the weights, λ.
    pub fn lambda(&self) -> f64 {
        self.extras().lambda
    }

    /// Covariance Σ (d, d) of the weights given the data, in double precision.
    pub fn sigma(&self) -> &Tensor {
        &self.extras().sigma
    }

    /// ln p(y | α, λ), with the priors of the precisions.
    pub fn log_evidence(&self) -> f64 {
        self.extras().log_evidence
    }

    /// Mean and standard deviation of the predictive distribution at each row, both (n).
    pub fn predict_with_std(&self, x: impl Into<Rows>) -> Result<(Tensor, Tensor)> {
        let x = x.into().checked()?;
        x.check_width(self.name(), self.width())?;
        let x = x.to_dtype(self.dtype());
        let mean = self.linear(&x)?;
        let (d, Posterior { sigma, centre, alpha, .. }) = (self.width(), self.extras());
        let centre = centre.to_f64_vec();
        let mut deviations = Vec::with_capacity(x.len());
        // Rows are centered and spread out a block at a time.
        for start in (0..x.len()).step_by(1024) {
            let rows = start..(start + 1024).min(x.len());
            let mut block = vec![0.0; rows.len() * d];
            for (row, out) in rows.clone().zip(block.chunks_exact_mut(d)) {
                read_row(&x, row, out)?;
                out.iter_mut().zip(&centre).for_each(|(x, centre)| *x -= centre);
            }
            let turned = Tensor::try_from_vec(block.clone(), [rows.len(), d])?.try_matmul(sigma)?.to_f64_vec();
            for (x, turned) in block.chunks_exact(d).zip(turned.chunks_exact(d)) {
                let spread: f64 = x.iter().zip(turned).map(|(x, t)| x * t).sum();
                deviations.push((spread.max(0.0) + 1.0 / alpha).sqrt());
            }
        }
        Ok((mean, Tensor::from_slice(&deviations).to_dtype(self.dtype())))
    }
}

impl Algorithm for BayesianRidge {
    type Fitted = FittedBayesianRidge;
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, sparse: true, accuracy: 1e-6, ..Capabilities::REGRESSOR };

    fn train(&self, samples: &Samples) -> Result<FittedBayesianRidge> {
        let data = Data::single(Self::NAME, samples)?;
        let run = Run::new(&data, Spectrum::of(&data, self.fit_intercept)?)?;
        let lambda = self.lambda_init.unwrap_or(1.0);
        let alpha = self.alpha_init.unwrap_or(1.0 / (run.variance + f64::EPSILON));
        let (alpha, lambda, iterations, change) =
            if self.evidence { run.maximise(self, alpha, lambda)? } else { (alpha, lambda, 0, 0.0) };
        let coefficients = run.spectrum.coefficients(lambda / alpha)?;
        let log_evidence = run.log_evidence(self, alpha, lambda, &coefficients);
        let intercept = run.spectrum.intercepts(&coefficients)[0];
        let posterior = Posterior {
            alpha,
            lambda,
            log_evidence,
            sigma: run.sigma(alpha, lambda)?,
            centre: Tensor::from_slice(&run.spectrum.mean_x),
        };
        let summary = if self.evidence {
            Summary::iterative(Self::NAME, iterations, change < self.tol, change, -log_evidence)
        } else {
            Summary::exact()
        };
        FittedLinear::single(self, samples, (coefficients, intercept), summary, posterior)
    }
}

struct Run {
    spectrum: Spectrum,
    /// (uₖᵀy)².
    along: Vec<f64>,
    /// The part of ‖y‖² that no weights explain.
    outside: f64,
    /// Variance of the targets.
    variance: f64,
    width: usize,
}

impl Run {
    fn new(data: &Data, spectrum: Spectrum) -> Result<Run> {
        let cross = spectrum.cross.to_f64_vec();
        let along: Vec<f64> = cross.iter().zip(&spectrum.values).map(|(cross, value)| cross * cross / value).collect();
        let outside = (spectrum.squares[0] - along.iter().sum::<f64>()).max(0.0);
        let weights = data.weights_or_ones();
        let total = data.total_weight();
        let mean = data.y.iter().zip(weights.iter()).map(|(y, w)| y * w).sum::<f64>() / total;
        let variance = data.y.iter().zip(weights.iter()).map(|(y, w)| w * (y - mean).powi(2)).sum::<f64>() / total;
        Ok(Run { spectrum, along, outside, variance, width: data.width() })
    }

    /// ‖y − Xm‖² for the ridge penalty r: the part outside, and of each direction the share r/(λₖ + r).
    fn squared_error(&self, penalty: f64) -> f64 {
        let left = self
            .along
            .iter()
            .zip(&self.spectrum.values)
            .map(|(along, value)| along * (penalty / (value + penalty)).powi(2));
        self.outside + left.sum::<f64>()
    }

    /// Precisions, iterations, and the last change of the coefficients.
    fn maximise(&self, settings: &BayesianRidge, alpha: f64, lambda: f64) -> Result<(f64, f64, usize, f64)> {
        let (mut alpha, mut lambda) = (alpha, lambda);
        let mut old: Option<Vec<f64>> = None;
        let mut change = f64::INFINITY;
        for iteration in 1..=settings.max_iter {
            let w = self.spectrum.coefficients(lambda / alpha)?;
            let error = self.squared_error(lambda / alpha);
            let gamma: f64 = self.spectrum.values.iter().map(|value| alpha * value / (lambda + alpha * value)).sum();
            let square: f64 = w.iter().map(|w| w * w).sum();
            lambda = (gamma + 2.0 * settings.lambda_1) / (square + 2.0 * settings.lambda_2);
            alpha = (self.spectrum.weight - gamma + 2.0 * settings.alpha_1) / (error + 2.0 * settings.alpha_2);
            // Without priors perfect fits and zero weights have no finite precision.
            (alpha, lambda) = (alpha.clamp(1e-300, 1e300), lambda.clamp(1e-300, 1e300));
            if let Some(old) = &old {
                change = old.iter().zip(&w).map(|(old, w)| (old - w).abs()).sum();
                if change < settings.tol {
                    return Ok((alpha, lambda, iteration, change));
                }
            }
            old = Some(w);
        }
        Ok((alpha, lambda, settings.max_iter, change))
    }

    fn log_evidence(&self, settings: &BayesianRidge, alpha: f64, lambda: f64, w: &[f64]) -> f64 {
        let rest = (self.width - self.spectrum.values.len()) as f64;
        let determined: f64 = self.spectrum.values.iter().map(|value| (lambda + alpha * value).ln()).sum();
        let logdet = -(determined + rest * lambda.ln());
        let square: f64 = w.iter().map(|w| w * w).sum();
        let (n, d) = (self.spectrum.weight, self.width as f64);
        let priors = settings.lambda_1 * lambda.ln() - settings.lambda_2 * lambda + settings.alpha_1 * alpha.ln()
            - settings.alpha_2 * alpha;
        let fit = alpha * self.squared_error(lambda / alpha) + lambda * square;
        priors + 0.5 * (d * lambda.ln() + n * alpha.ln() - fit + logdet - n * (2.0 * std::f64::consts::PI).ln())
    }

    /// Σ = V diag(1/(λ + αs²)) Vᵀ + (I − VVᵀ)/λ, the latter for directions without data. Nothing is subtracted where every direction
    /// has data: there I/λ would be larger than Σ by orders of magnitude and take its digits.
    fn sigma(&self, alpha: f64, lambda: f64) -> Result<Tensor> {
        let (vectors, d) = (&self.spectrum.vectors, self.width);
        memory::require(
            BayesianRidge::NAME,
            format!("a covariance of {d} x {d} numbers"),
            memory::matrix(d, 3 * d, 8),
            "choose features first",
        )?;
        let turned = vectors.try_t()?;
        let inverse: Vec<f64> = self.spectrum.values.iter().map(|value| 1.0 / (lambda + alpha * value)).collect();
        let known = vectors.try_mul(&Tensor::from_slice(&inverse))?.try_matmul(&turned)?;
        if self.spectrum.values.len() == d {
            return Ok(known);
        }
        let rest = Tensor::eye(d, DType::F64).try_sub(&vectors.try_matmul(&turned)?)?;
        Ok(known.try_add(&rest.try_mul(&Tensor::scalar(1.0 / lambda))?)?)
    }
}
