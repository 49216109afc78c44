//! Scaling to a given range.
//!
//! [`MinMaxScaler`]: x' = (x − min)/(max − min) · (b − a) + a. [`MaxAbsScaler`]: x' = x/max|x|, which keeps zeros.
//!
//! ```
//! use tove_learn::{Fit, MaxAbsScaler, MinMaxScaler, Transform};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[1.0], [2.0], [5.0]]);
//! assert_eq!(MinMaxScaler::default().fit(&x, None)?.transform(&x)?.to_vec::<f64>(), [0.0, 0.25, 1.0]);
//! assert_eq!(MaxAbsScaler::default().fit(&x, None)?.transform(&x)?.to_vec::<f64>(), [0.2, 0.4, 1.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named, SettingError};

use super::columns::{Direction, by_column, extremes, map, without_infinite, without_zeros};
use super::feature_range::FeatureRange;
use crate::{About, Algorithm, Capabilities, Fitted, Result, Rows, Samples};

/// Scales every column to a range, like scikit-learn's `MinMaxScaler`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = ordered)]
pub struct MinMaxScaler {
    /// The range of the transformed features; [0, 1] by default.
    #[hyper(default = FeatureRange { low: 0.0, high: 1.0 })]
    pub feature_range: FeatureRange,
    /// Whether to clip values outside the range seen during fit.
    #[hyper(default = false)]
    pub clip: bool,
}

fn ordered(settings: &MinMaxScaler) -> std::result::Result<(), SettingError> {
    let FeatureRange { low, high } = settings.feature_range;
    if low < high && low.is_finite() && high.is_finite() {
        return Ok(());
    }
    let problem = format!("the range from {low} to {high} is empty or not finite");
    Err(SettingError::conflict("MinMaxScaler", "feature_range", problem, "give the smaller number first"))
}

/// A fitted [`MinMaxScaler`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = MinMaxScaler)]
pub struct FittedMinMaxScaler {
    about: About,
    settings: MinMaxScaler,
    /// Smallest number of each column.
    #[fitted(shape = "features", nonfinite)]
    data_min: Vec<f64>,
    /// Largest number of each column.
    #[fitted(shape = "features", nonfinite)]
    data_max: Vec<f64>,
    /// What columns are multiplied with; scikit-learn's `scale_`.
    #[fitted(shape = "features", nonfinite)]
    scale: Vec<f64>,
    /// What is added then; scikit-learn's `min_`.
    #[fitted(shape = "features", nonfinite, name = "min")]
    shift: Vec<f64>,
}

impl FittedMinMaxScaler {
    fn admit(&self, x: &Rows) -> Result<()> {
        x.dense(MinMaxScaler::NAME).map(|_| ())
    }

    fn forward(&self, column: usize, value: f64) -> f64 {
        let moved = value * self.scale[column] + self.shift[column];
        // Comparisons keep NaN.
        match self.settings.clip {
            true if moved < self.settings.feature_range.low => self.settings.feature_range.low,
            true if moved > self.settings.feature_range.high => self.settings.feature_range.high,
            _ => moved,
        }
    }

    fn change(&self, x: &Rows, direction: Direction) -> Result<Rows> {
        match direction {
            Direction::Forward => map(x, |column, value| self.forward(column, value)),
            Direction::Back => map(x, |column, value| self.inverse(column, value)),
        }
    }

    fn inverse(&self, column: usize, value: f64) -> f64 {
        (value - self.shift[column]) / self.scale[column]
    }
}

by_column!(FittedMinMaxScaler);

impl Algorithm for MinMaxScaler {
    type Fitted = FittedMinMaxScaler;
    const CAPABILITIES: Capabilities =
        Capabilities { missing: true, inverse_transform: true, partial_fit: true, ..Capabilities::TRANSFORMER };

    fn train(&self, samples: &Samples) -> Result<FittedMinMaxScaler> {
        let x = samples.x();
        without_infinite(x)?;
        let (data_min, data_max) = extremes(x)?;
        Ok(self.of_extremes(About::of(self, samples), data_min, data_max))
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn crate::AnyLearner>> {
        crate::partial::boxed(self, classes)
    }
}

impl MinMaxScaler {
    /// Creates the scaler from minima and maxima.
    pub(super) fn of_extremes(&self, about: About, data_min: Vec<f64>, data_max: Vec<f64>) -> FittedMinMaxScaler {
        let (low, high) = (self.feature_range.low, self.feature_range.high);
        let mut spread: Vec<f64> = data_max.iter().zip(&data_min).map(|(high, low)| high - low).collect();
        without_zeros(&mut spread);
        let scale: Vec<f64> = spread.iter().map(|spread| (high - low) / spread).collect();
        let shift = scale.iter().zip(&data_min).map(|(scale, min)| low - min * scale).collect();
        FittedMinMaxScaler { about, settings: self.clone(), data_min, data_max, scale, shift }
    }

    /// Sets the lower bound of `feature_range`.
    #[must_use]
    pub fn low(mut self, low: f64) -> MinMaxScaler {
        self.feature_range.low = low;
        self
    }

    /// Sets the upper bound of `feature_range`.
    #[must_use]
    pub fn high(mut self, high: f64) -> MinMaxScaler {
        self.feature_range.high = high;
        self
    }
}

/// Divides every column by its largest absolute value, like scikit-learn's `MaxAbsScaler`; sparse rows stay sparse.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct MaxAbsScaler {
    /// Whether to clip values to −1 and 1.
    #[hyper(default = false)]
    pub clip: bool,
}

/// A fitted [`MaxAbsScaler`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = MaxAbsScaler)]
pub struct FittedMaxAbsScaler {
    about: About,
    settings: MaxAbsScaler,
    /// Largest absolute value of each column.
    #[fitted(shape = "features", nonfinite)]
    max_abs: Vec<f64>,
    /// What columns are divided by: the largest absolute value, 1 for a column of zeros.
    #[fitted(shape = "features", nonfinite)]
    scale: Vec<f64>,
}

impl FittedMaxAbsScaler {
    fn admit(&self, _x: &Rows) -> Result<()> {
        Ok(())
    }

    fn forward(&self, column: usize, value: f64) -> f64 {
        let scaled = value / self.scale[column];
        if self.settings.clip && scaled.abs() > 1.0 { scaled.signum() } else { scaled }
    }

    fn change(&self, x: &Rows, direction: Direction) -> Result<Rows> {
        match direction {
            Direction::Forward => map(x, |column, value| self.forward(column, value)),
            Direction::Back => map(x, |column, value| self.inverse(column, value)),
        }
    }

    fn inverse(&self, column: usize, value: f64) -> f64 {
        value * self.scale[column]
    }
}

by_column!(FittedMaxAbsScaler);

impl Algorithm for MaxAbsScaler {
    type Fitted = FittedMaxAbsScaler;
    const CAPABILITIES: Capabilities = Capabilities {
        missing: true,
        sparse: true,
        inverse_transform: true,
        partial_fit: true,
        ..Capabilities::TRANSFORMER
    };

    fn train(&self, samples: &Samples) -> Result<FittedMaxAbsScaler> {
        let x = samples.x();
        without_infinite(x)?;
        let (low, high) = extremes(x)?;
        Ok(self.of_extremes(About::of(self, samples), &low, &high))
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn crate::AnyLearner>> {
        crate::partial::boxed(self, classes)
    }
}

impl MaxAbsScaler {
    /// Creates the scaler from minima and maxima.
    pub(super) fn of_extremes(&self, about: About, low: &[f64], high: &[f64]) -> FittedMaxAbsScaler {
        let max_abs: Vec<f64> = low.iter().zip(high).map(|(low, high)| high.abs().max(low.abs())).collect();
        let mut scale = max_abs.clone();
        without_zeros(&mut scale);
        FittedMaxAbsScaler { about, settings: self.clone(), max_abs, scale }
    }
}
