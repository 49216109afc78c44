//! Warnings about the data, and what was done to them.

use std::sync::{Arc, Mutex, PoisonError};

use tove::data::table::ReadReport;
use tove::tabular::{ColumnCounts, DataWarning, Outcome, Spelling};

use crate::failure::tell_warnings;

/// Reasons to doubt the scores, a sentence each, with the option that helps.
pub fn data_warnings(outcome: &Outcome) -> Vec<String> {
    let sentence = |doubt: &DataWarning| match doubt {
        DataWarning::NamesRows { column } => format!("{doubt} (--id {})", quoted(column)),
        DataWarning::Constant { column }
        | DataWarning::TellsTarget { column, .. }
        | DataWarning::Dominates { column, .. } => {
            format!("{doubt} (--drop {})", quoted(column))
        }
        DataWarning::Codes { column, .. } => {
            format!("{doubt} (--type {}, or --drop {})", quoted(&format!("{column}=categorical")), quoted(column))
        }
        DataWarning::CodesAsText { column, .. } => {
            format!("{doubt} (--type {})", quoted(&format!("{column}=categorical")))
        }
        DataWarning::InTime { .. } => format!("{doubt} (--in-order)"),
        DataWarning::Spelt { spelling, .. } => format!("{doubt}; {}", other_format(*spelling)),
        _ => doubt.to_string(),
    };
    outcome.data_warnings.iter().map(sentence).collect()
}

/// What to do about numbers and dates that are written in another format.
pub fn other_format(spelling: Spelling) -> &'static str {
    match spelling {
        Spelling::DecimalComma => "add --decimal-comma",
        Spelling::DayMonthYear => "write dates like 2024-12-31",
        _ => "write plain numbers, such as 1200.5",
    }
}

/// A name quoted for the shell, where it needs that.
pub fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=+@%".contains(c);
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

/// Everything that was left out, imputed or changed, a sentence each.
pub fn changes(read: &ReadReport, outcome: &Outcome) -> Vec<String> {
    let mut changes = crate::tables::notes(read);
    if outcome.dropped > 0 {
        changes.push(format!("{} rows without a target were left out", outcome.dropped));
    }
    let list = |counts: &ColumnCounts| {
        let shown: Vec<String> = counts.iter().take(8).map(|(name, count)| format!("{name} {count}")).collect();
        let more = counts.len().saturating_sub(8);
        shown.join(", ") + &if more > 0 { format!(" and {more} more columns") } else { String::new() }
    };
    if !outcome.imputed.is_empty() {
        changes.push(format!("missing values were imputed: {}", list(&outcome.imputed)));
    }
    if !outcome.unseen.is_empty() {
        changes.push(format!("test rows with a category that is not in the training rows: {}", list(&outcome.unseen)));
    }
    changes
}

/// Warnings that are kept until the fit has ended, at most.
const KEPT: usize = 1000;

/// Fits, and gathers what would be written to standard error meanwhile: nested fits on other threads warn there, often alike.
/// Warnings of the fit itself are in the summary of the model.
pub fn heard<R>(work: impl FnOnce() -> R) -> (R, Vec<String>) {
    let list = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&list);
    tove::learn::on_warning(move |text| {
        let mut list = ear.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() < KEPT {
            list.push(text.to_owned());
        }
    });
    let result = work();
    tell_warnings();
    let list = std::mem::take(&mut *list.lock().unwrap_or_else(PoisonError::into_inner));
    (result, list)
}

/// Warnings that differ in numbers at most, once each.
pub fn gathered(warnings: &[String]) -> Vec<String> {
    let key = |text: &str| text.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
    let mut counted: Vec<(&String, usize)> = Vec::new();
    for warning in warnings {
        match counted.iter_mut().find(|(known, _)| key(known) == key(warning)) {
            Some((_, count)) => *count += 1,
            None => counted.push((warning, 1)),
        }
    }
    let sentence = |(warning, count): (&String, usize)| match count {
        1 => warning.clone(),
        count => format!("in {count} nested fits, for example: {warning}"),
    };
    counted.into_iter().map(sentence).collect()
}

/// How the file was read, if in chunks.
pub fn streaming(outcome: &Outcome) -> Option<String> {
    let streamed = outcome.streamed.as_ref()?;
    let mut text = format!("The file was read in chunks, in {} passes.", streamed.passes);
    if streamed.set_aside > outcome.n_test {
        text.push_str(&format!(
            " {} rows were held out; {} of them, drawn at random, were used for the scores.",
            streamed.set_aside, outcome.n_test
        ));
    }
    Some(text)
}
