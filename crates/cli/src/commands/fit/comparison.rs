//! The comparison of models: what each reached, the bound that holds for the choice, and what the time budget allowed.

use serde_json::{Value, json};
use tove::tabular::{BudgetLimit, CandidateResult, Outcome, SubsampleFit};

use crate::metrics;

/// Rows of a table with what each candidate reached, the best first.
pub fn tried_rows(outcome: &Outcome) -> Vec<Vec<String>> {
    let scorer = outcome.scorer;
    let head = format!("mean {}", scorer.label());
    let mut rows = vec![vec!["model".to_owned(), head, "std".to_owned(), "seconds".to_owned(), String::new()]];
    // Fits to parts of the rows can be compared only if it is told which.
    let staged = outcome.candidates.iter().any(|tried| !tried.rungs.is_empty());
    if staged {
        rows[0].insert(1, "rows".to_owned());
    }
    let sign = if scorer.greater_is_better() { 1.0 } else { -1.0 };
    let decimals = metrics::decimals(metrics::id(scorer), outcome.candidates.iter().filter_map(CandidateResult::mean));
    let mut order: Vec<&CandidateResult> = outcome.candidates.iter().collect();
    let value = |tried: &CandidateResult| tried.mean().unwrap_or(f64::NEG_INFINITY);
    order.sort_by(|a, b| {
        (b.name == outcome.chosen, value(b))
            .partial_cmp(&(a.name == outcome.chosen, value(a)))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    for tried in order {
        let mut mark = tried.problem.clone().unwrap_or_default();
        if let Some(rows) = tried.dropped {
            mark = format!("dropped at {rows} rows");
        } else if tried.name == outcome.chosen {
            mark = "chosen".to_owned();
        }
        let several = tried.scores.len() > 1;
        let mut row = vec![
            tried.name.clone(),
            tried.mean().map_or(String::new(), |mean| decimals.show(sign * mean)),
            tried.spread().filter(|_| several || !staged).map_or(String::new(), |spread| decimals.show(spread)),
            if tried.mean().is_none() { String::new() } else { format!("{:.2}", tried.seconds) },
            mark,
        ];
        if staged {
            row.insert(1, if tried.mean().is_none() { String::new() } else { tried.rows.to_string() });
        }
        rows.push(row);
    }
    rows
}

/// What the fits of the comparison warned of, a sentence for each candidate.
pub fn warnings_of_folds(outcome: &Outcome) -> Vec<String> {
    let sentence = |tried: &CandidateResult| {
        let (text, folds) = tried.warning.as_ref()?;
        let of = tried.rungs.len() + if tried.rungs.is_empty() { tried.scores.len() } else { 0 };
        let what = if tried.rungs.is_empty() { "folds" } else { "fits" };
        Some(format!("in {folds} of {} {what} of {}: {text}", of.max(*folds), tried.name))
    };
    outcome.candidates.iter().filter_map(sentence).collect()
}

/// How the comparison was made, and the bound that holds for the choice.
pub fn method(outcome: &Outcome) -> String {
    let compared = outcome.candidates.iter().filter(|tried| tried.mean().is_some()).count();
    if compared < 2 {
        return String::new();
    }
    let mut text = String::new();
    let staged = outcome.candidates.iter().any(|tried| !tried.rungs.is_empty());
    if staged {
        text.push_str("Models were compared on growing samples of the training rows");
        if outcome.candidates.iter().any(|tried| tried.dropped.is_some()) {
            text.push_str("; a model was dropped once it could not catch up at the rate at which it had improved");
        }
        text.push_str(". ");
    }
    // A bound that every error keeps says nothing.
    if let Some(guarantee) = outcome.guarantee.filter(|guarantee| guarantee.epsilon < 1.0) {
        let (k, epsilon) = (outcome.models.max(compared), guarantee.epsilon);
        let bound = if staged {
            format!("Hoeffding's inequality, union bound over {k} models: every candidate at every sample size")
        } else {
            format!("Hoeffding's inequality for the rows of one fold, union bound over {k} models")
        };
        text.push_str(&format!(
            "With probability 95 % every mean error in the table lies within {epsilon:.4} of the expected error ({bound})"
        ));
        if guarantee.excess < 1.0 {
            text.push_str(&format!(
                ", so the chosen model is at most {:.4} worse than the best of them",
                guarantee.excess
            ));
        }
        text.push('.');
    }
    text.trim_end().to_owned()
}

/// What the time budget left undone.
pub fn cut(outcome: &Outcome) -> Option<String> {
    let BudgetLimit { rows, of, cut_short } = outcome.cut?;
    let name = &outcome.chosen;
    let mut text = match rows < of {
        true => format!("Time budget: {name} was fitted to {rows} of {of} training rows"),
        false => format!("Time budget: {name} was fitted to all {of} training rows"),
    };
    text.push_str(if cut_short { ", and training ended before it converged" } else { "" });
    text.push_str("; a larger --budget may give a better model.");
    Some(text)
}

/// Fits to growing samples, for machines.
pub fn rungs(tried: &CandidateResult) -> Vec<Value> {
    let entry = |rung: &SubsampleFit| json!({"rows": rung.rows, "score": rung.score, "seconds": rung.seconds, "cut_short": rung.cut_short});
    tried.rungs.iter().map(entry).collect()
}
