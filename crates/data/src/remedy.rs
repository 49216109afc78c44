//! What a caller can change so that an error goes away.

use std::fmt;

use crate::table::{Kind, TaskKind};

/// A setting that would avoid an error. Libraries name it by its function; a program that has other names for its settings
/// words it by [`DataError::reworded`](crate::DataError::reworded).
///
/// ```
/// use tove_data::table::CsvOptions;
/// use tove_data::Remedy;
/// let error = CsvOptions::new().read_bytes(b"a,b\n1,2\n3\n").unwrap_err();
/// assert_eq!(error.remedies(), [Remedy::DropRagged]);
/// assert!(error.to_string().ends_with("fix the row, or drop such rows (`CsvOptions::ragged`)"));
/// let error = error.reworded(|remedy| format!("{} (--drop-ragged)", remedy.action()));
/// assert!(error.to_string().ends_with("fix the row, or drop such rows (--drop-ragged)"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Read the file without a header: [`CsvOptions::header`](crate::table::CsvOptions::header).
    NoHeader,
    /// Drop rows with another number of fields than the header: [`CsvOptions::ragged`](crate::table::CsvOptions::ragged).
    DropRagged,
    /// Make values missing that are not valid: [`CsvOptions::coerce`](crate::table::CsvOptions::coerce).
    Coerce,
    /// Read the file as latin-1: [`CsvOptions::charset`](crate::table::CsvOptions::charset).
    Latin1,
    /// Leave a column out: [`Table::drop_columns`](crate::table::Table::drop_columns), or the role
    /// [`Dropped`](crate::table::Role::Dropped).
    DropColumn {
        /// The column.
        column: String,
    },
    /// Read a column as another kind: [`CsvOptions::kind`](crate::table::CsvOptions::kind).
    ColumnKind {
        /// The column.
        column: String,
        /// The kind it should have.
        kind: Kind,
        /// Whether values that are not valid become missing.
        coerce: bool,
    },
    /// Encode a column in another way: [`Choices`](crate::table::encode::Choices).
    Encode {
        /// The column.
        column: String,
    },
    /// Set the kind of task.
    Task(TaskKind),
    /// Choose another estimator.
    Model,
    /// Allow more time.
    Budget,
    /// Compare models with fewer folds, or fit a single model.
    Folds,
    /// Weigh classes, or do not.
    ClassWeight,
    /// Drop fewer columns.
    DropFewer,
}

impl Remedy {
    /// What to do, in words that name no function.
    pub fn action(&self) -> String {
        match self {
            Remedy::NoHeader => "read the file without a header".to_owned(),
            Remedy::DropRagged => "drop such rows".to_owned(),
            Remedy::Coerce => "make such values missing".to_owned(),
            Remedy::Latin1 => "read the file as latin-1".to_owned(),
            Remedy::DropColumn { column } => format!("leave column {column:?} out"),
            Remedy::ColumnKind { kind, coerce: false, .. } => format!("read the column as {kind}"),
            Remedy::ColumnKind { kind, .. } => format!("read the column as {kind} with other values missing"),
            Remedy::Encode { .. } => "choose another encoding".to_owned(),
            Remedy::Task(kind) => format!("set the task to {}", kind.name()),
            Remedy::Model => "choose another model".to_owned(),
            Remedy::Budget => "allow more seconds".to_owned(),
            Remedy::Folds => "choose one model, which needs no folds".to_owned(),
            Remedy::ClassWeight => "leave class weights out".to_owned(),
            Remedy::DropFewer => "drop fewer columns".to_owned(),
        }
    }

    /// The function or field that does it.
    fn function(&self) -> &'static str {
        match self {
            Remedy::NoHeader => "CsvOptions::header",
            Remedy::DropRagged => "CsvOptions::ragged",
            Remedy::Coerce => "CsvOptions::coerce",
            Remedy::Latin1 => "CsvOptions::charset",
            Remedy::DropColumn { .. } => "Role::Dropped",
            Remedy::ColumnKind { coerce: false, .. } => "CsvOptions::kind",
            Remedy::ColumnKind { .. } => "CsvOptions::kind, CsvOptions::coerce",
            Remedy::Encode { .. } => "Choices",
            Remedy::Task(_) => "Plan::task",
            Remedy::Model => "Candidate::named",
            Remedy::Budget => "Plan::budget",
            Remedy::Folds => "Plan::fit",
            Remedy::ClassWeight => "Plan::class_weights",
            Remedy::DropFewer => "Plan::role",
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (`{}`)", self.action(), self.function())
    }
}

/// What is wrong, and what can be done about it.
#[derive(Clone, PartialEq)]
pub struct Problem(Box<Parts>);

#[derive(Clone)]
struct Parts {
    text: String,
    advice: &'static str,
    remedies: Vec<Remedy>,
    words: fn(&Remedy) -> String,
}

impl Problem {
    /// A problem with its text.
    pub fn new(text: impl Into<String>) -> Problem {
        let words = |remedy: &Remedy| remedy.to_string();
        Problem(Box::new(Parts { text: text.into(), advice: "", remedies: Vec::new(), words }))
    }

    /// With something to do that is not a setting, such as `fix the row`.
    #[must_use]
    pub fn advice(mut self, advice: &'static str) -> Problem {
        self.0.advice = advice;
        self
    }

    /// With a setting that helps.
    #[must_use]
    pub fn remedy(mut self, remedy: Remedy) -> Problem {
        self.0.remedies.push(remedy);
        self
    }

    /// The settings that help.
    pub fn remedies(&self) -> &[Remedy] {
        &self.0.remedies
    }

    /// With the settings in the caller's words.
    pub fn reword(&mut self, words: fn(&Remedy) -> String) {
        self.0.words = words;
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { text, advice, remedies, words } = &*self.0;
        f.write_str(text)?;
        let advice = Some((*advice).to_owned()).filter(|advice| !advice.is_empty());
        for (place, advice) in advice.into_iter().chain(remedies.iter().map(words)).enumerate() {
            write!(f, "{}{advice}", if place == 0 { "; " } else { ", or " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Problem").field("text", &self.to_string()).field("remedies", &self.0.remedies).finish()
    }
}

/// Two problems are the same whoever words them.
impl PartialEq for Parts {
    fn eq(&self, other: &Parts) -> bool {
        (&self.text, self.advice, &self.remedies) == (&other.text, other.advice, &other.remedies)
    }
}

impl From<String> for Problem {
    fn from(text: String) -> Problem {
        Problem::new(text)
    }
}

impl From<&str> for Problem {
    fn from(text: &str) -> Problem {
        Problem::new(text)
    }
}
