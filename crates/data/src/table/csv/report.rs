//! What reading a file did to it.

use crate::table::Kind;

/// What was read, and everything that was coerced or dropped on the way.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ReadReport {
    /// The file.
    pub file: String,
    /// Bytes read, unpacked.
    pub bytes: u64,
    /// Rows of the table.
    pub rows: usize,
    /// The delimiter, given or found; empty for Parquet.
    pub delimiter: String,
    /// `utf-8` or `latin-1`; empty for Parquet.
    pub encoding: String,
    /// Rows that were dropped because they had another number of fields than the header.
    pub dropped_rows: usize,
    /// Lines of the first few of them.
    pub dropped_lines: Vec<u64>,
    /// Empty lines, which are no rows.
    pub blank_lines: usize,
    /// Fields with something behind their closing quote; the quotes were removed.
    pub odd_quotes: usize,
    /// Header fields without a name, which were called `column_1` and so on.
    pub unnamed_columns: usize,
    /// The columns.
    pub columns: Vec<ColumnReport>,
}

/// What reading did to a column.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ColumnReport {
    /// Its name.
    pub name: String,
    /// What it was read as.
    pub kind: Kind,
    /// Whether that was given rather than inferred.
    pub given: bool,
    /// How many values are missing, the coerced ones included.
    pub missing: usize,
    /// How many values did not fit the given kind and became missing.
    pub coerced: usize,
    /// The first of them, with its line.
    pub first_coerced: Option<(u64, String)>,
}

impl ReadReport {
    /// Values that became missing in all columns together.
    pub fn coerced(&self) -> usize {
        self.columns.iter().map(|column| column.coerced).sum()
    }

    /// One sentence for each thing that was changed or dropped; empty if nothing was.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |count: usize, text: String| {
            if count > 0 {
                notes.push(text);
            }
        };
        let lines: Vec<String> = self.dropped_lines.iter().map(u64::to_string).collect();
        let dots = if self.dropped_rows > lines.len() { ", …" } else { "" };
        note(
            self.dropped_rows,
            format!("{} ragged rows dropped (lines {}{dots})", self.dropped_rows, lines.join(", ")),
        );
        for column in &self.columns {
            let (line, value) = column.first_coerced.clone().unwrap_or_default();
            let first = format!("the first is {} in line {line}", crate::error::shown(&value));
            let text = format!(
                "{} values of {:?} are no {} and became missing; {first}",
                column.coerced, column.name, column.kind
            );
            note(column.coerced, text);
        }
        note(self.odd_quotes, format!("{} fields with text behind a closing quote", self.odd_quotes));
        note(self.unnamed_columns, format!("{} columns without a name", self.unnamed_columns));
        note(usize::from(self.encoding == "latin-1"), "read as latin-1: the bytes are not UTF-8".to_owned());
        notes
    }
}
