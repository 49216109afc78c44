//! Failures of the program: one or two lines that say what, where and what to do, and an exit code.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use tove::vision::ModelError;

use crate::remedies;

/// Why a command did not do its work.
#[derive(Debug)]
pub struct Failure {
    text: String,
    code: u8,
    /// Whether whoever reads the results has closed the pipe, having seen enough.
    closed: bool,
}

impl Failure {
    /// The work failed.
    #[cold]
    pub fn work(text: impl Display) -> Failure {
        Failure { text: text.to_string(), code: 1, closed: false }
    }

    /// Writing failed. A pipe that its reader has closed is not a failure: the program ends without a word.
    #[cold]
    pub fn stopped(place: impl Display, error: &std::io::Error) -> Failure {
        let text = format!("{place}: {}", remedies::system(error));
        Failure { closed: error.kind() == std::io::ErrorKind::BrokenPipe, ..Failure::work(text) }
    }

    /// The call was wrong.
    #[cold]
    pub fn usage(text: impl Display) -> Failure {
        Failure { text: text.to_string(), code: 2, closed: false }
    }

    /// The failure with what is left all the same.
    pub fn but(self, text: impl Display) -> Failure {
        Failure { text: format!("{}; {text}", self.text), ..self }
    }

    /// The user asked to stop, by Ctrl-C.
    #[cold]
    pub fn interrupted(text: impl Display) -> Failure {
        Failure { text: text.to_string(), code: 130, closed: false }
    }

    /// Writes the failure to standard error and gives the exit code.
    pub fn report(self) -> ExitCode {
        if self.closed {
            return ExitCode::SUCCESS;
        }
        tell(&format!("tove: {}", self.text));
        ExitCode::from(self.code)
    }
}

/// Writes a line to standard error. Where that cannot be written there is nobody to tell.
pub fn tell(text: &str) {
    let line = format!("{}\n", printable(text));
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Warnings of fits go to standard error, a line each.
pub fn tell_warnings() {
    tove::learn::on_warning(|text| tell(&format!("warning: {text}")));
}

/// The text with control characters escaped, which names and values out of files may have: a terminal would obey them.
pub fn printable(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if harmful(character) { shown.extend(character.escape_default()) } else { shown.push(character) }
    }
    Cow::Owned(shown)
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Errors of the libraries end the work; files among their reasons and remedies are put in the program's words.
macro_rules! from_errors {
    ($($error:ty => |$name:ident| $words:expr),* $(,)?) => {
        $(impl From<$error> for Failure {
            #[cold]
            fn from($name: $error) -> Failure {
                Failure::work($words)
            }
        })*
    };
}

from_errors!(
    tove::data::DataError => |error| match error {
        tove::data::DataError::File(file) => remedies::file(&file),
        other => other.reworded(remedies::option).to_string(),
    },
    tove::tabular::TabularError => |error| match error {
        tove::tabular::TabularError::File(file) => remedies::file(&file),
        tove::tabular::TabularError::Data(data) => Failure::from(*data).text,
        tove::tabular::TabularError::Learn(learn) => Failure::from(*learn).text,
        other => other.reworded(remedies::option).to_string(),
    },
    tove::learn::LearnError => |error| match error {
        tove::learn::LearnError::File(file) => remedies::file(&file),
        other => other.to_string(),
    },
    tove::plot::PlotError => |error| match error {
        tove::plot::PlotError::File(file) => remedies::file(&file),
        other => other.to_string(),
    },
    tove::nn::Error => |error| match error {
        tove::nn::Error::File(file) => remedies::file(&file),
        other => other.to_string(),
    },
    tove::tensor::io::FileError => |error| remedies::file(&error),
    std::io::Error => |error| remedies::system(&error),
    tove::metrics::MetricError => |error| error,
    tove::tensor::Error => |error| error,
);

/// Settings of image and text models are named as their options.
impl From<ModelError> for Failure {
    #[cold]
    fn from(error: ModelError) -> Failure {
        match error {
            ModelError::Setting { name, value, problem } => Failure::usage(remedies::setting(name, &value, &problem)),
            ModelError::Unsuited { name, value, problem } => Failure::work(remedies::setting(name, &value, &problem)),
            ModelError::Data(error) => Failure::from(*error),
            ModelError::Net(error) => Failure::from(*error),
            ModelError::Learn(error) => Failure::from(*error),
            ModelError::File(error) => Failure::from(*error),
            ModelError::Kind { path, found, expected } => {
                let (path, maker) = (path.display(), remedies::maker(expected));
                Failure::work(format!("{path} holds a {found}, not a {expected}; give a file that `{maker}` wrote"))
            }
            other => Failure::work(other),
        }
    }
}
