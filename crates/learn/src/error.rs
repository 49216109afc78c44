//! Errors of estimators: invalid arguments, and data that cannot be fitted.

use tove_metrics::MetricError;
use tove_optim::settings::SettingError;
use tove_tensor::io::FileError;

/// A result with [`LearnError`].
pub type Result<T, E = LearnError> = std::result::Result<T, E>;

/// An error of an estimator or of model selection. Every message says what is wrong and how to fix it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// A tensor operation failed.
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
    /// Features that are not a matrix.
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
        /// What has a different length.
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
    /// The number of features differs from the fit.
    #[error(
        "{who} was fitted on {expected} features, but these rows have {found}; give the same columns in the same order"
    )]
    Width {
        /// The model.
        who: &'static str,
        /// Features during `fit`.
        expected: usize,
        /// Features now.
        found: usize,
    },
    /// A classifier was given a single class.
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
    /// Targets of the wrong type for the task.
    #[error("{who}: the targets are {found}, but {expected}")]
    Target {
        /// The estimator.
        who: &'static str,
        /// The targets found.
        found: String,
        /// The targets expected, and how to get them.
        expected: &'static str,
    },
    /// An operation that this estimator does not support.
    #[error("{who} {what}; {fix}")]
    Unsupported {
        /// The estimator.
        who: &'static str,
        /// The unsupported operation, and why.
        what: String,
        /// What to do instead.
        fix: String,
    },
    /// A function argument out of its range.
    #[error("{what}: {problem}")]
    Parameter {
        /// The function or type.
        what: &'static str,
        /// What is wrong and what is accepted.
        problem: String,
    },
    /// The data cannot be used for the computation.
    #[error("{who}: {problem}; {fix}")]
    Data {
        /// The estimator.
        who: &'static str,
        /// The problem with the data.
        problem: String,
        /// How to fix it.
        fix: String,
    },
    /// A result that would not fit in memory.
    #[error(
        "{who}: {what} needs {} of memory, but only {} is available; {fix}",
        crate::memory::readable(*bytes), crate::memory::readable(*limit)
    )]
    Memory {
        /// The estimator or function.
        who: &'static str,
        /// The result.
        what: String,
        /// Its estimated size in bytes.
        bytes: u64,
        /// The memory limit in bytes.
        limit: u64,
        /// What to do.
        fix: &'static str,
    },
    /// A valid model file with the wrong content.
    #[error("{problem}; {fix}")]
    Model {
        /// The problem.
        problem: String,
        /// What to do.
        fix: String,
    },
    /// The process was interrupted during a fit.
    #[error("{who}: interrupted before the fit finished")]
    Interrupted {
        /// The estimator.
        who: &'static str,
    },
    /// The operation was stopped on request.
    #[error("stopped on request after {done} of {total} fits")]
    Stopped {
        /// Fits finished.
        done: usize,
        /// Fits planned.
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
    /// Creates an error for an argument out of its range.
    #[cold]
    pub fn parameter(what: &'static str, problem: impl Into<String>) -> LearnError {
        LearnError::Parameter { what, problem: problem.into() }
    }

    /// Creates an error for data that cannot be used.
    #[cold]
    pub fn data(who: &'static str, problem: impl Into<String>, fix: impl Into<String>) -> LearnError {
        LearnError::Data { who, problem: problem.into(), fix: fix.into() }
    }

    /// Adds the estimator's name and a fix to a decomposition error; returns other errors unchanged.
    #[cold]
    pub(crate) fn of_fit(self, who: &'static str) -> LearnError {
        match self {
            LearnError::Tensor(error) if error.is_data() => {
                let fix = "scale the features and targets, for example with `StandardScaler`, or increase the regularization strength";
                LearnError::data(who, format!("the equations could not be solved ({error})"), fix)
            }
            other => other,
        }
    }

    /// Creates an error for an unsupported operation.
    #[cold]
    pub fn unsupported(who: &'static str, what: impl Into<String>, fix: impl Into<String>) -> LearnError {
        LearnError::Unsupported { who, what: what.into(), fix: fix.into() }
    }

    /// Creates an error for a model file with the wrong content.
    #[cold]
    pub fn model(problem: impl Into<String>, fix: impl Into<String>) -> LearnError {
        LearnError::Model { problem: problem.into(), fix: fix.into() }
    }
}
