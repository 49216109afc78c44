//! Errors of fitting to tables: those of the other crates, and a few of its own.

use tove_data::{DataError, Problem, Remedy};
use tove_learn::LearnError;
use tove_tensor::io::FileError;
use tove_trust::TrustError;

/// A result with this module's error.
pub type Result<T, E = TabularError> = std::result::Result<T, E>;

/// What went wrong between a table and a model. Every text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TabularError {
    /// The table or a column.
    #[error(transparent)]
    Data(Box<DataError>),
    /// The estimator or its data.
    #[error(transparent)]
    Learn(Box<LearnError>),
    /// A tensor operation.
    #[error(transparent)]
    Tensor(#[from] tove_tensor::Error),
    /// What can be said of how far a model can be trusted.
    #[error(transparent)]
    Trust(Box<TrustError>),
    /// A file.
    #[error(transparent)]
    File(Box<FileError>),
    /// The process was asked to stop before there was a model.
    #[error("interrupted before a model was fitted; nothing is saved")]
    Interrupted,
    /// A plan that cannot be carried out.
    #[error("{0}")]
    Plan(Problem),
}

impl TabularError {
    #[cold]
    pub(crate) fn plan(problem: impl Into<Problem>) -> TabularError {
        TabularError::Plan(problem.into())
    }

    /// The settings that would avoid the error.
    pub fn remedies(&self) -> &[Remedy] {
        match self {
            TabularError::Data(error) => error.remedies(),
            TabularError::Plan(problem) => problem.remedies(),
            _ => &[],
        }
    }

    /// The error with its [`remedies`](TabularError::remedies) in the caller's words.
    #[must_use]
    pub fn reworded(self, words: fn(&Remedy) -> String) -> TabularError {
        match self {
            TabularError::Data(error) => TabularError::Data(Box::new(error.reworded(words))),
            TabularError::Plan(mut problem) => {
                problem.reword(words);
                TabularError::Plan(problem)
            }
            other => other,
        }
    }
}

impl From<DataError> for TabularError {
    fn from(error: DataError) -> TabularError {
        TabularError::Data(Box::new(error))
    }
}

impl From<LearnError> for TabularError {
    fn from(error: LearnError) -> TabularError {
        TabularError::Learn(Box::new(error))
    }
}

impl From<TrustError> for TabularError {
    fn from(error: TrustError) -> TabularError {
        match error {
            TrustError::Learn(error) => error.into(),
            TrustError::Tensor(error) => error.into(),
            other => TabularError::Trust(Box::new(other)),
        }
    }
}

impl From<FileError> for TabularError {
    fn from(error: FileError) -> TabularError {
        TabularError::File(Box::new(error))
    }
}

impl From<tove_metrics::MetricError> for TabularError {
    fn from(error: tove_metrics::MetricError) -> TabularError {
        LearnError::from(error).into()
    }
}
