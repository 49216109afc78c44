//! Why a score cannot be computed.

use tove_tensor::DType;

/// An error of this crate. Every text names the score and says what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricError {
    /// A tensor operation refused.
    #[error(transparent)]
    Tensor(#[from] tove_tensor::Error),
    /// No samples.
    #[error("{0}: there are no samples; give at least one")]
    Empty(&'static str),
    /// Shapes that do not belong together.
    #[error("{what}: truth of shape {truth} and prediction of shape {prediction}: {problem}")]
    Shapes {
        /// The score.
        what: &'static str,
        /// Shape of the first argument.
        truth: String,
        /// Shape of the second.
        prediction: String,
        /// What is expected.
        problem: &'static str,
    },
    /// An element type that does not serve.
    #[error("{what}: {argument} of type {dtype}; {expected}")]
    DType {
        /// The score.
        what: &'static str,
        /// Which argument.
        argument: &'static str,
        /// Its type.
        dtype: DType,
        /// What is expected.
        expected: &'static str,
    },
    /// A value that does not serve.
    #[error("{what}: {argument} {index} is {value}; {expected}")]
    Value {
        /// The score.
        what: &'static str,
        /// Which argument.
        argument: &'static str,
        /// Its place in row-major order.
        index: usize,
        /// Its value.
        value: f64,
        /// What is expected.
        expected: &'static str,
    },
    /// A parameter out of range.
    #[error("{what}: {problem}")]
    Parameter {
        /// The score.
        what: &'static str,
        /// What is wrong and what is accepted.
        problem: String,
    },
    /// The truth has too few classes for the score to be defined.
    #[error("{what}: {problem}, so the score is not defined; evaluate on samples that have both")]
    OneClass {
        /// The score.
        what: &'static str,
        /// Which class is missing.
        problem: String,
    },
}

/// A result with this crate's error.
pub type Result<T, E = MetricError> = std::result::Result<T, E>;

impl MetricError {
    #[cold]
    pub(crate) fn parameter(what: &'static str, problem: impl Into<String>) -> Self {
        MetricError::Parameter { what, problem: problem.into() }
    }
}
