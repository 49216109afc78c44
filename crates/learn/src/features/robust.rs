//! Columns by their middle: x' = (x − median)/(q₇₅ − q₂₅), which a few outliers cannot move.
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
use super::feature_range::FeatureRange;
use super::order_statistics::order_statistics;
use crate::{About, Algorithm, Capabilities, Fitted, Result, Rows, Samples, with_real};

/// Centres every column at its median and divides it by a range of quantiles, as scikit-learn's `RobustScaler`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = ordered)]
pub struct RobustScaler {
    /// Whether the median is taken off; not possible for sparse rows.
    #[hyper(default = true)]
    pub with_centering: bool,
    /// Whether to divide by the range of quantiles.
    #[hyper(default = true)]
    pub with_scaling: bool,
    /// The quantiles between which the range lies, in percent: [25, 75] unless set.
    #[hyper(default = FeatureRange { low: 25.0, high: 75.0 }, range = "[0, 100]")]
    pub quantile_range: FeatureRange,
}

fn ordered(settings: &RobustScaler) -> std::result::Result<(), SettingError> {
    if settings.quantile_range.low <= settings.quantile_range.high {
        return Ok(());
    }
    let problem =
        format!("the quantiles {} and {} are reversed", settings.quantile_range.low, settings.quantile_range.high);
    Err(SettingError::conflict("RobustScaler", "quantile_range", problem, "give the smaller one first"))
}

/// A fitted [`RobustScaler`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = RobustScaler)]
pub struct FittedRobustScaler {
    about: About,
    settings: RobustScaler,
    /// Medians of the columns.
    #[fitted(shape = "features", nonfinite, name = "center")]
    centre: Vec<f64>,
    /// What columns are divided by: the range of quantiles, 1 where it is 0.
    #[fitted(shape = "features", nonfinite)]
    scale: Vec<f64>,
}

impl FittedRobustScaler {
    fn admit(&self, x: &Rows) -> Result<()> {
        reject_centering(RobustScaler::NAME, x, self.settings.with_centering, "with_centering")
    }

    fn change(&self, x: &Rows, way: Direction) -> Result<Rows> {
        let (zeros, ones) = (vec![0.0; self.about.width], vec![1.0; self.about.width]);
        let centre = if self.settings.with_centering { &self.centre } else { &zeros };
        affine(x, centre, if self.settings.with_scaling { &self.scale } else { &ones }, way)
    }
}

by_column!(FittedRobustScaler);

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
        let shares = [0.5, self.quantile_range.low / 100.0, self.quantile_range.high / 100.0];
        let quantiles = match x {
            Rows::Dense(x) if x.dims()[1] > 0 => dense_quantiles(x, shares)?,
            _ => None,
        };
        let quantiles = match quantiles {
            Some(quantiles) => quantiles,
            None => {
                without_infinite(x)?;
                let mut quantiles = vec![[f64::NAN; 3]; x.width()];
                sorted(x, |column, values| quantiles[column] = shares.map(|share| quantile(values, share)))?;
                quantiles
            }
        };
        let centre = quantiles.iter().map(|[middle, ..]| *middle).collect();
        let mut scale: Vec<f64> = quantiles.iter().map(|[_, low, high]| high - low).collect();
        without_zeros(&mut scale);
        Ok(FittedRobustScaler { about: About::of(self, samples), settings: self.clone(), centre, scale })
    }
}

/// Quantiles of the columns of a dense matrix; none if a number is infinite.
fn dense_quantiles(x: &Tensor, shares: [f64; 3]) -> Result<Option<Vec<[f64; 3]>>> {
    let width = x.dims()[1];
    let ranks = |length: usize| shares.iter().flat_map(|&share| neighbours(length, share).0).collect();
    let found = with_real!(x.dtype(), T => order_statistics(x.as_slice::<T>()?, width, &ranks));
    // A column without numbers has no neighbours, and its answers are NaN; the fraction is the same for all of one length.
    let of = |(statistics, length): (&Vec<f64>, usize)| {
        let at = |i: usize| between(statistics[2 * i], statistics[2 * i + 1], neighbours(length, shares[i]).1);
        [at(0), at(1), at(2)]
    };
    Ok(found.map(|found| found.iter().map(|(statistics, length)| of((statistics, *length))).collect()))
}

/// The ranks on both sides of a quantile of `length` numbers, and its position between them.
fn neighbours(length: usize, share: f64) -> ([usize; 2], f64) {
    let last = length.saturating_sub(1);
    let place = share.clamp(0.0, 1.0) * last as f64;
    let below = (place.floor() as usize).min(last);
    ([below, (below + 1).min(last)], place - below as f64)
}

fn between(low: f64, high: f64, fraction: f64) -> f64 {
    low + (high - low) * fraction
}

/// The quantile of sorted numbers, straight between neighbors; NaN of none.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let ([below, above], fraction) = neighbours(sorted.len(), share);
    between(sorted[below], sorted[above], fraction)
}
