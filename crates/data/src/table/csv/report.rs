//! The report of reading a file: what was dropped, coerced and inferred.

use super::number_format::NumberFormat;
use crate::table::Kind;
use crate::{Problem, Remedy};

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
    /// Empty lines, which are not rows.
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
    /// How its numbers are written, where that was found to be with separators of thousands or a decimal comma.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<NumberFormat>,
    /// The values that stopped a column of numbers from being one, where it was read as strings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_numbers: Option<NotNumbers>,
}

/// Values that stopped a column of numbers from being one.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct NotNumbers {
    /// Values that are numbers.
    pub numbers: usize,
    /// Values that are not, and not missing either.
    pub others: usize,
    /// The first few of those, each with its line.
    pub first: Vec<(u64, String)>,
}

impl NotNumbers {
    /// What they are and where.
    pub fn listed(&self) -> String {
        let shown = |(line, value): &(u64, String)| format!("{} in line {line}", crate::error::shown(value));
        let mut text = self.first.iter().map(shown).collect::<Vec<_>>().join(", ");
        if self.others > self.first.len() {
            text.push_str(", …");
        }
        text
    }
}

impl ColumnReport {
    /// A column of which nothing more is to be said.
    pub(in crate::table) fn new(name: &str, kind: Kind) -> Self {
        let name = name.to_owned();
        let (given, missing, coerced, first_coerced, format, not_numbers) = (false, 0, 0, None, None, None);
        Self { name, kind, given, missing, coerced, first_coerced, format, not_numbers }
    }
}

impl ReadReport {
    /// Values that became missing in all columns together.
    pub fn coerced(&self) -> usize {
        self.columns.iter().map(|column| column.coerced).sum()
    }

    /// One sentence for each thing that was changed or dropped; empty if nothing was.
    pub fn notes(&self) -> Vec<Problem> {
        let mut notes = Vec::new();
        let mut note = |count: usize, text: Problem| {
            if count > 0 {
                notes.push(text);
            }
        };
        let lines: Vec<String> = self.dropped_lines.iter().map(u64::to_string).collect();
        let dots = if self.dropped_rows > lines.len() { ", …" } else { "" };
        note(
            self.dropped_rows,
            format!("{} ragged rows dropped (lines {}{dots})", self.dropped_rows, lines.join(", ")).into(),
        );
        for column in &self.columns {
            let (line, value) = column.first_coerced.clone().unwrap_or_default();
            let first = format!("the first is {} in line {line}", crate::error::shown(&value));
            let text = format!(
                "{} values of {:?} are not valid as {} and became missing; {first}",
                column.coerced, column.name, column.kind
            );
            note(column.coerced, text.into());
            if let Some(format) = column.format {
                note(1, format!("column {:?} holds {format}", column.name).into());
            }
            if let Some(found) = &column.not_numbers {
                let are = if found.others == 1 { "is not a number" } else { "are not numbers" };
                let text = format!(
                    "column {:?} is read as {}: {} of its {} values {are}: {}",
                    column.name,
                    column.kind,
                    found.others,
                    found.others + found.numbers,
                    found.listed()
                );
                let remedy = Remedy::ColumnKind { column: column.name.clone(), kind: Kind::Float, coerce: true };
                note(found.others, Problem::new(text).advice("fix the file").remedy(remedy));
            }
        }
        note(self.odd_quotes, format!("{} fields with text after a closing quote", self.odd_quotes).into());
        note(self.unnamed_columns, format!("{} columns without a name", self.unnamed_columns).into());
        note(usize::from(self.encoding == "latin-1"), "read as latin-1: the bytes are not UTF-8".into());
        notes
    }
}
