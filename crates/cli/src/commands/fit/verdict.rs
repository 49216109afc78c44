//! The first sentences of a result: what the model reaches on held-out rows, beside a constant prediction and the other models.

use tove::learn::Model;
use tove::tabular::{CandidateResult, NamedScore, Outcome};

use crate::metrics::{self, Standing, with_margin};

/// What the model is worth, in one or two sentences.
pub fn verdict(outcome: &Outcome) -> String {
    let mut text = held_out(outcome);
    if let Some(choice) = choice(outcome) {
        text.push(' ');
        text.push_str(&choice);
    }
    text
}

/// The held-out score beside that of a constant prediction.
fn held_out(outcome: &Outcome) -> String {
    let (chosen, target, rows) = (&outcome.chosen, outcome.model.target(), outcome.n_test);
    let Some(first) = outcome.test.first() else { return format!("{chosen} predicts {target}.") };
    let mut text =
        format!("{chosen} predicts {target} with {} {} on {rows} held-out rows", first.name, with_margin(first));
    let constant = constant(outcome.model.model());
    match beside(outcome) {
        None => text.push('.'),
        Some((Standing::Clear, base)) => {
            text.push_str(&format!("; {constant} has {base}, so the difference is clear."));
        }
        Some((Standing::Better, base)) => text.push_str(&format!(", ahead of {constant} ({base}).")),
        Some((Standing::Unclear, base)) => {
            text.push_str(&format!("; {constant} has {base}, so the difference is within the margin of error."));
        }
        Some((Standing::Tie, _)) => text.push_str(&format!(", the same as {constant}: no better than a constant.")),
        Some((Standing::Worse, base)) => {
            text.push_str(&format!("; {constant} has {base}: the model is no better than a constant."));
        }
    }
    text
}

/// The baseline in words.
fn constant(model: &dyn Model) -> &'static str {
    match model.capabilities().classifies() {
        true => "always predicting the most frequent class",
        false => "always predicting the mean",
    }
}

/// The score of a baseline by its metric.
pub fn same_metric<'a>(scores: &'a [NamedScore], named: &NamedScore) -> Option<&'a NamedScore> {
    scores.iter().find(|other| other.scorer == named.scorer)
}

/// How the deciding score stands beside the baseline, and the baseline's score.
fn beside(outcome: &Outcome) -> Option<(Standing, String)> {
    let first = outcome.test.first()?;
    let base = same_metric(&outcome.baseline, first)?.score.value;
    Some((Standing::of(first, base), metrics::decimals_of(first).show(base)))
}

/// Advice where the model is hardly better than a constant.
pub fn beside_baseline(outcome: &Outcome) -> Option<String> {
    let (standing, base) = beside(outcome)?;
    if matches!(standing, Standing::Clear | Standing::Better) {
        return None;
    }
    let first = outcome.test.first()?;
    let (name, value, rows) = (first.name, metrics::decimals_of(first).show(first.score.value), outcome.n_test);
    let mut text = match standing {
        Standing::Unclear => {
            format!("{name} {value} is not clearly better than the {base} of a constant prediction on {rows} rows.")
        }
        _ => format!("The model is no better than a constant prediction: {name} {value} against {base}."),
    };
    let area = outcome.test.iter().find(|named| named.scorer == tove::learn::selection::Scorer::RocAuc);
    let ranks = |area: &&NamedScore| match Standing::of(area, 0.5) {
        Standing::Clear => true,
        // A perfect ranking has no margin of error.
        Standing::Better => area.score.value > 0.9,
        _ => false,
    };
    if let Some(area) = area.filter(|area| area.scorer != first.scorer).filter(ranks) {
        text.push_str(&format!(
            " But it ranks the rows well ({} {}): where one class is rare, use --metric roc_auc, or --class-weight balanced.",
            area.name,
            metrics::decimals_of(area).show(area.score.value)
        ));
    }
    Some(text)
}

/// The winner of the comparison beside the second.
fn choice(outcome: &Outcome) -> Option<String> {
    let mut ranked: Vec<(&CandidateResult, f64)> =
        outcome.candidates.iter().filter_map(|tried| Some((tried, tried.mean()?))).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let place = ranked.iter().position(|(tried, _)| tried.name == outcome.chosen)?;
    let (chosen, most) = ranked.remove(place);
    let &(second, next) = ranked.first()?;
    let scorer = outcome.scorer;
    let decimals = metrics::decimals(metrics::id(scorer), [most, next]);
    let sign = if scorer.greater_is_better() { 1.0 } else { -1.0 };
    let (shown, other) = (decimals.show(sign * most), decimals.show(sign * next));
    let staged = outcome.candidates.iter().any(|tried| !tried.rungs.is_empty());
    let place = if staged { "on held-out training rows" } else { "in cross-validation" };
    let (of, label) = (outcome.candidates.len(), scorer.label());
    if shown == other {
        return Some(format!(
            "{place_upper} it ties with {} among {of} models ({label} {shown}).",
            second.name,
            place_upper = upper(place)
        ));
    }
    if most < next {
        // A model that was dropped on fewer rows may have had a better score there.
        let preferred = chosen.probabilities && !second.probabilities && second.dropped.is_none();
        return preferred.then(|| {
            let name = &second.name;
            format!(
                "{} {name} is not clearly ahead ({label} {other} against {shown}) and has no probabilities.",
                upper(place)
            )
        });
    }
    let ahead = match clear(outcome, (chosen, most), (second, next)) {
        Some(true) => "clearly ahead of",
        Some(false) => "not clearly ahead of",
        None => "ahead of",
    };
    Some(format!(
        "{} it is the best of {of} models ({label} {shown}), {ahead} {} ({other}).",
        upper(place),
        second.name
    ))
}

fn upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Whether the first two differ by more than chance: a paired test over the folds; without folds the union
/// bound. `None` where neither says anything.
fn clear(
    outcome: &Outcome,
    (first, most): (&CandidateResult, f64),
    (second, next): (&CandidateResult, f64),
) -> Option<bool> {
    if let Some(margin) = tove::learn::diagnostics::paired_margin(&first.scores, &second.scores) {
        return Some(most - next > margin);
    }
    outcome.guarantee.map(|guarantee| most - next > 2.0 * guarantee.epsilon)
}
