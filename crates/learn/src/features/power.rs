//! Power transforms that make features more Gaussian; the exponent λ of each feature is fitted by maximum likelihood.
//!
//! Yeo-Johnson (2000), for any values: ((x + 1)^λ − 1)/λ for x ≥ 0 and −((1 − x)^(2 − λ) − 1)/(2 − λ) for x < 0.
//! Box-Cox (1964), for positive values: (x^λ − 1)/λ. At λ = 0 (and 2 − λ = 0) the logarithm. λ minimizes n/2 · ln σ²(λ)
//! − (λ − 1) Σ sign(x) ln(1 + |x|), with Σ ln x for Box-Cox, which is convex in λ.
//!
//! ```
//! use tove_learn::features::{PowerMethod, PowerTransformer};
//! use tove_learn::{Fit, Transform};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[1.0], [2.0], [4.0], [8.0], [16.0]]);
//! let power = PowerTransformer::default().method(PowerMethod::BoxCox).fit(&x, None)?;
//! assert!(power.lambdas().to_f64_vec()[0].abs() < 1e-6); // equally spaced logarithms
//! let there = power.transform(&x)?;
//! assert!(there.to_f64_vec()[2].abs() < 1e-6);
//! assert!((power.inverse_transform(&there)?.to_f64_vec()[4] - 16.0).abs() < 1e-9);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::Tensor;

use super::columns::{column, map, settings_of, without_infinite, without_overflow};
use crate::{About, Algorithm, Capabilities, Fitted, LearnError, Model, Result, Rows, Samples};

/// The family of a power transform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum PowerMethod {
    /// For any values.
    #[default]
    #[choice(name = "yeo-johnson")]
    YeoJohnson,
    /// For positive values.
    #[choice(name = "box-cox")]
    BoxCox,
}

/// Makes features more Gaussian, like scikit-learn's `PowerTransformer`. NaN is kept and ignored during fit.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct PowerTransformer {
    /// The transform: yeo-johnson or box-cox.
    #[hyper(default = PowerMethod::YeoJohnson)]
    pub method: PowerMethod,
    /// Whether to standardize the transformed features to mean 0 and variance 1.
    #[hyper(default = true)]
    pub standardize: bool,
}

/// A fitted [`PowerTransformer`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = PowerTransformer)]
pub struct FittedPowerTransformer {
    about: About,
    /// The exponent of each feature.
    #[fitted(shape = "features")]
    lambdas: Tensor,
    /// Mean of each transformed feature; 0 without `standardize`.
    #[fitted(shape = "features")]
    mean: Tensor,
    /// Standard deviation of each transformed feature; 1 for a constant one and without `standardize`.
    #[fitted(shape = "features")]
    scale: Tensor,
}

/// (exp(λ l) − 1)/λ, which is l at λ = 0.
fn power(lambda: f64, l: f64) -> f64 {
    if lambda.abs() < f64::EPSILON { l } else { (lambda * l).exp_m1() / lambda }
}

/// ln(1 + λ y)/λ, the inverse; NaN outside the range of the power.
fn root(lambda: f64, y: f64) -> f64 {
    if lambda.abs() < f64::EPSILON { y } else { (lambda * y).ln_1p() / lambda }
}

impl PowerMethod {
    fn forward(self, lambda: f64, x: f64) -> f64 {
        match self {
            PowerMethod::BoxCox => power(lambda, x.ln()),
            PowerMethod::YeoJohnson if x >= 0.0 => power(lambda, x.ln_1p()),
            PowerMethod::YeoJohnson => -power(2.0 - lambda, (-x).ln_1p()),
        }
    }

    fn back(self, lambda: f64, y: f64) -> f64 {
        match self {
            PowerMethod::BoxCox => root(lambda, y).exp(),
            PowerMethod::YeoJohnson if y >= 0.0 => root(lambda, y).exp_m1(),
            PowerMethod::YeoJohnson => -root(2.0 - lambda, -y).exp_m1(),
        }
    }

    /// The negative log-likelihood of an exponent; infinite if values overflow.
    fn loss(self, lambda: f64, values: &[f64]) -> f64 {
        let n = values.len() as f64;
        let logs: f64 = match self {
            PowerMethod::BoxCox => values.iter().map(|x| x.ln()).sum(),
            PowerMethod::YeoJohnson => values.iter().map(|x| x.signum() * x.abs().ln_1p()).sum(),
        };
        let loss = 0.5 * n * self.log_variance(lambda, values) - (lambda - 1.0) * logs;
        if loss.is_finite() { loss } else { f64::INFINITY }
    }

    /// ln σ² of the transformed values. For values of one sign they are a power plus a constant; the constant can be so
    /// much larger than their differences that it would cause cancellation, so it is omitted.
    fn log_variance(self, lambda: f64, values: &[f64]) -> f64 {
        let (positive, exponent) = match self {
            PowerMethod::BoxCox => (true, lambda),
            PowerMethod::YeoJohnson => {
                let positive = values[0] >= 0.0;
                if values.iter().any(|x| (*x >= 0.0) != positive) {
                    let changed: Vec<f64> = values.iter().map(|&x| self.forward(lambda, x)).collect();
                    return log_variance(&changed);
                }
                (positive, if positive { lambda } else { 2.0 - lambda })
            }
        };
        let log = |x: f64| match self {
            PowerMethod::BoxCox => x.ln(),
            PowerMethod::YeoJohnson => {
                if positive {
                    x.ln_1p()
                } else {
                    (-x).ln_1p()
                }
            }
        };
        let logs: Vec<f64> = values.iter().map(|&x| log(x)).collect();
        if exponent.abs() < f64::EPSILON {
            return log_variance(&logs);
        }
        let largest = logs.iter().fold(f64::NEG_INFINITY, |max, l| max.max(exponent * l));
        let powers: Vec<f64> = logs.iter().map(|l| (exponent * l - largest).exp_m1()).collect();
        log_variance(&powers) + 2.0 * largest - 2.0 * exponent.abs().ln()
    }

    /// The maximum-likelihood exponent of values that are not all equal.
    fn fit(self, values: &[f64]) -> Option<f64> {
        let loss = |lambda: f64| self.loss(lambda, values);
        // Expand from 0, 1 and 2 until the minimum is bracketed.
        let (mut low, mut middle, mut high) = (0.0, 1.0, 2.0);
        let (mut at_low, mut at_middle, mut at_high) = (loss(low), loss(middle), loss(high));
        for _ in 0..60 {
            if at_low < at_middle || (at_middle.is_infinite() && at_high.is_infinite()) {
                let next = low - 2.0 * (middle - low);
                (high, at_high, middle, at_middle) = (middle, at_middle, low, at_low);
                (low, at_low) = (next, loss(next));
            } else if at_high < at_middle {
                let next = high + 2.0 * (high - middle);
                (low, at_low, middle, at_middle) = (middle, at_middle, high, at_high);
                (high, at_high) = (next, loss(next));
            } else {
                break;
            }
        }
        at_middle.is_finite().then(|| section(loss, low, middle, high, at_middle))
    }
}

/// ln σ², with n in the denominator.
fn log_variance(values: &[f64]) -> f64 {
    let (n, size) = (values.len() as f64, values.iter().fold(0.0f64, |max, x| max.max(x.abs())));
    let mean = values.iter().map(|x| x / size).sum::<f64>() / n;
    let variance = values.iter().map(|x| (x / size - mean).powi(2)).sum::<f64>() / n;
    variance.ln() + 2.0 * size.ln()
}

/// The minimum of a convex function in a bracket, by golden-section search with a final parabola.
fn section(loss: impl Fn(f64) -> f64, mut low: f64, mut middle: f64, mut high: f64, mut at_middle: f64) -> f64 {
    const GOLDEN_SECTION: f64 = 0.381_966_011_250_105;
    while high - low > 1e-5 * (1.0 + middle.abs()) {
        let wider_above = high - middle > middle - low;
        let point = middle + GOLDEN_SECTION * if wider_above { high - middle } else { low - middle };
        let at = loss(point);
        if at < at_middle {
            if wider_above {
                low = middle
            } else {
                high = middle
            }
            (middle, at_middle) = (point, at);
        } else if wider_above {
            high = point;
        } else {
            low = point;
        }
    }
    // Differences of values lose accuracy below the square root of the precision; a parabola through wider points does
    // not.
    let step = 1e-3 * (1.0 + middle.abs());
    let (before, after) = (loss(middle - step), loss(middle + step));
    let bend = before - 2.0 * at_middle + after;
    let refined = middle + 0.5 * step * (before - after) / bend;
    if bend > 0.0 && (refined - middle).abs() < step { refined } else { middle }
}

impl Algorithm for PowerTransformer {
    type Fitted = FittedPowerTransformer;
    const CAPABILITIES: Capabilities =
        Capabilities { missing: true, inverse_transform: true, ..Capabilities::TRANSFORMER };

    fn train(&self, samples: &Samples) -> Result<FittedPowerTransformer> {
        let x = samples.x();
        without_infinite(x)?;
        let (values, d) = (x.dense(Self::NAME)?.to_f64_vec(), x.width());
        let found = crate::selection::in_parallel(d, |feature| self.fit_feature(&column(&values, d, feature), feature));
        let mut parts = [Vec::with_capacity(d), Vec::with_capacity(d), Vec::with_capacity(d)];
        for numbers in found {
            parts.iter_mut().zip(numbers?).for_each(|(part, number)| part.push(number));
        }
        let [lambdas, mean, scale] = parts.map(|part| Tensor::from(part).to_dtype(x.dtype()));
        Ok(FittedPowerTransformer { about: About::of(self, samples), lambdas, mean, scale })
    }
}

impl PowerTransformer {
    /// λ, mean and scale of a feature.
    fn fit_feature(&self, values: &[f64], feature: usize) -> Result<[f64; 3]> {
        let values: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        let refuse = |problem: String, fix: &str| Err(LearnError::data(Self::NAME, problem, fix));
        if values.is_empty() {
            return refuse(format!("feature {feature} has only missing values"), "remove it, or impute it first");
        }
        if self.method == PowerMethod::BoxCox && values.iter().any(|&x| x <= 0.0) {
            let problem = format!("box-cox needs positive values, but feature {feature} has others");
            return refuse(problem, "set `method` to yeo-johnson");
        }
        let constant = values.iter().all(|&x| x == values[0]);
        let lambda = if constant { Some(1.0) } else { self.method.fit(&values) };
        let lambda = lambda.unwrap_or(f64::NAN);
        let changed: Vec<f64> = values.iter().map(|&x| self.method.forward(lambda, x)).collect();
        let n = changed.len() as f64;
        let mean = changed.iter().map(|x| x / n).sum::<f64>();
        let deviation = (changed.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        if !(lambda.is_finite() && deviation.is_finite() && mean.is_finite()) {
            let problem = format!("the power transform of feature {feature} overflows");
            return refuse(problem, "scale the features, for example with `StandardScaler`");
        }
        let flat = constant || deviation <= 10.0 * f64::EPSILON * mean.abs();
        Ok(match self.standardize {
            true => [lambda, mean, if flat || deviation == 0.0 { 1.0 } else { deviation }],
            false => [lambda, 0.0, 1.0],
        })
    }
}

impl Model for FittedPowerTransformer {
    crate::fitted_methods!();

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        inputs.to_vec()
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let method = settings_of::<PowerTransformer>(&self.about)?.method;
        let (lambdas, mean, scale) = self.numbers();
        let dense = x.dense(self.about.name)?.to_f64_vec();
        if let Some(index) = dense.iter().position(|&x| method == PowerMethod::BoxCox && x <= 0.0) {
            let (row, feature) = (index / self.about.width, index % self.about.width);
            let problem =
                format!("box-cox needs positive values, but row {row}, column {feature}, is {}", dense[index]);
            return Err(LearnError::data(self.about.name, problem, "set `method` to yeo-johnson"));
        }
        let change = |c: usize, value: f64| (method.forward(lambdas[c], value) - mean[c]) / scale[c];
        without_overflow(self.about.name, map(x, change)?)
    }

    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        let method = settings_of::<PowerTransformer>(&self.about)?.method;
        let (lambdas, mean, scale) = self.numbers();
        let back = |c: usize, value: f64| method.back(lambdas[c], value * scale[c] + mean[c]);
        without_overflow(self.about.name, map(x, back)?)
    }
}

impl FittedPowerTransformer {
    fn numbers(&self) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        (self.lambdas.to_f64_vec(), self.mean.to_f64_vec(), self.scale.to_f64_vec())
    }
}
