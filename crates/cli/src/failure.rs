//! Failures of the program: one or two lines that say what, where and what to do, and an exit code.

use std::fmt::Display;
use std::process::ExitCode;

/// Why a command did not do its work.
#[derive(Debug)]
pub struct Failure {
    text: String,
    code: u8,
}

impl Failure {
    /// The work failed.
    #[cold]
    pub fn work(text: impl Display) -> Failure {
        Failure { text: text.to_string(), code: 1 }
    }

    /// The call was wrong.
    #[cold]
    pub fn usage(text: impl Display) -> Failure {
        Failure { text: text.to_string(), code: 2 }
    }

    /// The same failure with words in front that say where.
    #[cold]
    pub fn within(self, place: impl Display) -> Failure {
        Failure { text: format!("{place}: {}", self.text), code: self.code }
    }

    /// Writes the failure to standard error and gives the exit code.
    pub fn report(self) -> ExitCode {
        eprintln!("tove: {}", self.text);
        ExitCode::from(self.code)
    }
}

/// Errors of the libraries end the work.
macro_rules! from_errors {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Failure {
            #[cold]
            fn from(error: $error) -> Failure {
                Failure::work(error)
            }
        })*
    };
}

from_errors!(
    tove::data::DataError,
    tove::learn::LearnError,
    tove::metrics::MetricError,
    tove::nn::Error,
    tove::tensor::Error,
    tove::tensor::io::FileError,
    std::io::Error,
);
