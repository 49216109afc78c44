//! Files that are gone through several times, some rows at a time.

use std::path::{Path, PathBuf};

use tove_data::table::csv::{Charset, ChunkPlace};
use tove_data::table::{CsvOptions, Format, ReadReport, Schema, Table, TableChunks, TableFile, Wanted};
use tove_tensor::Key;

use super::{Result, TabularError};

/// Numbers of a piece, so that a few pieces fit in any memory.
const PIECE: usize = 1 << 20;
/// Rows that stay together when the order of a file is changed.
const STRETCH: usize = 1 << 12;

/// A CSV or Parquet file whose columns are known, to be gone through several times.
///
/// Models that learn by small steps go through a CSV file in another order every time: the file is taken apart into stretches of
/// 4,096 rows, each piece is put together from stretches drawn at random, and the rows of a piece are shuffled. Parquet files, packed
/// ones and Latin-1 are gone through from the first row to the last, with rows shuffled within a piece only.
pub struct TableSource {
    format: Format,
    options: CsvOptions,
    wanted: Wanted,
    path: PathBuf,
    schema: Schema,
    report: ReadReport,
    passes: usize,
    /// Where the rows lie, each with the number of the first one among those that have a target.
    stretches: Vec<(usize, ChunkPlace)>,
}

impl TableSource {
    /// Finds the kinds of the columns, by a pass over the file unless it is CSV and the options give them all.
    ///
    /// # Errors
    /// If the file cannot be read, or is the standard input, which can be read only once.
    pub fn open(options: CsvOptions, path: impl AsRef<Path>) -> Result<TableSource> {
        Self::open_wanted(options, path, &Wanted::default())
    }

    /// The same for some columns of a Parquet file only.
    ///
    /// # Errors
    /// As [`TableSource::open`].
    pub fn open_wanted(options: CsvOptions, path: impl AsRef<Path>, wanted: &Wanted) -> Result<TableSource> {
        let path = path.as_ref().to_owned();
        let file = TableFile::open(&path)?;
        if file.reads_once() || file.format() == Format::Json {
            let what = if file.reads_once() { "can be read only once" } else { "is JSON, which is read as a whole" };
            return Err(TabularError::plan(format!("{} {what}; give a CSV or Parquet file", file.name())));
        }
        let format = file.format();
        let chunks = file.chunks(&options, if format == Format::Parquet { 1 << 16 } else { 1 }, wanted)?;
        let report = chunks.report().clone();
        let schema = chunks.schema()?;
        let charset = if report.encoding == "latin-1" { Charset::Latin1 } else { Charset::Utf8 };
        let options = options.schema(&schema).charset(charset);
        let (wanted, stretches) = (wanted.clone(), Vec::new());
        Ok(TableSource { format, options, wanted, path, schema, report, passes: 1, stretches })
    }

    /// The columns and their kinds; all are features.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// What reading did to the file, after a whole pass.
    pub fn report(&self) -> &ReadReport {
        &self.report
    }

    /// The first rows.
    ///
    /// # Errors
    /// If they cannot be read, or there are none.
    pub fn head(&self, rows: usize) -> Result<Table> {
        let none = || TabularError::plan(format!("{}: the table has no rows; give one with data", self.path.display()));
        self.chunks(rows)?.next().ok_or_else(none)?
    }

    /// Passes over the file so far.
    pub(super) fn passes(&self) -> usize {
        self.passes
    }

    fn chunks(&self, rows: usize) -> Result<Pass> {
        let chunks = TableFile::open(&self.path)?.chunks(&self.options, rows, &self.wanted)?;
        Ok(Pass { chunks, schema: (self.format == Format::Parquet).then(|| self.schema.clone()) })
    }

    /// Begins the pass in which it is noted where rows lie.
    pub(super) fn first_pass(&mut self) -> Result<Pass> {
        self.passes += 1;
        self.stretches.clear();
        self.chunks(STRETCH)
    }

    /// Notes where the rows of the first pass lie, from this one on.
    pub(super) fn note(&mut self, row: usize, place: Option<ChunkPlace>) {
        self.stretches.extend(place.map(|place| (row, place)));
    }

    pub(super) fn end_first_pass(&mut self, pass: &Pass) {
        self.report = pass.chunks.report().clone();
    }

    /// A pass in pieces that make up to so many numbers per row; in an order of its own if there is a key and the file allows.
    pub(super) fn pieces(&mut self, target: &str, width: usize, key: Option<Key>) -> Result<Pieces> {
        self.passes += 1;
        let rows = (PIECE / width.max(self.schema.fields().len()).max(1)).clamp(256, 1 << 16);
        let mut stretches = Vec::new();
        if let Some(key) = key.filter(|_| !self.stretches.is_empty()) {
            let order = key.permutation(self.stretches.len()).to_vec::<i64>();
            stretches = order.into_iter().rev().map(|place| self.stretches[place as usize]).collect();
        }
        Ok(Pieces {
            pass: self.chunks(rows)?,
            target: target.to_owned(),
            rows,
            mixed: !stretches.is_empty(),
            stretches,
            row: 0,
        })
    }
}

/// A pass over a file, from its first row to its last.
pub(super) struct Pass {
    chunks: TableChunks,
    /// The kinds of a whole Parquet file, which a piece alone may not show.
    schema: Option<Schema>,
}

impl Pass {
    pub fn place(&self) -> Option<ChunkPlace> {
        self.chunks.place()
    }
}

impl Iterator for Pass {
    type Item = Result<Table>;

    fn next(&mut self) -> Option<Result<Table>> {
        let table = self.chunks.next()?;
        let table = match &self.schema {
            Some(schema) => table.and_then(|table| Ok(schema.conform(&table)?.0)),
            None => table,
        };
        Some(table.map_err(TabularError::from))
    }
}

/// Pieces of a pass: rows that have a target, and their numbers among those.
pub(super) struct Pieces {
    pass: Pass,
    target: String,
    rows: usize,
    mixed: bool,
    /// What is left of the order, the next stretch at the end.
    stretches: Vec<(usize, ChunkPlace)>,
    row: usize,
}

impl Pieces {
    fn in_order(&mut self) -> Result<Option<(Table, Vec<usize>)>> {
        let Some(table) = self.pass.next() else { return Ok(None) };
        let (table, _) = table?.drop_missing(&[&self.target])?;
        let first = self.row;
        self.row += table.n_rows();
        Ok(Some((table, (first..self.row).collect())))
    }

    fn mixed(&mut self) -> Result<Option<(Table, Vec<usize>)>> {
        let (mut tables, mut rows) = (Vec::new(), Vec::new());
        while rows.len() < self.rows
            && let Some((first, place)) = self.stretches.pop()
        {
            let (table, _) = self.pass.chunks.read_again(place)?.drop_missing(&[&self.target])?;
            rows.extend(first..first + table.n_rows());
            tables.push(table);
        }
        Ok(Table::concat(tables)?.map(|table| (table, rows)))
    }
}

impl Iterator for Pieces {
    type Item = Result<(Table, Vec<usize>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.mixed { self.mixed().transpose() } else { self.in_order().transpose() }
    }
}
