//! Huber regression: squared error for small residuals, absolute error for large ones, with a fitted scale.
//!
//! min over w, b, σ > 0 of Σ σ + H_ε((yᵢ − xᵢᵀw − b)/σ) σ + α‖w‖², H_ε(z) = z² for |z| ≤ ε, else 2ε|z| − ε² (Owen 2007). The
//! function is convex in (w, b, σ); scaling the targets scales the solution.
//!
//! Minimized by L-BFGS over ln σ. Features are centered and whitened implicitly (by the Cholesky factor of their
//! covariance plus the penalty), so that badly scaled or correlated columns do not slow down convergence.
//!
//! ```
//! use tove_learn::{Fit, linear::HuberRegressor};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]);
//! let y = Tensor::from([0.1, 1.0, 1.9, 3.1, 4.0, 50.0]);
//! let model = HuberRegressor::default().fit(&x, &y)?;
//! assert!((model.coef().at::<f64>(&[0]) - 1.0).abs() < 0.1);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::LbfgsSettings;
use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::linalg::Triangle;
use tove_tensor::{Tensor, TryLinalg};

use super::model::{Extras, FittedLinear};
use super::moments::{Data, Moments};
use super::operator::Operator;
use crate::{Algorithm, Capabilities, Fitted, Result, Samples, Summary};

/// Linear regression that is robust to outliers.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct HuberRegressor {
    /// Residuals larger than this many scales are outliers.
    #[hyper(default = 1.35, range = "[1, inf)")]
    pub epsilon: f64,
    /// Maximum number of iterations.
    #[hyper(default = 100, range = "[1, inf)")]
    pub max_iter: usize,
    /// Regularization strength of the penalty α‖w‖².
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub alpha: f64,
    /// Whether an intercept is fitted.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Stop when no entry of the gradient is larger. The objective is averaged over samples, with whitened features and
    /// targets.
    #[hyper(default = 1e-5, range = "(0, inf)")]
    pub tol: f64,
}

/// The scale of a [`HuberRegressor`].
#[derive(Clone, Debug, PartialEq, Fitted)]
pub struct Scale {
    #[fitted(stored = "scale", name = "scale")]
    sigma: f64,
    #[fitted(shape = "outliers", hidden, empty)]
    outliers: Vec<i64>,
}

impl Extras for Scale {}

/// A fitted [`HuberRegressor`].
pub type FittedHuberRegressor = FittedLinear<HuberRegressor, Scale>;

impl FittedHuberRegressor {
    /// The scale σ of the residuals.
    pub fn scale(&self) -> f64 {
        self.extras().sigma
    }

    /// Indices of samples whose residual exceeds ε σ.
    pub fn outliers(&self) -> &[i64] {
        &self.extras().outliers
    }
}

impl Algorithm for HuberRegressor {
    type Fitted = FittedHuberRegressor;
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, sparse: true, accuracy: 1e-4, ..Capabilities::REGRESSOR };

    fn train(&self, samples: &Samples) -> Result<FittedHuberRegressor> {
        let data = Data::single(Self::NAME, samples)?;
        let moments = Moments::of(&data, self.fit_intercept)?;
        let unit = (moments.squares[0] / moments.weight).sqrt();
        if unit == 0.0 {
            // Constant targets (zero without an intercept) are fitted exactly, with scale 0.
            let nothing = Scale { sigma: 0.0, outliers: Vec::new() };
            let zeros = vec![0.0; data.width()];
            return FittedLinear::single(self, samples, (zeros, moments.mean_y[0]), Summary::exact(), nothing);
        }
        let objective = Objective::new(self, &data, &moments, unit)?;
        let lbfgs =
            LbfgsSettings::default().max_iterations(self.max_iter).gradient_tolerance(self.tol).value_tolerance(1e-15);
        let start = objective.start()?;
        let minimum = lbfgs.try_minimize(|point, gradient| objective.evaluate(point, gradient), &start)?;
        // Within rounding no step decreases the value; a gradient this small counts as converged.
        let converged = minimum.converged() || minimum.gradient_size < 10.0 * self.tol;
        let value = minimum.value * moments.weight * unit;
        let summary = Summary::iterative(Self::NAME, minimum.iterations, converged, minimum.gradient_size, value);
        let (w, b, sigma, residual) = objective.solution(&minimum.x)?;
        let limit = self.epsilon * sigma;
        let outliers = (0..data.len()).filter(|&row| residual[row].abs() > limit).map(|row| row as i64).collect();
        FittedLinear::single(self, samples, (w, b), summary, Scale { sigma, outliers })
    }
}

/// The objective over (whitened weights, intercept, ln σ), with standardized targets.
struct Objective<'a> {
    settings: &'a HuberRegressor,
    data: &'a Data<'a>,
    moments: &'a Moments,
    operator: Operator<'a>,
    /// Cholesky factor L of the feature covariance L Lᵀ: w = L⁻ᵀ u.
    factor: Tensor,
    unit: f64,
}

impl<'a> Objective<'a> {
    fn new(settings: &'a HuberRegressor, data: &'a Data, moments: &'a Moments, unit: f64) -> Result<Objective<'a>> {
        let d = moments.width;
        let mut covariance: Vec<f64> = moments.gram.iter().map(|g| g / moments.weight).collect();
        // Jitter for dependent and constant columns, relative to the column.
        let largest = (0..d).map(|j| covariance[j * d + j]).fold(0.0, f64::max);
        // The curvature of the penalty. Without it, L-BFGS converges slowly for small features.
        let penalty = settings.alpha * unit / moments.weight;
        for j in 0..d {
            let own = covariance[j * d + j];
            covariance[j * d + j] += 1e-8 * own + if own == 0.0 { largest.max(1.0) } else { 0.0 } + penalty;
        }
        let factor = Tensor::try_from_vec(covariance, [d, d])?.try_cholesky()?;
        Ok(Objective { settings, data, moments, operator: Operator::plain(data.x), factor, unit })
    }

    fn triangle(&self, values: &[f64], triangle: Triangle) -> tove_tensor::Result<Vec<f64>> {
        Ok(self.factor.try_triangular_solve(&Tensor::from_slice(values), triangle)?.to_f64_vec())
    }

    /// Starts from least squares with scale 1.
    fn start(&self) -> Result<Vec<f64>> {
        let scale = self.moments.weight * self.unit;
        let cross: Vec<f64> = self.moments.cross.iter().map(|cross| cross / scale).collect();
        let mut start = self.triangle(&cross, Triangle::LOWER)?;
        start.extend([0.0, 0.0]);
        Ok(start)
    }

    /// y − x·w − b for standardized targets and weights in the original features.
    fn residual(&self, w: &[f64], b: f64) -> Result<Vec<f64>> {
        let offset: f64 = self.moments.mean_x.iter().zip(w).map(|(mean, w)| mean * w).sum::<f64>() - b;
        let products = self.operator.times(w)?;
        let mean = self.moments.mean_y[0];
        let targets = self.data.y.iter().map(|y| (y - mean) / self.unit);
        Ok(targets.zip(&products).map(|(y, product)| y - product + offset).collect())
    }

    fn evaluate(&self, point: &[f64], gradient: &mut [f64]) -> tove_tensor::Result<f64> {
        self.slopes(point, gradient).map_err(|error| match error {
            crate::LearnError::Tensor(error) => error,
            other => tove_tensor::Error::data("HuberRegressor", other.to_string()),
        })
    }

    fn slopes(&self, point: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let d = self.moments.width;
        let (b, sigma) = (point[d], point[d + 1].exp());
        let w = self.triangle(&point[..d], Triangle::LOWER.transposed())?;
        let residual = self.residual(&w, b)?;
        let (epsilon, total) = (self.settings.epsilon, self.moments.weight);
        let (mut value, mut by_sigma, mut by_b) = (sigma * total, total, 0.0);
        let mut push = vec![0.0; residual.len()];
        for (row, (&r, push)) in residual.iter().zip(&mut push).enumerate() {
            let weight = self.data.weights.as_ref().map_or(1.0, |weights| weights[row]);
            if r.abs() <= epsilon * sigma {
                value += weight * r * r / sigma;
                by_sigma -= weight * (r / sigma).powi(2);
                *push = -2.0 * weight * r / sigma;
            } else {
                value += weight * (2.0 * epsilon * r.abs() - sigma * epsilon * epsilon);
                by_sigma -= weight * epsilon * epsilon;
                *push = -2.0 * weight * epsilon * r.signum();
            }
            by_b += *push;
        }
        // The penalty of scaled weights: α‖w‖² · unit, for standardized targets.
        let penalty = self.settings.alpha * self.unit;
        value += penalty * w.iter().map(|w| w * w).sum::<f64>();
        let mut by_w = self.operator.transposed(&push)?;
        for ((slope, mean), w) in by_w.iter_mut().zip(&self.moments.mean_x).zip(&w) {
            *slope += 2.0 * penalty * w - mean * by_b;
        }
        let by_u = self.triangle(&by_w, Triangle::LOWER)?;
        gradient[..d].iter_mut().zip(&by_u).for_each(|(out, slope)| *out = slope / total);
        gradient[d] = if self.settings.fit_intercept { by_b / total } else { 0.0 };
        gradient[d + 1] = by_sigma * sigma / total;
        Ok(value / total)
    }

    /// Returns weights, intercept, scale and residuals in the original units.
    fn solution(&self, point: &[f64]) -> Result<(Vec<f64>, f64, f64, Vec<f64>)> {
        let d = self.moments.width;
        let w = self.triangle(&point[..d], Triangle::LOWER.transposed())?;
        let residual: Vec<f64> = self.residual(&w, point[d])?.iter().map(|r| r * self.unit).collect();
        let w: Vec<f64> = w.iter().map(|w| w * self.unit).collect();
        let offset: f64 = self.moments.mean_x.iter().zip(&w).map(|(mean, w)| mean * w).sum();
        let b = self.moments.mean_y[0] + point[d] * self.unit - offset;
        Ok((w, b, point[d + 1].exp() * self.unit, residual))
    }
}
