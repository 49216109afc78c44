//! Delimiter, newline and column names, from the beginning of a file.

use super::CsvOptions;
use super::block::{Plan, Rules};
use super::number_format::NumberFormat;
use super::read::{line_of, open_quote};
use super::tokens::{Until, place, tokenise};
use crate::table::{Kind, no_column, repeated};
use crate::{DataError, Problem, Remedy, Result};

/// A file whose header has been read.
pub(super) struct Opened {
    pub file: String,
    pub rules: Rules,
    pub names: Vec<String>,
    pub plans: Vec<Plan>,
    /// How numbers are written, where a schema says so.
    pub formats: Vec<Option<NumberFormat>>,
    pub unnamed: usize,
    /// Where the rows begin.
    pub body: usize,
}

pub(super) fn open(options: &CsvOptions, file: &str, text: &str, last: bool) -> Result<Opened> {
    let refuse = |problem: Problem| Err(DataError::TableFile { file: file.to_owned(), problem });
    let bytes = text.as_bytes();
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return refuse("is empty; a table needs a header and rows".into());
    }
    let rules = options.rules(file, bytes)?;
    let mut start = 0;
    // Empty lines before the header are passed over.
    let first = loop {
        let until = Until { byte: 1, rows: 1, fields: options.max_columns.saturating_add(1), last };
        let one = tokenise(&bytes[start..], 0, &rules.dialect, until);
        if one.found.wide {
            return Err(DataError::TooLarge { file: file.to_owned(), what: "columns", most: options.max_columns });
        }
        if let Some(offset) = one.found.open {
            return Err(open_quote(file, line_of(text, start + offset)));
        }
        let blank = one.spans.iter().all(|span| span.start() == span.end());
        if !blank || one.found.consumed == 0 || one.spans.len() > 1 {
            break one;
        }
        start += one.found.consumed;
    };
    let head = &text[start..];
    let mut scratch = String::new();
    let found: Vec<String> = first
        .spans
        .iter()
        .map(|&span| place(head, span, &rules.dialect, &mut scratch).str().trim().to_owned())
        .collect();
    if found.is_empty() {
        return refuse("has a first record that never ends; check its quotes".into());
    }
    let unnamed = if options.header { found.iter().filter(|name| name.is_empty()).count() } else { 0 };
    let named = |(number, name): (usize, String)| match options.header && !name.is_empty() {
        true => name,
        false => format!("column_{}", number + 1),
    };
    let names: Vec<String> = found.into_iter().enumerate().map(named).collect();
    let twice = repeated(&names);
    if !twice.is_empty() {
        let list: Vec<String> = twice.iter().map(|name| format!("{name:?}")).collect();
        let problem = Problem::new(format!("the header names {} more than once", list.join(", ")));
        return refuse(problem.advice("rename all but one").remedy(Remedy::NoHeader));
    }
    let plans = plans(options, &names)?;
    let body = if options.header { start + first.found.consumed } else { start };
    let format = |name: &String| options.formats.iter().find(|(known, _)| known == name).map(|&(_, format)| format);
    let formats = names.iter().map(format).collect();
    Ok(Opened { file: file.to_owned(), rules, names, plans, formats, unnamed, body })
}

fn plans(options: &CsvOptions, names: &[String]) -> Result<Vec<Plan>> {
    if let Some((name, _)) = options.kinds.iter().find(|(name, _)| !names.contains(name)) {
        return Err(no_column(name, names));
    }
    let given = |name: &String| {
        let chosen = options.kinds.iter().rev().find(|(known, _)| known == name).map(|&(_, kind)| Plan::Given(kind));
        // A column that held whole numbers may hold others in another file.
        let expected = || match options.expected.iter().find(|(known, _)| known == name)?.1 {
            Kind::Integer => Some(Plan::Number),
            kind => Some(Plan::Given(kind)),
        };
        chosen.or_else(expected).or(options.rest.map(Plan::Given)).unwrap_or(Plan::Infer)
    };
    Ok(names.iter().map(given).collect())
}
