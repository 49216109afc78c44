//! Tables read a piece at a time, in memory that does not grow with them: CSV files, CSV on the standard input, Parquet files.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use tove::data::table::csv::CsvChunks;
use tove::data::table::parquet::ParquetChunks;
use tove::data::table::{CsvOptions, Table};
use tove::tabular::TabularModel;

use crate::arguments::Reading;
use crate::failure::Failure;
use crate::tables;

/// Numbers of a piece, at most.
const PIECE: usize = 1 << 20;

/// What reading did to the file, known at its end.
pub type Notes = Rc<RefCell<Vec<String>>>;

/// Pieces of a table.
pub struct Pieces {
    source: Source,
    names: Vec<String>,
    /// The columns that are needed; all if there is no list.
    wanted: Option<Vec<String>>,
    notes: Notes,
}

enum Source {
    Csv(Box<CsvChunks>),
    Parquet(Box<ParquetChunks>),
    /// Parquet on the standard input has its directory at the end, so that it must be read first.
    Whole(Box<Option<Table>>),
}

impl Pieces {
    /// Opens a table that a model will answer; CSV is read as `options` say.
    pub fn open(path: &Path, reading: &Reading, options: &CsvOptions, model: &TabularModel) -> Result<Pieces, Failure> {
        let width = model.encoder().feature_names().len().max(model.schema().fields().len());
        let rows = (PIECE / width.max(1)).clamp(256, 1 << 16);
        let (source, names) = if path.is_dir() || path == Path::new("-") && tables::is_parquet(path) {
            let (whole, _) = tables::read_with_report(path, reading)?;
            let names = whole.names().to_vec();
            (Source::Whole(Box::new(Some(whole))), names)
        } else if tables::is_parquet(path) {
            let chunks = ParquetChunks::open(path, rows)?;
            let names = chunks.names().to_vec();
            (Source::Parquet(Box::new(chunks)), names)
        } else {
            let chunks = options.chunks(path, rows)?;
            let names = chunks.names().to_vec();
            (Source::Csv(Box::new(chunks)), names)
        };
        Ok(Pieces { source, names, wanted: None, notes: Notes::default() })
    }

    /// Only these columns, as far as they are there.
    pub fn only(self, wanted: Vec<String>) -> Pieces {
        Pieces { wanted: Some(wanted), ..self }
    }

    /// The columns of the file.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Where it is told at the end what reading did to the file.
    pub fn notes(&self) -> Notes {
        Rc::clone(&self.notes)
    }
}

impl Iterator for Pieces {
    type Item = Result<Table, Failure>;

    fn next(&mut self) -> Option<Result<Table, Failure>> {
        let next = match &mut self.source {
            Source::Csv(chunks) => chunks.next().or_else(|| {
                *self.notes.borrow_mut() = chunks.report().notes();
                None
            }),
            Source::Parquet(chunks) => chunks.next(),
            Source::Whole(whole) => whole.take().map(Ok),
        };
        let table = match next? {
            Ok(table) => table,
            Err(error) => return Some(Err(error.into())),
        };
        let Some(wanted) = &self.wanted else { return Some(Ok(table)) };
        let here: Vec<&String> = wanted.iter().filter(|name| table.has(name)).collect();
        Some(table.select(&here).map_err(Failure::from))
    }
}
