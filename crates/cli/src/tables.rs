//! Reading tables from files.

use std::path::Path;

use tove::data::table::csv::{Charset, Ragged};
use tove::data::table::{CsvOptions, Kind, ReadReport, Table, TableFile, Task, Wanted};
use tove::data::{DataError, Problem};
use tove::learn::Record;
use tove::tabular::{Recommender, ReducedTable, TabularModel};
use tove::vision::CompressedImages;
use tove::words::WordModel;

use crate::arguments::Reading;
use crate::failure::Failure;
use crate::output::Output;
use crate::remedies;

/// Reads a model of tables; what is wrong with it is told with the name of the file.
pub fn model(path: &Path) -> Result<TabularModel, Failure> {
    restored(path, &crate::models::record(path)?)
}

/// The model of tables in a record that was read from a file.
pub fn restored(path: &Path, record: &Record) -> Result<TabularModel, Failure> {
    other_use(path, record.kind())?;
    TabularModel::restore(record).map_err(|error| failed(path, &[], error))
}

/// Models that have no rows to predict or to evaluate are asked by commands of their own.
pub fn other_use(path: &Path, kind: &str) -> Result<(), Failure> {
    let path = path.display();
    let use_instead = match kind {
        Recommender::KIND => format!("{path} holds a recommender; `tove recommend top {path} --user ID` lists items"),
        kind if WordModel::is_kind(kind) => format!(
            "{path} holds word vectors; `tove words nearest {path} WORD` lists similar words, and `tove words analogy {path} \
             --questions FILE` evaluates them"
        ),
        ReducedTable::KIND => format!("{path} holds a reduced table; `tove rebuild {path} -o TABLE.csv` gives it back"),
        CompressedImages::KIND => {
            format!("{path} holds compressed images; `tove rebuild {path} -o FOLDER` gives them back")
        }
        _ => return Ok(()),
    };
    Err(Failure::usage(use_instead))
}

/// The model, if it predicts a target.
pub fn with_target(path: &Path, model: TabularModel) -> Result<TabularModel, Failure> {
    if let Task::Clustering(_) = model.task() {
        let (path, name) = (path.display(), model.model().name());
        return Err(Failure::usage(format!(
            "{path} holds a clustering by {name}, which has no target to compare with; `tove inspect` describes it, and `tove \
             predict` gives the clusters of rows"
        )));
    }
    Ok(model)
}

/// A failure of the work on a table, with the name of its file.
pub fn failed(path: &Path, names: &[String], error: impl Into<Failure>) -> Failure {
    let (path, error): (_, Failure) = (path.display(), error.into());
    Failure::work(format!("{path}: {error}{}", hint(names)))
}

/// A call that does not suit the table.
pub fn wrong_call(names: &[String], error: impl Into<Failure>) -> Failure {
    let error: Failure = error.into();
    Failure::usage(format!("{error}{}", hint(names)))
}

/// Advice for a table that was probably cut at the wrong character.
fn hint(names: &[String]) -> &'static str {
    let joined = matches!(names, [one] if one.contains([',', ';', '\t', '|']));
    if joined { "; all fields are in one column: check --delimiter" } else { "" }
}

/// Opens the file of a table, once.
pub fn open(path: &Path) -> Result<TableFile, Failure> {
    if path.is_dir() {
        return Err(Failure::work(format!("{} is a folder; give a CSV, JSON or Parquet file", path.display())));
    }
    Ok(TableFile::open(path)?)
}

/// Reads a table and tells what was changed on the way.
pub fn read(path: &Path, reading: &Reading, wanted: &Wanted, output: &Output) -> Result<Table, Failure> {
    let (table, report) = read_opened(open(path)?, reading, wanted)?;
    remark(path, &report, output);
    Ok(table)
}

/// Tells what was changed on the way.
pub fn remark(path: &Path, report: &ReadReport, output: &Output) {
    for note in notes(report) {
        output.remark(format!("{}: {note}", path.display()));
    }
}

/// What was changed on the way, with the options that change it.
pub fn notes(report: &ReadReport) -> Vec<String> {
    let worded = |mut note: Problem| {
        note.reword(remedies::option);
        note.to_string()
    };
    report.notes().into_iter().map(worded).collect()
}

/// Reads a table that has been opened, with what was changed on the way.
pub fn read_opened(file: TableFile, reading: &Reading, wanted: &Wanted) -> Result<(Table, ReadReport), Failure> {
    let name = file.name().to_owned();
    // A column that only the command line knows is a mistake of the call.
    let wrong = |error| match error {
        DataError::NoColumn { .. } => Failure::usage(format!("--type: {error}")),
        other => Failure::from(other),
    };
    let (table, report) = file.read(&options(reading)?, wanted).map_err(wrong)?;
    if table.n_rows() == 0 {
        return Err(no_rows(Path::new(&name)));
    }
    Ok((table, report))
}

#[cold]
pub fn no_rows(path: &Path) -> Failure {
    Failure::work(format!("{}: the table has no rows; give one with data", path.display()))
}

/// How the command line says that CSV is to be read.
pub fn options(reading: &Reading) -> Result<CsvOptions, Failure> {
    let mut options = CsvOptions::new();
    if let Some(delimiter) = reading.delimiter {
        let byte = u8::try_from(delimiter).ok().filter(u8::is_ascii);
        let byte = byte.ok_or_else(|| Failure::usage(format!("--delimiter {delimiter}: give one ASCII character")))?;
        options = options.delimiter(byte);
    }
    for (column, kind) in reading.types.iter().flatten() {
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
