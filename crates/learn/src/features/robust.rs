//! Columns by their middle: x' = (x − median)/(q₇₅ − q₂₅), which a few outliers cannot move.
//!
//! ```
//! use tove_learn::{Apply, FitTransform, RobustScaler};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [1.0], [2.0], [3.0], [1000.0]]);
//! let scaler = RobustScaler::default().fit(&x)?;
//! assert_eq!((scaler.centre(), scaler.scale()), (&[2.0][..], &[2.0][..]));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, SettingError};
use tove_tensor::Tensor;

use super::columns::{admit, by_column, refuse_centring, sorted, without_zeros};
use crate::{FitTransform, Result, Rows};

/// Centres every column at its median and divides it by a range of quantiles, as scikit-learn's `RobustScaler`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "RobustScaler", check = ordered)]
pub struct RobustScaler {
    /// Whether the median is taken off; not possible for sparse rows.
    #[hyper(default = true)]
    pub with_centering: bool,
    /// Whether to divide by the range of quantiles.
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
    settings: RobustScaler,
    width: usize,
    centre: Vec<f64>,
    scale: Vec<f64>,
}

impl FittedRobustScaler {
    /// Medians of the columns.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// What columns are divided by: the range of quantiles, 1 where it is 0.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    fn admit(&self, x: &Rows) -> Result<()> {
        refuse_centring(RobustScaler::NAME, x, self.settings.with_centering, "with_centering")
    }

    fn forward(&self, column: usize, value: f64) -> f64 {
        let centred = if self.settings.with_centering { value - self.centre[column] } else { value };
        if self.settings.with_scaling { centred / self.scale[column] } else { centred }
    }

    fn inverse(&self, column: usize, value: f64) -> f64 {
        let spread = if self.settings.with_scaling { value * self.scale[column] } else { value };
        if self.settings.with_centering { spread + self.centre[column] } else { spread }
    }
}

by_column!(FittedRobustScaler, RobustScaler, [centre, scale], forward = forward, inverse = inverse);

impl FitTransform for RobustScaler {
    type Fitted = FittedRobustScaler;
    const NAME: &'static str = "RobustScaler";
    const MISSING: bool = true;

    fn fit_rows(&self, x: &Rows, _weights: Option<&Tensor>) -> Result<FittedRobustScaler> {
        admit(Self::NAME, x)?;
        refuse_centring(Self::NAME, x, self.with_centering, "with_centering")?;
        let (mut centre, mut scale) = (vec![f64::NAN; x.width()], vec![f64::NAN; x.width()]);
        sorted(x, |column, values| {
            centre[column] = quantile(values, 0.5);
            scale[column] = quantile(values, self.quantile_high / 100.0) - quantile(values, self.quantile_low / 100.0);
        })?;
        without_zeros(&mut scale);
        Ok(FittedRobustScaler { settings: self.clone(), width: x.width(), centre, scale })
    }
}

/// The quantile of sorted numbers, straight between neighbours; NaN of none.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share.clamp(0.0, 1.0) * last as f64;
    let below = (place.floor() as usize).min(last);
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    low + (high - low) * (place - below as f64)
}
