//! Reading a Parquet file of any size in chunks.

use std::cell::RefCell;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ::parquet::column::reader::ColumnReader;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use tove_tensor::io::FileError;

use super::read::{Leaf, MOST_CATEGORIES, OneColumn, Pages, damaged, leaves, refused, report, row_count};
use crate::table::csv::dictionary::Dictionary;
use crate::table::csv::merge::are_categories;
use crate::table::{Column, Field, Kind, ReadReport, Role, Schema, Table, Wanted};
use crate::{DataError, Result};

/// Tables of so many rows, one after the other, never across a row group; ends after the first error.
///
/// A string column is categorical in one piece and text in another by what the piece holds;
/// [`ParquetChunks::schema`] says what the whole file says.
///
/// ```
/// use tove_data::table::{Column, Table, parquet::ParquetChunks};
/// use tove_tensor::io::WriteOptions;
/// let path = std::env::temp_dir().join(format!("tove-parquet-chunks-{}.parquet", std::process::id()));
/// Table::new([("x", Column::integers(vec![1, 2, 3]))])?.write_parquet(&path, WriteOptions::default())?;
/// let sizes: Vec<usize> =
///     ParquetChunks::open(&path, 2)?.map(|table| table.map(|t| t.n_rows())).collect::<Result<_, _>>()?;
/// assert_eq!(sizes, [2, 1]);
/// std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ParquetChunks {
    file: String,
    reader: SerializedFileReader<File>,
    leaves: Vec<Leaf>,
    names: Vec<String>,
    rows: usize,
    /// The row group that comes next, the readers of the present one and its rows that are left.
    next_group: usize,
    readers: Vec<RefCell<ColumnReader>>,
    left: usize,
    report: ReadReport,
    done: bool,
}

impl ParquetChunks {
    /// Opens a file to be read `rows` rows at a time.
    ///
    /// # Errors
    /// If the file cannot be read or is not Parquet; or if `rows` is zero.
    pub fn open(path: impl AsRef<Path>, rows: usize) -> Result<ParquetChunks> {
        Self::open_wanted(path, rows, &Wanted::default())
    }

    /// The same for some columns only.
    ///
    /// # Errors
    /// As [`ParquetChunks::open`].
    pub fn open_wanted(path: impl AsRef<Path>, rows: usize, wanted: &Wanted) -> Result<ParquetChunks> {
        let path = path.as_ref();
        if rows == 0 {
            return Err(DataError::parameter("ParquetChunks", "chunks of 0 rows; give at least 1"));
        }
        let failed = |source| DataError::from(FileError::Io { path: path.to_owned(), doing: "open", source });
        let content = File::open(path).map_err(failed)?;
        let size = usize::try_from(content.metadata().map_err(failed)?.len()).unwrap_or(usize::MAX);
        let file = path.display().to_string();
        let opened = catch_unwind(AssertUnwindSafe(|| SerializedFileReader::new(content)));
        let reader = opened.map_err(|_| gave_up(&file))?.map_err(|error| refused(&file, &error))?;
        row_count(&file, &reader, size)?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let leaves = leaves(&schema, wanted);
        let names: Vec<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
        let blank = Table::new(names.iter().map(|name| (name.clone(), Column::blank(Kind::Text, 0))))?;
        let report = report(&file, size, &blank);
        let (next_group, readers, left) = (0, Vec::new(), 0);
        Ok(ParquetChunks { file, reader, leaves, names, rows, next_group, readers, left, report, done: false })
    }

    /// Names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What was read so far.
    pub fn report(&self) -> &ReadReport {
        &self.report
    }

    /// The columns as a schema, all of them features, by a pass over the whole file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn schema(self) -> Result<Schema> {
        let mut columns: Vec<Seen> = self.names.iter().map(|_| Seen::default()).collect();
        let names = self.names.clone();
        for table in self {
            let table = table?;
            columns.iter_mut().zip(table.columns()).for_each(|(seen, column)| seen.see(column));
        }
        let field = |(name, seen): (String, Seen)| {
            let (kind, unit) = seen.finish();
            Field { name, kind, role: Role::Feature, categories: None, unit, format: None, typical: None }
        };
        Schema::new(names.into_iter().zip(columns).map(field).collect())
    }

    fn chunk(&mut self) -> Result<Option<Table>> {
        while self.left == 0 {
            if self.next_group == self.reader.num_row_groups() {
                return Ok(None);
            }
            let group = self.reader.get_row_group(self.next_group).map_err(|error| refused(&self.file, &error))?;
            let readers = self.leaves.iter().map(|leaf| group.get_column_reader(leaf.number).map(RefCell::new));
            self.readers = readers.collect::<Result<_, _>>().map_err(|error| refused(&self.file, &error))?;
            self.left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            self.next_group += 1;
        }
        let rows = self.left.min(self.rows);
        let schema = self.reader.metadata().file_metadata().schema_descr_ptr();
        let mut columns = Vec::with_capacity(self.names.len());
        for (place, reader) in self.readers.iter().enumerate() {
            let Leaf { number, unneeded, .. } = self.leaves[place];
            let about = schema.column(number);
            let column = OneColumn { file: &self.file, pages: Pages::Part(reader, rows), number, about: &about }.read();
            let column = if unneeded { column.or_else(|_| Ok(Column::blank(Kind::Text, rows))) } else { column }?;
            let told = &mut self.report.columns[place];
            told.kind = column.kind();
            told.missing += column.missing();
            columns.push((self.names[place].clone(), column));
        }
        self.left -= rows;
        self.report.rows += rows;
        Ok(Some(Table::new(columns)?))
    }
}

#[cold]
fn gave_up(file: &str) -> DataError {
    damaged(file, "the decoder failed")
}

impl Iterator for ParquetChunks {
    type Item = Result<Table>;

    fn next(&mut self) -> Option<Result<Table>> {
        if self.done {
            return None;
        }
        // The decoder checks much but not everything; a damaged file must not take the program with it.
        let chunk = catch_unwind(AssertUnwindSafe(|| self.chunk()));
        let chunk = chunk.unwrap_or_else(|_| Err(gave_up(&self.file))).transpose();
        self.done = !matches!(chunk, Some(Ok(_)));
        chunk
    }
}

/// What is known of a column after some pieces.
#[derive(Default)]
struct Seen {
    kind: Option<Kind>,
    unit: Option<crate::table::Unit>,
    names: Option<Dictionary>,
    many: bool,
    present: usize,
    longest: usize,
}

impl Seen {
    fn see(&mut self, column: &Column) {
        self.kind = Some(column.kind());
        match column {
            Column::Date(dates) => self.unit = Some(dates.unit()),
            Column::Categorical(values) => {
                self.present += values.len() - values.missing();
                let used = values.categories().iter().zip(values.counts()).filter(|(_, count)| *count > 0);
                used.for_each(|(name, _)| self.name(name));
            }
            Column::Text(values) => {
                self.present += values.len() - values.missing();
                values.iter().flatten().for_each(|name| self.name(name));
            }
            _ => {}
        }
    }

    fn name(&mut self, name: &str) {
        self.longest = self.longest.max(name.len());
        if !self.many {
            let names = self.names.get_or_insert_with(Dictionary::new);
            names.code(name);
            self.many = names.len() > MOST_CATEGORIES;
        }
    }

    /// The kind of the whole column by the rule of files that are read at once.
    fn finish(self) -> (Kind, Option<crate::table::Unit>) {
        let kind = match self.kind.unwrap_or(Kind::Float) {
            Kind::Categorical | Kind::Text => {
                let distinct = self.names.map_or(0, |names| names.len());
                let few = !self.many && are_categories(distinct, self.present, self.longest);
                if few { Kind::Categorical } else { Kind::Text }
            }
            kind => kind,
        };
        (kind, self.unit)
    }
}
