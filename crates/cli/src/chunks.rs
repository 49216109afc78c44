//! Tables read in chunks, in constant memory: CSV from files and pipes, Parquet files.

use std::cell::RefCell;
use std::rc::Rc;

use tove::data::DataError;
use tove::data::table::{Column, CsvOptions, Kind, Table, TableChunks, TableFile, Wanted};
use tove::tabular::TabularModel;

use crate::failure::Failure;
use crate::tables;

/// Most values in a chunk.
const CHUNK: usize = 1 << 20;

/// What reading changed, known at the end of the file.
pub type Notes = Rc<RefCell<Vec<String>>>;

/// Chunks of a table for a model to predict.
pub struct Chunks {
    tables: TableChunks,
    wanted: Wanted,
    notes: Notes,
}

impl Chunks {
    /// The rows of a file for a model to predict; CSV is read by `options`. Of the columns only those in `only` are returned, as
    /// far as they exist.
    pub fn new(
        file: TableFile,
        options: &CsvOptions,
        model: &TabularModel,
        only: Vec<String>,
    ) -> Result<Chunks, Failure> {
        let width = model.encoder().feature_names().len().max(model.schema().fields().len());
        let rows = (CHUNK / width.max(1)).clamp(256, 1 << 16);
        let wanted = Wanted { only: Some(only), unneeded: Vec::new() };
        let tables = file.chunks(options, rows, &wanted).map_err(|error| match error {
            DataError::NoColumn { .. } => Failure::usage(format!("--type: {error}")),
            other => Failure::from(other),
        })?;
        Ok(Chunks { tables, wanted, notes: Notes::default() })
    }

    /// The columns of the file.
    pub fn names(&self) -> &[String] {
        self.tables.names()
    }

    /// The column names as a table without rows, for messages about a missing column, which may be misspelled.
    pub fn header(&self) -> Result<Table, Failure> {
        Ok(Table::new(self.names().iter().map(|name| (name.clone(), Column::blank(Kind::Text, 0))))?)
    }

    /// What reading changed, filled in at the end of the file.
    pub fn notes(&self) -> Notes {
        Rc::clone(&self.notes)
    }
}

impl Iterator for Chunks {
    type Item = Result<Table, Failure>;

    fn next(&mut self) -> Option<Result<Table, Failure>> {
        let Some(table) = self.tables.next() else {
            *self.notes.borrow_mut() = tables::notes(self.tables.report());
            return None;
        };
        let table = match table {
            Ok(table) => table,
            Err(error) => return Some(Err(Failure::from(error))),
        };
        let Some(only) = &self.wanted.only else { return Some(Ok(table)) };
        let here: Vec<&String> = only.iter().filter(|name| table.has(name)).collect();
        Some(table.select(&here).map_err(Failure::from))
    }
}
