//! Failures of the program: one or two lines that say what, where and what to do, and an exit code.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

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
        Failure { text: advised(text.to_string()), code: 1, closed: false }
    }

    /// Writing failed. A pipe that its reader has closed is not a failure: the program ends without a word.
    #[cold]
    pub fn stopped(text: impl Display, kind: std::io::ErrorKind) -> Failure {
        Failure { closed: kind == std::io::ErrorKind::BrokenPipe, ..Failure::work(text) }
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

/// What the system says is wrong, with what to do about it where that is plain.
fn advised(text: String) -> String {
    let advice = [
        (" (os error 2)", "check the name and the folder"),
        (" (os error 13)", "choose a place that you may use, or change its permissions"),
        (" (os error 28)", "free some space, or choose another disk"),
        (" (os error 30)", "choose a place that can be written"),
    ];
    let known = advice.iter().find_map(|(code, advice)| Some((text.strip_suffix(code)?, advice)));
    known.map_or_else(|| without_number(&text), |(problem, advice)| format!("{problem}; {advice}"))
}

/// The text without the number that the system gives its errors.
fn without_number(text: &str) -> String {
    let Some((before, rest)) = text.split_once(" (os error ") else { return text.to_owned() };
    rest.split_once(')').map_or_else(|| text.to_owned(), |(_, after)| format!("{before}{after}"))
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
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
    tove::plot::PlotError,
    tove::tabular::TabularError,
    tove::metrics::MetricError,
    tove::nn::Error,
    tove::tensor::Error,
    tove::tensor::io::FileError,
    std::io::Error,
);
