//! What a fit tells: the table, the comparison, the scores, and everything for machines.

use std::path::Path;

use serde_json::{Value, json};
use tove::data::table::{Description, ReadReport, Schema, Table};
use tove::learn::{Predict, Samples};
use tove::metrics::ConfusionMatrix;
use tove::tabular::{ColumnCounts, Doubt, NamedScore, Outcome, Spelling, TabularModel, Tried};
use tove::tensor::DType;

use super::order;
use crate::arguments::Fit;
use crate::output::{number, table};

/// What the table is, in a line and a small table.
pub fn summary(fit: &Fit, data: &Table, about: &Description, schema: &Schema) -> String {
    let mut rows = vec![["column", "kind", "role", "missing", "distinct"].map(str::to_owned).to_vec()];
    let shown = 30;
    for column in about.columns.iter().take(shown) {
        let role = schema.field(&column.name).map_or(String::new(), |field| format!("{:?}", field.role).to_lowercase());
        let missing = if column.missing == 0 { String::new() } else { column.missing.to_string() };
        rows.push(vec![column.name.clone(), column.kind.to_string(), role, missing, column.distinct.to_string()]);
    }
    let more = about.columns.len().saturating_sub(shown);
    let rest = if more > 0 { format!("and {more} more columns\n") } else { String::new() };
    format!("{}: {} rows, {} columns\n\n{}{rest}", fit.file.display(), data.n_rows(), data.n_columns(), table(&rows))
}

/// Standard errors on either side that hold the true score 95 times of 100.
const NORMAL: f64 = 1.96;

/// A score with its interval, or with what stands for it.
pub fn with_interval(named: &NamedScore) -> String {
    match (named.score.interval(), named.standard_error) {
        (Some((low, high)), _) => format!("{:.4} [{low:.4}, {high:.4}]", named.score.value),
        // Without a single mistake the spread is 0, which says nothing of how sure that is.
        (None, Some(error)) if error > 0.0 => format!("{} ± {}", number(named.score.value), number(NORMAL * error)),
        _ => number(named.score.value),
    }
}

/// What brackets and ± beside the scores mean.
pub fn legend(scores: &[NamedScore]) -> String {
    let mut text = String::new();
    if scores.iter().any(|named| named.score.interval().is_some()) {
        text.push_str("Intervals in brackets hold with probability 95 %, whatever the distribution (Hoeffding).");
    }
    if scores.iter().any(|named| named.score.interval().is_none() && named.standard_error.is_some()) {
        text.push_str(if text.is_empty() { "" } else { " " });
        text.push_str("± is 1.96 standard errors, about 95 % when there are many rows.");
    }
    text
}

/// What the scores are worth beside those of a constant prediction, where that is little.
pub fn beside_baseline(outcome: &Outcome) -> Option<String> {
    let (model, constant) = (outcome.test.first()?, outcome.baseline.first()?);
    let (value, base, name) = (model.score.value, constant.score.value, model.name);
    let error = model.standard_error.map_or(0.0, |error| NORMAL * error);
    if value - error > base {
        return None;
    }
    let mut text = if value <= base {
        format!(
            "On these rows the model is no better than a constant: {name} {} against {}.",
            number(value),
            number(base)
        )
    } else {
        format!(
            "{name} {} against {} of a constant: {} rows cannot tell that from chance.",
            number(value),
            number(base),
            outcome.judged_rows
        )
    };
    let ranks = outcome.test.iter().find(|named| named.name == "area under ROC").map(|named| {
        let error = named.standard_error.map_or(0.0, |error| NORMAL * error);
        (named.score.value, named.score.value - error > 0.5)
    });
    if let Some((area, true)) = ranks {
        text.push_str(&format!(
            " But it ranks the rows (area under ROC {}): where one class is rare, judge by that, or weigh the classes with \
             --class-weight balanced.",
            number(area)
        ));
    }
    Some(text)
}

/// What makes the scores doubtful, a sentence each, with the option that mends it.
pub fn doubts(outcome: &Outcome) -> Vec<String> {
    let sentence = |doubt: &Doubt| match doubt {
        Doubt::NamesRows { column } => format!("{doubt} (--id {})", quoted(column)),
        Doubt::Constant { column } | Doubt::TellsTarget { column, .. } => {
            format!("{doubt} (--drop {})", quoted(column))
        }
        Doubt::InTime { .. } => format!("{doubt} (--in-order)"),
        Doubt::Spelt { spelling, .. } => format!("{doubt}; {}", respelt(*spelling)),
        _ => doubt.to_string(),
    };
    outcome.doubts.iter().map(sentence).collect()
}

/// What to do about numbers and dates that are spelt in another way.
pub fn respelt(spelling: Spelling) -> &'static str {
    match spelling {
        Spelling::DecimalComma => "add --decimal-comma",
        Spelling::DayMonthYear => "write dates like 2024-12-31",
        _ => "write plain numbers, such as 1200.5",
    }
}

/// A name as a shell takes it.
pub fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=+@%".contains(c);
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

/// Classes up to which the confusion matrix is printed.
const FEW_CLASSES: usize = 8;

/// Which class is taken for which on rows that judge, for a few classes.
pub fn confusion(model: &TabularModel, samples: &Samples) -> Option<String> {
    let predicted = model.model().predict(samples.x()).ok()?;
    let matrix = ConfusionMatrix::new(&samples.y().to_dtype(DType::I64), &predicted, None).ok()?;
    named_matrix(model, matrix)
}

/// A confusion matrix with the names of the classes, if there are few.
pub fn named_matrix(model: &TabularModel, matrix: ConfusionMatrix) -> Option<String> {
    let names: Vec<&str> = model.classes().iter().map(String::as_str).collect();
    (!names.is_empty() && names.len() <= FEW_CLASSES).then(|| matrix.named(&names).to_string())
}

/// Rows of a table with the scores on training rows, test rows and of the baseline.
pub fn score_rows(outcome: &Outcome) -> Vec<Vec<String>> {
    let mut rows = vec![["score", "training rows", "test rows", "baseline"].map(str::to_owned).to_vec()];
    let find = |scores: &[NamedScore], name: &str| {
        scores.iter().find(|named| named.name == name).map_or(String::new(), |named| number(named.score.value))
    };
    for named in &outcome.test {
        rows.push(vec![
            named.name.to_owned(),
            find(&outcome.train, named.name),
            with_interval(named),
            find(&outcome.baseline, named.name),
        ]);
    }
    rows
}

/// Rows of a table with what each candidate reached.
pub fn tried_rows(outcome: &Outcome) -> Vec<Vec<String>> {
    let head = format!("mean {}", outcome.scorer);
    let mut rows = vec![vec!["model".to_owned(), head, "deviation".to_owned(), "seconds".to_owned(), String::new()]];
    for tried in &outcome.tried {
        let mark =
            if tried.name == outcome.chosen { "chosen".to_owned() } else { tried.problem.clone().unwrap_or_default() };
        rows.push(vec![
            tried.name.clone(),
            tried.mean().map_or(String::new(), number),
            tried.spread().map_or(String::new(), number),
            if tried.problem.is_some() { String::new() } else { format!("{:.2}", tried.seconds) },
            mark,
        ]);
    }
    rows
}

/// What the fits of the comparison warned of, a sentence for each candidate.
pub fn warnings_of_folds(outcome: &Outcome) -> Vec<String> {
    let sentence = |tried: &Tried| {
        let (text, folds) = tried.warning.as_ref()?;
        Some(format!("in {folds} of {} folds of {}: {text}", tried.scores.len().max(*folds), tried.name))
    };
    outcome.tried.iter().filter_map(sentence).collect()
}

/// Why the winner won, and what that is worth.
pub fn verdict(outcome: &Outcome) -> String {
    let mut better: Vec<(&str, f64)> =
        outcome.tried.iter().filter_map(|tried| Some((tried.name.as_str(), tried.mean()?))).collect();
    better.sort_by(|a, b| b.1.total_cmp(&a.1));
    let [(first, most), (second, next), ..] = better[..] else { return String::new() };
    let scorer = outcome.scorer;
    let mut text = if most == next {
        format!(
            "{first} and {second} have the same mean {scorer} over the folds, {}; the first in the list is taken.",
            number(most)
        )
    } else {
        format!(
            "{first} has the best mean {scorer} over the folds, {}; the next is {second} with {}.",
            number(most),
            number(next)
        )
    };
    if let Some(guarantee) = outcome.guarantee {
        let (k, epsilon) = (better.len(), guarantee.epsilon);
        text.push_str(&format!(
            " With probability 95 % all {k} mean errors lie within {epsilon:.4} of the true ones of the models in the folds \
             (Hoeffding for the rows of one fold, union bound over {k} models)"
        ));
        if guarantee.excess < 1.0 {
            text.push_str(&format!(", so the choice is at most {:.4} worse than the best of them", guarantee.excess));
        }
        text.push('.');
        if most - next < 2.0 * epsilon {
            text.push_str(
                " The difference between the first two is smaller than that: other rows could turn it round.",
            );
        }
    }
    text
}

/// Everything that was left out, filled or changed on the way, a sentence each.
pub fn changes(read: &ReadReport, outcome: &Outcome) -> Vec<String> {
    let mut changes = read.notes();
    if outcome.dropped > 0 {
        changes.push(format!("{} rows without a target were left out", outcome.dropped));
    }
    let list = |counts: &ColumnCounts| {
        let shown: Vec<String> = counts.iter().take(8).map(|(name, count)| format!("{name} {count}")).collect();
        let more = counts.len().saturating_sub(8);
        shown.join(", ") + &if more > 0 { format!(" and {more} more columns") } else { String::new() }
    };
    if !outcome.imputed.is_empty() {
        changes.push(format!("missing values were filled: {}", list(&outcome.imputed)));
    }
    if !outcome.unseen.is_empty() {
        changes.push(format!("test rows with a category that no training row has: {}", list(&outcome.unseen)));
    }
    changes
}

/// How the file was gone through, if in pieces.
pub fn streaming(outcome: &Outcome) -> Option<String> {
    let streamed = outcome.streamed.as_ref()?;
    let mut text = format!("Read in pieces, {} passes over the file.", streamed.passes);
    if streamed.set_aside > outcome.judged_rows {
        text.push_str(&format!(
            " {} rows were set aside; {} of them, drawn at random, judge.",
            streamed.set_aside, outcome.judged_rows
        ));
    }
    Some(text)
}

/// The result for people.
pub fn text(read: &ReadReport, outcome: &Outcome, model: &Path, page: &Path, run: u64) -> String {
    let mut text = String::new();
    for change in changes(read, outcome) {
        text.push_str(&format!("Note: {change}.\n"));
    }
    for doubt in doubts(outcome) {
        text.push_str(&format!("Doubt: {doubt}.\n"));
    }
    if let Some(streaming) = streaming(outcome) {
        text.push_str(&format!("{streaming}\n"));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    if !outcome.tried.is_empty() {
        text.push_str(&format!("Cross-validation on {} training rows:\n\n", outcome.fitted_rows));
        text.push_str(&format!("{}\n", table(&tried_rows(outcome))));
        for warning in warnings_of_folds(outcome) {
            text.push_str(&format!("Note: {warning}\n\n"));
        }
        if outcome.interrupted {
            text.push_str(
                "Interrupted: the best model so far was taken, as it was fitted to the rows of its last fold.\n\n",
            );
        }
        let verdict = verdict(outcome);
        if !verdict.is_empty() {
            text.push_str(&format!("{verdict}\n\n"));
        }
    }
    let rows = outcome.judged_rows;
    text.push_str(&format!("{} judged on {rows} rows that nothing was fitted on:\n\n", outcome.chosen));
    text.push_str(&table(&score_rows(outcome)));
    let legend = legend(&outcome.test);
    if !legend.is_empty() {
        text.push_str(&format!("\n{legend}\n"));
    }
    if let Some(sentence) = beside_baseline(outcome) {
        text.push_str(&format!("\n{sentence}\n"));
    }
    if let Some(matrix) = confusion(&outcome.model, &outcome.test_samples) {
        text.push_str(&format!("\n{matrix}"));
    }
    for warning in &outcome.model.model().summary().warnings {
        text.push_str(&format!("Note: {warning}\n"));
    }
    text.push_str(&format!(
        "\nRun {run}, {:.1} s. Model: {}  Report: {}\n",
        outcome.seconds,
        model.display(),
        page.display()
    ));
    text
}

fn scores(list: &[NamedScore]) -> Value {
    let entry = |named: &NamedScore| {
        (
            named.name.to_owned(),
            json!({
                "value": named.score.value, "interval": named.score.interval(),
                "standard_error": named.standard_error, "n": named.score.n,
            }),
        )
    };
    Value::Object(list.iter().map(entry).collect())
}

/// The objective of each iteration, thinned to a few hundred.
pub fn curve(outcome: &Outcome) -> Vec<f64> {
    let whole = match &outcome.streamed {
        Some(streamed) => &streamed.curve,
        None => &outcome.model.model().summary().curve,
    };
    whole.iter().step_by(whole.len().div_ceil(500).max(1)).copied().collect()
}

/// The most memory that the process ever had, in bytes, where the system tells.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

fn counted(counts: &ColumnCounts) -> Value {
    Value::Object(counts.iter().map(|(name, count)| (name.clone(), json!(count))).collect())
}

/// The result for machines, and what the list of runs keeps.
pub fn document(fit: &Fit, read: &ReadReport, outcome: &Outcome, model: &Path, page: &Path) -> Value {
    let tried: Vec<Value> = outcome
        .tried
        .iter()
        .map(|tried| {
            json!({
                "model": tried.name, "scores": tried.scores, "mean": tried.mean(), "seconds": tried.seconds,
                "problem": tried.problem, "warning": tried.warning.as_ref().map(|(text, _)| text),
            })
        })
        .collect();
    let learning: Vec<Value> = outcome
        .learning
        .iter()
        .map(|point| json!({"rows": point.rows, "train": point.train, "test": point.test}))
        .collect();
    let streamed = outcome.streamed.as_ref();
    let streamed = streamed.map(|how| json!({"passes": how.passes, "set_aside": how.set_aside}));
    json!({
        "file": fit.file.display().to_string(), "target": fit.target, "task": outcome.model.task().to_string(),
        "classes": outcome.model.classes(), "model": outcome.chosen, "settings": outcome.model.model().settings(),
        "seed": fit.seed, "division": order::division(fit).to_string(), "scorer": outcome.scorer.to_string(), "tried": tried, "verdict": verdict(outcome),
        "interrupted": outcome.interrupted, "train": scores(&outcome.train), "test": scores(&outcome.test),
        "baseline": scores(&outcome.baseline), "learning": learning, "curve": curve(outcome),
        "train_rows": outcome.fitted_rows, "test_rows": outcome.judged_rows, "dropped": outcome.dropped,
        "imputed": counted(&outcome.imputed), "unseen": counted(&outcome.unseen), "read": read,
        "coerced": read.coerced(), "doubts": doubts(outcome), "beside_baseline": beside_baseline(outcome), "streamed": streamed, "peak_memory": peak_memory(), "seconds": outcome.seconds,
        "warnings": outcome.model.model().summary().warnings, "model_file": model.display().to_string(),
        "report": page.display().to_string(),
    })
}
