//! Tables to CSV files.

use std::io::{self, Write};
use std::path::Path;

use tove_tensor::io::{WriteOptions, atomic};

use super::MISSING;
use crate::Result;
use crate::table::{Column, Table};

impl Table {
    /// Writes a CSV file: comma, LF, UTF-8, a header; a missing value is an empty field. Strings are quoted where reading
    /// would take them for something else, numbers written so that the same bits come back. The file appears complete or
    /// not at all; an existing one is only replaced if the options say so.
    ///
    /// ```
    /// use tove_data::table::{Column, Table, read_csv};
    /// use tove_tensor::io::WriteOptions;
    /// let table = Table::new([("x", Column::floats(vec![0.1, f64::NAN])), ("name", Column::texts(["a, b", "say \"hi\""]))])?;
    /// let path = std::env::temp_dir().join(format!("tove-write-{}.csv", std::process::id()));
    /// table.write_csv(&path, WriteOptions::default())?;
    /// assert!(table.write_csv(&path, WriteOptions::default()).is_err(), "not without being asked");
    /// assert_eq!(std::fs::read_to_string(&path)?, "x,name\n0.1,\"a, b\"\n,\"say \"\"hi\"\"\"\n");
    /// std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file exists and may not be replaced, or the system refuses.
    pub fn write_csv(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        Ok(atomic::write_file(path.as_ref(), options, |out| self.write_csv_to(out))?)
    }

    /// Writes the same to any writer.
    ///
    /// # Errors
    /// If the writer refuses.
    pub fn write_csv_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut line = String::new();
        for (number, name) in self.names().iter().enumerate() {
            separate(&mut line, number);
            push(&mut line, name);
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
        self.write_csv_rows(out)
    }

    /// Writes the rows alone, without the header: for tables that come in chunks.
    ///
    /// # Errors
    /// If the writer refuses.
    pub fn write_csv_rows(&self, out: &mut impl Write) -> io::Result<()> {
        let mut line = String::new();
        for row in 0..self.n_rows() {
            for (number, column) in self.columns().iter().enumerate() {
                separate(&mut line, number);
                cell(&mut line, column, row);
            }
            line.push('\n');
            if line.len() > 1 << 16 {
                out.write_all(line.as_bytes())?;
                line.clear();
            }
        }
        out.write_all(line.as_bytes())
    }
}

fn separate(line: &mut String, number: usize) {
    if number > 0 {
        line.push(',');
    }
}

fn cell(line: &mut String, column: &Column, row: usize) {
    let Some(text) = column.text(row) else { return };
    match column {
        Column::Categorical(_) | Column::Text(_) => push(line, &text),
        _ => line.push_str(&text),
    }
}

/// A string, in quotes where it needs them.
fn push(line: &mut String, text: &str) {
    let edge = |c: char| c.is_whitespace() || c == '\u{feff}';
    let special = |c: char| matches!(c, ',' | ';' | '|' | '\t' | '"' | '\n' | '\r');
    let plain = !text.contains(special) && !text.starts_with(edge) && !text.ends_with(edge);
    if plain && !text.is_empty() && !MISSING.contains(&text) {
        line.push_str(text);
        return;
    }
    line.push('"');
    line.push_str(&text.replace('"', "\"\""));
    line.push('"');
}
