//! Estimators as text: `Pipeline(StandardScaler, Ridge(alpha=0.5))`.
//!
//! A name alone stands for its defaults; hyperparameters are `name=value`. Estimators without a name are the steps of a pipeline or
//! the members of an ensemble, or the estimator of a wrapper: `BaggingRegressor(Ridge, n_estimators=20)`; `scale=StandardScaler()`
//! names a step. Values are numbers, `true`, `false`, `none`, words, quoted text, lists `[0.1, 1]`, and values by name
//! `{alpha: [0.1, 1]}`. JSON as `tove models --json` and reports write it, `{"type": "Ridge", "params": {"alpha": 0.5}}`, is read
//! too. Text is understood here and nowhere else: the library is given typed values.

mod build;
mod parser;

use tove::learn::Estimator;
use tove::optim::settings::{Setting, Value, ValueKind};

use crate::failure::Failure;

/// A mistake, and where in the text it is.
#[derive(Debug)]
pub struct Mistake {
    /// The byte at which it begins.
    pub at: usize,
    /// What is wrong, and what to do.
    pub problem: String,
}

impl Mistake {
    #[cold]
    fn new(at: usize, problem: impl Into<String>) -> Mistake {
        Mistake { at, problem: problem.into() }
    }

    /// As a failure of an option, with the text and a mark below the mistake.
    fn of(self, option: &str, text: &str) -> Failure {
        // A part of the text that fits on a line.
        let at = (0..=self.at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let before = text[..at].chars().count();
        let from = before.saturating_sub(40);
        let shown: String = text.chars().skip(from).take(76).collect();
        let mark = " ".repeat(before - from);
        Failure::usage(format!("{option}: {} (at character {})\n  {shown}\n  {mark}^", self.problem, before + 1))
    }
}

/// The estimator that a text describes.
pub fn estimator(option: &str, text: &str) -> Result<Box<dyn Estimator>, Failure> {
    tove::estimators::register();
    let value = value_of(option, text)?;
    let found = <Box<dyn Estimator> as Setting>::from_value(&value);
    found.ok_or_else(|| {
        let why = <Box<dyn Estimator> as Setting>::explain(&value);
        Failure::usage(format!("{option}: {}", why.unwrap_or_else(|| "give the name of an estimator".to_owned())))
    })
}

/// The value that a text describes: JSON where it begins with a brace, and the notation of calls otherwise.
fn value_of(option: &str, text: &str) -> Result<Value, Failure> {
    if text.trim_start().starts_with('{') {
        let json: serde_json::Value =
            serde_json::from_str(text).map_err(|error| Failure::usage(format!("{option}: JSON: {error}")))?;
        let wrong = || format!("{option}: write an estimator as {{\"type\": NAME, \"params\": {{...}}}}");
        return Value::from_json(&json).ok_or_else(|| Failure::usage(wrong()));
    }
    let node = parser::parse(text).map_err(|mistake| mistake.of(option, text))?;
    build::value(&node).map_err(|mistake| mistake.of(option, text))
}

/// Sets a hyperparameter from the text of `--set`: estimators and values by name are described as above.
pub fn set(estimator: &mut dyn Estimator, name: &str, text: &str) -> Result<(), Failure> {
    let structured = |kind: &ValueKind| match kind {
        ValueKind::Object(_) | ValueKind::Map(_) => true,
        ValueKind::Optional(inner) => matches!(**inner, ValueKind::Object(_) | ValueKind::Map(_)),
        _ => false,
    };
    let known = estimator.describe_all().into_iter().find(|(own, entry)| own == name || entry.aliases.contains(&name));
    match estimator.parse(name, text) {
        Err(_) if known.is_some_and(|(_, entry)| structured(&entry.kind)) => {}
        plain => return plain.map_err(Failure::usage),
    }
    let option = format!("--set {name}");
    let node = parser::parse(text).map_err(|mistake| mistake.of(&option, text))?;
    let value = build::value(&node).map_err(|mistake| mistake.of(&option, text))?;
    let value = build::steps(name, estimator, value).map_err(|problem| Mistake::new(0, problem).of(&option, text))?;
    estimator.set(name, value).map_err(|error| Failure::usage(format!("{option}: {error}")))
}

/// The values of a list: `0.1, 1, 10`, with brackets around it if one likes; `[8], [16]` are two lists.
pub fn list(option: &str, text: &str) -> Result<Vec<Value>, Failure> {
    let moved = |mistake: Mistake| Mistake { at: mistake.at.saturating_sub(1), ..mistake }.of(option, text);
    let node = parser::parse(&format!("[{text}]")).map_err(moved)?;
    match build::value(&node).map_err(moved)? {
        Value::List(mut values) => match &mut values[..] {
            [Value::List(inner)] => Ok(std::mem::take(inner)),
            _ => Ok(values),
        },
        _ => Err(Failure::usage(format!("{option}: write values between commas"))),
    }
}
