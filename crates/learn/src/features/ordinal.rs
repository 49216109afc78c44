//! Ordinal encoding: the k-th smallest category of a feature becomes k.
//!
//! ```
//! use tove_learn::features::{OrdinalEncoder, UnknownValue};
//! use tove_learn::{Fit, Transform};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[30.0], [10.0], [20.0]]);
//! let encoder = OrdinalEncoder::default().fit(&x, None)?;
//! assert_eq!(encoder.transform(&x)?.to_vec::<f64>(), [2.0, 0.0, 1.0]);
//! let lenient = OrdinalEncoder::default().handle_unknown(UnknownValue::UseEncodedValue).unknown_value(Some(-1.0));
//! assert_eq!(lenient.fit(&x, None)?.transform(&Tensor::from([[15.0]]))?.to_vec::<f64>(), [-1.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named, SettingError};

use super::categories::{self, Categories, Frequencies, frequencies_setters};
use super::columns::{each, map};
use crate::{About, Algorithm, Capabilities, Fitted, LearnError, Model, Record, Result, Rows, Samples};

/// Handling of categories not seen during fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum UnknownValue {
    /// Returns an error that names the value, the row and the column.
    #[default]
    Error,
    /// Encoded as `unknown_value`.
    UseEncodedValue,
}

/// Encodes categories as integers, like scikit-learn's `OrdinalEncoder`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check)]
pub struct OrdinalEncoder {
    /// Handling of categories not seen during fit: error or use_encoded_value.
    #[hyper(default = UnknownValue::Error)]
    pub handle_unknown: UnknownValue,
    /// The code of unknown categories, not one of 0, 1, 2, …; required for use_encoded_value.
    #[hyper(range = "(-inf, inf)")]
    pub unknown_value: Option<f64>,
    /// The code of missing values; NaN by default.
    #[hyper(range = "(-inf, inf)")]
    pub encoded_missing_value: Option<f64>,
    /// Grouping of infrequent categories.
    #[hyper(flatten)]
    pub frequencies: Frequencies,
}

fn check(settings: &OrdinalEncoder) -> std::result::Result<(), SettingError> {
    let conflict =
        |problem: String, fix: &str| Err(SettingError::conflict(OrdinalEncoder::NAME, "unknown_value", problem, fix));
    match (settings.handle_unknown, settings.unknown_value) {
        (UnknownValue::UseEncodedValue, None) => {
            conflict("`handle_unknown` is use_encoded_value".to_owned(), "give a number, such as -1")
        }
        (UnknownValue::UseEncodedValue, Some(value)) if value >= 0.0 => {
            conflict(format!("{value} may be the code of a category"), "give a number below 0, such as -1")
        }
        (UnknownValue::Error, Some(value)) => {
            conflict(format!("{value} is not used"), "set `handle_unknown` to use_encoded_value")
        }
        _ => Ok(()),
    }
}

/// A fitted [`OrdinalEncoder`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = OrdinalEncoder, complete = FittedOrdinalEncoder::apart)]
pub struct FittedOrdinalEncoder {
    about: About,
    settings: OrdinalEncoder,
    #[fitted(shape = "features", hidden)]
    categories: Vec<Categories>,
}

impl Algorithm for OrdinalEncoder {
    type Fitted = FittedOrdinalEncoder;
    const CAPABILITIES: Capabilities =
        Capabilities { missing: true, inverse_transform: true, ..Capabilities::TRANSFORMER };

    fn capabilities_of(settings: &OrdinalEncoder) -> Capabilities {
        let inverse_transform = settings.frequencies.keep_all();
        Capabilities { fills: settings.encoded_missing_value.is_some(), inverse_transform, ..Self::CAPABILITIES }
    }

    fn train(&self, samples: &Samples) -> Result<FittedOrdinalEncoder> {
        let categories = categories::find(samples.x(), &self.frequencies, true)?;
        if let Some(value) = self.encoded_missing_value {
            let taken = |own: &Categories| value.fract() == 0.0 && value >= 0.0 && value < own.width as f64;
            if let Some(column) = categories.iter().position(|own| own.has_missing() && taken(own)) {
                let problem = format!("{value} is the code of both a category of column {column} and missing values");
                return Err(LearnError::data(Self::NAME, problem, "give another `encoded_missing_value`, such as -2"));
            }
        }
        Ok(FittedOrdinalEncoder { about: About::of(self, samples), settings: self.clone(), categories })
    }
}

impl FittedOrdinalEncoder {
    /// A missing value has no number of its own.
    fn apart(mut self, _record: &Record) -> Result<FittedOrdinalEncoder> {
        self.categories = self.categories.into_iter().map(Categories::apart).collect();
        Ok(self)
    }

    /// The categories of each column in ascending order, NaN last.
    pub fn categories(&self) -> Vec<Vec<f64>> {
        self.categories.iter().map(|own| own.values.clone()).collect()
    }

    /// The code of a value; `None` if it was not seen during fit.
    fn code(&self, column: usize, value: f64) -> Option<f64> {
        let own = &self.categories[column];
        if value.is_nan() && own.has_missing() {
            return Some(self.settings.encoded_missing_value.unwrap_or(f64::NAN));
        }
        own.index_of(value).map(|index| own.codes[index] as f64)
    }
}

impl Model for FittedOrdinalEncoder {
    crate::fitted_methods!();

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        inputs.to_vec()
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        x.dense(self.about.name)?;
        let mut unknown = None;
        each(x, |row, column, value| {
            if unknown.is_none() && self.code(column, value).is_none() {
                unknown = Some((row, column, value));
            }
        })?;
        if let (Some((row, column, value)), UnknownValue::Error) = (unknown, self.settings.handle_unknown) {
            let fix = "set `handle_unknown` to use_encoded_value, or fit with it";
            return Err(self.categories[column].unknown(self.about.name, value, row, column, fix));
        }
        let other = self.settings.unknown_value.unwrap_or(f64::NAN);
        map(x, |column, value| self.code(column, value).unwrap_or(other))
    }

    /// Returns the categories; unknown and missing values become NaN.
    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        self.settings.frequencies.require_all(OrdinalEncoder::NAME)?;
        x.dense(self.about.name)?;
        let category = |column: usize, value: f64| -> Option<f64> {
            let special = [self.settings.encoded_missing_value, self.settings.unknown_value];
            if value.is_nan() || special.contains(&Some(value)) {
                return Some(f64::NAN);
            }
            let is_code = value.fract() == 0.0 && value >= 0.0 && value < self.categories[column].width as f64;
            is_code.then(|| self.categories[column].category(value as usize)).flatten()
        };
        let mut wrong = None;
        each(x, |row, column, value| {
            if wrong.is_none() && category(column, value).is_none() {
                wrong = Some((row, column, value));
            }
        })?;
        if let Some((row, column, value)) = wrong {
            let problem = format!("{value} in row {row}, column {column}, is not the code of a category");
            return Err(LearnError::data(self.about.name, problem, "give rows as `transform` returns them"));
        }
        map(x, |column, value| category(column, value).unwrap_or(f64::NAN))
    }
}
