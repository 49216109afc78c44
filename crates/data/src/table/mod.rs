//! Tables: named columns of numbers, booleans, categories, strings and dates, from files to tensors.
//!
//! The way of a file through this module: [`TableFile`] detects its format, [`CsvOptions`] (or [`read_parquet`](parquet::read_parquet)) makes a [`Table`]
//! with a [`ReadReport`] of everything that was coerced or dropped; a [`Schema`] has the type and the role of each column;
//! a [`TableEncoder`], fitted on training rows only, encodes it as numbers; a [`Target`] is the encoded target column.
//!
//! ```
//! use tove_data::table::{CsvOptions, Encoding, Role, Schema, TableEncoder, Target};
//! use tove_data::Key;
//! let csv = b"age,port,fare,survived\n22,S,7.25,no\n38,C,71.3,yes\n,S,7.9,yes\n35,S,53.1,no\n";
//! let (table, report) = CsvOptions::new().read_bytes(csv)?;
//! assert_eq!((table.n_rows(), report.columns[0].missing), (4, 1));
//!
//! let schema = Schema::of(&table).with_role("survived", Role::Target)?;
//! let target = Target::encode(table.column("survived")?, None)?;
//! let (train, test) = table.split(0.75, Key::new(1))?;
//! let encoder = TableEncoder::fit(&train, &schema, &Encoding::default())?;
//! let x = encoder.encode(&test)?.x;
//! assert_eq!(x.dims(), [1, encoder.feature_names().len()]);
//! assert_eq!(target.classes(), ["no", "yes"]);
//! # Ok::<(), tove_data::DataError>(())
//! ```

mod categorical;
mod chunks;
mod column;
pub mod csv;
mod date;
mod describe;
mod display;
pub mod encode;
mod file;
mod json;
#[cfg(feature = "parquet")]
pub mod parquet;
mod rows;
mod schema;
mod spelling;
mod target;
mod text;
mod typical;
mod values;

use crate::{DataError, Result};

pub use categorical::Categorical;
pub use chunks::TableChunks;
pub use column::{Column, Kind};
pub use csv::{ColumnReport, CsvOptions, NumberFormat, ReadReport, read_csv};
pub use date::{DateParts, Dates, Unit};
pub use describe::{ColumnSummary, Description};
pub use encode::{Encoded, Encoding, SparseRows, TableEncoder};
pub use file::{Format, TableFile, Wanted};
pub use schema::{Conformed, Field, Role, Schema, Unseen};
pub use target::{Proposal, Target, TargetLabels, Task, TaskKind, propose_task};
pub use text::Text;
pub use typical::Typical;
pub use values::{Cell, Values, parse_boolean};

/// Named columns of equal length.
///
/// A row is one sample. Everything that chooses or reorders rows does so for all columns at once, so that inputs and
/// target of a sample stay together.
///
/// ```
/// use tove_data::table::{Column, Table};
/// let table = Table::new([
///     ("age", Column::integers(vec![31, 18, 64])),
///     ("port", Column::categories(["S", "C", "S"])),
/// ])?;
/// assert_eq!((table.n_rows(), table.n_columns()), (3, 2));
/// let wrong = table.column("prot").unwrap_err();
/// assert!(wrong.to_string().contains("did you mean \"port\""));
/// # Ok::<(), tove_data::DataError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    names: Vec<String>,
    columns: Vec<Column>,
    rows: usize,
}

impl Table {
    /// A table of these columns.
    ///
    /// # Errors
    /// If the columns differ in length or two have the same name.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = (S, Column)>) -> Result<Self> {
        let (names, columns): (Vec<String>, Vec<Column>) =
            columns.into_iter().map(|(name, column)| (name.into(), column)).unzip();
        if let Some(name) = repeated(&names).first() {
            return Err(DataError::parameter("Table", format!("duplicate column name {name:?}; rename one")));
        }
        let rows = columns.first().map_or(0, Column::len);
        if let Some(at) = columns.iter().position(|column| column.len() != rows) {
            return Err(DataError::ColumnLength { column: names[at].clone(), rows: columns[at].len(), others: rows });
        }
        Ok(Self { names, columns, rows })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// The columns' names, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Names and columns, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.names.iter().map(String::as_str).zip(&self.columns)
    }

    /// Whether there is a column of this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// The place of a column.
    ///
    /// # Errors
    /// If there is none of this name; the error names the nearest.
    pub fn position(&self, name: &str) -> Result<usize> {
        self.names.iter().position(|known| known == name).ok_or_else(|| no_column(name, &self.names))
    }

    /// A column by its name.
    ///
    /// # Errors
    /// If there is none of this name; the error names the nearest.
    pub fn column(&self, name: &str) -> Result<&Column> {
        Ok(&self.columns[self.position(name)?])
    }

    /// The table with some columns only, in this order.
    ///
    /// # Errors
    /// If a column does not exist or is asked for twice.
    pub fn select<S: AsRef<str>>(&self, names: &[S]) -> Result<Self> {
        let chosen = names.iter().map(|name| Ok((name.as_ref(), self.column(name.as_ref())?.clone())));
        let mut table = Self::new(chosen.collect::<Result<Vec<_>>>()?)?;
        table.rows = self.rows;
        Ok(table)
    }

    /// The table without some columns.
    ///
    /// # Errors
    /// If a column does not exist.
    pub fn drop_columns<S: AsRef<str>>(&self, names: &[S]) -> Result<Self> {
        names.iter().try_for_each(|name| self.position(name.as_ref()).map(drop))?;
        let kept: Vec<&String> =
            self.names.iter().filter(|name| !names.iter().any(|dropped| dropped.as_ref() == *name)).collect();
        self.select(&kept)
    }

    /// The table with a column added at the end, or put in the place of the one of this name.
    ///
    /// ```
    /// use tove_data::table::{Column, Table};
    /// let table = Table::new([("a", Column::integers(vec![1, 2]))])?;
    /// let table = table.with_column("b", Column::floats(vec![0.5, 1.5]))?;
    /// assert_eq!(table.names(), ["a", "b"]);
    /// assert!(table.with_column("c", Column::booleans(vec![true])).is_err());
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// If it has another length than the table.
    pub fn with_column(&self, name: impl Into<String>, column: Column) -> Result<Self> {
        let (name, mut table) = (name.into(), self.clone());
        if column.len() != self.rows && !self.columns.is_empty() {
            return Err(DataError::ColumnLength { column: name, rows: column.len(), others: self.rows });
        }
        table.rows = column.len();
        match self.names.iter().position(|known| *known == name) {
            Some(at) => table.columns[at] = column,
            None => {
                table.names.push(name);
                table.columns.push(column);
            }
        }
        Ok(table)
    }
}

#[cold]
fn no_column(name: &str, names: &[String]) -> DataError {
    let nearest = spelling::nearest(name, names.iter().map(String::as_str));
    DataError::NoColumn { name: name.to_owned(), nearest, available: names.to_vec() }
}

/// Names that occur more than once, each once, in order.
pub(crate) fn repeated(names: &[String]) -> Vec<&str> {
    let mut seen = std::collections::HashMap::new();
    let counted = names.iter().filter(|name| {
        let count = seen.entry(name.as_str()).or_insert(0usize);
        *count += 1;
        *count == 2
    });
    counted.map(String::as_str).collect()
}
