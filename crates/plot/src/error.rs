//! Why a picture cannot be drawn.

use tove_tensor::io::FileError;

/// An error of this crate. Every text names the picture and says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// Nothing to draw.
    #[error("{what}: there is nothing to draw; give at least one {missing}")]
    Empty {
        /// The picture.
        what: &'static str,
        /// What is wanted.
        missing: &'static str,
    },
    /// Values are there, but none can be drawn.
    #[error("{what}: none of the {count} values can be drawn: {reason}")]
    NoFinite {
        /// The picture.
        what: &'static str,
        /// How many were given.
        count: usize,
        /// Why they were refused.
        reason: &'static str,
    },
    /// Lists that do not belong together.
    #[error("{what}: {problem}")]
    Lengths {
        /// The picture.
        what: &'static str,
        /// Which lists, and their lengths.
        problem: String,
    },
    /// A setting out of range.
    #[error("{what}: {problem}")]
    Parameter {
        /// The picture.
        what: &'static str,
        /// What is wrong and what is accepted.
        problem: String,
    },
    /// The file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A result with this crate's error.
pub type Result<T, E = PlotError> = std::result::Result<T, E>;

impl PlotError {
    #[cold]
    pub(crate) fn parameter(what: &'static str, problem: impl Into<String>) -> Self {
        PlotError::Parameter { what, problem: problem.into() }
    }
}

/// Checks that two lists of one picture are equally long.
pub(crate) fn same_length(what: &'static str, a: (&str, usize), b: (&str, usize)) -> Result<()> {
    if a.1 == b.1 {
        return Ok(());
    }
    let problem = format!("{} {} and {} {}; they must have the same length", a.1, a.0, b.1, b.0);
    Err(PlotError::Lengths { what, problem })
}
