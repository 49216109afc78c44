//! What can go wrong with nets and their training.

use tove_data::DataError;
use tove_tensor::Shape;
use tove_tensor::io::FileError;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a net, its weights or its training.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A tensor operation refused its operands.
    #[error(transparent)]
    Tensor(#[from] tove_tensor::Error),
    /// A file could not be read or written.
    #[error(transparent)]
    File(Box<FileError>),
    /// Weights do not fit the net: parameters without weights, or weights without a parameter.
    #[error("the weights do not fit the net: {}", lists(missing, unknown))]
    Weights {
        /// Parameters and buffers of the net that got no value.
        missing: Vec<String>,
        /// Names that the net does not have.
        unknown: Vec<String>,
    },
    /// A weight of another shape.
    #[error("{name}: the net has shape {expected}, the weights {found}")]
    WeightShape {
        /// The parameter or buffer.
        name: String,
        /// The net's shape.
        expected: Box<Shape>,
        /// The shape given.
        found: Box<Shape>,
    },
    /// No part of that name.
    #[error("the net has no part {name:?}; {}", nearest(nearest_name))]
    UnknownPart {
        /// The name asked for.
        name: String,
        /// A name that is there and reads like it.
        nearest_name: Option<String>,
    },
    /// A data set could not give its samples.
    #[error(transparent)]
    Data(Box<DataError>),
    /// The loss, a gradient or a parameter is no longer finite.
    #[error("training diverged after {step} steps: {reason}")]
    Diverged {
        /// Steps taken before.
        step: u64,
        /// The loss of the step, which may be finite while a gradient is not; NaN if it is not known.
        value: f64,
        /// The likely reason and what to do.
        reason: String,
    },
    /// A setting out of its range.
    #[error("{what}: {name} {problem}")]
    Setting {
        /// The layer, net or trainer.
        what: &'static str,
        /// The setting.
        name: &'static str,
        /// What is wrong and what to do.
        problem: Box<str>,
    },
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Error {
        Error::File(Box::new(error))
    }
}

impl From<DataError> for Error {
    fn from(error: DataError) -> Error {
        Error::Data(Box::new(error))
    }
}

impl Error {
    /// A setting out of its range.
    pub fn setting(what: &'static str, name: &'static str, problem: impl Into<Box<str>>) -> Error {
        Error::Setting { what, name, problem: problem.into() }
    }
}

/// Unwraps in constructors of layers, which panic with the message of their `try_` twin, as constructors of tensors do.
pub(crate) trait OrPanic<T> {
    /// The value, or a panic with the error's text.
    fn or_panic(self) -> T;
}

impl<T> OrPanic<T> for Result<T> {
    #[track_caller]
    fn or_panic(self) -> T {
        match self {
            Ok(value) => value,
            Err(error) => panic!("{error}"),
        }
    }
}

/// What is missing and what is unknown, where there is any.
fn lists(missing: &[String], unknown: &[String]) -> String {
    let lists = [("missing", missing), ("unknown", unknown)];
    let lists = lists.into_iter().filter(|(_, names)| !names.is_empty()).map(|(what, names)| list(what, names));
    lists.collect::<Vec<_>>().join("; ")
}

/// At most eight names.
fn list(what: &str, names: &[String]) -> String {
    let more = if names.len() > 8 { format!(" and {} more", names.len() - 8) } else { String::new() };
    format!("{what} {}{more}", names[..names.len().min(8)].join(", "))
}

fn nearest(name: &Option<String>) -> String {
    match name {
        Some(name) => format!("did you mean {name:?}?"),
        None => "list them with `named_parameters` or `summary`".into(),
    }
}

/// The candidate with the fewest edits to `name`, if it is near.
pub(crate) fn nearest_name<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let (distance, best) = candidates.map(|other| (strsim::levenshtein(name, other), other)).min()?;
    (distance <= 2.max(name.len() / 3)).then(|| best.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["layers.0.weight", "head.bias"];
        assert_eq!(nearest_name("layer.0.weight", names.into_iter()).as_deref(), Some("layers.0.weight"));
        assert_eq!(nearest_name("completely other", names.into_iter()), None);
    }

    #[test]
    fn long_lists_are_cut() {
        let missing: Vec<String> = (0..10).map(|i| format!("w{i}")).collect();
        let other = Error::Weights { missing: Vec::new(), unknown: vec!["x".into()] }.to_string();
        assert_eq!(other, "the weights do not fit the net: unknown x");
        let text = Error::Weights { missing, unknown: vec!["x".into()] }.to_string();
        assert!(
            text.contains("missing w0, w1") && text.contains("w7 and 2 more") && text.contains("unknown x"),
            "{text}"
        );
    }
}
