//! Errors: invalid arguments, invalid files, missing data sets.

use std::path::PathBuf;

use tove_tensor::io::FileError;

use crate::{Problem, Remedy};

/// An error of this crate. Every text says what is wrong and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A tensor operation refused.
    #[error(transparent)]
    Tensor(#[from] tove_tensor::Error),
    /// A file could not be read or written; names the file, the byte and what to do.
    #[error(transparent)]
    File(#[from] FileError),
    /// A sample that the set does not have.
    #[error("sample {index} does not exist: the set has {len} samples, numbered from 0")]
    Index {
        /// The sample asked for.
        index: usize,
        /// Number of samples.
        len: usize,
    },
    /// Inputs and targets of different numbers of samples.
    #[error("{x} inputs and {y} targets: give both the same first axis, one row per sample")]
    Lengths {
        /// Size of the first axis of the inputs.
        x: usize,
        /// Size of the first axis of the targets.
        y: usize,
    },
    /// A parameter outside its range.
    #[error("{what}: {problem}")]
    Parameter {
        /// The function or type.
        what: &'static str,
        /// What is wrong and what is accepted.
        problem: Problem,
    },
    /// A tensor that is not a batch of images.
    #[error("{what}: {problem}; images are (N, C, H, W) of type f32 or f64, or u8 before conversion")]
    Images {
        /// The transformation.
        what: &'static str,
        /// What is wrong with the tensor.
        problem: String,
    },
    /// A character without a token.
    #[error(
        "character {character:?} at position {position} is not in the vocabulary of {size} characters; \
             build the vocabulary from a text that has it, or remove it"
    )]
    Character {
        /// The character.
        character: char,
        /// Its place in the text, counted in characters from 0.
        position: usize,
        /// Characters in the vocabulary.
        size: usize,
    },
    /// A token without a character.
    #[error("token {token} at position {position} is outside the vocabulary of {size} tokens, numbered from 0")]
    Token {
        /// The token.
        token: i64,
        /// Its place, from 0.
        position: usize,
        /// Tokens in the vocabulary.
        size: usize,
    },
    /// A text without characters.
    #[error("{0}: the text is empty; give at least one character")]
    EmptyText(&'static str),
    /// The tokenizer's own error.
    #[error("{doing}: {problem}")]
    Tokenizer {
        /// What was tried.
        doing: &'static str,
        /// What the tokenizer says.
        problem: String,
    },
    /// A data set that is not on this machine.
    #[error(
        "{set} was not found{}; {advice}, and name the folder that holds {set}/ by argument or in TOVE_DATA",
        places(looked)
    )]
    Missing {
        /// The set.
        set: &'static str,
        /// Files that were looked for.
        looked: Vec<PathBuf>,
        /// Where it can be had.
        advice: &'static str,
    },
    /// A column that the table does not have.
    #[error("there is no column {name:?}{}; the columns are {}", meant(nearest), names(available))]
    NoColumn {
        /// The name asked for.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
        /// The names that are there.
        available: Vec<String>,
    },
    /// A column of another length than the others.
    #[error("column {column:?} has {rows} rows, the others have {others}; give every column the same number of rows")]
    ColumnLength {
        /// The column.
        column: String,
        /// Its length.
        rows: usize,
        /// The others' length.
        others: usize,
    },
    /// A value of a file that cannot be what its column is.
    #[error("{file}, line {line}, column {column:?}: {} {problem}", shown(value))]
    Value {
        /// The file.
        file: String,
        /// The line, counted from 1; in Parquet files the row.
        line: u64,
        /// The column.
        column: String,
        /// The value as it stands in the file.
        value: String,
        /// What is wrong and what to do.
        problem: Problem,
    },
    /// A row of a file that is at fault as a whole.
    #[error("{file}, line {line}: {problem}")]
    Row {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong and what to do.
        problem: Problem,
    },
    /// A table with more rows or columns than it may have.
    #[error("{file}: more than {most} {what}; send or read it in parts")]
    TooLarge {
        /// The file.
        file: String,
        /// `rows` or `columns`.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
    /// A file that is not a table.
    #[error("{file}: {problem}")]
    TableFile {
        /// The file.
        file: String,
        /// What is wrong and what to do.
        problem: Problem,
    },
    /// A column that is not what the schema asks for.
    #[error("column {column:?} {problem}")]
    Schema {
        /// The column.
        column: String,
        /// What is wrong and what to do.
        problem: Problem,
    },
    /// Something asked for that does not suit the kind of task.
    #[error("{what} needs {needs}, but the target is for {task}; choose another, or another kind of task")]
    TaskMismatch {
        /// What was asked for.
        what: String,
        /// The kinds it works for.
        needs: &'static str,
        /// The task at hand.
        task: crate::table::Task,
    },
}

/// A result with this crate's error.
pub type Result<T, E = DataError> = std::result::Result<T, E>;

impl DataError {
    #[cold]
    pub(crate) fn parameter(what: &'static str, problem: impl Into<Problem>) -> DataError {
        DataError::Parameter { what, problem: problem.into() }
    }

    /// The settings that would avoid the error.
    pub fn remedies(&self) -> &[Remedy] {
        match self {
            DataError::Parameter { problem, .. }
            | DataError::Value { problem, .. }
            | DataError::Row { problem, .. }
            | DataError::TableFile { problem, .. }
            | DataError::Schema { problem, .. } => problem.remedies(),
            _ => &[],
        }
    }

    /// The error with its [`remedies`](DataError::remedies) in the caller's words.
    #[must_use]
    pub fn reworded(mut self, words: fn(&Remedy) -> String) -> DataError {
        if let DataError::Parameter { problem, .. }
        | DataError::Value { problem, .. }
        | DataError::Row { problem, .. }
        | DataError::TableFile { problem, .. }
        | DataError::Schema { problem, .. } = &mut self
        {
            problem.reword(words);
        }
        self
    }
}

fn places(looked: &[PathBuf]) -> String {
    let list: Vec<String> = looked.iter().map(|path| path.display().to_string()).collect();
    if list.is_empty() { " (no data folder is known)".to_owned() } else { format!(" (looked for {})", list.join(", ")) }
}

fn meant(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean {name:?}?"))
}

fn names(available: &[String]) -> String {
    const SHOWN: usize = 12;
    let list: Vec<String> = available.iter().take(SHOWN).map(|name| shown(name)).collect();
    let more = available.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    if list.is_empty() { "none".to_owned() } else { list.join(", ") + &rest }
}

/// A text out of a file, made fit to print: control characters escaped, length bounded.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let start: String = text.chars().take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_none() { format!("{text:?}") } else { format!("{start:?}…") }
}
