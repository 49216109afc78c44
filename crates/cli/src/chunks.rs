//! Tables read in chunks, in constant memory: CSV from files and pipes, Parquet files.

use std::cell::RefCell;
use std::rc::Rc;

use tove::data::DataError;
use tove::data::table::csv::CsvChunks;
use tove::data::table::parquet::ParquetChunks;
use tove::data::table::{Column, CsvOptions, Format, Kind, Table, TableFile, Wanted};
use tove::tabular::TabularModel;

use crate::failure::Failure;
use crate::tables;

/// Most values in a chunk.
const CHUNK: usize = 1 << 20;

/// What reading changed, known at the end of the file.
pub type Notes = Rc<RefCell<Vec<String>>>;

/// Chunks of a table.
pub struct TableChunks {
    source: Source,
    names: Vec<String>,
    wanted: Wanted,
    notes: Notes,
}

enum Source {
    Csv(Box<CsvChunks>),
    Parquet(Box<ParquetChunks>),
    /// Parquet has its metadata at the end, so that a pipe must be read first.
    Whole(Box<Option<Table>>),
}

impl TableChunks {
    /// The rows of a file for a model to predict; CSV is read by `options`. Of the columns only those in `only` are returned, as
    /// far as they exist.
    pub fn new(
        file: TableFile,
        options: &CsvOptions,
        model: &TabularModel,
        only: Vec<String>,
    ) -> Result<TableChunks, Failure> {
        let width = model.encoder().feature_names().len().max(model.schema().fields().len());
        let rows = (CHUNK / width.max(1)).clamp(256, 1 << 16);
        let wanted = Wanted { only: Some(only), unneeded: Vec::new() };
        let failed = |error: DataError| match error {
            DataError::NoColumn { .. } => Failure::usage(format!("--type: {error}")),
            other => Failure::from(other),
        };
        let (source, names) = match file.format() {
            Format::Parquet if file.reads_once() => {
                let (whole, _) = file.read(options, &wanted).map_err(failed)?;
                let names = whole.names().to_vec();
                (Source::Whole(Box::new(Some(whole))), names)
            }
            Format::Parquet => {
                let chunks = ParquetChunks::open_wanted(file.path(), rows, &wanted).map_err(failed)?;
                let names = chunks.names().to_vec();
                (Source::Parquet(Box::new(chunks)), names)
            }
            _ => {
                let chunks = file.csv_chunks(options, rows).map_err(failed)?;
                let names = chunks.names().to_vec();
                (Source::Csv(Box::new(chunks)), names)
            }
        };
        Ok(TableChunks { source, names, wanted, notes: Notes::default() })
    }

    /// The columns of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The column names as a table without rows, for messages about a missing column, which may be misspelled.
    pub fn header(&self) -> Result<Table, Failure> {
        Ok(Table::new(self.names.iter().map(|name| (name.clone(), Column::blank(Kind::Text, 0))))?)
    }

    /// What reading changed, filled in at the end of the file.
    pub fn notes(&self) -> Notes {
        Rc::clone(&self.notes)
    }
}

impl Iterator for TableChunks {
    type Item = Result<Table, Failure>;

    fn next(&mut self) -> Option<Result<Table, Failure>> {
        let next = match &mut self.source {
            Source::Csv(chunks) => chunks.next().or_else(|| {
                *self.notes.borrow_mut() = tables::notes(chunks.report());
                None
            }),
            Source::Parquet(chunks) => chunks.next(),
            Source::Whole(whole) => whole.take().map(Ok),
        };
        let table = match next? {
            Ok(table) => table,
            Err(error) => return Some(Err(Failure::from(error))),
        };
        let Some(only) = &self.wanted.only else { return Some(Ok(table)) };
        let here: Vec<&String> = only.iter().filter(|name| table.has(name)).collect();
        Some(table.select(&here).map_err(Failure::from))
    }
}
