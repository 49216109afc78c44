//! Tables in and out of files.

use std::io::{BufRead, Read};
use std::path::Path;

use tove::data::DataError;
use tove::data::table::csv::{Charset, Ragged};
use tove::data::table::parquet::{read_parquet, read_parquet_bytes};
use tove::data::table::{CsvOptions, Kind, ReadReport, Table};
use tove::tabular::TabularModel;

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
pub fn failed(path: &Path, names: &[String], error: impl std::fmt::Display) -> Failure {
    Failure::work(format!("{}: {error}{}", path.display(), hint(names)))
}

/// Advice for a table that was probably cut at the wrong character.
pub fn hint(names: &[String]) -> &'static str {
    let joined = matches!(names, [one] if one.contains([',', ';', '\t', '|']));
    if joined { "; all fields are in one column: look at --delimiter" } else { "" }
}

/// Reads a table and tells what was changed on the way.
pub fn read(path: &Path, reading: &Reading, output: &Output) -> Result<Table, Failure> {
    let (table, report) = read_with_report(path, reading)?;
    for note in report.notes() {
        output.remark(format!("{}: {note}", path.display()));
    }
    Ok(table)
}

/// Reads a table, with what was changed on the way.
pub fn read_with_report(path: &Path, reading: &Reading) -> Result<(Table, ReadReport), Failure> {
    let (table, report) = load(path, reading)?;
    if table.n_rows() == 0 {
        return Err(no_rows(path));
    }
    Ok((table, report))
}

#[cold]
pub fn no_rows(path: &Path) -> Failure {
    Failure::work(format!("{}: the table has no rows; give one with data", path.display()))
}

/// Whether a file, or what waits on the standard input, is Parquet. Nothing is taken from the standard input.
pub fn is_parquet(path: &Path) -> bool {
    if path == Path::new("-") {
        return std::io::stdin().lock().fill_buf().is_ok_and(|start| start.starts_with(PARQUET));
    }
    let mut start = [0; 4];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == PARQUET
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
    // A column that only the command line knows is a mistake of the call.
    let wrong = |error| match error {
        DataError::NoColumn { .. } => Failure::usage(format!("--type: {error}")),
        other => Failure::work(with_options(&other.to_string())),
    };
    if is_parquet(path) { Ok(read_parquet(path)?) } else { options.read(path).map_err(wrong) }
}

/// What is wrong with a file, with the options of the command line that mend it.
fn with_options(text: &str) -> String {
    let named = [
        ("say that there is no header", "say that there is no header (--no-header)"),
        ("let ragged rows be dropped", "let ragged rows be dropped (--drop-ragged)"),
    ];
    named.iter().fold(text.to_owned(), |text, (plain, option)| text.replace(plain, option))
}

/// How the command line says that CSV is to be read.
pub fn options(reading: &Reading) -> Result<CsvOptions, Failure> {
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
    if let Some(name) = &reading.charset {
        options = options.charset(match name.to_ascii_lowercase().as_str() {
            "utf-8" | "utf8" => Charset::Utf8,
            "latin-1" | "latin1" | "iso-8859-1" => Charset::Latin1,
            _ => return Err(Failure::usage(format!("--charset {name}: there are utf-8 and latin-1"))),
        });
    }
    if reading.drop_ragged {
        options = options.ragged(Ragged::Drop);
    }
    Ok(options.header(!reading.no_header).decimal_comma(reading.decimal_comma).coerce(reading.coerce))
}
