//! A file with a table in it, opened once.

use std::path::Path;

use super::csv::input::{Input, is_binary};
use super::csv::{CsvChunks, CsvOptions, ReadReport};
use super::{Table, json};
use crate::{DataError, Result};

/// What a file of a table is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Fields with a character between them.
    Csv,
    /// JSON: a list of objects, or objects one after the other (JSON lines).
    Json,
    /// Parquet.
    Parquet,
}

/// Bytes that show what a file is.
const HEAD: usize = 1 << 12;

/// A file with a table, or the standard input for `-`. It is opened once, so that a pipe loses nothing: what the file is, is seen
/// from bytes that stay in a buffer until they are read.
///
/// ```
/// use tove_data::table::{CsvOptions, Format, TableFile};
/// let path = std::env::temp_dir().join(format!("tove-file-{}.jsonl", std::process::id()));
/// std::fs::write(&path, "{\"a\": 1, \"b\": \"x\"}\n{\"b\": \"y\", \"a\": 2.5}\n")?;
/// let file = TableFile::open(&path)?;
/// assert_eq!((file.format(), file.reads_once()), (Format::Json, false));
/// let (table, _) = file.read(&CsvOptions::new(), &Default::default())?;
/// assert_eq!((table.names(), table.n_rows()), (&["a".to_owned(), "b".to_owned()][..], 2));
/// std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TableFile {
    pub(super) input: Input,
    format: Format,
}

/// Which columns of a file are read. CSV and JSON files are always read whole.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only these, as far as they are there; all if there is no list.
    pub only: Option<Vec<String>>,
    /// Nobody needs the values of these: where they are of a kind that a table cannot hold, such as lists, they are missing.
    pub unneeded: Vec<String>,
}

impl TableFile {
    /// Opens a file and looks at its beginning.
    ///
    /// # Errors
    /// If it cannot be opened or read, is a folder, or is neither text nor Parquet.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let mut input = Input::open(path.as_ref())?;
        let head = input.look(HEAD)?;
        let format = match head {
            _ if head.starts_with(b"PAR1") => Format::Parquet,
            _ if json::begins(head) => Format::Json,
            _ => Format::Csv,
        };
        if format == Format::Csv && is_binary(head) {
            let problem = "is binary, not text; give a CSV, JSON or Parquet file".to_owned();
            return Err(DataError::TableFile { file: input.name, problem: problem.into() });
        }
        Ok(Self { input, format })
    }

    /// The name that errors and reports show.
    pub fn name(&self) -> &str {
        &self.input.name
    }

    /// The path that was opened; `-` for the standard input.
    pub fn path(&self) -> &Path {
        self.input.path()
    }

    /// Whether it is packed with gzip.
    pub fn is_packed(&self) -> bool {
        self.input.is_packed()
    }

    /// What it is.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether it gives its bytes only once: the standard input, pipes and devices.
    pub fn reads_once(&self) -> bool {
        !self.input.is_regular()
    }

    /// The length of a regular file, packed as it may be.
    pub fn size(&self) -> Option<u64> {
        self.input.size()
    }

    /// Reads all rows. Parquet needs the feature `parquet`.
    ///
    /// # Errors
    /// As [`CsvOptions::read`] and [`read_parquet`](super::parquet::read_parquet).
    pub fn read(self, options: &CsvOptions, wanted: &Wanted) -> Result<(Table, ReadReport)> {
        match self.format {
            Format::Csv => options.read_input(self.input),
            Format::Json => {
                let (options, input) = json::as_csv(options, self.input)?;
                options.read_input(input)
            }
            Format::Parquet => parquet(self.input, wanted),
        }
    }

    /// Reads a CSV or JSON file in tables of `rows` rows; see [`CsvOptions::chunks`]. JSON is read into memory first.
    ///
    /// # Errors
    /// As [`CsvOptions::chunks`].
    pub(super) fn csv_chunks(self, options: &CsvOptions, rows: usize) -> Result<CsvChunks> {
        match self.format {
            Format::Json => {
                let (options, input) = json::as_csv(options, self.input)?;
                CsvChunks::open(&options, input, rows)
            }
            _ => CsvChunks::open(options, self.input, rows),
        }
    }
}

#[cfg(feature = "parquet")]
fn parquet(input: Input, wanted: &Wanted) -> Result<(Table, ReadReport)> {
    let name = input.name.clone();
    super::parquet::read_whole(&name, input.read_all()?, wanted)
}

#[cfg(not(feature = "parquet"))]
fn parquet(input: Input, _: &Wanted) -> Result<(Table, ReadReport)> {
    let problem = "is a Parquet file, which this build cannot read; enable the feature `parquet`".to_owned();
    Err(DataError::TableFile { file: input.name, problem: problem.into() })
}
