//! What the list of runs keeps of a run.

use serde_json::Value;

use crate::commands::training::LOSSES;
use crate::metrics;
use crate::output::Decimals;

/// Points of a curve that are shown, at most.
const POINTS: usize = 500;

/// A score of a run: value and interval.
pub struct StoredScore {
    pub value: f64,
    pub interval: Option<(f64, f64)>,
    /// Half the width of the interval by the standard error.
    pub margin: Option<f64>,
}

impl StoredScore {
    /// The value with its interval, where there is one.
    pub fn text(&self, decimals: Decimals) -> String {
        let value = decimals.show(self.value);
        match (self.interval, self.margin) {
            (Some((low, high)), _) => format!("{value} [{}, {}]", decimals.show(low), decimals.show(high)),
            (None, Some(margin)) => format!("{value} ± {}", decimals.show(margin)),
            _ => value,
        }
    }
}

/// A score by the key of its metric.
pub fn score(run: &Value, part: &str, key: &str) -> Option<StoredScore> {
    let entry = &run[part][key];
    let bound = |place: usize| entry["interval"][place].as_f64();
    let margin = entry["standard_error"].as_f64().filter(|error| *error > 0.0).map(|error| 1.96 * error);
    Some(StoredScore { value: entry["value"].as_f64()?, interval: bound(0).zip(bound(1)), margin })
}

/// Keys of the test scores of some runs, each once: the metric that decided first, then in the usual order.
pub fn score_keys<'a>(runs: &[&'a Value]) -> Vec<&'a str> {
    let mut keys: Vec<&str> = Vec::new();
    for run in runs {
        let known = run["test"].as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        known.for_each(|key| {
            if !keys.contains(&key) {
                keys.push(key)
            }
        });
    }
    let deciding = runs.first().and_then(|run| run["metric"].as_str());
    keys.sort_by_key(|key| (Some(*key) != deciding, metrics::place(key)));
    keys
}

/// A list of numbers.
pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// The objective of a fit by iteration: numbers of iterations, from 1, and values. From the run itself, or from the record of losses
/// that networks leave in its folder.
pub fn curve(run: &Value) -> (Vec<f64>, Vec<f64>) {
    let (known, places) = (numbers(&run["curve"]), numbers(&run["iterations"]));
    if !known.is_empty() {
        let counted = || (1..=known.len()).map(|step| step as f64).collect();
        return (if places.len() == known.len() { places } else { counted() }, known);
    }
    let recorded = run["losses"].as_str().filter(|path| path.ends_with(LOSSES));
    let Some(text) = recorded.and_then(|path| std::fs::read_to_string(path).ok()) else { return Default::default() };
    let entries: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |event: &str, name: &str| -> Vec<f64> {
        entries.iter().filter(|entry| entry["event"] == event).filter_map(|entry| entry[name].as_f64()).collect()
    };
    let steps = of("step", "loss");
    let losses = if steps.is_empty() { of("evaluation", "train_loss") } else { steps };
    let thin = losses.len().div_ceil(POINTS).max(1);
    losses.iter().enumerate().step_by(thin).map(|(place, loss)| ((place + 1) as f64, *loss)).unzip()
}

/// Scores by the number of training rows: rows, on those rows, on the held-out rows. Errors are not negated.
pub fn learning(run: &Value) -> [Vec<f64>; 3] {
    let points = run["learning"].as_array().cloned().unwrap_or_default();
    let sign = if metrics::greater_is_better(run["metric"].as_str().unwrap_or_default()) { 1.0 } else { -1.0 };
    [("rows", 1.0), ("train", sign), ("test", sign)]
        .map(|(name, sign)| points.iter().filter_map(|point| point[name].as_f64()).map(|value| sign * value).collect())
}

/// A name for a run in tables and pictures.
pub fn title(run: &Value) -> String {
    format!("run {} {}", run["run"], run["model"].as_str().unwrap_or_default())
}

/// The candidates of a comparison; runs of older versions have them under another name.
pub fn candidates(run: &Value) -> Vec<Value> {
    let list = ["candidates", "tried"].iter().find_map(|name| run[name].as_array());
    list.cloned().unwrap_or_default()
}
