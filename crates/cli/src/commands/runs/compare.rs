//! `tove runs compare`: several runs side by side.

use serde_json::Value;
use tove::plot::terminal::{LineText, bars};

use super::facts::{curve, score, score_names, title};
use super::text_of;
use crate::output::{number, table};

/// Columns of the terminal that pictures take.
const WIDTH: usize = 76;

/// What differs, the scores with their intervals, and the curves in one picture.
pub fn text(runs: &[&Value]) -> String {
    let mut text = format!("{}\n", table(&rows(runs)));
    if let Some(name) = score_names(runs).first() {
        let values = runs.iter().filter_map(|run| Some((title(run), score(run, "test", name)?.value)));
        if let Ok(picture) = bars(&values.collect::<Vec<_>>(), WIDTH) {
            text.push_str(&format!("test {name}:\n{picture}"));
        }
        if let Some(word) = overlap(runs, name) {
            text.push_str(&format!("{word}\n"));
        }
    }
    let curves: Vec<(String, Vec<f64>)> = runs.iter().map(|run| (title(run), curve(run))).collect();
    let drawn = curves.iter().filter(|(_, losses)| losses.len() > 1);
    let chart = drawn.fold(LineText::new(), |chart, (name, losses)| chart.series(name.as_str(), losses));
    if let Ok(picture) = chart.render(WIDTH, 12) {
        text.push_str(&format!("\nObjective over the iterations (each model has its own):\n{picture}"));
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
            None => text_of(run, name),
        };
        rows.push(std::iter::once(name.replace('_', " ")).chain(runs.iter().map(cell)).collect());
    }
    for (name, value) in settings(runs) {
        rows.push(std::iter::once(name).chain(value).collect());
    }
    for name in score_names(runs) {
        let cell = |run: &&Value| score(run, "test", name).map_or(String::new(), |judged| judged.text());
        rows.push(std::iter::once(format!("test {name}")).chain(runs.iter().map(cell)).collect());
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

/// Whether the best two can be told apart by their intervals.
fn overlap(runs: &[&Value], name: &str) -> Option<String> {
    let mut judged: Vec<_> = runs.iter().filter_map(|run| Some((title(run), score(run, "test", name)?))).collect();
    judged.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    let [(best, first), (next, second), ..] = &judged[..] else { return None };
    let ((low, _), (_, high)) = (first.interval?, second.interval?);
    Some(if low > high {
        format!("{best} is better than {next}: their intervals (95 %) do not meet.")
    } else {
        format!("{best} is not surely better than {next}: their intervals (95 %) overlap.")
    })
}
