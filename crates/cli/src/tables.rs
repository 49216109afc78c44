//! Tables in and out of files.

use std::io::Read;
use std::path::Path;

use tove::data::DataError;
use tove::data::table::csv::Ragged;
use tove::data::table::parquet::{read_parquet, read_parquet_bytes};
use tove::data::table::{CsvOptions, Kind, ReadReport, Table};
use tove::tabular::TabularModel;
use tove::tensor::io::WriteOptions;

use crate::arguments::Reading;
use crate::failure::Failure;
use crate::output::Output;

/// The first bytes of every Parquet file.
const PARQUET: &[u8] = b"PAR1";

/// Reads a model of tables; what is wrong with it is told with the name of the file.
pub fn model(path: &Path) -> Result<TabularModel, Failure> {
    TabularModel::load(path).map_err(|error| {
        let (name, text) = (path.display().to_string(), error.to_string());
        Failure::work(if text.contains(&name) { text } else { format!("{name}: {text}") })
    })
}

/// A failure of the work on a table, with the name of its file.
pub fn failed(path: &Path, table: &Table, error: impl std::fmt::Display) -> Failure {
    Failure::work(format!("{}: {error}{}", path.display(), hint(table)))
}

/// Advice for a table that was probably cut at the wrong character.
pub fn hint(table: &Table) -> &'static str {
    let joined = table.n_columns() == 1 && table.names()[0].contains([',', ';', '\t', '|']);
    if joined { "; all fields are in one column: look at --delimiter" } else { "" }
}

/// Reads a table and tells what was changed on the way.
pub fn read(path: &Path, reading: &Reading, output: &Output) -> Result<Table, Failure> {
    let (table, report) = load(path, reading)?;
    for note in report.notes() {
        output.remark(format!("{}: {note}", path.display()));
    }
    if table.n_rows() == 0 {
        return Err(Failure::work(format!("{}: the table has no rows; give one with data", path.display())));
    }
    Ok(table)
}

fn load(path: &Path, reading: &Reading) -> Result<(Table, ReadReport), Failure> {
    let options = options(reading)?;
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        return Ok(if bytes.starts_with(PARQUET) { read_parquet_bytes(bytes)? } else { options.read_bytes(&bytes)? });
    }
    if path.is_dir() {
        return Err(Failure::work(format!("{} is a folder; give a CSV or Parquet file", path.display())));
    }
    let mut start = [0; 4];
    let parquet =
        std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == PARQUET;
    // A column that only the command line knows is a mistake of the call.
    let wrong = |error| match error {
        DataError::NoColumn { .. } => Failure::usage(format!("--type: {error}")),
        other => Failure::from(other),
    };
    if parquet { Ok(read_parquet(path)?) } else { options.read(path).map_err(wrong) }
}

fn options(reading: &Reading) -> Result<CsvOptions, Failure> {
    let mut options = CsvOptions::new();
    if let Some(delimiter) = reading.delimiter {
        let byte = u8::try_from(delimiter).ok().filter(u8::is_ascii);
        let byte = byte.ok_or_else(|| Failure::usage(format!("--delimiter {delimiter}: give one ASCII character")))?;
        options = options.delimiter(byte);
    }
    for (column, kind) in &reading.types {
        let kind: Kind = kind.parse().map_err(|error| Failure::usage(format!("--type {column}: {error}")))?;
        options = options.kind(column.as_str(), kind);
    }
    if reading.drop_ragged {
        options = options.ragged(Ragged::Drop);
    }
    Ok(options.header(!reading.no_header).decimal_comma(reading.decimal_comma))
}

/// Writes a table as CSV or Parquet, by the ending of the name; CSV to standard output without a name.
pub fn write(table: &Table, path: Option<&Path>, overwrite: bool) -> Result<(), Failure> {
    let Some(path) = path.filter(|path| *path != Path::new("-")) else {
        let mut out = std::io::stdout().lock();
        return match table.write_csv_to(&mut out) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            written => Ok(written?),
        };
    };
    let options = WriteOptions { overwrite, ..WriteOptions::default() };
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("parquet" | "pq") => table.write_parquet(path, options)?,
        _ => table.write_csv(path, options)?,
    }
    Ok(())
}
