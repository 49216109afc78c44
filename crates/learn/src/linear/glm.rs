//! Generalized linear models: μ = h(x·w + b), fitted by penalized maximum likelihood.
//!
//! min (1/2Σs) Σ sᵢ d(yᵢ, μᵢ) + (α/2)‖w‖², where d is the unit deviance of an exponential dispersion model with
//! variance μᵖ (Jørgensen 1987): the normal distribution (p = 0), Poisson (1), compound Poisson-gamma (1 < p < 2),
//! gamma (2), inverse Gaussian (3). h is the inverse link: exp for `log`, the identity for `identity`. Up to terms in y
//! only, half the deviance is μ^(2−p)/(2−p) − y μ^(1−p)/(1−p), with logarithms at p = 1 and 2. Solved by Newton's
//! method (`glm_newton.rs`).
//!
//! ```
//! use tove_learn::{Fit, Predict, linear::PoissonRegressor};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.0], [1.0], [2.0], [3.0]]), Tensor::from([1.0, 2.0, 4.0, 8.0])); // y = 2^x
//! let model = PoissonRegressor::default().alpha(0.0).tol(1e-10).fit(&x, &y)?;
//! assert!((model.coef().at::<f64>(&[0]) - 2f64.ln()).abs() < 1e-8);
//! assert!((model.predict(&Tensor::from([[4.0]]))?.item::<f64>() - 16.0).abs() < 1e-6);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_metrics::{Score, d2_tweedie_score};
use tove_optim::settings::{Choice, Hyperparameters, Named, SettingError};
use tove_tensor::{Tensor, TryUnary};

use super::glm_newton::{self, Start};
use super::model::{Extras, FittedLinear};
use crate::{Algorithm, Capabilities, Fitted, LearnError, Result, Samples};

/// Hyperparameters that all generalized linear models share.
///
/// ```
/// use tove_learn::linear::{GammaRegressor, PoissonRegressor};
/// assert_eq!(GammaRegressor::default().alpha(2.0).glm, PoissonRegressor::default().alpha(2.0).glm);
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(shared)]
pub struct GlmSettings {
    /// Constant that multiplies the l2 penalty; 0 is the unpenalized model.
    #[hyper(default = 1.0, range = "[0, inf)")]
    pub alpha: f64,
    /// Whether an intercept is fitted; it is not penalized.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Maximum number of iterations.
    #[hyper(default = 100, range = "[1, inf)")]
    pub max_iter: usize,
    /// Stop when the largest absolute entry of the gradient is at most this.
    #[hyper(default = 1e-4, range = "(0, inf)")]
    pub tol: f64,
}

/// Generalized linear model with a Poisson distribution and the log link, for counts and frequencies.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct PoissonRegressor {
    /// Shared hyperparameters of generalized linear models.
    #[hyper(flatten)]
    pub glm: GlmSettings,
}

/// Generalized linear model with a gamma distribution and the log link, for positive and skewed targets.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct GammaRegressor {
    /// Shared hyperparameters of generalized linear models.
    #[hyper(flatten)]
    pub glm: GlmSettings,
}

/// Generalized linear model with a Tweedie distribution: normal, Poisson, compound Poisson-gamma, gamma, inverse Gaussian.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check_power)]
pub struct TweedieRegressor {
    /// Power of the mean in the variance: 0 normal, 1 Poisson, 1 to 2 compound Poisson-gamma, 2 gamma, 3 inverse Gaussian.
    #[hyper(default = 0.0)]
    pub power: f64,
    /// The link function; auto means identity for a power of at most 0, else log.
    #[hyper(default = LinkChoice::Auto)]
    pub link: LinkChoice,
    /// Shared hyperparameters of generalized linear models.
    #[hyper(flatten)]
    pub glm: GlmSettings,
}

fn check_power(settings: &TweedieRegressor) -> Result<(), SettingError> {
    let power = settings.power;
    if power.is_finite() && (power <= 0.0 || power >= 1.0) {
        return Ok(());
    }
    let problem = format!("is {power}, for which no distribution exists");
    Err(SettingError::conflict(
        TweedieRegressor::NAME,
        "power",
        problem,
        "choose a finite power of at most 0 or at least 1",
    ))
}

/// The link function of a [`TweedieRegressor`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum LinkChoice {
    /// Identity for a power of at most 0, else log.
    #[default]
    Auto,
    /// μ = x·w + b.
    Identity,
    /// ln μ = x·w + b.
    Log,
}

/// The distribution and the link of a fitted model.
#[derive(Clone, Copy, Debug, PartialEq, Fitted)]
pub struct Family {
    #[fitted(hidden)]
    pub(super) power: f64,
    /// Whether the link is the logarithm; else the identity.
    #[fitted(stored = "log_link", hidden)]
    pub(super) log: bool,
}

/// Half the deviance of a sample as a function of η = x·w + b: value, first and second derivative.
pub(super) struct Terms {
    pub(super) value: f64,
    pub(super) slope: f64,
    pub(super) curvature: f64,
    /// Expected second derivative, which is never negative.
    pub(super) expected: f64,
}

impl Family {
    /// Returns μ for η; `None` outside the domain of the distribution.
    pub(super) fn mean(&self, eta: f64) -> Option<f64> {
        let mean = if self.log { eta.exp() } else { eta };
        let inside = mean.is_finite() && (mean > 0.0 || self.power == 0.0);
        inside.then_some(mean)
    }

    /// Returns η for a mean.
    pub(super) fn link(&self, mean: f64) -> f64 {
        if self.log { mean.ln() } else { mean }
    }

    /// Half the deviance up to a constant, with its derivatives with respect to η.
    pub(super) fn terms(&self, y: f64, eta: f64) -> Option<Terms> {
        let (p, mean) = (self.power, self.mean(eta)?);
        let rise = |exponent: f64| if exponent == 0.0 { mean.ln() } else { mean.powf(exponent) / exponent };
        let own = if y == 0.0 { 0.0 } else { y * rise(1.0 - p) };
        let value = if p == 0.0 { 0.5 * (y - mean).powi(2) } else { rise(2.0 - p) - own };
        // With respect to μ: (μ − y) / μᵖ, and its derivative.
        let by_mean = (mean - y) * mean.powf(-p);
        let second = if p == 0.0 { 1.0 } else { mean.powf(-p) - p * (mean - y) * mean.powf(-p - 1.0) };
        let (slope, curvature, expected) = match self.log {
            true => (by_mean * mean, second * mean * mean + by_mean * mean, mean.powf(2.0 - p)),
            false => (by_mean, second, mean.powf(-p)),
        };
        let finite = [value, slope, curvature, expected].iter().all(|number| number.is_finite());
        finite.then_some(Terms { value, slope, curvature, expected })
    }

    /// Checks that the targets are in the domain of the distribution.
    fn check(&self, who: &'static str, y: &[f64], weights: &[f64]) -> Result<()> {
        let refused = |y: f64| match self.power {
            p if p >= 2.0 => y <= 0.0,
            p if p >= 1.0 => y < 0.0,
            _ => false,
        };
        if let Some(row) = y.iter().position(|&y| refused(y)) {
            let needed = if self.power >= 2.0 { "positive" } else { "non-negative" };
            let problem =
                format!("the target of row {row} is {}, but the distribution requires {needed} targets", y[row]);
            let fix =
                "choose another distribution, for example TweedieRegressor with power 0, or transform the targets";
            return Err(LearnError::data(who, problem, fix));
        }
        let mean: f64 = y.iter().zip(weights).map(|(y, weight)| y * weight).sum::<f64>() / weights.iter().sum::<f64>();
        if (self.log || self.power != 0.0) && mean <= 0.0 {
            let problem = format!("the mean of the targets is {mean}, but the model requires a positive mean");
            return Err(LearnError::data(
                who,
                problem,
                "give samples with positive targets, or choose the identity link",
            ));
        }
        Ok(())
    }
}

impl Extras for Family {
    fn respond(&self, linear: Tensor) -> Result<Tensor> {
        Ok(if self.log { linear.try_exp()? } else { linear })
    }

    /// D²: the share of the deviance that is explained, as scikit-learn's.
    fn score(&self, y: &Tensor, predicted: &Tensor) -> Result<Score> {
        Ok(d2_tweedie_score(y, predicted, self.power, None)?)
    }
}

/// A fitted [`PoissonRegressor`].
pub type FittedPoissonRegressor = FittedLinear<PoissonRegressor, Family>;
/// A fitted [`GammaRegressor`].
pub type FittedGammaRegressor = FittedLinear<GammaRegressor, Family>;
/// A fitted [`TweedieRegressor`].
pub type FittedTweedieRegressor = FittedLinear<TweedieRegressor, Family>;

/// Fits a model of this family.
fn fit<E: Algorithm<Fitted = FittedLinear<E, Family>>>(
    estimator: &E,
    settings: &GlmSettings,
    family: Family,
    samples: &Samples,
) -> Result<FittedLinear<E, Family>> {
    let y = samples.single_target(E::NAME)?;
    let weights = samples.weights().map_or_else(|| vec![1.0; y.len()], Tensor::to_f64_vec);
    family.check(E::NAME, &y, &weights)?;
    if !family.log && family.power != 0.0 && !settings.fit_intercept {
        let problem =
            "the identity link without an intercept starts at a mean of 0, outside the domain of the distribution";
        return Err(LearnError::parameter(E::NAME, format!("{problem}; set `fit_intercept`, or choose the log link")));
    }
    let start = Start { who: E::NAME, family, settings, y: &y, weights: &weights };
    let (w, intercept, summary) = glm_newton::solve(&start, samples.x())?;
    FittedLinear::single(estimator, samples, (w, intercept), summary, family)
}

const CAPABILITIES: Capabilities =
    Capabilities { weights: true, sparse: true, accuracy: 1e-3, positive_targets: true, ..Capabilities::REGRESSOR };

impl Algorithm for PoissonRegressor {
    type Fitted = FittedPoissonRegressor;
    const CAPABILITIES: Capabilities = CAPABILITIES;

    fn train(&self, samples: &Samples) -> Result<FittedPoissonRegressor> {
        fit(self, &self.glm, Family { power: 1.0, log: true }, samples)
    }
}

impl Algorithm for GammaRegressor {
    type Fitted = FittedGammaRegressor;
    const CAPABILITIES: Capabilities = CAPABILITIES;

    fn train(&self, samples: &Samples) -> Result<FittedGammaRegressor> {
        fit(self, &self.glm, Family { power: 2.0, log: true }, samples)
    }
}

impl TweedieRegressor {
    fn family(&self) -> Family {
        let log = match self.link {
            LinkChoice::Auto => self.power > 0.0,
            link => link == LinkChoice::Log,
        };
        Family { power: self.power, log }
    }
}

impl Algorithm for TweedieRegressor {
    type Fitted = FittedTweedieRegressor;
    const CAPABILITIES: Capabilities = Capabilities { positive_targets: false, ..CAPABILITIES };

    fn capabilities_of(settings: &TweedieRegressor) -> Capabilities {
        let family = settings.family();
        Capabilities { positive_targets: family.log || family.power != 0.0, ..CAPABILITIES }
    }

    fn train(&self, samples: &Samples) -> Result<FittedTweedieRegressor> {
        fit(self, &self.glm, self.family(), samples)
    }
}
