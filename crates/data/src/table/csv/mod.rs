//! CSV files to tables and back.
//!
//! The delimiter is found among comma, semicolon, tab and bar; quotes may enclose delimiters, newlines and doubled quotes
//! (RFC 4180); UTF-8 with or without a byte-order mark, otherwise Latin-1; gzip is unpacked; `-` is the standard input. Pipes are
//! read once, from the first byte on.
//!
//! **Kinds** are inferred over the whole file by widening, never from a sample: integers (without leading zeros: `007` is
//! a name) widen to floats; a column in which all numbers are written with separators of thousands (1,234.5) or with a decimal
//! comma is float too, if they can be read in one way only; `true`/`false`; ISO dates and times; everything else is strings, *categorical* if there are at
//! most max(20, present / 4) different ones (and at most [`CsvOptions::max_categories`]), none longer than 200 bytes,
//! and *text* otherwise. [`CsvOptions::kind`] overrides.
//!
//! **Missing** are empty fields and [`MISSING`] tokens. In a column of strings a field in quotes is meant as it stands:
//! `""` is the empty string, `"NA"` is Namibia.
//!
//! The file is cut into blocks of fixed size at record boundaries, found by the parity of quotes before them and checked
//! when the block before ends; blocks are parsed in parallel, from a buffer for each thread. The result does not depend on the number of threads.

mod block;
mod body;
mod dialect;
pub(in crate::table) mod dictionary;
mod header;
pub(in crate::table) mod input;
pub(in crate::table) mod merge;
mod not_numeric;
mod number_format;
mod numbers;
mod read;
mod report;
mod stream;
mod tokens;
mod write;

use std::path::Path;

use super::{Kind, Schema, Table, TableFile, Unit};
use crate::{DataError, Result};
use block::Rules;
use input::Input;
use tokens::Dialect;

pub use number_format::NumberFormat;
pub use report::{ColumnReport, NotNumbers, ReadReport};
pub use stream::{ChunkPlace, CsvChunks};

/// Fields that mean a missing value, besides the empty one.
pub const MISSING: [&str; 17] = [
    "NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "Null", "None", "<NA>", "#N/A", "#NA", "NaT",
    "?", "#N/A N/A",
];

/// What to do with rows that have another number of fields than the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ragged {
    /// They are errors with file, line and value.
    #[default]
    Error,
    /// They are dropped and counted.
    Drop,
}

/// How bytes become characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8 if the whole file is, otherwise Latin-1.
    #[default]
    Auto,
    /// UTF-8; anything else is an error.
    Utf8,
    /// Latin-1, with Windows' additions.
    Latin1,
}

/// How to read a CSV file; see the [module](self).
///
/// ```
/// use tove_data::table::{CsvOptions, Kind};
/// let csv = "zip;price\n01234;3.5\n99999;\n";
/// let (table, report) = CsvOptions::new().kind("zip", Kind::Text).read_bytes(csv.as_bytes())?;
/// assert_eq!(table.column("zip")?.text(0).as_deref(), Some("01234"));
/// assert_eq!((report.delimiter.as_str(), report.columns[1].kind, report.columns[1].missing), (";", Kind::Float, 1));
/// # Ok::<(), tove_data::DataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CsvOptions {
    delimiter: Option<u8>,
    header: bool,
    ragged: Ragged,
    charset: Charset,
    kinds: Vec<(String, Kind)>,
    /// Kinds of columns that may be absent, from a schema.
    expected: Vec<(String, Kind)>,
    /// Units of date columns, from a schema; otherwise chunks of a column whose kind is given have microseconds.
    units: Vec<(String, Unit)>,
    /// How numbers are written, from a schema.
    formats: Vec<(String, NumberFormat)>,
    /// The kind of all other columns, instead of inferring it.
    rest: Option<Kind>,
    missing: Vec<String>,
    quoted_missing: bool,
    decimal_comma: bool,
    trim: bool,
    coerce: bool,
    max_categories: usize,
    max_rows: usize,
    max_columns: usize,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self {
            delimiter: None,
            header: true,
            ragged: Ragged::Error,
            charset: Charset::Auto,
            kinds: Vec::new(),
            expected: Vec::new(),
            units: Vec::new(),
            formats: Vec::new(),
            rest: None,
            missing: MISSING.iter().map(|&token| token.to_owned()).collect(),
            quoted_missing: false,
            decimal_comma: false,
            trim: true,
            coerce: false,
            max_categories: 1000,
            max_rows: usize::MAX,
            max_columns: usize::MAX,
        }
    }
}

impl CsvOptions {
    /// Everything found from the file, which has a header.
    pub fn new() -> Self {
        Self::default()
    }

    /// The delimiter, instead of finding it.
    pub fn delimiter(mut self, delimiter: u8) -> Self {
        self.delimiter = Some(delimiter);
        self
    }

    /// Whether the first record names the columns; otherwise they are called `column_1`, `column_2` …
    pub fn header(mut self, header: bool) -> Self {
        self.header = header;
        self
    }

    /// What to do with rows of another length.
    pub fn ragged(mut self, ragged: Ragged) -> Self {
        self.ragged = ragged;
        self
    }

    /// How bytes become characters.
    pub fn charset(mut self, charset: Charset) -> Self {
        self.charset = charset;
        self
    }

    /// What a column holds, instead of inferring it. Numbers may then have leading zeros, truth values may be 1 and 0,
    /// yes and no.
    pub fn kind(mut self, column: impl Into<String>, kind: Kind) -> Self {
        self.kinds.push((column.into(), kind));
        self
    }

    /// Columns of a schema are read as it says; columns of the schema may be absent, and others present. A column of integers may
    /// hold other numbers now, and then is float.
    pub fn schema(mut self, schema: &Schema) -> Self {
        self.expected = schema.fields().iter().map(|field| (field.name.clone(), field.kind)).collect();
        let dated = schema.fields().iter().filter_map(|field| Some((field.name.clone(), field.unit?)));
        self.units = dated.collect();
        let written = schema.fields().iter().filter_map(|field| Some((field.name.clone(), field.format?)));
        self.formats = written.collect();
        self
    }

    /// What all columns hold that neither [`CsvOptions::kind`] nor [`CsvOptions::schema`] speaks of, instead of inferring
    /// it: with a schema and this, a file is read in one pass, and the standard input in chunks.
    pub fn rest(mut self, kind: Kind) -> Self {
        self.rest = Some(kind);
        self
    }

    /// Tokens that mean a missing value, instead of [`MISSING`]. The empty field always does.
    pub fn missing_tokens<S: Into<String>>(mut self, tokens: impl IntoIterator<Item = S>) -> Self {
        self.missing = tokens.into_iter().map(Into::into).collect();
        self
    }

    /// Whether `""` and quoted tokens are missing in columns of strings too; for files that quote everything.
    pub fn quoted_missing(mut self, missing: bool) -> Self {
        self.quoted_missing = missing;
        self
    }

    /// Whether numbers have a comma for the point: 3,14.
    pub fn decimal_comma(mut self, comma: bool) -> Self {
        self.decimal_comma = comma;
        self
    }

    /// Whether blanks around fields without quotes go; they do unless this says no.
    pub fn trim(mut self, trim: bool) -> Self {
        self.trim = trim;
        self
    }

    /// Values that do not fit a given kind become missing and are counted, instead of being errors.
    pub fn coerce(mut self, coerce: bool) -> Self {
        self.coerce = coerce;
        self
    }

    /// A column with more different strings than this is text (1000 unless given).
    pub fn max_categories(mut self, most: usize) -> Self {
        self.max_categories = most;
        self
    }

    /// A table with more rows than this is [`DataError::TooLarge`]; dropped rows count. The rows behind the limit are not
    /// looked at, and memory stays that of the rows before it. Chunks have no such limit.
    ///
    /// ```
    /// use tove_data::{DataError, table::CsvOptions};
    /// let read = CsvOptions::new().max_rows(2).read_bytes(b"a\n1\n2\n3\n");
    /// assert!(matches!(read, Err(DataError::TooLarge { what: "rows", most: 2, .. })));
    /// ```
    pub fn max_rows(mut self, most: usize) -> Self {
        self.max_rows = most;
        self
    }

    /// A table whose header has more fields than this is [`DataError::TooLarge`].
    pub fn max_columns(mut self, most: usize) -> Self {
        self.max_columns = most;
        self
    }

    /// Reads a file, or the standard input for `-`.
    ///
    /// # Errors
    /// If the file cannot be read, is empty, names two columns alike, or has a row or value that does not fit; the
    /// error says which file, line, column and value.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<(Table, ReadReport)> {
        self.read_input(TableFile::open(path)?.input)
    }

    /// Reads a file that has been opened.
    pub(in crate::table) fn read_input(&self, input: Input) -> Result<(Table, ReadReport)> {
        if let Some(read) = input.file().and_then(|file| read::on_disk(self, &input.name, file)) {
            return Ok(read);
        }
        let name = input.name.clone();
        read::whole(self, &name, &input.read_all()?)
    }

    /// The options for rows that were JSON, whose numbers are written in one way only.
    pub(in crate::table) fn for_json(mut self) -> Self {
        self.formats.clear();
        self.delimiter(b',').header(true).charset(Charset::Utf8).decimal_comma(false).trim(false)
    }

    /// Reads bytes in memory, packed or not.
    ///
    /// # Errors
    /// As [`CsvOptions::read`].
    pub fn read_bytes(&self, bytes: &[u8]) -> Result<(Table, ReadReport)> {
        self.read_named("bytes", bytes)
    }

    /// The same for bytes that errors and the report call `name`.
    ///
    /// # Errors
    /// As [`CsvOptions::read`].
    pub fn read_named(&self, name: &str, bytes: &[u8]) -> Result<(Table, ReadReport)> {
        if bytes.starts_with(&[0x1f, 0x8b]) {
            return read::whole(self, name, &Input::unpacking(name, bytes.to_vec())?.read_all()?);
        }
        read::whole(self, name, bytes)
    }

    /// Reads a file in tables of `rows` rows (the last may have fewer), in memory that does not grow with the file.
    ///
    /// Kinds that are not given are inferred by a first pass over the file, so that they are those of
    /// [`CsvOptions::read`]; the standard input can be read only once, so there all kinds must be given, by
    /// [`CsvOptions::schema`] for example.
    ///
    /// ```
    /// use tove_data::table::CsvOptions;
    /// let path = std::env::temp_dir().join(format!("tove-chunks-{}.csv", std::process::id()));
    /// std::fs::write(&path, "a\n1\n2\n3.5\n")?;
    /// let sizes: Vec<usize> =
    ///     CsvOptions::new().chunks(&path, 2)?.map(|table| table.map(|t| t.n_rows())).collect::<Result<_, _>>()?;
    /// assert_eq!(sizes, [2, 1]);
    /// std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`CsvOptions::read`]; or if `rows` is zero.
    pub fn chunks(&self, path: impl AsRef<Path>, rows: usize) -> Result<CsvChunks> {
        TableFile::open(path)?.csv_chunks(self, rows)
    }

    fn rules(&self, file: &str, text: &[u8]) -> Result<Rules> {
        let newline = dialect::newline(text);
        let delimiter = self.delimiter.unwrap_or_else(|| dialect::delimiter(text, newline, self.trim));
        if !delimiter.is_ascii() || matches!(delimiter, b'"' | b'\n' | b'\r') {
            let problem = format!("{:?} cannot separate fields; use one ASCII character", char::from(delimiter));
            return Err(DataError::TableFile { file: file.to_owned(), problem: problem.into() });
        }
        let mut missing_lengths = vec![0u64; 256];
        for token in &self.missing {
            let bit = 1 << token.len().min(63);
            token.as_bytes().first().into_iter().for_each(|&byte| missing_lengths[byte as usize] |= bit);
        }
        // A tab that separates is no blank; the tokeniser takes it away before blanks are trimmed.
        Ok(Rules {
            dialect: Dialect { delimiter, newline, trim: self.trim },
            missing: self.missing.clone(),
            missing_lengths,
            quoted_missing: self.quoted_missing,
            decimal_comma: self.decimal_comma,
            coerce: self.coerce,
            max_categories: self.max_categories,
        })
    }
}

/// Reads a CSV file with everything found from the file; see [`CsvOptions`].
///
/// ```no_run
/// let (table, report) = tove_data::table::read_csv("data/german-credit.csv")?;
/// println!("{table}\n{}\n{:?}", table.describe(), report.notes());
/// # Ok::<(), tove_data::DataError>(())
/// ```
///
/// # Errors
/// As [`CsvOptions::read`].
pub fn read_csv(path: impl AsRef<Path>) -> Result<(Table, ReadReport)> {
    CsvOptions::new().read(path)
}
