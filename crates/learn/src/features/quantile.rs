//! Transformation of features to a uniform or normal distribution by their quantiles.
//!
//! x' is the fraction of the training samples below x, between 0 and 1 and linear between quantiles; for the normal
//! distribution Φ⁻¹ of it, clipped at ±5.2. Equal values get the middle of their range of fractions. Outliers are
//! compressed, and correlations change.
//!
//! ```
//! use tove_learn::features::QuantileTransformer;
//! use tove_learn::{Fit, Transform};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[1.0], [10.0], [100.0], [1000.0], [1e6]]);
//! let uniform = QuantileTransformer::default().fit(&x, None)?;
//! assert_eq!(uniform.transform(&x)?.to_vec::<f64>(), [0.0, 0.25, 0.5, 0.75, 1.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_metrics::special::{normal_cdf, normal_quantile};
use tove_optim::settings::{Choice, Hyperparameters, Named, SettingError};
use tove_tensor::{Key, Tensor};

use super::columns::{column, map, settings_of, without_infinite};
use super::robust::quantile;
use crate::selection::in_parallel;
use crate::{About, Algorithm, Capabilities, Fitted, LearnError, Model, Result, Rows, Samples};

/// The distribution of the transformed features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum OutputDistribution {
    /// Uniform on [0, 1].
    #[default]
    Uniform,
    /// Standard normal.
    Normal,
}

/// Maps features to a uniform or normal distribution, like scikit-learn's `QuantileTransformer`. NaN is kept and
/// ignored during fit.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check)]
pub struct QuantileTransformer {
    /// Number of quantiles; at most the number of samples.
    #[hyper(default = 1000, range = "[1, inf)")]
    pub n_quantiles: usize,
    /// The distribution of the transformed features: uniform or normal.
    #[hyper(default = OutputDistribution::Uniform)]
    pub output_distribution: OutputDistribution,
    /// Maximum number of samples for estimating quantiles, drawn at random; all if not set.
    #[hyper(default = Some(10_000), range = "[1, inf)")]
    pub subsample: Option<usize>,
    /// Seed of the subsample.
    #[hyper(default = 0, alias = "random_state")]
    pub seed: u64,
}

fn check(settings: &QuantileTransformer) -> std::result::Result<(), SettingError> {
    match settings.subsample {
        Some(subsample) if subsample < settings.n_quantiles => {
            let problem = format!("{} quantiles of {subsample} samples", settings.n_quantiles);
            let fix = "raise `subsample` to at least `n_quantiles`";
            Err(SettingError::conflict(QuantileTransformer::NAME, "n_quantiles", problem, fix))
        }
        _ => Ok(()),
    }
}

/// A fitted [`QuantileTransformer`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = QuantileTransformer)]
pub struct FittedQuantileTransformer {
    about: About,
    /// The quantiles of each feature.
    #[fitted(shape = "quantiles, features")]
    quantiles: Tensor,
    /// The fractions of the quantiles.
    #[fitted(shape = "quantiles")]
    references: Tensor,
}

impl Algorithm for QuantileTransformer {
    type Fitted = FittedQuantileTransformer;
    const CAPABILITIES: Capabilities =
        Capabilities { missing: true, inverse_transform: true, ..Capabilities::TRANSFORMER };

    fn train(&self, samples: &Samples) -> Result<FittedQuantileTransformer> {
        without_infinite(samples.x())?;
        let (n, d) = (samples.len(), samples.width());
        let x = match self.subsample {
            Some(count) if count < n => {
                let drawn = tove_tensor::random::permutation(Key::new(self.seed), n);
                samples.x().take(&drawn.into_iter().take(count).map(|index| index as usize).collect::<Vec<_>>())?
            }
            _ => samples.x().clone(),
        };
        let count = self.n_quantiles.min(n);
        if count < self.n_quantiles && self.n_quantiles != QuantileTransformer::default().n_quantiles {
            let asked = self.n_quantiles;
            crate::warn(&format!("QuantileTransformer: {asked} quantiles of {n} samples; {count} are used"));
        }
        let references: Vec<f64> = (0..count).map(|i| i as f64 / (count.max(2) - 1) as f64).collect();
        let values = x.dense(Self::NAME)?.to_f64_vec();
        let columns = in_parallel(d, |feature| {
            let mut own: Vec<f64> = column(&values, d, feature);
            own.retain(|value| !value.is_nan());
            own.sort_unstable_by(f64::total_cmp);
            let mut found: Vec<f64> = references.iter().map(|&fraction| quantile(&own, fraction)).collect();
            (1..found.len()).for_each(|i| found[i] = found[i].max(found[i - 1])); // fixes rounding between neighbors
            found
        });
        if let Some(feature) = columns.iter().position(|own| own.iter().any(|value| value.is_nan())) {
            let problem = format!("feature {feature} has only missing values");
            return Err(LearnError::data(Self::NAME, problem, "remove it, or impute it first"));
        }
        let rows = (0..count).flat_map(|row| columns.iter().map(move |own| own[row])).collect();
        let quantiles = Tensor::try_from_vec(rows, [count, d])?.to_dtype(x.dtype());
        let references = Tensor::from(references).to_dtype(x.dtype());
        Ok(FittedQuantileTransformer { about: About::of(self, samples), quantiles, references })
    }
}

/// Fractions closer to 0 and 1 than this are clipped before Φ⁻¹.
const BOUND: f64 = 1e-7;

/// Linear interpolation between points with ascending x, constant outside; of equal x the last is used.
fn interpolate(value: f64, xs: &[f64], ys: &[f64]) -> f64 {
    let last = xs.len() - 1;
    let above = xs.partition_point(|x| *x <= value);
    match above {
        0 => ys[0],
        _ if above > last => ys[last],
        _ => {
            let slope = (ys[above] - ys[above - 1]) / (xs[above] - xs[above - 1]);
            slope * (value - xs[above - 1]) + ys[above - 1]
        }
    }
}

/// The quantiles of one feature.
struct Feature<'a> {
    quantiles: &'a [f64],
    references: &'a [f64],
    /// Both reversed and negated.
    mirrored: (Vec<f64>, Vec<f64>),
    normal: bool,
}

impl Feature<'_> {
    fn forward(&self, value: f64) -> f64 {
        if value.is_nan() {
            return value;
        }
        let (low, high) = (self.quantiles[0], self.quantiles[self.quantiles.len() - 1]);
        // From both sides, so that equal quantiles give the middle of their range.
        let (xs, ys) = (&self.mirrored.0, &self.mirrored.1);
        let middle = 0.5 * (interpolate(value, self.quantiles, self.references) - interpolate(-value, xs, ys));
        let slack = if self.normal { BOUND } else { 0.0 };
        let fraction = match value {
            _ if value == low || value - slack < low => 0.0,
            _ if value == high || value + slack > high => 1.0,
            _ => middle,
        };
        if self.normal {
            normal_quantile(fraction.clamp(BOUND - f64::EPSILON, 1.0 - (BOUND - f64::EPSILON)))
        } else {
            fraction
        }
    }

    fn back(&self, value: f64) -> f64 {
        if value.is_nan() {
            return value;
        }
        let fraction = if self.normal { normal_cdf(value) } else { value };
        let slack = if self.normal { BOUND } else { 0.0 };
        match fraction {
            _ if fraction - slack < 0.0 => self.quantiles[0],
            _ if fraction + slack > 1.0 => self.quantiles[self.quantiles.len() - 1],
            _ => interpolate(fraction, self.references, self.quantiles),
        }
    }
}

impl FittedQuantileTransformer {
    fn change(&self, x: &Rows, change: fn(&Feature<'_>, f64) -> f64) -> Result<Rows> {
        x.dense(self.about.name)?;
        let settings: QuantileTransformer = settings_of(&self.about)?;
        let normal = settings.output_distribution == OutputDistribution::Normal;
        let (d, all, references) = (self.about.width, self.quantiles.to_f64_vec(), self.references.to_f64_vec());
        let columns: Vec<Vec<f64>> = (0..d).map(|feature| column(&all, d, feature)).collect();
        let negated = |values: &[f64]| values.iter().rev().map(|value| -value).collect::<Vec<f64>>();
        let features: Vec<Feature<'_>> = columns
            .iter()
            .map(|quantiles| {
                let mirrored = (negated(quantiles), negated(&references));
                Feature { quantiles, references: &references, mirrored, normal }
            })
            .collect();
        map(x, |feature, value| change(&features[feature], value))
    }
}

impl Model for FittedQuantileTransformer {
    crate::fitted_methods!();

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        inputs.to_vec()
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        self.change(x, |feature, value| feature.forward(value))
    }

    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        self.change(x, |feature, value| feature.back(value))
    }
}
