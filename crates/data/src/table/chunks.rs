//! A table's file in chunks, whatever its format.

use super::csv::{ChunkPlace, CsvChunks, CsvOptions, ReadReport};
#[cfg(feature = "parquet")]
use super::parquet::ParquetChunks;
use super::{Format, Schema, Table, TableFile, Wanted};
use crate::{DataError, Result};

/// Tables of some rows each, one after the other.
///
/// ```
/// use tove_data::table::{CsvOptions, TableFile, Wanted};
/// let path = std::env::temp_dir().join(format!("tove-pieces-{}.csv", std::process::id()));
/// std::fs::write(&path, "a,b\n1,x\n2,y\n3,z\n")?;
/// let chunks = TableFile::open(&path)?.chunks(&CsvOptions::new(), 2, &Wanted::default())?;
/// assert_eq!(chunks.names(), ["a", "b"]);
/// let sizes: Vec<usize> = chunks.map(|table| table.map(|table| table.n_rows())).collect::<Result<_, _>>()?;
/// assert_eq!(sizes, [2, 1]);
/// std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TableChunks(Source);

enum Source {
    Csv(Box<CsvChunks>),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetChunks>),
    /// Parquet has its metadata at the end, so that a pipe must be read first.
    Whole {
        names: Vec<String>,
        table: Box<Option<Table>>,
        report: Box<ReadReport>,
    },
}

impl TableFile {
    /// Reads the file in tables of `rows` rows. JSON, and Parquet from a pipe, are read into memory first.
    ///
    /// # Errors
    /// As [`TableFile::read`]; or if `rows` is zero.
    pub fn chunks(self, options: &CsvOptions, rows: usize, wanted: &Wanted) -> Result<TableChunks> {
        Ok(TableChunks(match self.format() {
            Format::Csv | Format::Json => Source::Csv(Box::new(self.csv_chunks(options, rows)?)),
            #[cfg(feature = "parquet")]
            Format::Parquet if !self.reads_once() => {
                Source::Parquet(Box::new(ParquetChunks::open_wanted(self.path(), rows, wanted)?))
            }
            Format::Parquet => {
                let (table, report) = self.read(options, wanted)?;
                let names = table.names().to_vec();
                Source::Whole { names, table: Box::new(Some(table)), report: Box::new(report) }
            }
        }))
    }
}

impl TableChunks {
    /// Names of the columns.
    pub fn names(&self) -> &[String] {
        match &self.0 {
            Source::Csv(chunks) => chunks.names(),
            #[cfg(feature = "parquet")]
            Source::Parquet(chunks) => chunks.names(),
            Source::Whole { names, .. } => names,
        }
    }

    /// What was read so far.
    pub fn report(&self) -> &ReadReport {
        match &self.0 {
            Source::Csv(chunks) => chunks.report(),
            #[cfg(feature = "parquet")]
            Source::Parquet(chunks) => chunks.report(),
            Source::Whole { report, .. } => report,
        }
    }

    /// The columns as a schema, all of them features; for Parquet by a pass over the whole file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn schema(self) -> Result<Schema> {
        match self.0 {
            Source::Csv(chunks) => Ok(chunks.schema()),
            #[cfg(feature = "parquet")]
            Source::Parquet(chunks) => chunks.schema(),
            Source::Whole { table, .. } => Ok(table.as_ref().as_ref().map_or_else(Schema::default, Schema::of)),
        }
    }

    /// Where the last table lies in the file; nothing where it could not be read again from there.
    pub fn place(&self) -> Option<ChunkPlace> {
        match &self.0 {
            Source::Csv(chunks) => chunks.place(),
            _ => None,
        }
    }

    /// Reads a table again from its [`place`](TableChunks::place).
    ///
    /// # Errors
    /// If the file has changed, or has no places.
    pub fn read_again(&mut self, place: ChunkPlace) -> Result<Table> {
        match &mut self.0 {
            Source::Csv(chunks) => chunks.read_again(place),
            _ => Err(DataError::parameter("TableChunks", "only CSV files are read again from a place")),
        }
    }
}

impl Iterator for TableChunks {
    type Item = Result<Table>;

    fn next(&mut self) -> Option<Result<Table>> {
        match &mut self.0 {
            Source::Csv(chunks) => chunks.next(),
            #[cfg(feature = "parquet")]
            Source::Parquet(chunks) => chunks.next(),
            Source::Whole { table, .. } => table.take().map(Ok),
        }
    }
}
