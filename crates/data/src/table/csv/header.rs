//! What the beginning of a file tells: delimiter, newline, names of the columns.

use super::CsvOptions;
use super::block::{Plan, Rules};
use super::read::{line_of, open_quote};
use super::tokens::{Until, place, tokenise};
use crate::table::{no_column, repeated};
use crate::{DataError, Result};

/// A file whose header has been read.
pub(super) struct Opened {
    pub file: String,
    pub rules: Rules,
    pub names: Vec<String>,
    pub plans: Vec<Plan>,
    pub unnamed: usize,
    /// Where the rows begin.
    pub body: usize,
}

pub(super) fn open(options: &CsvOptions, file: &str, text: &str, last: bool) -> Result<Opened> {
    let refuse = |problem: String| Err(DataError::TableFile { file: file.to_owned(), problem });
    let bytes = text.as_bytes();
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return refuse("is empty; a table needs a header and rows".to_owned());
    }
    let rules = options.rules(file, bytes)?;
    let mut start = 0;
    // Empty lines before the header are passed over.
    let first = loop {
        let one = tokenise(&bytes[start..], 0, &rules.dialect, Until { byte: 1, rows: 1, last });
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
        return refuse("has a first record without an end; look at its quotes".to_owned());
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
        let advice = "rename all but one, or say that there is no header";
        return refuse(format!("the header names {} more than once; {advice}", list.join(", ")));
    }
    let plans = plans(options, &names)?;
    let body = if options.header { start + first.found.consumed } else { start };
    Ok(Opened { file: file.to_owned(), rules, names, plans, unnamed, body })
}

fn plans(options: &CsvOptions, names: &[String]) -> Result<Vec<Plan>> {
    if let Some((name, _)) = options.kinds.iter().find(|(name, _)| !names.contains(name)) {
        return Err(no_column(name, names));
    }
    let given = |name: &String| {
        let mut chosen = options.kinds.iter().rev().chain(&options.expected);
        let kind = chosen.find(|(known, _)| known == name).map(|&(_, kind)| kind).or(options.rest);
        kind.map_or(Plan::Infer, Plan::Given)
    };
    Ok(names.iter().map(given).collect())
}
