//! Scores as people and machines read them: their names, their decimals and their intervals.

use tove::learn::selection::Scorer;
use tove::learn::{Capabilities, LearnError};
use tove::tabular::NamedScore;

use crate::failure::Failure;
use crate::output::Decimals;

/// Standard errors on either side of a score in which the true one lies 95 times of 100, by the normal approximation.
const NORMAL: f64 = 1.96;

/// The name of a metric on the command line and in JSON: its id, without the `neg_` of scorers that are negated.
pub fn id(scorer: Scorer) -> &'static str {
    scorer.name().strip_prefix("neg_").unwrap_or(scorer.name())
}

/// The metric of a key in a document: an id, or a label in files of older versions.
fn of_key(key: &str) -> Option<Scorer> {
    let is = |scorer: &&Scorer| [id(**scorer), scorer.name(), scorer.label()].contains(&key);
    Scorer::ALL.iter().find(is).copied()
}

/// The name that people read for a key in a document.
pub fn label(key: &str) -> &str {
    of_key(key).map_or(key, |scorer| scorer.label())
}

/// Whether larger values of the score with this key are better.
pub fn greater_is_better(key: &str) -> bool {
    of_key(key).is_none_or(Scorer::greater_is_better)
}

/// Where a key stands in tables: the usual order of the metrics, then what is not known.
pub fn place(key: &str) -> usize {
    let usual = [Scorer::Accuracy, Scorer::R2];
    let known = of_key(key).map(|scorer| {
        let place = |list: &[Scorer]| list.iter().position(|other| *other == scorer);
        place(&usual).or_else(|| place(Scorer::ALL).map(|place| place + usual.len())).unwrap_or(usize::MAX)
    });
    known.unwrap_or(usize::MAX)
}

/// The metric that `--metric` names, for models of these capabilities and a target with so many classes (0 for numbers).
pub fn chosen(name: &str, capabilities: Capabilities, classes: usize) -> Result<Scorer, Failure> {
    let scorer = Scorer::named(name).map_err(|error| {
        let text = match error {
            LearnError::Parameter { problem, .. } => problem,
            other => other.to_string(),
        };
        Failure::usage(format!("--metric {name}: {text}; {}", available(capabilities, classes)))
    })?;
    let problem = if !scorer.judges(capabilities) {
        let task = if classes > 0 { "classification" } else { "regression" };
        format!("it is not a metric for {task}")
    } else if classes > 2 && scorer.is_binary() {
        format!("it is for two classes, and the target has {classes}")
    } else {
        return Ok(scorer);
    };
    Err(Failure::usage(format!("--metric {name}: {problem}; {}", available(capabilities, classes))))
}

/// The metrics to choose from, as advice.
fn available(capabilities: Capabilities, classes: usize) -> String {
    let fits = |scorer: &&Scorer| scorer.judges(capabilities) && !(classes > 2 && scorer.is_binary());
    let ids: Vec<&str> = Scorer::ALL.iter().filter(fits).map(|scorer| id(*scorer)).collect();
    format!("choose one of {}", ids.join(", "))
}

/// The decimals of values of one metric. Errors in the unit of the target have their own scale; other scores are of the order
/// of 1.
pub fn decimals(key: &str, values: impl IntoIterator<Item = f64>) -> Decimals {
    let errors = [Scorer::NegMeanSquaredError, Scorer::NegRootMeanSquaredError, Scorer::NegMeanAbsoluteError];
    let unit = of_key(key).is_some_and(|scorer| !errors.contains(&scorer)).then_some(1.0);
    Decimals::of(values.into_iter().chain(unit))
}

/// The decimals of a single score.
pub fn decimals_of(named: &NamedScore) -> Decimals {
    decimals(named.key(), [named.score.value])
}

/// Half the width of the 95 % interval by the normal approximation. Without a single mistake the standard error is 0, which says
/// nothing about the uncertainty.
pub fn margin(named: &NamedScore) -> Option<f64> {
    named.standard_error.filter(|error| *error > 0.0).map(|error| NORMAL * error)
}

/// A score with ± 1.96 standard errors where one is known; with `bounds`, bounded scores have Hoeffding's interval in brackets.
pub fn with_interval(named: &NamedScore, decimals: Decimals, bounds: bool) -> String {
    let value = decimals.show(named.score.value);
    match (named.score.interval().filter(|_| bounds), margin(named)) {
        (Some((low, high)), _) => format!("{value} [{}, {}]", decimals.show(low), decimals.show(high)),
        (None, Some(margin)) => format!("{value} ± {}", decimals.show(margin)),
        _ => value,
    }
}

/// A score as a sentence says it: with ± where a standard error is known.
pub fn with_margin(named: &NamedScore) -> String {
    with_interval(named, decimals_of(named), false)
}

/// What ± beside the scores means, and with `bounds` what brackets mean.
pub fn legend(scores: &[NamedScore], bounds: bool) -> String {
    let mut text = String::new();
    let bounded = |named: &&NamedScore| bounds && named.score.interval().is_some();
    if scores.iter().any(|named| bounded(&named)) {
        text.push_str(
            "Intervals in brackets hold with probability 95 % for any distribution (Hoeffding's inequality).",
        );
    }
    if scores.iter().any(|named| !bounded(&named) && margin(named).is_some()) {
        text.push_str(if text.is_empty() { "" } else { " " });
        text.push_str("± is 1.96 standard errors, a 95 % interval by the normal approximation.");
    }
    text
}

/// How a score compares with that of a baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Better by more than the margin of error.
    Clear,
    /// Better, with a margin of error that is not known.
    Better,
    /// Better, but within the margin of error.
    Unclear,
    /// The same at the digits shown.
    Tie,
    Worse,
}

impl Standing {
    pub fn of(named: &NamedScore, baseline: f64) -> Standing {
        let (value, decimals) = (named.score.value, decimals_of(named));
        let sign = if named.higher { 1.0 } else { -1.0 };
        let wide = |(low, high): (f64, f64)| if named.higher { value - low } else { high - value };
        let margin = margin(named).or_else(|| named.score.interval().map(wide));
        if decimals.show(value) == decimals.show(baseline) {
            Standing::Tie
        } else if sign * (value - baseline) < 0.0 {
            Standing::Worse
        } else {
            match margin {
                None => Standing::Better,
                Some(margin) if sign * (value - baseline) > margin => Standing::Clear,
                Some(_) => Standing::Unclear,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tove::metrics::Score;

    /// A difference is called clear only where a margin of error is known.
    #[test]
    fn without_a_margin_of_error_nothing_is_clear() {
        let named = |value: f64, standard_error: Option<f64>| NamedScore {
            name: "R²",
            scorer: Scorer::R2,
            score: Score::plain(value, 50),
            standard_error,
            higher: true,
        };
        assert_eq!(Standing::of(&named(0.9, None), 0.0), Standing::Better);
        assert_eq!(Standing::of(&named(0.9, Some(0.0)), 0.0), Standing::Better);
        assert_eq!(Standing::of(&named(0.9, Some(0.1)), 0.0), Standing::Clear);
        assert_eq!(Standing::of(&named(0.1, Some(0.1)), 0.0), Standing::Unclear);
        assert_eq!(Standing::of(&named(-0.1, None), 0.0), Standing::Worse);
        assert_eq!(Standing::of(&named(0.00001, None), 0.0), Standing::Tie);
    }
}
