//! Output files: their names, which must not be overwritten, and the formats of rows.

use std::fs::Metadata;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use tove::data::table::{Column, Table};
use tove::tensor::io::{WriteOptions, atomic};

use crate::failure::Failure;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    Csv,
    /// One list of objects.
    JsonList,
    /// One object per line.
    JsonLines,
    Parquet,
}

impl Rows {
    /// The format of a file by the ending of its name. Names without an ending, and paths that are not regular files, are CSV.
    pub fn of(path: &Path) -> Result<Rows, Failure> {
        if path == Path::new("-") || atomic::is_special(path) {
            return Ok(Rows::Csv);
        }
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            None | Some("csv" | "txt") => Ok(Rows::Csv),
            Some("json") => Ok(Rows::JsonList),
            Some("jsonl" | "ndjson") => Ok(Rows::JsonLines),
            Some("parquet" | "pq") => Ok(Rows::Parquet),
            Some(other) => Err(Failure::usage(format!(
                "{}: files ending in .{other} cannot be written; use .csv, .parquet, .json or .jsonl",
                path.display()
            ))),
        }
    }

    /// Writes rows of which `before` others came first.
    pub fn write(self, table: &Table, before: usize, out: &mut impl Write) -> std::io::Result<()> {
        match self {
            Rows::Csv if before == 0 => table.write_csv_to(out),
            Rows::Csv => table.write_csv_rows(out),
            Rows::JsonLines => (0..table.n_rows()).try_for_each(|row| writeln!(out, "{}", object(table, row))),
            Rows::JsonList => (0..table.n_rows()).try_for_each(|row| {
                write!(out, "{}{}", if before + row == 0 { "[\n" } else { ",\n" }, object(table, row))
            }),
            Rows::Parquet => Err(std::io::Error::other("Parquet is written as a whole")),
        }
    }

    /// Ends a document of so many rows.
    pub fn end(self, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
        match self {
            Rows::JsonList => writeln!(out, "{}\n]", if rows == 0 { "[" } else { "" }),
            _ => Ok(()),
        }
    }
}

/// That the name of a model file is not one of a table, a page or a picture.
pub fn model_name(path: &Path) -> Result<(), Failure> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let others = ["csv", "tsv", "json", "jsonl", "ndjson", "parquet", "pq", "xlsx", "html", "svg", "png", "gz"];
    if !others.contains(&&*ending) || atomic::is_special(path) {
        return Ok(());
    }
    let shown = path.display();
    Err(Failure::usage(format!("{shown}: a model is not a .{ending} file; name a file that ends in .tove")))
}

/// Writes a table in the format that the ending of the name says.
pub fn save(table: &Table, path: &Path, overwrite: bool) -> Result<(), Failure> {
    let options = WriteOptions { overwrite, ..WriteOptions::default() };
    let format = Rows::of(path)?;
    if format == Rows::Parquet {
        return Ok(table.write_parquet(path, options)?);
    }
    Ok(atomic::write_file(path, options, |out| {
        format.write(table, 0, out)?;
        format.end(table.n_rows(), out)
    })?)
}

/// A row as a JSON object, its members in the order of the columns.
fn object(table: &Table, row: usize) -> String {
    // Whole numbers stay whole: an identifier may have more digits than a real number holds.
    let cell = |column: &Column| match column {
        Column::Integer(values) => json!(values.get(row)),
        Column::Boolean(values) => json!(values.get(row)),
        Column::Float(values) => json!(values.get(row)),
        _ => json!(column.text(row)),
    };
    let member = |(name, column): (&str, &Column)| format!("{}:{}", json!(name), cell(column));
    format!("{{{}}}", table.iter().map(member).collect::<Vec<_>>().join(","))
}

/// That a file is not there, or may be replaced, that its folder is, and that it is none of the files that are read, which
/// nothing may replace; what killed programs have left in the folder is removed.
pub fn may_write(path: &Path, overwrite: bool, inputs: &[&Path]) -> Result<(), Failure> {
    let shown = path.display();
    if path == Path::new("-") || atomic::is_special(path) {
        return Ok(());
    }
    if path.is_dir() {
        return Err(Failure::usage(format!("{shown} is a folder; name a file")));
    }
    if let Some(input) = inputs.iter().find(|input| same_file(path, input)) {
        let input = input.display();
        return Err(Failure::usage(format!(
            "{shown} is the same file as {input}, which is read; choose another name for the output"
        )));
    }
    let read = inputs.iter().find(|input| input.is_dir() && path.is_file() && is_inside(path, input));
    if let Some(folder) = read {
        let folder = folder.display();
        return Err(Failure::usage(format!(
            "{shown} is a file in the folder {folder}, which is read; choose another name for the output"
        )));
    }
    // A link that leads nowhere is there too.
    if path.symlink_metadata().is_ok() && !overwrite {
        return Err(Failure::usage(format!("{shown} exists already; choose another name or add --overwrite")));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(Failure::work(format!("{shown}: folder not found; create it first")));
    }
    atomic::sweep(folder.unwrap_or(Path::new(".")));
    Ok(())
}

/// Whether a file is in a folder or in one of its folders.
fn is_inside(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

/// A path from the root, without `.` in it.
fn full(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.components().filter(|part| *part != std::path::Component::CurDir).collect()
}

/// That no two outputs go to one file.
pub fn differ(outputs: &[Option<&PathBuf>]) -> Result<(), Failure> {
    for (place, one) in outputs.iter().enumerate() {
        let (Some(one), rest) = (one, &outputs[place + 1..]) else { continue };
        let same = |other: &&&PathBuf| full(one) == full(other) || same_file(one, other);
        if rest.iter().flatten().any(|other| same(&other)) && !atomic::is_special(one) {
            return Err(Failure::usage(format!("{}: two outputs cannot go to one file", one.display())));
        }
    }
    Ok(())
}

/// That no source which gives its bytes only once is read twice.
pub fn read_once(inputs: &[&Path]) -> Result<(), Failure> {
    for (place, one) in inputs.iter().enumerate() {
        let twice = inputs[place + 1..].iter().any(|other| one == other || same_file(one, other));
        let once = *one == Path::new("-") || std::fs::metadata(one).is_ok_and(|about| !about.is_file());
        if twice && once && *one != Path::new("/dev/null") {
            return Err(Failure::usage(format!("{}: it can be read only once; give two files", one.display())));
        }
    }
    Ok(())
}

/// Whether a file is the standard output of this program.
pub fn is_stdout(path: &Path) -> bool {
    ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Whether two names lead to one file that is there.
fn same_file(one: &Path, other: &Path) -> bool {
    // Standard input may be a file of the shell's.
    let opened = |path: &Path| std::fs::metadata(if path == Path::new("-") { Path::new("/dev/stdin") } else { path });
    match (opened(one), opened(other)) {
        (Ok(a), Ok(b)) => same(&a, &b, one, other),
        _ => false,
    }
}

#[cfg(unix)]
fn same(one: &Metadata, other: &Metadata, _: &Path, _: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn same(_: &Metadata, _: &Metadata, one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
