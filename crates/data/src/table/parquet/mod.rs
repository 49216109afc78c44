//! Parquet files to tables and back (feature `parquet`).
//!
//! Flat columns of numbers, booleans, strings, dates, timestamps and decimals; compressed by Snappy, Zstandard, LZ4,
//! Brotli or gzip. Columns are read in parallel;
//! [`ParquetChunks`] reads some rows at a time. A string column is categorical by the same
//! rule as in CSV files.

mod chunks;
mod read;
mod write;

use std::path::Path;

use super::{ReadReport, Table, TableFile, Wanted};
use crate::Result;

pub use chunks::ParquetChunks;

/// Reads a Parquet file.
///
/// ```
/// use tove_data::table::{Column, Table, parquet::read_parquet};
/// use tove_tensor::io::WriteOptions;
/// let table = Table::new([("x", Column::floats(vec![0.1, f64::NAN])), ("port", Column::categories(["S", "C"]))])?;
/// let path = std::env::temp_dir().join(format!("tove-parquet-{}.parquet", std::process::id()));
/// table.write_parquet(&path, WriteOptions::default())?;
/// assert_eq!(read_parquet(&path)?.0, table);
/// std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the file cannot be read, is not Parquet, is damaged, or has nested columns.
pub fn read_parquet(path: impl AsRef<Path>) -> Result<(Table, ReadReport)> {
    let file = TableFile::open(path)?;
    let name = file.name().to_owned();
    read_whole(&name, file.input.read_all()?, &Wanted::default())
}

/// Reads a Parquet file in memory.
///
/// # Errors
/// As [`read_parquet`].
pub fn read_parquet_bytes(bytes: Vec<u8>) -> Result<(Table, ReadReport)> {
    read_whole("bytes", bytes, &Wanted::default())
}

/// Reads a file in memory under a name.
pub(super) fn read_whole(name: &str, bytes: Vec<u8>, wanted: &Wanted) -> Result<(Table, ReadReport)> {
    read::bytes(name, bytes, wanted)
}
