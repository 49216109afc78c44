//! What can be wrong with a hyperparameter.

use super::{Facts, HyperparameterSchema, Hyperparameters, Input, Setting, Value, ValueKind};

/// A hyperparameter that cannot be used, with the sentence that repairs it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// A value outside its range.
    #[error("{settings}: {field} is {value}, but it must lie in {range}; {fix}")]
    Range {
        /// Whose hyperparameter it is.
        settings: &'static str,
        /// The hyperparameter.
        field: &'static str,
        /// The value given.
        value: Value,
        /// The range allowed.
        range: Box<str>,
        /// What to do.
        fix: Box<str>,
    },
    /// A value, or text, of another kind.
    #[error("{settings}: {field} cannot be `{text}`; {fix}")]
    Unreadable {
        /// Whose hyperparameter it is.
        settings: &'static str,
        /// The hyperparameter.
        field: &'static str,
        /// The text given.
        text: Box<str>,
        /// What to do.
        fix: Box<str>,
    },
    /// A name that no hyperparameter has.
    #[error("{settings}: there is no hyperparameter `{name}`; {fix}")]
    Unknown {
        /// Whose hyperparameters they are.
        settings: &'static str,
        /// The name given.
        name: Box<str>,
        /// What to do: the names there are.
        fix: Box<str>,
    },
    /// Values that are right one by one and do not go together.
    #[error("{settings}: {problem}; {fix}")]
    Conflict {
        /// Whose hyperparameters they are.
        settings: &'static str,
        /// The hyperparameter to change.
        field: &'static str,
        /// What does not go together.
        problem: Box<str>,
        /// What to do.
        fix: Box<str>,
    },
}

impl SettingError {
    /// Values that do not go together, for the `check` of a struct.
    #[cold]
    pub fn conflict(
        settings: &'static str,
        field: &'static str,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> SettingError {
        SettingError::Conflict { settings, field, problem: problem.into().into(), fix: fix.into().into() }
    }

    /// No hyperparameter of this name; the text suggests the nearest one.
    #[doc(hidden)]
    #[cold]
    pub fn unknown(settings: &dyn Hyperparameters, name: &str) -> SettingError {
        let names: Vec<String> = settings.describe_all().into_iter().map(|(known, _)| known).collect();
        let nearest = names.iter().map(|known| (strsim::levenshtein(known, name), known)).min();
        let fix = match nearest {
            Some((distance, known)) if distance <= 2 => format!("did you mean `{known}`?"),
            _ if names.is_empty() => "it has none".to_owned(),
            _ => format!("there are {}", names.join(", ")),
        };
        SettingError::Unknown { settings: settings.schema().name, name: name.into(), fix: fix.into() }
    }

    #[cold]
    pub(super) fn not_an_object(schema: &HyperparameterSchema) -> SettingError {
        let fix = "give a JSON object of names and values".into();
        SettingError::Unknown { settings: schema.name, name: "".into(), fix }
    }

    #[cold]
    pub(super) fn out_of_range(facts: &Facts, value: Value, whole: bool) -> SettingError {
        let range = facts.range.map_or("the numbers".to_owned(), |range| range.to_string());
        let made = || facts.range.map_or("give a number".to_owned(), |range| range.sentence(whole));
        let fix = facts.fix.map_or_else(made, str::to_owned);
        let (settings, field) = (facts.settings, facts.field);
        SettingError::Range { settings, field, value, range: range.into(), fix: fix.into() }
    }

    /// What was given means no value of the field's type.
    #[cold]
    pub(super) fn misfit<T: Setting>(facts: &Facts, input: Input<'_>) -> SettingError {
        let value = match input {
            Input::Text(text) => Value::Text(text.to_owned()),
            Input::Value(value) => value.clone(),
        };
        let kind = T::kind();
        let what = || match &kind {
            ValueKind::Choice(_) => format!("one of {kind}"),
            ValueKind::Optional(inner) if matches!(**inner, ValueKind::Choice(_)) => format!("one of {kind}"),
            ValueKind::Switch | ValueKind::Map(_) => kind.to_string(),
            ValueKind::Object(_) => format!("an {kind}"),
            _ => format!("a {kind}"),
        };
        let fix =
            T::explain(&value).unwrap_or_else(|| format!("give {}", T::expected().map_or_else(what, str::to_owned)));
        let (settings, field, text) = (facts.settings, facts.field, value.to_string());
        SettingError::Unreadable { settings, field, text: text.into(), fix: fix.into() }
    }

    /// The same error of the settings of this name, which took the hyperparameter in.
    #[doc(hidden)]
    #[cold]
    pub fn of(mut self, name: &'static str) -> SettingError {
        match &mut self {
            SettingError::Range { settings, .. }
            | SettingError::Unreadable { settings, .. }
            | SettingError::Unknown { settings, .. }
            | SettingError::Conflict { settings, .. } => *settings = name,
        }
        self
    }

    /// The hyperparameter at fault, if it is one.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            SettingError::Range { field, .. }
            | SettingError::Unreadable { field, .. }
            | SettingError::Conflict { field, .. } => Some(field),
            SettingError::Unknown { .. } => None,
        }
    }
}

/// For functions that return the tensor crate's error.
impl From<SettingError> for tove_tensor::Error {
    fn from(error: SettingError) -> Self {
        let name = error.field().unwrap_or("settings");
        let (op, problem) = match error {
            SettingError::Range { settings, value, range, fix, .. } => {
                (settings, format!("is {value}, but it must lie in {range}; {fix}"))
            }
            SettingError::Unreadable { settings, text, fix, .. } => (settings, format!("cannot be `{text}`; {fix}")),
            SettingError::Unknown { settings, name, fix } => {
                (settings, format!("have no hyperparameter `{name}`; {fix}"))
            }
            SettingError::Conflict { settings, problem, fix, .. } => {
                (settings, format!("does not fit: {problem}; {fix}"))
            }
        };
        tove_tensor::Error::Parameter { op, name, problem: problem.into() }
    }
}
