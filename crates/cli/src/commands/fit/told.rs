//! What a fit tells: the table, the comparison, the scores, and everything for machines.

use std::path::Path;

use serde_json::{Value, json};
use tove::data::table::{Description, ReadReport, Schema, Table};
use tove::tabular::{ColumnCounts, NamedScore, Outcome};

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

fn with_interval(named: &NamedScore) -> String {
    match named.score.interval() {
        Some((low, high)) => format!("{:.4} [{low:.4}, {high:.4}]", named.score.value),
        None => number(named.score.value),
    }
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

/// Why the winner won, and what that is worth.
pub fn verdict(outcome: &Outcome) -> String {
    let mut better: Vec<(&str, f64)> =
        outcome.tried.iter().filter_map(|tried| Some((tried.name.as_str(), tried.mean()?))).collect();
    better.sort_by(|a, b| b.1.total_cmp(&a.1));
    let [(first, most), (second, next), ..] = better[..] else { return String::new() };
    let scorer = outcome.scorer;
    let mut text = format!(
        "{first} has the best mean {scorer} over the folds, {}; the next is {second} with {}.",
        number(most),
        number(next)
    );
    if let Some(guarantee) = outcome.guarantee {
        let (k, epsilon) = (better.len(), guarantee.epsilon);
        text.push_str(&format!(
            " All {k} errors lie within {epsilon:.4} of the true ones with probability 95 % (union bound), so the choice is \
             at most {:.4} worse than the best of them.",
            guarantee.excess
        ));
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
    if let Some(streaming) = streaming(outcome) {
        text.push_str(&format!("{streaming}\n"));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    if !outcome.tried.is_empty() {
        text.push_str(&format!("Cross-validation on {} training rows:\n\n", outcome.fitted_rows));
        text.push_str(&format!("{}\n", table(&tried_rows(outcome))));
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
    if outcome.test.iter().any(|named| named.score.interval().is_some()) {
        text.push_str("\nIntervals in brackets hold with probability 95 %, whatever the distribution (Hoeffding).\n");
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
            json!({"value": named.score.value, "interval": named.score.interval(), "n": named.score.n}),
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
                "problem": tried.problem,
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
        "seed": fit.seed, "scorer": outcome.scorer.to_string(), "tried": tried, "verdict": verdict(outcome),
        "interrupted": outcome.interrupted, "train": scores(&outcome.train), "test": scores(&outcome.test),
        "baseline": scores(&outcome.baseline), "learning": learning, "curve": curve(outcome),
        "train_rows": outcome.fitted_rows, "test_rows": outcome.judged_rows, "dropped": outcome.dropped,
        "imputed": counted(&outcome.imputed), "unseen": counted(&outcome.unseen), "read": read,
        "coerced": read.coerced(), "streamed": streamed, "peak_memory": peak_memory(), "seconds": outcome.seconds,
        "warnings": outcome.model.model().summary().warnings, "model_file": model.display().to_string(),
        "report": page.display().to_string(),
    })
}
