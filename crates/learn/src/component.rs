//! Estimators as hyperparameters of other estimators.
//!
//! A field of type `Box<dyn Estimator>` holds one estimator, a field of type [`Steps`] several with names. Their values
//! are data (a name and hyperparameter values), so a pipeline is described, set, compared, written to JSON and read
//! back like any other hyperparameter. Nested hyperparameters are addressed by dotted names.
//!
//! ```
//! use tove_learn::ensemble::BaggingRegressor;
//! use tove_learn::{Pipeline, Ridge, StandardScaler};
//! use tove_optim::settings::{Hyperparameters, Value};
//! let mut bagging = BaggingRegressor::new(Pipeline::of(StandardScaler::default()).then(Ridge::default()));
//! bagging.set("estimator.ridge.alpha", 0.5.into())?;
//! assert_eq!(bagging.value("estimator.ridge.alpha"), Some(Value::Real(0.5)));
//! bagging.set("estimator", "Lasso".into())?;
//! let error = bagging.set("estimator", "Laso".into()).unwrap_err().to_string();
//! assert!(error.contains("did you mean Lasso?"), "{error}");
//! # Ok::<(), tove_optim::settings::SettingError>(())
//! ```

use tove_optim::settings::{Hyperparameter, Input, Setting, SettingError, Value, ValueKind, inside};

use crate::{Estimator, Result, registry};

/// Returns an estimator as a value: its name and its hyperparameter values.
pub(crate) fn object(estimator: &dyn Estimator) -> Value {
    let values = estimator.values().into_iter().map(|(name, value)| (name.to_owned(), value));
    Value::Object(estimator.name().to_owned(), values.collect())
}

/// Parses the estimator in a value, or returns the reason for the failure. A plain name means default hyperparameters.
fn estimator(value: &Value) -> Result<Box<dyn Estimator>, Option<String>> {
    let (name, values) = match value {
        Value::Text(name) => (name, &[][..]),
        Value::Object(name, values) => (name, &values[..]),
        _ => return Err(None),
    };
    let entry = registry::find(name).map_err(|error| Some(error.to_string()))?;
    let mut estimator = (entry.new)();
    for (name, value) in values {
        estimator.assign(name, Input::Value(value)).map_err(|error| Some(error.to_string()))?;
    }
    Ok(estimator)
}

/// Hyperparameters of a component, prefixed with its name.
fn dotted(part: &str, estimator: &dyn Estimator) -> impl Iterator<Item = (String, Hyperparameter)> {
    estimator.describe_all().into_iter().map(move |(name, entry)| (format!("{part}.{name}"), entry))
}

impl Setting for Box<dyn Estimator> {
    fn kind() -> ValueKind {
        ValueKind::Object("estimator")
    }

    fn value(&self) -> Value {
        object(&**self)
    }

    fn from_value(value: &Value) -> Option<Box<dyn Estimator>> {
        estimator(value).ok()
    }

    fn explain(value: &Value) -> Option<String> {
        estimator(value).err().flatten()
    }

    fn assign_inside(&mut self, field: &str, name: &str, input: Input<'_>) -> Option<Result<(), SettingError>> {
        Some((**self).assign(inside(field, name)?, input))
    }

    fn value_inside(&self, field: &str, name: &str) -> Option<Value> {
        (**self).value(inside(field, name)?)
    }

    fn describe_inside(&self, field: &str) -> Vec<(String, Hyperparameter)> {
        dotted(field, &**self).collect()
    }

    fn validate_inside(&self) -> Result<(), SettingError> {
        (**self).validate()
    }
}

/// Named estimators, in order: the steps of a pipeline, the members of an ensemble.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps(Vec<(String, Box<dyn Estimator>)>);

impl Steps {
    /// Adds an estimator under a name.
    pub fn push(&mut self, name: &str, estimator: Box<dyn Estimator>) {
        self.0.push((name.to_owned(), estimator));
    }

    /// Adds an estimator under its own name in lowercase; a second one of that name gets a numeric suffix.
    pub fn push_unnamed(&mut self, estimator: Box<dyn Estimator>) {
        let plain = estimator.name().to_ascii_lowercase();
        let taken = |name: &str| self.0.iter().any(|step| step.0 == name);
        let free = (2..).map(|number| format!("{plain}{number}")).find(|name| !taken(name));
        let name = if taken(&plain) { free.unwrap_or_default() } else { plain };
        self.0.push((name, estimator));
    }

    /// Iterates over names and estimators.
    pub fn iter(&self) -> std::slice::Iter<'_, (String, Box<dyn Estimator>)> {
        self.0.iter()
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that names are unique and valid before a dot.
    pub(crate) fn check_names(&self, who: &'static str) -> Result<(), SettingError> {
        let conflict = |problem: String, fix: &str| Err(SettingError::conflict(who, "steps", problem, fix));
        for (index, (name, _)) in self.0.iter().enumerate() {
            if name.is_empty() || name.contains(['.', '/']) {
                return conflict(format!("the name `{name}` of a step"), "use letters, digits and _");
            }
            if self.0[..index].iter().any(|other| other.0 == *name) {
                return conflict(format!("two steps are called `{name}`"), "give each its own name");
            }
        }
        Ok(())
    }
}

/// Parses the named estimators in a value, or returns the reason for the failure.
fn steps(value: &Value) -> Result<Steps, Option<String>> {
    let entries = value.as_map().ok_or(None)?;
    let read = |(name, value): (String, Value)| estimator(&value).map(|estimator| (name, estimator));
    Ok(Steps(entries.into_iter().map(read).collect::<Result<_, _>>()?))
}

impl Setting for Steps {
    fn kind() -> ValueKind {
        ValueKind::Map(Box::new(ValueKind::Object("estimator")))
    }

    fn value(&self) -> Value {
        Value::Map(self.0.iter().map(|(name, step)| (name.clone(), object(&**step))).collect())
    }

    fn from_value(value: &Value) -> Option<Steps> {
        steps(value).ok()
    }

    fn explain(value: &Value) -> Option<String> {
        steps(value).err().flatten()
    }

    fn assign_inside(&mut self, _field: &str, name: &str, input: Input<'_>) -> Option<Result<(), SettingError>> {
        self.0.iter_mut().find_map(|(part, step)| Some((**step).assign(inside(part, name)?, input)))
    }

    fn value_inside(&self, _field: &str, name: &str) -> Option<Value> {
        self.0.iter().find_map(|(part, step)| (**step).value(inside(part, name)?))
    }

    fn describe_inside(&self, _field: &str) -> Vec<(String, Hyperparameter)> {
        self.0.iter().flat_map(|(part, step)| dotted(part, &**step)).collect()
    }

    fn validate_inside(&self) -> Result<(), SettingError> {
        self.0.iter().try_for_each(|(_, step)| step.validate())
    }
}
