//! What the list of runs says of a run, found and read.

use serde_json::Value;

use crate::commands::training::LOSSES;
use crate::output::number;

/// Points of a curve that are shown, at most.
const POINTS: usize = 500;

/// A test score of a run: value and interval.
pub struct Judged {
    pub value: f64,
    pub interval: Option<(f64, f64)>,
}

impl Judged {
    /// The value, with its interval where there is one.
    pub fn text(&self) -> String {
        match self.interval {
            Some((low, high)) => format!("{} [{}, {}]", number(self.value), number(low), number(high)),
            None => number(self.value),
        }
    }
}

/// A score by its name.
pub fn score(run: &Value, part: &str, name: &str) -> Option<Judged> {
    let entry = &run[part][name];
    let bound = |place: usize| entry["interval"][place].as_f64();
    Some(Judged { value: entry["value"].as_f64()?, interval: bound(0).zip(bound(1)) })
}

/// Names of the test scores of some runs, each once, the deciding ones first.
pub fn score_names<'a>(runs: &[&'a Value]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for run in runs {
        let known = run["test"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        known.for_each(|name| {
            if !names.contains(&name) {
                names.push(name)
            }
        });
    }
    let first = |name: &&str| !["accuracy", "R²"].contains(name);
    names.sort_by_key(first);
    names
}

/// A list of numbers.
pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// The objective over the iterations of a fit: from the run itself, or from the record of losses that nets leave in its folder.
pub fn curve(run: &Value) -> Vec<f64> {
    let known = numbers(&run["curve"]);
    if !known.is_empty() {
        return known;
    }
    let recorded = run["losses"].as_str().filter(|path| path.ends_with(LOSSES));
    let Some(text) = recorded.and_then(|path| std::fs::read_to_string(path).ok()) else { return Vec::new() };
    let entries: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |event: &str, name: &str| -> Vec<f64> {
        entries.iter().filter(|entry| entry["event"] == event).filter_map(|entry| entry[name].as_f64()).collect()
    };
    let steps = of("step", "loss");
    let losses = if steps.is_empty() { of("evaluation", "train_loss") } else { steps };
    losses.iter().step_by(losses.len().div_ceil(POINTS).max(1)).copied().collect()
}

/// Scores by the number of training rows: rows, on those rows, on the test rows.
pub fn learning(run: &Value) -> [Vec<f64>; 3] {
    let points = run["learning"].as_array().cloned().unwrap_or_default();
    ["rows", "train", "test"].map(|name| points.iter().filter_map(|point| point[name].as_f64()).collect())
}

/// A name for a run in tables and pictures.
pub fn title(run: &Value) -> String {
    format!("run {} {}", run["run"], run["model"].as_str().unwrap_or_default())
}
