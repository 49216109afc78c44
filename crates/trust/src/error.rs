//! Errors of this crate: invalid arguments, and data about which nothing can be said.

use tove_learn::LearnError;
use tove_metrics::MetricError;

/// A result with [`TrustError`].
pub type Result<T, E = TrustError> = std::result::Result<T, E>;

/// An error of this crate. Every message says what is wrong and how to fix it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// An argument out of its range.
    #[error("{what}: {problem}")]
    Argument {
        /// The function or type.
        what: &'static str,
        /// What is wrong and what is accepted.
        problem: String,
    },
    /// Data that cannot be used for the computation.
    #[error("{what}: {problem}; {fix}")]
    Data {
        /// The function or type.
        what: &'static str,
        /// The problem with the data.
        problem: String,
        /// How to fix it.
        fix: String,
    },
    /// A model or method that does not support the computation.
    #[error("{what}: {problem}; {fix}")]
    Unsupported {
        /// The function or type.
        what: &'static str,
        /// What is not supported, and why.
        problem: String,
        /// What to do instead.
        fix: String,
    },
    /// A tensor operation failed.
    #[error(transparent)]
    Tensor(#[from] tove_tensor::Error),
    /// A score could not be computed.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// A model could not be fitted or could not predict.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// A net could not be trained.
    #[error(transparent)]
    Net(#[from] tove_nn::Error),
}

impl TrustError {
    /// Creates an error for an argument out of its range.
    #[cold]
    pub fn argument(what: &'static str, problem: impl Into<String>) -> TrustError {
        TrustError::Argument { what, problem: problem.into() }
    }

    /// Creates an error for data that cannot be used.
    #[cold]
    pub fn data(what: &'static str, problem: impl Into<String>, fix: impl Into<String>) -> TrustError {
        TrustError::Data { what, problem: problem.into(), fix: fix.into() }
    }

    /// Creates an error for an unsupported computation.
    #[cold]
    pub fn unsupported(what: &'static str, problem: impl Into<String>, fix: impl Into<String>) -> TrustError {
        TrustError::Unsupported { what, problem: problem.into(), fix: fix.into() }
    }
}
