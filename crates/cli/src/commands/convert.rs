//! `tove convert`: a table in another format.

use std::io::BufWriter;
use std::path::Path;

use serde_json::json;
use tove::data::table::{Table, Wanted};

use crate::arguments::{Convert, Reading};
use crate::failure::Failure;
use crate::files::{self, Rows};
use crate::output::Output;
use crate::tables;

pub fn run(convert: &Convert, output: &Output) -> Result<(), Failure> {
    let saved = convert.output.as_deref().filter(|path| *path != Path::new("-"));
    if let Some(path) = saved {
        Rows::of(path)?;
        files::may_write(path, convert.overwrite, &[&convert.file])?;
    }
    let table = read(&convert.file, &convert.reading, &convert.drop, output)?;
    let Some(path) = saved else {
        let format = if output.is_json() { Rows::JsonList } else { Rows::Csv };
        let mut out = BufWriter::new(std::io::stdout().lock());
        let written = format.write(&table, 0, &mut out).and_then(|()| format.end(table.n_rows(), &mut out));
        let written = written.and_then(|()| std::io::Write::flush(&mut out));
        return written.map_err(|error| Failure::stopped("standard output", &error));
    };
    files::save(&table, path, convert.overwrite)?;
    let shown = path.display().to_string();
    if files::is_stdout(path) {
        output.remark(format!("{} rows, {} columns: {shown}", table.n_rows(), table.n_columns()));
        return Ok(());
    }
    output.result(
        || format!("{} rows, {} columns: {shown}\n", table.n_rows(), table.n_columns()),
        || json!({"rows": table.n_rows(), "columns": table.names(), "file": shown}),
    )
}

/// A table without some of its columns.
pub fn read(path: &Path, reading: &Reading, drop: &[String], output: &Output) -> Result<Table, Failure> {
    let wanted = Wanted { only: None, unneeded: drop.to_vec() };
    let table = tables::read(path, reading, &wanted, output)?;
    table.drop_columns(drop).map_err(|error| Failure::usage(format!("--drop: {error}")))
}
