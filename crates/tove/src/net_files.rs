//! What image and text models share: their errors, the ranges of their settings, and their files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tove_data::{DataError, Problem};
use tove_learn::LearnError;
use tove_nn::{ModuleExt, Progress, Trainer, TrainingReport};
use tove_tensor::Tensor;
use tove_tensor::io::{Container, FileError};

/// A result with this module's error.
pub type Result<T, E = ModelError> = std::result::Result<T, E>;

/// What went wrong with a model of images or texts. Every text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The images, the text or the tokens.
    #[error(transparent)]
    Data(Box<DataError>),
    /// The net or its training.
    #[error(transparent)]
    Net(Box<tove_nn::Error>),
    /// The classifier on features of a net, or a score.
    #[error(transparent)]
    Learn(Box<LearnError>),
    /// A file.
    #[error(transparent)]
    File(Box<FileError>),
    /// A setting outside its range.
    #[error("{name}{}: {problem}", shown(value))]
    Setting {
        /// The field.
        name: &'static str,
        /// Its value; empty where there is no single one.
        value: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A setting that does not suit the images, the text or the model.
    #[error("{name}{}: {problem}", shown(value))]
    Unsuited {
        /// The field.
        name: &'static str,
        /// Its value; empty where there is no single one.
        value: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// Images or a text that cannot be used.
    #[error("{0}")]
    Source(Problem),
    /// A file with another kind of model.
    #[error("{} holds a {found}, not a {expected}; load it as such", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// A file of a newer version.
    #[error("{} was written in version {version}; read it with a newer tove", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// A file that contradicts itself.
    #[error("{}: the file is damaged ({what}); fit the model again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
}

fn shown(value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" {value}") }
}

impl ModelError {
    #[cold]
    pub(crate) fn setting(name: &'static str, value: impl ToString, problem: impl Into<String>) -> ModelError {
        ModelError::Setting { name, value: value.to_string(), problem: problem.into() }
    }

    #[cold]
    pub(crate) fn unsuited(name: &'static str, value: impl ToString, problem: impl Into<String>) -> ModelError {
        ModelError::Unsuited { name, value: value.to_string(), problem: problem.into() }
    }

    #[cold]
    pub(crate) fn source(problem: impl Into<Problem>) -> ModelError {
        ModelError::Source(problem.into())
    }

    #[cold]
    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> ModelError {
        ModelError::Damaged { path: path.to_owned(), what: what.into() }
    }
}

macro_rules! from_errors {
    ($($error:ty => $variant:ident),* $(,)?) => {
        $(impl From<$error> for ModelError {
            fn from(error: $error) -> ModelError {
                ModelError::$variant(Box::new(error.into()))
            }
        })*
    };
}

from_errors!(
    DataError => Data,
    LearnError => Learn,
    tove_metrics::MetricError => Learn,
    tove_nn::Error => Net,
    tove_tensor::Error => Net,
    FileError => File,
);

/// How a training is watched.
#[derive(Clone, Debug)]
pub struct Watch {
    /// A file for the losses, a JSON object per line.
    pub log: Option<PathBuf>,
    /// Whether a progress bar is shown on standard error.
    pub progress: Progress,
    /// Whether Ctrl-C ends the training after the present step, with the best weights so far.
    pub interruptible: bool,
}

impl Default for Watch {
    /// Nothing is written, and nothing ends the training.
    fn default() -> Watch {
        Watch { log: None, progress: Progress::Silent, interruptible: false }
    }
}

impl Watch {
    /// The trainer, watched.
    pub(crate) fn over<'c>(&self, mut trainer: Trainer<'c>) -> Result<Trainer<'c>> {
        trainer = trainer.progress(self.progress);
        if let Some(log) = &self.log {
            trainer = trainer.log(log);
        }
        if self.interruptible {
            trainer = trainer.interruptible()?;
        }
        Ok(trainer)
    }
}

/// Checks that a fraction lies between 0 and 1.
pub(crate) fn fraction(name: &'static str, value: f64) -> Result<()> {
    let fine = value > 0.0 && value < 1.0;
    fine.then_some(()).ok_or_else(|| ModelError::setting(name, value, "give a fraction between 0 and 1"))
}

/// Checks that a number is positive.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<()> {
    let fine = value > 0.0 && value.is_finite();
    fine.then_some(()).ok_or_else(|| ModelError::setting(name, value, "give a positive number"))
}

/// Checks that a count lies between 1 and `most`.
pub(crate) fn count(name: &'static str, value: usize, most: usize) -> Result<()> {
    let fine = (1..=most).contains(&value);
    fine.then_some(()).ok_or_else(|| ModelError::setting(name, value, format!("give a number from 1 to {most}")))
}

/// Checks that a container is of this kind and no newer than version 1.
pub(crate) fn expect(container: &Container, path: &Path, kind: &'static str) -> Result<()> {
    if container.kind != kind {
        return Err(ModelError::Kind { path: path.to_owned(), found: container.kind.clone(), expected: kind });
    }
    if container.version > 1 {
        return Err(ModelError::Version { path: path.to_owned(), version: container.version });
    }
    Ok(())
}

/// Puts the tensors of a file into a net.
pub(crate) fn fill(net: &mut impl ModuleExt, container: &Container, path: &Path) -> Result<()> {
    let state: Vec<(String, Tensor)> = container.tensors.iter().map(|(n, x)| (n.clone(), x.clone())).collect();
    net.load_state(&state).map_err(|error| ModelError::damaged(path, error.to_string()))
}

/// The lowest validation loss and its step.
pub(crate) fn best(report: &TrainingReport) -> Value {
    report.best.map_or(Value::Null, |(loss, step)| json!({"loss": loss, "step": step}))
}

/// A score with its interval.
#[cfg(feature = "images")]
pub(crate) fn score(score: &tove_metrics::Score) -> Value {
    json!({"value": score.value, "interval": score.interval(), "n": score.n})
}

/// A size in a header.
pub(crate) fn size(header: &Value, name: &str) -> Option<usize> {
    header[name].as_u64().and_then(|value| usize::try_from(value).ok())
}

/// Several sizes in a header.
#[cfg(feature = "images")]
pub(crate) fn sizes(header: &Value, name: &str) -> Option<Vec<usize>> {
    let list = header[name].as_array()?;
    list.iter().map(|value| value.as_u64().and_then(|value| usize::try_from(value).ok())).collect()
}
