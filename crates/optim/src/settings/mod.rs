//! Hyperparameters written once.
//!
//! A struct declares each hyperparameter as a field with its default, its range and its documentation. Everything else
//! follows from `#[derive(Hyperparameters)]`: `Default`, a setter per field, [`validate`](Hyperparameters::validate)
//! with an error that says what to do, [`set`](Hyperparameters::set) by name with a typed value,
//! [`parse`](Hyperparameters::parse) for the text of `--set name=value`, a description as values, as JSON and as a Markdown
//! table. Optimizers, estimators and the command line all stand on it.
//!
//! ```
//! use tove_optim::settings::{Choice, Hyperparameters};
//!
//! #[derive(Clone, Copy, Debug, PartialEq, Choice)]
//! enum Penalty {
//!     None,
//!     L1,
//!     L2,
//! }
//!
//! /// Settings of a linear classifier.
//! #[derive(Clone, Debug, PartialEq, Hyperparameters)]
//! #[hyper(name = "LinearClassifier")]
//! struct Settings {
//!     /// Strength of the penalty.
//!     #[hyper(default = 1.0, range = "[0, inf)", alias = "alpha")]
//!     strength: f64,
//!     /// What is penalised.
//!     #[hyper(default = Penalty::L2)]
//!     penalty: Penalty,
//!     /// Iterations at most; no limit without it.
//!     #[hyper(default = Some(100), range = "[1, inf)")]
//!     iterations: Option<usize>,
//! }
//!
//! let mut settings = Settings::default().strength(0.5);
//! settings.set("penalty", "l1".into())?;
//! settings.parse("iterations", "none")?;
//! assert_eq!(settings, Settings { strength: 0.5, penalty: Penalty::L1, iterations: None });
//!
//! let error = settings.strength(-2.0).validate().unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "LinearClassifier: strength is -2, but it must lie in [0, inf); give a finite number of at least 0",
//! );
//! assert_eq!(Settings::describe()[0].doc, "Strength of the penalty.");
//! assert!(Settings::default().schema().to_markdown().contains("| `penalty` | none, l1, l2 | l2 |"));
//! # Ok::<(), tove_optim::settings::SettingError>(())
//! ```
//!
//! # Attributes
//!
//! On a field: `default = expression` (else the type's own default), `range = "[0, 1)"` with the brackets of mathematics,
//! `alias = "lr"` as often as needed, `fix = "sentence"` in place of the sentence made from the range, `doc = "text"` in
//! place of the doc comment. A default that is written as a number is compared with the range while compiling.
//!
//! A field marked `skip` is not a hyperparameter: it has a default and a setter, and neither name nor value outside of code.
//!
//! On the struct: `name = "Adam"` for messages and tables (else the struct's name), `check = function` for conditions
//! between fields, a `fn(&Settings) -> Result<(), SettingError>` that runs after the ranges, and `crate = "tove::optim"`
//! for crates that reach this one by another path.
//!
//! Field types are those that implement [`Setting`]: `f64`, `usize`, `u64`, `bool`, `String`, enums with [`Choice`], `Option` and
//! `Vec` of each, and types of other crates, such as an estimator inside another, whose own hyperparameters are reached by
//! dotted names (`estimator.alpha`).
//!
//! # Shared hyperparameters
//!
//! Hyperparameters that several structs of a crate have in common are declared once, in a struct marked `shared`, and taken
//! in by a field marked `flatten`: setters, names, ranges and the description show them as if they were written there, and
//! messages name the struct that took them in. The setters come from a macro that is named after the shared struct and must
//! be in scope, as must the types of its fields.
//!
//! ```
//! use tove_optim::settings::Hyperparameters;
//! mod common {
//!     #[derive(Clone, Debug, PartialEq, tove_optim::settings::Hyperparameters)]
//!     #[hyper(shared)]
//!     pub struct Stopping {
//!         /// The gradient at which to stop.
//!         #[hyper(default = 1e-4, range = "(0, inf)")]
//!         pub tol: f64,
//!         /// Iterations at most.
//!         #[hyper(default = 100)]
//!         pub max_iter: usize,
//!     }
//! }
//! use common::{Stopping, stopping_setters};
//!
//! /// Settings of a search.
//! #[derive(Clone, Debug, PartialEq, Hyperparameters)]
//! struct Search {
//!     /// Length of the first step.
//!     #[hyper(default = 1.0)]
//!     step: f64,
//!     /// When to stop; 50 iterations do.
//!     #[hyper(flatten, default = Stopping::default().max_iter(50))]
//!     stopping: Stopping,
//! }
//!
//! let search = Search::default().step(0.5).tol(-1.0);
//! assert_eq!(search.stopping, Stopping { tol: -1.0, max_iter: 50 });
//! assert!(search.validate().unwrap_err().to_string().starts_with("Search: tol is -1"));
//! let names: Vec<_> = Search::describe().iter().map(|entry| (entry.name, entry.default.to_string())).collect();
//! assert_eq!(names, [("step", "1".into()), ("tol", "1e-4".into()), ("max_iter", "50".into())]);
//! # Ok::<(), tove_optim::settings::SettingError>(())
//! ```

mod error;
mod range;
mod schema;
mod setting;
mod value;

pub use error::SettingError;
pub use range::Range;
pub use schema::{Hyperparameter, HyperparameterSchema};
pub use setting::{Choice, Setting, ValueKind};
pub use tove_macros::{Choice, Hyperparameters};
pub use value::Value;

use std::borrow::Cow;

/// A new value for a hyperparameter: typed, or the text of a command line.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Text that is to be understood as a value.
    Text(&'a str),
    /// A typed value.
    Value(&'a Value),
}

/// A struct of hyperparameters; derive it, as the [module](self) shows.
pub trait Hyperparameters {
    /// Name, documentation, defaults and ranges of all hyperparameters.
    fn schema(&self) -> &'static HyperparameterSchema;

    /// The present value of the hyperparameter of this name, alias or dotted name.
    fn value(&self, name: &str) -> Option<Value>;

    /// Sets a hyperparameter from what was given for it; users call [`set`](Hyperparameters::set) or
    /// [`parse`](Hyperparameters::parse). Nothing changes when there is an error.
    fn assign(&mut self, name: &str, input: Input<'_>) -> Result<(), SettingError>;

    /// Sets a hyperparameter to a typed value. Nothing changes when there is an error.
    ///
    /// ```
    /// use tove_optim::settings::Hyperparameters;
    /// let mut settings = tove_optim::AdamSettings::default();
    /// settings.set("beta1", 0.8.into())?;
    /// let error = settings.set("beta1", "0.7".into()).unwrap_err();
    /// assert_eq!(error.to_string(), "Adam: beta1 cannot be `0.7`; give a number");
    /// # Ok::<(), tove_optim::settings::SettingError>(())
    /// ```
    fn set(&mut self, name: &str, value: Value) -> Result<(), SettingError> {
        self.assign(name, Input::Value(&value))
    }

    /// Sets a hyperparameter from text, as in `--set name=text`. Nothing changes when there is an error.
    fn parse(&mut self, name: &str, text: &str) -> Result<(), SettingError> {
        self.assign(name, Input::Text(text))
    }

    /// All hyperparameters with their full names, those of settings inside this one under dotted names; defaults are the present
    /// values.
    fn describe_all(&self) -> Vec<(String, Hyperparameter)>;

    /// Whether all values lie in their ranges and go together.
    fn validate(&self) -> Result<(), SettingError>;

    /// The hyperparameters in the order of their fields.
    fn describe() -> &'static [Hyperparameter]
    where
        Self: Default + Sized,
    {
        &Self::default().schema().hyperparameters
    }

    /// Names and present values, in the order of the fields.
    fn values(&self) -> Vec<(&'static str, Value)> {
        let names = self.schema().hyperparameters.iter().map(|hyperparameter| hyperparameter.name);
        names.filter_map(|name| Some((name, self.value(name)?))).collect()
    }

    /// The present values as a JSON object; [`load_json`](Hyperparameters::load_json) reads back the same bits.
    ///
    /// ```
    /// use tove_optim::settings::Hyperparameters;
    /// use tove_optim::AdamSettings;
    /// let settings = AdamSettings::default().learning_rate(0.1 + 0.2);
    /// let mut copy = AdamSettings::default();
    /// copy.load_json(&settings.to_json())?;
    /// assert_eq!(copy, settings);
    /// # Ok::<(), tove_optim::settings::SettingError>(())
    /// ```
    fn to_json(&self) -> serde_json::Value {
        self.values().into_iter().map(|(name, value)| (name.to_owned(), value.to_json())).collect()
    }

    /// Sets every hyperparameter that the JSON object names.
    fn load_json(&mut self, json: &serde_json::Value) -> Result<(), SettingError> {
        let Some(entries) = json.as_object() else {
            return Err(SettingError::not_an_object(self.schema()));
        };
        for (name, value) in entries {
            match value {
                // Numbers that JSON lacks, and lists in files of former versions, are text.
                serde_json::Value::String(text) => self.parse(name, text)?,
                other => match Value::from_json(other) {
                    Some(value) => self.set(name, value)?,
                    None => self.parse(name, &other.to_string())?,
                },
            }
        }
        Ok(())
    }
}

/// The name of a struct of hyperparameters, written once; comes with the derive.
pub trait Named {
    /// Name in messages, tables, files and on the command line.
    const NAME: &'static str;
    /// The first paragraph of its documentation.
    const DOC: &'static str;
}

/// What an error text says of a field; used by the derive.
#[doc(hidden)]
pub struct Facts {
    pub settings: &'static str,
    pub field: &'static str,
    pub range: Option<Range>,
    pub fix: Option<&'static str>,
}

/// A field from what was given for it, in its range; used by the derive.
#[doc(hidden)]
pub fn read<T: Setting>(facts: &Facts, input: Input<'_>) -> Result<T, SettingError> {
    let value = match input {
        Input::Text(text) => T::parse(text),
        Input::Value(value) => T::from_value(value),
    };
    let value = value.ok_or_else(|| SettingError::misfit::<T>(facts, input))?;
    check(facts, &value)?;
    Ok(value)
}

/// Whether a field lies in its range; used by the derive.
#[doc(hidden)]
pub fn check<T: Setting>(facts: &Facts, value: &T) -> Result<(), SettingError> {
    let fits = |number: f64| facts.range.map_or(!number.is_nan(), |range| range.contains(number));
    if value.all_numbers(&fits) {
        return value.validate_inside();
    }
    Err(SettingError::out_of_range(facts, value.value(), T::kind().is_whole()))
}

/// The dotted rest of a name behind the name of a field or part: `alpha` of `estimator.alpha`.
pub fn inside<'a>(part: &str, name: &'a str) -> Option<&'a str> {
    name.strip_prefix(part)?.strip_prefix('.')
}

/// The description of hyperparameters that another struct takes in, with the defaults they have there; used by the derive.
#[doc(hidden)]
pub fn flattened(defaults: &impl Hyperparameters) -> Vec<Hyperparameter> {
    let entries = defaults.schema().hyperparameters.iter();
    let own = |entry: &Hyperparameter| defaults.value(entry.name).unwrap_or_else(|| entry.default.clone());
    entries.map(|entry| Hyperparameter { default: own(entry), ..entry.clone() }).collect()
}

/// The own hyperparameters with their present values in place of the defaults; used by the derive.
#[doc(hidden)]
pub fn described(settings: &dyn Hyperparameters) -> Vec<(String, Hyperparameter)> {
    let present = |entry: &Hyperparameter| settings.value(entry.name).unwrap_or_else(|| entry.default.clone());
    let entries = settings.schema().hyperparameters.iter();
    entries.map(|entry| (entry.name.to_owned(), Hyperparameter { default: present(entry), ..entry.clone() })).collect()
}

/// A name as fields are written: `weight-decay` is `weight_decay`.
#[doc(hidden)]
pub fn plain_name(name: &str) -> Cow<'_, str> {
    let name = name.trim();
    if name.contains('-') { name.replace('-', "_").into() } else { name.into() }
}
