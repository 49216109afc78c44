//! `tove evaluate`: the scores of a saved model on a table that has the target, chunk by chunk: memory holds the predictions, not the
//! rows.

mod nets;

use serde_json::{Value, json};
use tove::data::table::{Field, Format, Kind, Role, Schema};
use tove::learn::selection::Scorer;
use tove::tabular::{EvaluationReport, NamedScore, Recommender, TabularError, TabularModel};
use tove::tensor::io::WriteOptions;
use tove::words::WordModel;

use crate::arguments::Evaluate;
use crate::chunks::Chunks;
use crate::commands::fit::{named_matrix, scores};
use crate::failure::Failure;
use crate::files;
use crate::metrics::{self, Standing, decimals_of, legend, with_interval, with_margin};
use crate::models::AnyModel;
use crate::output::{Output, paragraph, table};
use crate::report;
use crate::tables;

pub fn run(evaluate: &Evaluate, output: &Output) -> Result<(), Failure> {
    files::read_once(&[&evaluate.model, &evaluate.file])?;
    if let Some(path) = &evaluate.report {
        files::may_write(path, evaluate.overwrite, &[&evaluate.model, &evaluate.file])?;
    }
    let model = match AnyModel::load(&evaluate.model)? {
        AnyModel::Table(model) => tables::with_target(&evaluate.model, *model)?,
        AnyModel::Image(model) => return nets::images(evaluate, &model, output),
        AnyModel::Text(model) => return nets::text(evaluate, &model, output),
        AnyModel::Items(_) => return tables::other_use(&evaluate.model, Recommender::KIND),
        AnyModel::Words(_) => return tables::other_use(&evaluate.model, WordModel::KIND),
    };
    let metric = evaluate.metric.as_deref();
    let metric = metric.map(|name| metrics::chosen(name, model.model().capabilities(), model.classes().len()));
    let judged = judged(evaluate, &model, metric.transpose()?, output)?;
    if judged.fitted_on {
        output.remark(format!(
            "warning: the model was fitted on rows of this table ({} of {}), so these scores are too optimistic; its held-out \
             scores are in `tove inspect`",
            model.facts()["train_rows"],
            judged.rows + judged.dropped
        ));
    }
    if let Some(path) = &evaluate.report {
        let options = WriteOptions { overwrite: evaluate.overwrite, ..WriteOptions::default() };
        report::of_evaluation(&evaluate.file, &model, &judged, &verdict(&model, &judged))?.save(path, options)?;
        output.remark(format!("report: {}", path.display()));
    }
    output.result(|| text(&model, &judged, output.is_verbose()), || document(&model, &judged))
}

/// Reads the table and predicts its rows.
fn judged(
    evaluate: &Evaluate,
    model: &TabularModel,
    metric: Option<Scorer>,
    output: &Output,
) -> Result<EvaluationReport, Failure> {
    let (path, wanted) = (&evaluate.file, wanted(model));
    let mut options = tables::options(&evaluate.reading)?;
    // Features are read as they were at fitting. The type of the target is inferred from the whole file; a pipe can be read only
    // once.
    let file = tables::open(path)?;
    let once = file.reads_once() || file.format() == Format::Json;
    let given = |field: &&Field| field.role.is_needed() || once && field.role == Role::Target;
    options = options.schema(&Schema::new(model.schema().fields().iter().filter(given).cloned().collect())?);
    if once {
        options = options.rest(Kind::Text);
    }
    let chunks = Chunks::new(file, &options, model, wanted)?;
    let (names, notes) = (chunks.names().to_vec(), chunks.notes());
    let failed = |error: TabularError| tables::failed(path, &names, error);
    model.schema().conform(&chunks.header()?).map_err(|error| tables::failed(path, &names, error))?;
    let mut judge = metric.into_iter().fold(model.evaluator(), |judge, metric| judge.scorer(metric));
    for table in chunks {
        judge.see(&table?).map_err(failed)?;
    }
    notes.borrow().iter().for_each(|note| output.remark(format!("{}: {note}", path.display())));
    if judge.rows() + judge.dropped() == 0 {
        return Err(tables::no_rows(path));
    }
    judge.finish().map_err(failed)
}

/// The columns that the model uses.
fn wanted(model: &TabularModel) -> Vec<String> {
    let used = |field: &&Field| field.role.is_needed() || matches!(field.role, Role::Target | Role::Weight);
    model.schema().fields().iter().filter(used).map(|field| field.name.clone()).collect()
}

/// The score of the best constant prediction for these rows: the share of the most frequent class, or R² of the mean, which is 0.
fn constant(judged: &EvaluationReport, first: &NamedScore) -> Option<f64> {
    if first.scorer == Scorer::R2 {
        return Some(0.0);
    }
    let matrix = judged.confusion.as_ref().filter(|_| first.scorer == Scorer::Accuracy)?;
    let counts = matrix.counts().to_vec();
    let m = matrix.labels().len().max(1);
    let largest = counts.chunks(m).map(|row| row.iter().sum::<f64>()).fold(0.0, f64::max);
    Some(largest / judged.rows.max(1) as f64)
}

/// What the model is worth on this table, in one or two sentences.
fn verdict(model: &TabularModel, judged: &EvaluationReport) -> String {
    let (name, target, rows) = (model.model().name(), model.target(), judged.rows);
    let Some(first) = judged.scores.first() else { return format!("{name} predicts {target} on {rows} rows.") };
    let mut text = format!("{name} predicts {target} with {} {} on {rows} rows", first.name, with_margin(first));
    if let Some(base) = constant(judged, first) {
        let what = if model.classes().is_empty() { "predicting the mean" } else { "the most frequent class" };
        let shown = decimals_of(first).show(base);
        text.push_str(&match Standing::of(first, base) {
            Standing::Clear => format!("; {what} has {shown}, so the difference is clear"),
            Standing::Better => format!(", ahead of {what} ({shown})"),
            Standing::Unclear => format!("; {what} has {shown}, so the difference is within the margin of error"),
            Standing::Tie => format!(", the same as {what}"),
            Standing::Worse => format!("; {what} has {shown}, so the model is no better than a constant"),
        });
    }
    text.push('.');
    let held_out = model.facts()["test"][first.key()]["value"].as_f64();
    if let Some(value) = held_out.filter(|_| !judged.fitted_on) {
        text.push_str(&format!(
            " When it was fitted, its held-out {} was {}.",
            first.name,
            decimals_of(first).show(value)
        ));
    }
    text
}

/// Rows of a table with the scores.
pub fn score_rows(scores: &[NamedScore], bounds: bool) -> Vec<Vec<String>> {
    let mut lines = vec![["metric", "value (95 % interval)"].map(str::to_owned).to_vec()];
    let row = |named: &NamedScore| vec![named.name.to_owned(), with_interval(named, decimals_of(named), bounds)];
    lines.extend(scores.iter().map(row));
    lines
}

fn text(model: &TabularModel, judged: &EvaluationReport, verbose: bool) -> String {
    let mut text = format!("{}\n", paragraph(&verdict(model, judged)));
    if judged.dropped > 0 {
        text.push_str(&format!("Note: {} rows without a target were left out.\n\n", judged.dropped));
    }
    text.push_str(&table(&score_rows(&judged.scores, verbose)));
    let legend = legend(&judged.scores, verbose);
    if verbose && !legend.is_empty() {
        text.push_str(&format!("\n{}", paragraph(&legend)));
    }
    if let Some(matrix) = judged.confusion.clone().and_then(|matrix| named_matrix(model.classes(), matrix)) {
        text.push_str(&format!("\n{matrix}"));
    }
    text
}

fn document(model: &TabularModel, judged: &EvaluationReport) -> Value {
    json!({
        "model": model.model().name(), "rows": judged.rows, "dropped": judged.dropped, "fitted_on": judged.fitted_on,
        "verdict": verdict(model, judged), "scores": scores(&judged.scores),
    })
}
