//! The result of a fit for people: a verdict, what to know of the data, the scores, the comparison.

use std::path::Path;

use tove::data::table::{Description, ReadReport, Role, Schema, Table};
use tove::metrics::ConfusionMatrix;
use tove::tabular::{NamedScore, Outcome};
use tove::tensor::DType;

use super::comparison::{cut, method, tried_rows, warnings_of_folds};
use super::verdict::{beside_baseline, same_metric, verdict};
use super::warnings::{changes, data_warnings, gathered, streaming};
use crate::arguments::Fit;
use crate::metrics::{decimals, legend, with_interval};
use crate::output::{entries, note, paragraph, table, width};

/// What the table is, in a line.
pub fn table_line(fit: &Fit, data: &Table, about: &Description, schema: &Schema) -> String {
    let features = schema.with(Role::Feature).count();
    let missing: usize = about.columns.iter().map(|column| column.missing).sum();
    let missing = if missing > 0 { format!(", {missing} missing values") } else { String::new() };
    format!(
        "{}: {} rows, {} columns ({features} features){missing}",
        fit.file.display(),
        data.n_rows(),
        data.n_columns()
    )
}

/// The columns of the table with their kinds and roles.
pub fn columns(about: &Description, schema: &Schema) -> String {
    let mut rows = vec![["column", "type", "role", "missing", "distinct"].map(str::to_owned).to_vec()];
    let shown = 100;
    for column in about.columns.iter().take(shown) {
        let role = schema.field(&column.name).map_or(String::new(), |field| format!("{:?}", field.role).to_lowercase());
        let missing = if column.missing == 0 { String::new() } else { column.missing.to_string() };
        rows.push(vec![column.name.clone(), column.kind.to_string(), role, missing, column.distinct.to_string()]);
    }
    let more = about.columns.len().saturating_sub(shown);
    let rest = if more > 0 { format!("and {more} more columns\n") } else { String::new() };
    format!("\n{}{rest}", table(&rows))
}

/// Classes up to which the confusion matrix is printed.
const FEW_CLASSES: usize = 8;

/// The confusion matrix on held-out rows, for a few classes.
fn confusion(outcome: &Outcome) -> Option<String> {
    let truth = outcome.test_samples.y().ok()?.to_dtype(DType::I64);
    let matrix = ConfusionMatrix::new(&truth, &outcome.answers.predictions, None).ok()?;
    named_matrix(outcome.model.classes(), matrix)
}

/// A confusion matrix with the names of the classes, if there are few; long names are cut so that it fits.
pub fn named_matrix(classes: &[String], matrix: ConfusionMatrix) -> Option<String> {
    if classes.is_empty() || classes.len() > FEW_CLASSES {
        return None;
    }
    // The header of the rows takes 16 characters, and columns are two apart.
    let most = (width().saturating_sub(18) / (classes.len() + 1)).saturating_sub(2).max(3);
    let cut = |name: &String| match name.chars().count() > most {
        true => name.chars().take(most - 1).chain(['…']).collect::<String>(),
        false => name.clone(),
    };
    let names: Vec<String> = classes.iter().map(cut).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Some(matrix.named(&names).to_string())
}

/// Rows of a table with the scores on held-out rows, of the baseline, and on training rows.
pub fn score_rows(outcome: &Outcome, bounds: bool) -> Vec<Vec<String>> {
    let head = ["metric", "held-out (95 % interval)", "baseline", "training rows"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for named in &outcome.test {
        let others = [&outcome.baseline, &outcome.train].map(|scores| same_metric(scores, named));
        let values = others.iter().flatten().map(|other| other.score.value).chain([named.score.value]);
        let decimals = decimals(named.key(), values);
        let show = |other: Option<&NamedScore>| other.map_or(String::new(), |other| decimals.show(other.score.value));
        let mut row = vec![named.name.to_owned(), with_interval(named, decimals, bounds)];
        row.extend(others.map(show));
        rows.push(row);
    }
    rows
}

/// The result for people; `verbose` adds bounds and what the intervals mean.
pub fn text(read: &ReadReport, outcome: &Outcome, model: &Path, page: &Path, run: u64, verbose: bool) -> String {
    let mut text = format!("{}\n", paragraph(&verdict(outcome)));
    let before = text.len();
    if let Some(advice) = beside_baseline(outcome) {
        text.push_str(&note(&format!("Warning: {advice}")));
    }
    for doubt in data_warnings(outcome) {
        text.push_str(&note(&format!("Warning: {doubt}.")));
    }
    for change in changes(read, outcome) {
        text.push_str(&note(&format!("Note: {change}.")));
    }
    for warning in gathered(&outcome.model.model().summary().warnings) {
        text.push_str(&note(&format!("Warning: {warning}")));
    }
    if outcome.interrupted {
        text.push_str(&note("Note: interrupted; the model is the best so far, fitted to the rows of its last fold."));
    }
    for sentence in [cut(outcome), streaming(outcome)].into_iter().flatten() {
        text.push_str(&note(&format!("Note: {sentence}")));
    }
    if text.len() > before {
        text.push('\n');
    }
    text.push_str(&table(&score_rows(outcome, verbose)));
    let legend = legend(&outcome.test, verbose);
    if verbose && !legend.is_empty() {
        text.push_str(&format!("\n{}", paragraph(&legend)));
    }
    if let Some(matrix) = confusion(outcome) {
        text.push_str(&format!("\n{matrix}"));
    }
    if outcome.candidates.len() > 1 || verbose && !outcome.candidates.is_empty() {
        text.push_str(&comparison(outcome, verbose));
    }
    let place = [
        ("run", format!("{run} ({:.1} s)", outcome.seconds)),
        ("model", model.display().to_string()),
        ("report", page.display().to_string()),
        ("audit", format!("tove audit {} HELD-OUT.csv: how far to trust it, on rows it has not seen", model.display())),
    ];
    text.push_str(&format!("\n{}", entries(&place)));
    text
}

/// The models that were compared.
fn comparison(outcome: &Outcome, verbose: bool) -> String {
    let staged = outcome.candidates.iter().any(|tried| !tried.rungs.is_empty());
    let how = if staged { "Comparison on samples of the" } else { "Cross-validation on" };
    let rows = outcome.cut.map_or(outcome.n_train, |cut| cut.of);
    let mut text = format!("\n{how} {rows} training rows:\n\n{}", table(&tried_rows(outcome)));
    for warning in warnings_of_folds(outcome) {
        text.push_str(&note(&format!("Note: {warning}")));
    }
    let method = method(outcome);
    if verbose && !method.is_empty() {
        text.push_str(&format!("\n{}", paragraph(&method)));
    }
    text
}
