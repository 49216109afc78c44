//! `tove evaluate` for models of images and texts.

use serde_json::{Value, json};
use tove::data::text::read_text;
use tove::language::{TextEvaluation, TextModel};
use tove::learn::Capabilities;
use tove::plot::{ConfusionChart, Report};
use tove::tensor::io::WriteOptions;
use tove::vision::{ImageEvaluation, ImageModel, Images, ModelError};

use super::score_rows;
use crate::arguments::{Evaluate, Reading};
use crate::commands::fit::{named_matrix, scores};
use crate::failure::Failure;
use crate::metrics::{self, Standing, legend, with_margin};
use crate::output::{Output, paragraph, table};
use crate::report;

/// An image model on labeled images.
pub fn images(evaluate: &Evaluate, model: &ImageModel, output: &Output) -> Result<(), Failure> {
    no_table(evaluate)?;
    let capabilities = Capabilities { probabilities: true, multiclass: true, ..Capabilities::CLASSIFIER };
    let metric = evaluate.metric.as_deref();
    let metric = metric.map(|name| metrics::chosen(name, capabilities, model.classes().len())).transpose()?;
    let images = Images::read(&evaluate.file, &model.options())?;
    images.notes.sentences().into_iter().for_each(|sentence| output.remark(sentence));
    let evaluated = model.evaluate(&images, metric).map_err(|error| failed(evaluate, error))?;
    let verdict = verdict(model, &evaluated);
    let rows = |verbose| score_rows(&evaluated.scores, verbose);
    save(evaluate, output, |title| {
        let counts: Vec<u64> = evaluated.confusion.counts().iter().map(|&count| count.round() as u64).collect();
        let name = |&label: &i64| model.classes().get(label as usize).map_or("", String::as_str);
        let names: Vec<&str> = evaluated.confusion.labels().iter().map(name).collect();
        let page = Report::new(title).text(&verdict).section("Scores").table(&report::table(&rows(true)));
        let chart = ConfusionChart::new(&names, &counts).title("Confusion matrix");
        page.text(legend(&evaluated.scores, true)).section("Errors").picture_or_reason(&chart)
    })?;
    let text = || {
        let verbose = output.is_verbose();
        let mut text = format!("{}\n{}", paragraph(&verdict), table(&rows(verbose)));
        let legend = legend(&evaluated.scores, verbose);
        if verbose && !legend.is_empty() {
            text.push_str(&format!("\n{}", paragraph(&legend)));
        }
        let matrix = named_matrix(model.classes(), evaluated.confusion.clone());
        text.extend(matrix.map(|matrix| format!("\n{matrix}")));
        text
    };
    let document = || {
        json!({
            "model": model.config().name(), "rows": evaluated.images, "verdict": verdict,
            "scores": scores(&evaluated.scores), "scaled": images.notes.scaled, "broken": images.notes.broken,
        })
    };
    output.result(text, document)
}

/// What the model is worth on these images.
fn verdict(model: &ImageModel, evaluated: &ImageEvaluation) -> String {
    let (name, rows) = (model.config().name().to_uppercase(), evaluated.images);
    let Some(first) = evaluated.scores.first() else { return format!("The {name} classifies {rows} images.") };
    let mut text = format!("The {name} classifies {rows} images with {} {}", first.name, with_margin(first));
    if first.scorer == tove::learn::selection::Scorer::Accuracy {
        let base = evaluated.constant;
        let standing = match Standing::of(first, base) {
            Standing::Clear => ", so the difference is clear",
            Standing::Better => "",
            Standing::Unclear => ", so the difference is within the margin of error",
            Standing::Tie | Standing::Worse => ", so the model is no better than a constant",
        };
        text.push_str(&format!("; always predicting the most frequent class has {base:.4}{standing}"));
    }
    text.push('.');
    text
}

/// A text model on another text.
pub fn text(evaluate: &Evaluate, model: &TextModel, output: &Output) -> Result<(), Failure> {
    no_table(evaluate)?;
    const METRICS: [&str; 4] = ["log_loss", "perplexity", "nats_per_character", "accuracy"];
    let first = evaluate.metric.as_deref().unwrap_or(METRICS[0]);
    if !METRICS.contains(&first) {
        let all = METRICS.join(", ");
        return Err(Failure::usage(format!("--metric {first}: not a metric of a text model; choose one of {all}")));
    }
    let evaluated = model.evaluate(&read_text(&evaluate.file)?).map_err(|error| failed(evaluate, error))?;
    let value = |id: &str| metric(&evaluated, id);
    let mut order = METRICS.to_vec();
    order.sort_by_key(|id| *id != first);
    let uniform = (model.tokens().len() as f64).ln();
    let verdict = format!(
        "The GPT has a loss of {:.4} nats per token (perplexity {:.2}) on {} tokens; a uniform guess among {} tokens has \
         {uniform:.4}.",
        evaluated.loss,
        evaluated.perplexity(),
        evaluated.tokens,
        model.tokens().len()
    );
    let mut rows = vec![["metric", "value"].map(str::to_owned).to_vec()];
    rows.extend(order.iter().map(|id| vec![id.replace('_', " "), format!("{:.4}", value(id))]));
    save(evaluate, output, |title| Report::new(title).text(&verdict).section("Scores").table(&report::table(&rows)))?;
    let document = || {
        let scores: Value = METRICS.iter().map(|id| ((*id).to_owned(), json!({"value": value(id)}))).collect();
        json!({
            "model": "gpt", "rows": evaluated.tokens, "windows": evaluated.windows, "verdict": verdict, "metric": first,
            "scores": scores,
        })
    };
    output.result(|| format!("{}\n{}", paragraph(&verdict), table(&rows)), document)
}

fn metric(evaluated: &TextEvaluation, id: &str) -> f64 {
    match id {
        "perplexity" => evaluated.perplexity(),
        "nats_per_character" => evaluated.nats_per_character(),
        "accuracy" => evaluated.accuracy,
        _ => evaluated.loss,
    }
}

/// Options for tables say nothing about images and texts.
fn no_table(evaluate: &Evaluate) -> Result<(), Failure> {
    match evaluate.reading == Reading::default() {
        true => Ok(()),
        false => Err(Failure::usage("options for reading tables do not suit this model; leave them out")),
    }
}

/// Images or a text that do not suit are named.
fn failed(evaluate: &Evaluate, error: ModelError) -> Failure {
    match error {
        ModelError::Source(_) => Failure::work(format!("{}: {error}", evaluate.file.display())),
        ModelError::Data(error) => Failure::work(format!("{}: {}", evaluate.file.display(), Failure::from(*error))),
        other => other.into(),
    }
}

/// Writes the report, if one is asked for.
fn save(evaluate: &Evaluate, output: &Output, page: impl FnOnce(String) -> Report) -> Result<(), Failure> {
    let Some(path) = &evaluate.report else { return Ok(()) };
    let options = WriteOptions { overwrite: evaluate.overwrite, ..WriteOptions::default() };
    page(format!("{} evaluated on {}", evaluate.model.display(), evaluate.file.display())).save(path, options)?;
    output.remark(format!("report: {}", path.display()));
    Ok(())
}
