//! Robust scaling: x' = (x − median)/(q₇₅ − q₂₅), which is insensitive to outliers.
//!
//! ```
//! use tove_learn::{Fit, RobustScaler};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [1.0], [2.0], [3.0], [1000.0]]);
//! let scaler = RobustScaler::default().fit(&x, None)?;
//! assert_eq!((scaler.centre(), scaler.scale()), (&[2.0][..], &[2.0][..]));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named, SettingError};
use tove_tensor::Tensor;

use super::columns::{Direction, affine, by_column, reject_centering, sorted, without_infinite, without_zeros};
use super::order_statistics::order_statistics;
use crate::{About, Algorithm, Capabilities, Result, Rows, Samples, with_real};

/// Centers every column at its median and divides it by a quantile range, like scikit-learn's `RobustScaler`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = ordered)]
pub struct RobustScaler {
    /// Whether to subtract the median; not possible for sparse rows.
    #[hyper(default = true)]
    pub with_centering: bool,
    /// Whether to divide by the quantile range.
    #[hyper(default = true)]
    pub with_scaling: bool,
    /// Lower quantile of the range, in percent.
    #[hyper(default = 25.0, range = "[0, 100]")]
    pub quantile_low: f64,
    /// Upper quantile of the range, in percent.
    #[hyper(default = 75.0, range = "[0, 100]")]
    pub quantile_high: f64,
}

fn ordered(settings: &RobustScaler) -> std::result::Result<(), SettingError> {
    if settings.quantile_low <= settings.quantile_high {
        return Ok(());
    }
    let problem = format!("the quantiles {} and {} are reversed", settings.quantile_low, settings.quantile_high);
    Err(SettingError::conflict("RobustScaler", "quantile_high", problem, "give the smaller one as `quantile_low`"))
}

/// A fitted [`RobustScaler`].
#[derive(Clone, Debug)]
pub struct FittedRobustScaler {
    about: About,
    settings: RobustScaler,
    center: Vec<f64>,
    scale: Vec<f64>,
}

impl FittedRobustScaler {
    /// Medians of the columns.
    pub fn centre(&self) -> &[f64] {
        &self.center
    }

    /// Divisor of each column: the quantile range, 1 if it is 0.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    fn admit(&self, x: &Rows) -> Result<()> {
        reject_centering(RobustScaler::NAME, x, self.settings.with_centering, "with_centering")
    }

    fn change(&self, x: &Rows, direction: Direction) -> Result<Rows> {
        let (zeros, ones) = (vec![0.0; self.about.width], vec![1.0; self.about.width]);
        let center = if self.settings.with_centering { &self.center } else { &zeros };
        affine(x, center, if self.settings.with_scaling { &self.scale } else { &ones }, direction)
    }
}

by_column!(FittedRobustScaler, RobustScaler, [center as "center", scale as "scale"], change = change);

impl Algorithm for RobustScaler {
    type Fitted = FittedRobustScaler;
    const CAPABILITIES: Capabilities =
        Capabilities { missing: true, inverse_transform: true, ..Capabilities::TRANSFORMER };

    fn capabilities_of(settings: &RobustScaler) -> Capabilities {
        Capabilities { sparse: !settings.with_centering, ..Self::CAPABILITIES }
    }

    fn train(&self, samples: &Samples) -> Result<FittedRobustScaler> {
        let x = samples.x();
        reject_centering(Self::NAME, x, self.with_centering, "with_centering")?;
        let fractions = [0.5, self.quantile_low / 100.0, self.quantile_high / 100.0];
        let quantiles = match x {
            Rows::Dense(x) if x.dims()[1] > 0 => dense_quantiles(x, fractions)?,
            _ => None,
        };
        let quantiles = match quantiles {
            Some(quantiles) => quantiles,
            None => {
                without_infinite(x)?;
                let mut quantiles = vec![[f64::NAN; 3]; x.width()];
                sorted(x, |column, values| quantiles[column] = fractions.map(|fraction| quantile(values, fraction)))?;
                quantiles
            }
        };
        let center = quantiles.iter().map(|[middle, ..]| *middle).collect();
        let mut scale: Vec<f64> = quantiles.iter().map(|[_, low, high]| high - low).collect();
        without_zeros(&mut scale);
        Ok(FittedRobustScaler { about: About::of(self, samples), settings: self.clone(), center, scale })
    }
}

/// Quantiles of the columns of a dense matrix; `None` if a value is infinite.
fn dense_quantiles(x: &Tensor, fractions: [f64; 3]) -> Result<Option<Vec<[f64; 3]>>> {
    let width = x.dims()[1];
    let ranks = |length: usize| fractions.iter().flat_map(|&fraction| adjacent_ranks(length, fraction).0).collect();
    let found = with_real!(x.dtype(), T => order_statistics(x.as_slice::<T>()?, width, &ranks));
    // A column without values gives NaN; the fraction is the same for all columns of one length.
    let of = |(statistics, length): (&Vec<f64>, usize)| {
        let at = |i: usize| between(statistics[2 * i], statistics[2 * i + 1], adjacent_ranks(length, fractions[i]).1);
        [at(0), at(1), at(2)]
    };
    Ok(found.map(|found| found.iter().map(|(statistics, length)| of((statistics, *length))).collect()))
}

/// The ranks on both sides of a quantile of `length` values, and its position between them.
fn adjacent_ranks(length: usize, fraction: f64) -> ([usize; 2], f64) {
    let last = length.saturating_sub(1);
    let position = fraction.clamp(0.0, 1.0) * last as f64;
    let below = (position.floor() as usize).min(last);
    ([below, (below + 1).min(last)], position - below as f64)
}

fn between(low: f64, high: f64, fraction: f64) -> f64 {
    low + (high - low) * fraction
}

/// The quantile of sorted values, with linear interpolation; NaN if there are none.
pub(crate) fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let ([below, above], fraction) = adjacent_ranks(sorted.len(), fraction);
    between(sorted[below], sorted[above], fraction)
}
