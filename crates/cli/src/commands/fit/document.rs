//! The result of a fit for machines, which is also what the list of runs keeps.

use std::path::Path;

use serde_json::{Value, json};
use tove::data::table::ReadReport;
use tove::tabular::{ColumnCounts, NamedScore, Outcome};

use super::comparison::{method, rungs};
use super::options;
use super::search;
use super::verdict::{beside_baseline, verdict};
use super::warnings::data_warnings;
use crate::arguments::Fit;
use crate::metrics;

/// Scores by the ids of their metrics.
pub fn scores(list: &[NamedScore]) -> Value {
    let entry = |named: &NamedScore| {
        (
            named.key().to_owned(),
            json!({
                "value": named.score.value, "interval": named.score.interval(),
                "standard_error": named.standard_error, "n": named.score.n,
            }),
        )
    };
    Value::Object(list.iter().map(entry).collect())
}

/// Points of a curve that are kept, at most.
const POINTS: usize = 500;

/// The objective of each iteration: numbers of iterations, from 1, and values, thinned to a few hundred.
pub fn curve(outcome: &Outcome) -> (Vec<f64>, Vec<f64>) {
    let whole = match &outcome.streamed {
        Some(streamed) => &streamed.curve,
        None => &outcome.model.model().summary().curve,
    };
    let step = whole.len().div_ceil(POINTS).max(1);
    whole.iter().enumerate().step_by(step).map(|(place, value)| ((place + 1) as f64, *value)).unzip()
}

/// The peak memory of the process in bytes, where the system reports it.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

fn counted(counts: &ColumnCounts) -> Value {
    Value::Object(counts.iter().map(|(name, count)| (name.clone(), json!(count))).collect())
}

/// The whole document.
pub fn document(fit: &Fit, read: &ReadReport, outcome: &Outcome, model: &Path, page: &Path) -> Value {
    let tried: Vec<Value> = outcome
        .candidates
        .iter()
        .map(|tried| {
            json!({
                "model": tried.name, "scores": tried.scores, "mean": tried.mean(), "seconds": tried.seconds,
                "rows": tried.rows, "dropped": tried.dropped, "rungs": rungs(tried),
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
        "file": fit.file.display().to_string(), "target": fit.target,
        "target_fingerprint": outcome.model.facts()["target_fingerprint"], "task": outcome.model.task().to_string(),
        "classes": outcome.model.classes(), "model": outcome.chosen, "settings": outcome.model.model().settings(),
        "seed": fit.seed, "division": options::division(fit).to_string(), "scorer": outcome.scorer.to_string(), "metric": metrics::id(outcome.scorer),
        "candidates": tried, "search": search::document(fit, outcome), "verdict": verdict(outcome), "comparison": method(outcome),
        "interrupted": outcome.interrupted, "budget": options::budget(fit),
        "cut": outcome.cut.map(|cut| json!({"rows": cut.rows, "of": cut.of, "cut_short": cut.cut_short})), "train": scores(&outcome.train), "test": scores(&outcome.test),
        "baseline": scores(&outcome.baseline), "learning": learning, "curve": curve(outcome).1, "iterations": curve(outcome).0,
        "train_rows": outcome.n_train, "test_rows": outcome.n_test, "dropped": outcome.dropped,
        "imputed": counted(&outcome.imputed), "unseen": counted(&outcome.unseen), "read": read,
        "coerced": read.coerced(), "data_warnings": data_warnings(outcome), "beside_baseline": beside_baseline(outcome), "streamed": streamed, "peak_memory": peak_memory(), "seconds": outcome.seconds,
        "warnings": outcome.model.model().summary().warnings, "model_file": model.display().to_string(),
        "report": page.display().to_string(),
    })
}
