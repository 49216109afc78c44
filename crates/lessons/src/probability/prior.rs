//! Priors over weights, and maximum a posteriori estimates.
//!
//! A prior p(f) expresses which models are preferred before seeing data. The maximum a posteriori (MAP) estimate is
//! argmax log p(S | f) + log p(f); the evidence p(S) does not depend on f and drops out. A flat prior gives maximum
//! likelihood, a normal one ridge regression, a Laplace one the lasso:
//!
//! | prior on each weight | −log p(w) | penalty added to (1/(2s²)) ‖y − Xw‖² |
//! |---|---|---|
//! | N(0, t²) | Σ w²/(2t²) + const | ridge with λ = s²/t² added to ½‖y − Xw‖² |
//! | Laplace(0, b) | Σ ∣w∣/b + const | lasso with α = s²/(n b) added to ‖y − Xw‖²/(2n) |
//!
//! A density proportional to 1/‖f‖ cannot be normalized on ℝᵈ and is unbounded at 0; as weights over a finite set of
//! non-zero models it is valid, see [`Prior::inverse_norm_weights`].
//!
//! ```
//! use tove_lessons::probability::{Prior, map_estimate};
//! use tove_tensor::Tensor;
//! // One observation y = 3 of w with noise 1, and w ~ N(0, 2²): the posterior mean is 3 · 4/(4 + 1).
//! let log_likelihood = |w: &Tensor| ((w - 3.0).square() * -0.5).sum();
//! let found = map_estimate(&log_likelihood, &Prior::Normal { std: 2.0 }, &Tensor::from([0.0]))?;
//! assert!((found.weights.at::<f64>(&[0]) - 2.4).abs() < 1e-9);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::f64::consts::PI;

use tove_optim::{Newton, Objective};
use tove_tensor::{DType, Key, Tensor, TryOps, TryUnary};

use super::distribution::{Distribution, Laplace, Normal};
use tove_learn::{LearnError, Result, Summary};

/// A prior over independent weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Prior {
    /// The improper flat prior, the limit of wide ones. Its log-density is defined as 0.
    Flat,
    /// N(0, std²) for each weight.
    Normal {
        /// Standard deviation.
        std: f64,
    },
    /// Laplace(0, scale) for each weight.
    Laplace {
        /// Scale b.
        scale: f64,
    },
}

impl Prior {
    fn check(&self) -> Result<()> {
        match *self {
            Prior::Normal { std: width } | Prior::Laplace { scale: width } if !(width > 0.0 && width.is_finite()) => {
                Err(LearnError::parameter("Prior", format!("a width of {width}; give a positive number")))
            }
            _ => Ok(()),
        }
    }

    /// log p(w), summed over the weights, differentiable.
    pub fn log_density(&self, w: &Tensor) -> Result<Tensor> {
        self.check()?;
        let n = w.numel() as f64;
        Ok(match *self {
            Prior::Flat => w.try_sum()? * 0.0,
            Prior::Normal { std } => {
                let constant = n * (std.ln() + 0.5 * (2.0 * PI).ln());
                w.try_square()?.try_sum()? * (-0.5 / (std * std)) - constant
            }
            Prior::Laplace { scale } => w.try_abs()?.try_sum()? * (-1.0 / scale) - n * (2.0 * scale).ln(),
        })
    }

    /// Draws `n` times `d` weights, (n, d). A flat prior cannot be sampled.
    pub fn sample(&self, n: usize, d: usize, key: Key) -> Result<Tensor> {
        self.check()?;
        let zeros = Tensor::try_zeros([d], DType::F64)?;
        match *self {
            Prior::Flat => Err(LearnError::parameter(
                "Prior",
                "a flat prior is improper and cannot be sampled; choose a proper prior",
            )),
            Prior::Normal { std } => Normal::new(zeros, std)?.sample(n, key),
            Prior::Laplace { scale } => Laplace::new(zeros, scale)?.sample(n, key),
        }
    }

    /// Normalized weights proportional to 1/‖f‖ over a finite set of models. A model of norm 0 would take all the
    /// weight and is an error.
    pub fn inverse_norm_weights(models: &[Tensor]) -> Result<Vec<f64>> {
        let norms: Vec<f64> = models.iter().map(|f| f.to_f64_vec().iter().map(|w| w * w).sum::<f64>().sqrt()).collect();
        if let Some(index) = norms.iter().position(|&norm| !(norm > 0.0 && norm.is_finite())) {
            let problem = format!("model {index} has norm {}, and 1/‖f‖ needs a positive one", norms[index]);
            return Err(LearnError::parameter("Prior", problem));
        }
        let total: f64 = norms.iter().map(|norm| 1.0 / norm).sum();
        Ok(norms.iter().map(|norm| 1.0 / norm / total).collect())
    }
}

/// A maximum a posteriori estimate.
#[derive(Clone, Debug)]
pub struct MapEstimate {
    /// The weights, in the shape of the start.
    pub weights: Tensor,
    /// log p(S | w) + log p(w) at the estimate.
    pub log_posterior: f64,
    /// Convergence information.
    pub summary: Summary,
}

/// argmax log p(S | w) + log p(w), for a concave log-likelihood with two derivatives.
///
/// Smooth priors use Newton's method; the Laplace prior uses proximal Newton steps, whose coordinate descent sets
/// weights to exactly 0.
pub fn map_estimate(log_likelihood: &dyn Fn(&Tensor) -> Tensor, prior: &Prior, start: &Tensor) -> Result<MapEstimate> {
    prior.check()?;
    let negative = |w: &Tensor| -log_likelihood(w);
    if let Prior::Laplace { scale } = *prior {
        return proximal_newton(&negative, prior, 1.0 / scale, start);
    }
    let objective = |w: &Tensor| match prior.log_density(w) {
        Ok(log) => negative(w) - log,
        Err(_) => negative(w), // the prior was checked above
    };
    let run = Newton::default().minimise(&objective, start)?;
    let weights = run.minimiser()?.clone();
    let (value, gradient) = objective.value_and_gradient(&weights)?;
    let size = gradient.try_abs()?.try_max()?.to_f64_vec()[0];
    let converged = size <= 1e-6 * (1.0 + value.abs());
    let summary = Summary::iterative("map_estimate", run.iterations, converged, size, value);
    Ok(MapEstimate { weights, log_posterior: -value, summary })
}

/// Minimizes f(w) + λ ‖w‖₁: each round solves the quadratic model of f plus the l1 term by coordinate descent, and
/// takes a step toward its minimizer that decreases the objective.
fn proximal_newton(f: &dyn Fn(&Tensor) -> Tensor, prior: &Prior, lambda: f64, start: &Tensor) -> Result<MapEstimate> {
    const ROUNDS: usize = 100;
    let shape = start.shape().clone();
    let tensor = |w: &[f64]| -> Result<Tensor> { Ok(Tensor::try_from_vec(w.to_vec(), shape.clone())?) };
    let l1 = |w: &[f64]| lambda * w.iter().map(|w| w.abs()).sum::<f64>();
    let mut w = start.to_f64_vec();
    let (mut value, mut gradient) = f.value_and_gradient(&tensor(&w)?)?;
    let mut violation = f64::INFINITY;
    let mut rounds = 0;
    while rounds < ROUNDS {
        let g = gradient.to_f64_vec();
        violation = w.iter().zip(&g).fold(0.0f64, |max, (&w, &g)| max.max(distance_to_optimal(w, g, lambda)));
        if violation <= 1e-10 * (1.0 + lambda) {
            break;
        }
        rounds += 1;
        let hessian = f.hessian(&tensor(&w)?)?.to_f64_vec();
        let target = model_minimizer(&hessian, &g, &w, lambda);
        let old = value + l1(&w);
        let mut step = 1.0;
        loop {
            let next: Vec<f64> = w.iter().zip(&target).map(|(w, t)| w + step * (t - w)).collect();
            let (new_value, new_gradient) = f.value_and_gradient(&tensor(&next)?)?;
            let lower = new_value + l1(&next) <= old + 1e-15 * old.abs();
            if lower || step < 1e-10 {
                (w, value, gradient) = (next, new_value, new_gradient);
                break;
            }
            step *= 0.5;
        }
    }
    let weights = tensor(&w)?;
    let log_posterior = prior.log_density(&weights)?.to_f64_vec()[0] - value;
    let converged = violation <= 1e-6 * (1.0 + lambda);
    let summary = Summary::iterative("map_estimate", rounds, converged, violation, -log_posterior);
    Ok(MapEstimate { weights, log_posterior, summary })
}

/// Distance of −g from the subdifferential of λ|w|.
fn distance_to_optimal(w: f64, g: f64, lambda: f64) -> f64 {
    if w == 0.0 { (g.abs() - lambda).max(0.0) } else { (g + lambda * w.signum()).abs() }
}

/// Minimizes gᵀd + ½ dᵀHd + λ ‖w + d‖₁ over w + d by coordinate descent.
fn model_minimizer(hessian: &[f64], g: &[f64], w: &[f64], lambda: f64) -> Vec<f64> {
    let n = w.len();
    let mut target = w.to_vec();
    let mut slope = g.to_vec(); // g + H d
    for _ in 0..1000 {
        let mut largest = 0.0f64;
        for j in 0..n {
            let curvature = hessian[j * n + j].max(1e-12);
            let plain = target[j] - slope[j] / curvature;
            let new = plain.signum() * (plain.abs() - lambda / curvature).max(0.0);
            let change = new - target[j];
            if change != 0.0 {
                target[j] = new;
                slope.iter_mut().enumerate().for_each(|(i, slope)| *slope += change * hessian[i * n + j]);
                largest = largest.max(change.abs() * curvature);
            }
        }
        if largest <= 1e-13 * (1.0 + lambda) {
            break;
        }
    }
    target
}
