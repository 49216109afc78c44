//! Columns in a given range.
//!
//! [`MinMaxScaler`]: x' = (x − min)/(max − min) · (b − a) + a. [`MaxAbsScaler`]: x' = x/max|x|, which keeps zeros.
//!
//! ```
//! use tove_learn::{Apply, FitTransform, MaxAbsScaler, MinMaxScaler};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[1.0], [2.0], [5.0]]);
//! assert_eq!(MinMaxScaler::default().fit(&x)?.transform(&x)?.to_vec::<f64>(), [0.0, 0.25, 1.0]);
//! assert_eq!(MaxAbsScaler::default().fit(&x)?.transform(&x)?.to_vec::<f64>(), [0.2, 0.4, 1.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, SettingError};
use tove_tensor::Tensor;

use super::columns::{admit, by_column, extremes, refuse_centring, without_zeros};
use crate::{FitTransform, Result, Rows};

/// Shifts and stretches every column to a range, as scikit-learn's `MinMaxScaler`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "MinMaxScaler", check = ordered)]
pub struct MinMaxScaler {
    /// Lower end of the range.
    #[hyper(default = 0.0, range = "(-inf, inf)")]
    pub low: f64,
    /// Upper end of the range.
    #[hyper(default = 1.0, range = "(-inf, inf)")]
    pub high: f64,
    /// Whether numbers beyond those seen when fitting are cut off at the range.
    #[hyper(default = false)]
    pub clip: bool,
}

fn ordered(settings: &MinMaxScaler) -> std::result::Result<(), SettingError> {
    if settings.low < settings.high {
        return Ok(());
    }
    let problem = format!("the range from {} to {} is empty", settings.low, settings.high);
    Err(SettingError::conflict("MinMaxScaler", "high", problem, "give `high` larger than `low`"))
}

/// A fitted [`MinMaxScaler`].
#[derive(Clone, Debug)]
pub struct FittedMinMaxScaler {
    settings: MinMaxScaler,
    width: usize,
    data_min: Vec<f64>,
    data_max: Vec<f64>,
    scale: Vec<f64>,
    shift: Vec<f64>,
}

impl FittedMinMaxScaler {
    /// Smallest number of each column.
    pub fn data_min(&self) -> &[f64] {
        &self.data_min
    }

    /// Largest number of each column.
    pub fn data_max(&self) -> &[f64] {
        &self.data_max
    }

    /// What columns are multiplied with; scikit-learn's `scale_`.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// What is added then; scikit-learn's `min_`.
    pub fn shift(&self) -> &[f64] {
        &self.shift
    }

    fn admit(&self, x: &Rows) -> Result<()> {
        refuse_centring(MinMaxScaler::NAME, x, true, "low")
    }

    fn forward(&self, column: usize, value: f64) -> f64 {
        let moved = value * self.scale[column] + self.shift[column];
        // Comparisons keep NaN as it is.
        match self.settings.clip {
            true if moved < self.settings.low => self.settings.low,
            true if moved > self.settings.high => self.settings.high,
            _ => moved,
        }
    }

    fn inverse(&self, column: usize, value: f64) -> f64 {
        (value - self.shift[column]) / self.scale[column]
    }
}

by_column!(FittedMinMaxScaler, MinMaxScaler, [data_min, data_max, scale, shift], forward = forward, inverse = inverse);

impl FitTransform for MinMaxScaler {
    type Fitted = FittedMinMaxScaler;
    const NAME: &'static str = "MinMaxScaler";
    const MISSING: bool = true;

    fn fit_rows(&self, x: &Rows, _weights: Option<&Tensor>) -> Result<FittedMinMaxScaler> {
        admit(Self::NAME, x)?;
        x.dense(Self::NAME)?;
        let (data_min, data_max) = extremes(x)?;
        let mut spread: Vec<f64> = data_max.iter().zip(&data_min).map(|(high, low)| high - low).collect();
        without_zeros(&mut spread);
        let scale: Vec<f64> = spread.iter().map(|spread| (self.high - self.low) / spread).collect();
        let shift = scale.iter().zip(&data_min).map(|(scale, min)| self.low - min * scale).collect();
        Ok(FittedMinMaxScaler { settings: self.clone(), width: x.width(), data_min, data_max, scale, shift })
    }
}

/// Divides every column by its largest absolute value, as scikit-learn's `MaxAbsScaler`; sparse rows stay sparse.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "MaxAbsScaler")]
pub struct MaxAbsScaler {
    /// Whether numbers beyond those seen when fitting are cut off at −1 and 1.
    #[hyper(default = false)]
    pub clip: bool,
}

/// A fitted [`MaxAbsScaler`].
#[derive(Clone, Debug)]
pub struct FittedMaxAbsScaler {
    settings: MaxAbsScaler,
    width: usize,
    max_abs: Vec<f64>,
    scale: Vec<f64>,
}

impl FittedMaxAbsScaler {
    /// Largest absolute value of each column.
    pub fn max_abs(&self) -> &[f64] {
        &self.max_abs
    }

    /// What columns are divided by: the largest absolute value, 1 for a column of zeros.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    fn admit(&self, _x: &Rows) -> Result<()> {
        Ok(())
    }

    fn forward(&self, column: usize, value: f64) -> f64 {
        let scaled = value / self.scale[column];
        if self.settings.clip && scaled.abs() > 1.0 { scaled.signum() } else { scaled }
    }

    fn inverse(&self, column: usize, value: f64) -> f64 {
        value * self.scale[column]
    }
}

by_column!(FittedMaxAbsScaler, MaxAbsScaler, [max_abs, scale], forward = forward, inverse = inverse);

impl FitTransform for MaxAbsScaler {
    type Fitted = FittedMaxAbsScaler;
    const NAME: &'static str = "MaxAbsScaler";
    const MISSING: bool = true;

    fn fit_rows(&self, x: &Rows, _weights: Option<&Tensor>) -> Result<FittedMaxAbsScaler> {
        admit(Self::NAME, x)?;
        let (low, high) = extremes(x)?;
        let max_abs: Vec<f64> = low.iter().zip(&high).map(|(low, high)| high.abs().max(low.abs())).collect();
        let mut scale = max_abs.clone();
        without_zeros(&mut scale);
        Ok(FittedMaxAbsScaler { settings: self.clone(), width: x.width(), max_abs, scale })
    }
}
