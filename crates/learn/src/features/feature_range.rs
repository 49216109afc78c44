//! A range with two ends: what a scaler maps to, as scikit-learn's `feature_range`, or `quantile_range`.
//!
//! ```
//! use tove_learn::MinMaxScaler;
//! use tove_learn::features::FeatureRange;
//! use tove_optim::settings::{Hyperparameters, Value};
//! let mut scaler = MinMaxScaler::default().feature_range((-1.0, 1.0).into());
//! scaler.set("feature_range", [0.0, 5.0].into())?;
//! assert_eq!(scaler.feature_range, FeatureRange { low: 0.0, high: 5.0 });
//! scaler.set("low", (-5.0).into())?; // either end, as in files of former versions
//! assert_eq!(scaler.feature_range.low, -5.0);
//! # Ok::<(), tove_optim::settings::SettingError>(())
//! ```

use tove_optim::settings::{Input, Setting, SettingError, Value, ValueKind};

/// Lower and upper bound of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeatureRange {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl From<(f64, f64)> for FeatureRange {
    fn from((low, high): (f64, f64)) -> FeatureRange {
        FeatureRange { low, high }
    }
}

impl Setting for FeatureRange {
    fn kind() -> ValueKind {
        ValueKind::List(Box::new(ValueKind::Real))
    }

    fn value(&self) -> Value {
        Value::List(vec![Value::Real(self.low), Value::Real(self.high)])
    }

    fn from_value(value: &Value) -> Option<FeatureRange> {
        match Vec::<f64>::from_value(value)?[..] {
            [low, high] => Some(FeatureRange { low, high }),
            _ => None,
        }
    }

    fn parse(text: &str) -> Option<FeatureRange> {
        match Vec::<f64>::parse(text)?[..] {
            [low, high] => Some(FeatureRange { low, high }),
            _ => None,
        }
    }

    fn all_numbers(&self, test: &dyn Fn(f64) -> bool) -> bool {
        test(self.low) && test(self.high)
    }

    fn expected() -> Option<&'static str> {
        Some("two numbers, the lower and the upper bound, such as 0,1")
    }

    fn assign_inside(&mut self, field: &str, name: &str, input: Input<'_>) -> Option<Result<(), SettingError>> {
        let end = match (field, name) {
            ("feature_range", "low") | ("quantile_range", "quantile_low") => &mut self.low,
            ("feature_range", "high") | ("quantile_range", "quantile_high") => &mut self.high,
            _ => return None,
        };
        let number = match input {
            Input::Value(value) => f64::from_value(value),
            Input::Text(text) => f64::parse(text),
        };
        match number {
            Some(number) => {
                *end = number;
                Some(Ok(()))
            }
            None => {
                let problem = format!("`{name}` is not a number");
                let (who, field) = match field {
                    "quantile_range" => ("RobustScaler", "quantile_range"),
                    _ => ("MinMaxScaler", "feature_range"),
                };
                Some(Err(SettingError::conflict(who, field, problem, "give a number")))
            }
        }
    }

    fn value_inside(&self, field: &str, name: &str) -> Option<Value> {
        match (field, name) {
            ("feature_range", "low") | ("quantile_range", "quantile_low") => Some(Value::Real(self.low)),
            ("feature_range", "high") | ("quantile_range", "quantile_high") => Some(Value::Real(self.high)),
            _ => None,
        }
    }
}
