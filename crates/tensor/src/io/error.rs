//! What can go wrong with a file: which file, where in it, what is wrong, what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An error of reading or writing an array file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried: `open`, `read`, `write` ...
        doing: &'static str,
        /// The system's own error.
        source: io::Error,
    },
    /// The target of a write is there already.
    #[error("{} exists already; choose another name, or replace it (`WriteOptions::overwrite`)", path.display())]
    Exists {
        /// The file that would have been replaced.
        path: PathBuf,
    },
    /// No array of that name in the file.
    #[error("{} has no array {name:?}; it has {}", path.display(), list(available))]
    NotFound {
        /// The file.
        path: PathBuf,
        /// The name asked for.
        name: String,
        /// The names that are there.
        available: Vec<String>,
    },
    /// The content is at fault: malformed, unsupported or beyond a limit.
    #[error("{}: {fault}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, where, and what to do.
        fault: Box<Fault>,
    },
}

impl FileError {
    /// The fault of the content, when the content is what is wrong.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            FileError::Content { fault, .. } => Some(fault),
            _ => None,
        }
    }
}

/// The ways in which content can be at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The bytes contradict the format or each other.
    Malformed,
    /// The file is in order but holds something this crate does not read.
    Unsupported,
    /// A limit that keeps hostile files from exhausting memory.
    TooLarge,
    /// What was to be written contradicts itself; nothing was written.
    Refused,
}

/// Something wrong with the content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which of the ways.
    pub kind: FaultKind,
    /// Where in the file.
    pub place: Place,
    /// What is wrong.
    pub problem: String,
    /// The sentence that fixes it.
    pub advice: &'static str,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}; {}", self.place, self.problem, self.advice)
    }
}

/// A place in a file: an entry or tensor, a byte offset, both or neither.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The archive entry or tensor, as in `tensor "fc.weight"`.
    pub item: Option<String>,
    /// Bytes from the start of the file (or of the archive entry).
    pub offset: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.item, self.offset) {
            (Some(item), Some(offset)) => write!(f, "{item}, byte {offset}: "),
            (Some(item), None) => write!(f, "{item}: "),
            (None, Some(offset)) => write!(f, "byte {offset}: "),
            (None, None) => Ok(()),
        }
    }
}

/// An error whose file is not known yet: parsers see bytes, not paths.
#[derive(Debug)]
pub(crate) enum Failure {
    Fault(Box<Fault>),
    Io(io::Error),
}

pub(crate) type Parsed<T> = Result<T, Failure>;

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Io(error)
    }
}

impl Failure {
    fn new(kind: FaultKind, problem: impl Into<String>, advice: &'static str) -> Self {
        Failure::Fault(Box::new(Fault { kind, place: Place::default(), problem: problem.into(), advice }))
    }

    /// The usual malformed file: there is nothing to do but to get another copy.
    #[cold]
    pub(crate) fn malformed(problem: impl Into<String>) -> Self {
        Failure::new(
            FaultKind::Malformed,
            problem,
            "the file is damaged or not of this format; fetch or write it again",
        )
    }

    /// A model file that is not as it was written.
    #[cold]
    pub(crate) fn damaged(problem: impl Into<String>) -> Self {
        let problem = format!("the file is damaged: {}", problem.into());
        Failure::new(FaultKind::Malformed, problem, "take it from a copy, or fit the model again")
    }

    #[cold]
    pub(crate) fn unsupported(problem: impl Into<String>, advice: &'static str) -> Self {
        Failure::new(FaultKind::Unsupported, problem, advice)
    }

    #[cold]
    pub(crate) fn too_large(problem: impl Into<String>, advice: &'static str) -> Self {
        Failure::new(FaultKind::TooLarge, problem, advice)
    }

    #[cold]
    pub(crate) fn refused(problem: impl Into<String>, advice: &'static str) -> Self {
        Failure::new(FaultKind::Refused, problem, advice)
    }

    /// Adds the entry or tensor, unless a deeper level has said it already.
    pub(crate) fn item(mut self, what: &str, name: &str) -> Self {
        if let Failure::Fault(fault) = &mut self
            && fault.place.item.is_none()
        {
            fault.place.item = Some(format!("{what} {}", quote(name)));
        }
        self
    }

    /// Adds the byte offset, unless a deeper level has said it already.
    pub(crate) fn offset(mut self, offset: u64) -> Self {
        if let Failure::Fault(fault) = &mut self {
            fault.place.offset.get_or_insert(offset);
        }
        self
    }

    /// Adds the file.
    pub(crate) fn file(self, path: &Path, doing: &'static str) -> FileError {
        match self {
            Failure::Fault(fault) => FileError::Content { path: path.to_owned(), fault },
            Failure::Io(source) => FileError::Io { path: path.to_owned(), doing, source },
        }
    }
}

/// A name out of a file, made fit to print: control characters escaped, length bounded.
pub(crate) fn quote(name: &str) -> String {
    const LONGEST: usize = 80;
    if name.chars().nth(LONGEST).is_none() {
        return format!("{name:?}");
    }
    let start: String = name.chars().take(LONGEST).collect();
    format!("{start:?}...")
}

fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let mut text = names.iter().take(SHOWN).map(|name| quote(name)).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text += &format!(" and {} more", names.len() - SHOWN);
    }
    if names.is_empty() { "none".to_owned() } else { text }
}
