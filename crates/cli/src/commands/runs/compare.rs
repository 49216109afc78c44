//! `tove runs compare`: several runs side by side.

use serde_json::Value;
use tove::plot::terminal::{LineText, bars};

use super::facts::{StoredScore, curve, score, score_keys, title};
use super::{file_name, text_of};
use crate::metrics::{decimals, greater_is_better, label};
use crate::output::{number, paragraph, table};

/// Columns of the terminal that pictures take.
const WIDTH: usize = 76;

/// What differs, the scores with their intervals, and the curves in one picture. Only runs of the same file and target are ranked:
/// scores of different problems cannot be compared.
pub fn text(runs: &[&Value]) -> String {
    let groups = groups(runs);
    let verdict = match &groups[..] {
        [one] => overlap(one).unwrap_or_default(),
        _ => NOT_COMPARED.to_owned(),
    };
    let mut text = if verdict.is_empty() { verdict } else { format!("{}\n", paragraph(&verdict)) };
    text.push_str(&format!("{}\n", table(&rows(runs))));
    for group in groups.iter().filter(|group| groups.len() == 1 || group.len() > 1) {
        if groups.len() > 1 {
            text.push_str(&format!("\n{}:\n", problem(group[0])));
            text.push_str(&overlap(group).map_or(String::new(), |verdict| paragraph(&verdict)));
        }
        text.push_str(&ranked(group));
    }
    let curves: Vec<(String, Vec<f64>)> = runs.iter().map(|run| (title(run), curve(run).1)).collect();
    let drawn = curves.iter().filter(|(_, losses)| losses.len() > 1);
    let chart = drawn.fold(LineText::new(), |chart, (name, losses)| chart.series(name.as_str(), losses));
    if let Ok(picture) = chart.render(WIDTH, 12) {
        text.push_str(&format!("\nObjective by iteration (each model has its own objective):\n{picture}"));
    }
    text
}

/// What is said where runs are of different problems.
pub const NOT_COMPARED: &str =
    "The runs are of different files or targets, so their scores are not compared with each other.";

/// What was predicted, and from what.
pub fn problem(run: &Value) -> String {
    format!("{} from {}", text_of(run, "target"), text_of(run, "file"))
}

/// Runs that predict the same column of the same file with the same values, in the order of the first of each.
pub fn groups<'a>(runs: &[&'a Value]) -> Vec<Vec<&'a Value>> {
    const SAME: [&str; 4] = ["file", "target", "task", "target_fingerprint"];
    let same = |a: &Value, b: &Value| SAME.iter().all(|name| a[name] == b[name]);
    let mut groups: Vec<Vec<&Value>> = Vec::new();
    for &run in runs {
        match groups.iter_mut().find(|group| same(group[0], run)) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}

/// The deciding score of runs of one problem, side by side.
fn ranked(runs: &[&Value]) -> String {
    let mut text = String::new();
    if let Some(key) = score_keys(runs).first() {
        let values = runs.iter().filter_map(|run| Some((title(run), score(run, "test", key)?.value)));
        if let Ok(picture) = bars(&values.collect::<Vec<_>>(), WIDTH) {
            text.push_str(&format!("Held-out {}:\n{picture}", label(key)));
        }
    }
    text
}

/// Rows of a table: what the runs are, then their scores.
pub fn rows(runs: &[&Value]) -> Vec<Vec<String>> {
    let mut head = vec![String::new()];
    head.extend(runs.iter().map(|run| format!("run {}", run["run"])));
    let mut rows = vec![head];
    for name in ["file", "target", "model", "seed", "train_rows", "test_rows", "seconds"] {
        let cell = |run: &&Value| match run[name].as_f64().filter(|value| value.fract() != 0.0) {
            Some(value) => number(value),
            None if name == "file" => file_name(run),
            None => text_of(run, name),
        };
        rows.push(std::iter::once(name.replace('_', " ")).chain(runs.iter().map(cell)).collect());
    }
    for (name, value) in settings(runs) {
        rows.push(std::iter::once(name).chain(value).collect());
    }
    for key in score_keys(runs) {
        let scores: Vec<_> = runs.iter().map(|run| score(run, "test", key)).collect();
        let decimals = decimals(key, scores.iter().flatten().map(|score| score.value));
        let cells = scores.iter().map(|score| score.as_ref().map_or(String::new(), |score| score.text(decimals)));
        rows.push(std::iter::once(format!("held-out {}", label(key))).chain(cells).collect());
    }
    rows
}

/// Hyperparameters that several runs have and that differ between them.
fn settings(runs: &[&Value]) -> Vec<(String, Vec<String>)> {
    let mut names: Vec<&String> = Vec::new();
    for run in runs {
        let known = run["settings"].as_object().into_iter().flatten().map(|(name, _)| name);
        known.for_each(|name| {
            if !names.contains(&name) {
                names.push(name)
            }
        });
    }
    let of = |name: &String| -> Vec<String> {
        let cell = |run: &&Value| match &run["settings"][name] {
            Value::Null => String::new(),
            value => value.to_string(),
        };
        runs.iter().map(cell).collect()
    };
    let all = names.into_iter().map(|name| (name.clone(), of(name)));
    let differ = |values: &[String]| {
        let known: Vec<&String> = values.iter().filter(|value| !value.is_empty()).collect();
        known.len() > 1 && known.iter().any(|value| *value != known[0])
    };
    all.filter(|(_, values)| differ(values)).collect()
}

/// Whether the best two differ by more than their intervals, by the metric that decided.
fn overlap(runs: &[&Value]) -> Option<String> {
    let key = *score_keys(runs).first()?;
    let mut known: Vec<_> = runs.iter().filter_map(|run| Some((title(run), score(run, "test", key)?))).collect();
    let sign = if greater_is_better(key) { 1.0 } else { -1.0 };
    known.sort_by(|a, b| (sign * b.1.value).total_cmp(&(sign * a.1.value)));
    let [(best, first), (next, second), ..] = &known[..] else { return None };
    let decimals = decimals(key, known.iter().map(|(_, score)| score.value));
    let (label, one, other) = (label(key), decimals.show(first.value), decimals.show(second.value));
    if one == other {
        return Some(format!("{best} and {next} tie: held-out {label} {one}."));
    }
    let range = |score: &StoredScore| {
        let around = score.margin.map(|margin| (score.value - margin, score.value + margin));
        around.or(score.interval)
    };
    let apart = |a: (f64, f64), b: (f64, f64)| a.0 > b.1 || b.0 > a.1;
    let verdict = match range(first).zip(range(second)) {
        Some((a, b)) if apart(a, b) => "; the 95 % intervals do not overlap",
        Some(_) => "; the 95 % intervals overlap, so the difference is not clear",
        None => "",
    };
    Some(format!("{best} has the best held-out {label}, {one}, before {next} with {other}{verdict}."))
}
