//! What can go wrong with estimators: the caller's mistake, and the data's state.

use tove_metrics::MetricError;
use tove_optim::settings::SettingError;
use tove_tensor::io::FileError;

/// A result with this crate's error.
pub type Result<T, E = LearnError> = std::result::Result<T, E>;

/// An error of an estimator or of model selection. Every text says what is wrong and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// A tensor operation refused its operands.
    #[error(transparent)]
    Tensor(#[from] tove_tensor::Error),
    /// A hyperparameter out of its range.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A score could not be computed.
    #[error(transparent)]
    Metric(Box<MetricError>),
    /// A file could not be read or written.
    #[error(transparent)]
    File(Box<FileError>),
    /// Features that are no table of numbers.
    #[error("the features have shape {shape}; give a matrix with a row per sample and a column per feature")]
    NotTable {
        /// The shape found.
        shape: String,
    },
    /// No samples at all, or fewer than the method needs.
    #[error("{who}: {found} samples, but at least {needed} are needed; {fix}")]
    TooFew {
        /// The estimator.
        who: &'static str,
        /// Samples given.
        found: usize,
        /// Samples needed.
        needed: usize,
        /// What to do.
        fix: String,
    },
    /// Features, targets or weights of different lengths.
    #[error("{rows} rows of features but {found} {what}; give one of them per row")]
    Lengths {
        /// Rows of features.
        rows: usize,
        /// What has another length.
        what: &'static str,
        /// Its length.
        found: usize,
    },
    /// A number that is NaN or infinite.
    #[error("{what} in row {row}{} is {value}; {fix}", column.map_or(String::new(), |c| format!(", column {c},")))]
    NotFinite {
        /// Features, targets or weights.
        what: &'static str,
        /// The row, from 0.
        row: usize,
        /// The column, from 0, if there are columns.
        column: Option<usize>,
        /// The number.
        value: f64,
        /// What to do.
        fix: &'static str,
    },
    /// Another number of features than the model was fitted on.
    #[error(
        "{who} was fitted on {expected} features, and these rows have {found}; give the same columns in the same order"
    )]
    Width {
        /// The model.
        who: &'static str,
        /// Features at fitting.
        expected: usize,
        /// Features now.
        found: usize,
    },
    /// A classifier that saw one class only.
    #[error(
        "{who}: all {samples} samples are of class {class}; a classifier needs at least two classes: check how the data were selected"
    )]
    OneClass {
        /// The estimator.
        who: &'static str,
        /// The only class.
        class: i64,
        /// Number of samples.
        samples: usize,
    },
    /// Targets of a kind that does not go with the task.
    #[error("{who}: the targets are {found}, but {expected}")]
    Target {
        /// The estimator.
        who: &'static str,
        /// What they are.
        found: String,
        /// What is needed, and how to get there.
        expected: &'static str,
    },
    /// Something this estimator cannot do.
    #[error("{who} {what}; {fix}")]
    Unsupported {
        /// The estimator.
        who: &'static str,
        /// What it cannot do, and why.
        what: String,
        /// What to do instead.
        fix: String,
    },
    /// A parameter of a function out of its range.
    #[error("{what}: {problem}")]
    Parameter {
        /// The function or type.
        what: &'static str,
        /// What is wrong and what is accepted.
        problem: String,
    },
    /// The data do not allow the computation.
    #[error("{who}: {problem}; {fix}")]
    Data {
        /// The estimator.
        who: &'static str,
        /// What the data look like.
        problem: String,
        /// What would help.
        fix: String,
    },
    /// A result that would not fit into memory.
    #[error(
        "{who}: {what} needs {} of memory, and {} are available; {fix}",
        crate::memory::readable(*bytes), crate::memory::readable(*limit)
    )]
    Memory {
        /// The estimator or function.
        who: &'static str,
        /// What would be made.
        what: String,
        /// Its estimated size in bytes.
        bytes: u64,
        /// The bytes that may be used.
        limit: u64,
        /// What to do.
        fix: &'static str,
    },
    /// A model file that is whole but not what was asked for.
    #[error("{problem}; {fix}")]
    Model {
        /// What is wrong with it.
        problem: String,
        /// What to do.
        fix: String,
    },
    /// The process was asked to stop while a model was being fitted.
    #[error("{who}: interrupted before the fit was done")]
    Interrupted {
        /// The estimator.
        who: &'static str,
    },
    /// The work was asked to stop.
    #[error("stopped on request after {done} of {total} fits")]
    Stopped {
        /// Pieces of work finished.
        done: usize,
        /// Pieces of work planned.
        total: usize,
    },
}

impl From<FileError> for LearnError {
    fn from(error: FileError) -> LearnError {
        LearnError::File(Box::new(error))
    }
}

impl From<MetricError> for LearnError {
    fn from(error: MetricError) -> LearnError {
        LearnError::Metric(Box::new(error))
    }
}

impl LearnError {
    /// A parameter out of its range.
    #[cold]
    pub fn parameter(what: &'static str, problem: impl Into<String>) -> LearnError {
        LearnError::Parameter { what, problem: problem.into() }
    }

    /// Data that do not allow the computation.
    #[cold]
    pub fn data(who: &'static str, problem: impl Into<String>, fix: impl Into<String>) -> LearnError {
        LearnError::Data { who, problem: problem.into(), fix: fix.into() }
    }

    /// The same error; of a decomposition that the samples of a fit do not allow, with the estimator's name and what to do.
    #[cold]
    pub(crate) fn of_fit(self, who: &'static str) -> LearnError {
        match self {
            LearnError::Tensor(error) if error.is_data() => {
                let fix =
                    "scale the features and targets, for instance with `StandardScaler`, or choose a stronger penalty";
                LearnError::data(who, format!("the equations could not be solved ({error})"), fix)
            }
            other => other,
        }
    }

    /// Something an estimator cannot do.
    #[cold]
    pub fn unsupported(who: &'static str, what: impl Into<String>, fix: impl Into<String>) -> LearnError {
        LearnError::Unsupported { who, what: what.into(), fix: fix.into() }
    }

    /// A model file that is not what was asked for.
    #[cold]
    pub fn model(problem: impl Into<String>, fix: impl Into<String>) -> LearnError {
        LearnError::Model { problem: problem.into(), fix: fix.into() }
    }
}
