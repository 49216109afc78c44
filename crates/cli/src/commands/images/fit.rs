//! `tove images fit`.

use std::time::Instant;

use serde_json::{Value, json};
use tove::data::Dataset;
use tove::metrics::Score;
use tove::nn::Progress;
use tove::vision::{ImageFit, ImageNotes, ImageOptions, ImageOutcome, ImageTraining, Images};

use super::page;
use crate::arguments::ImagesFit;
use crate::commands::training::{Files, Told, ending};
use crate::failure::Failure;
use crate::output::{Output, paragraph, table};

/// An evaluated net, for the report.
pub struct Evaluated<'a> {
    pub title: String,
    pub seed: u64,
    pub outcome: &'a ImageOutcome,
    /// Accuracies by name: on training images, where that says something, and on test images.
    pub rows: Vec<(&'static str, Option<Score>, Score)>,
    pub seconds: f64,
    pub notes: &'a ImageNotes,
}

pub fn run(fit: &ImagesFit, output: &Output) -> Result<(), Failure> {
    let settings = settings(fit);
    settings.check()?;
    let options = ImageOptions { classes: fit.classes.clone(), size: fit.size, channels: None };
    let images = Images::read(&fit.path, &options)?;
    let training = settings.prepare(&images)?;
    images.notes.sentences().into_iter().for_each(|sentence| output.remark(sentence));
    let ([train, validation, test], config) = (training.images(), training.config());
    let [_, height, width] = config.input;
    output.remark(format!(
        "{}: {train} train, {validation} validation and {test} test images of {height} × {width} pixels, {} classes; {} with {} \
         parameters",
        fit.path.display(),
        config.classes,
        config.name(),
        config.parameters().unwrap_or(0)
    ));
    let files = Files::begin(&fit.keeping, &[&fit.path])?;
    match work(fit, training, &images.notes, &files, output) {
        Ok((text, document, saved)) => {
            files.run.finish(document.clone(), saved)?;
            files.tell(output, text, document)
        }
        Err(failure) => {
            files.abandon();
            Err(failure)
        }
    }
}

fn settings(fit: &ImagesFit) -> ImageFit {
    ImageFit {
        kind: fit.model.into(),
        epochs: fit.epochs,
        batch: fit.batch,
        learning_rate: fit.learning_rate,
        hidden: fit.hidden.clone(),
        filters: fit.filters.clone(),
        augment: fit.augment,
        shift: fit.shift,
        test_size: fit.test_size,
        validation: fit.validation,
        seed: fit.seed,
    }
}

fn work(
    fit: &ImagesFit,
    training: ImageTraining,
    notes: &ImageNotes,
    files: &Files,
    output: &Output,
) -> Result<Told, Failure> {
    let start = Instant::now();
    let progress = if output.is_quiet() { Progress::Silent } else { Progress::Auto };
    let mut outcome = training.run(&files.watch(progress))?;
    outcome.model.note("data", fit.path.display().to_string());
    let evaluated = Evaluated {
        title: format!("Images of {}", fit.path.display()),
        seed: fit.seed,
        outcome: &outcome,
        rows: vec![("accuracy", Some(outcome.train_score), outcome.test_score)],
        seconds: start.elapsed().as_secs_f64(),
        notes,
    };
    outcome.model.save(&files.model, files.options)?;
    let saved = page::of(&evaluated).and_then(|page| Ok(page.save(&files.page, files.options)?));
    Ok((text(&evaluated, files, output.is_verbose()), document(fit, &evaluated, files), saved))
}

/// A score with its interval by Hoeffding's inequality.
pub fn with_interval(score: &Score) -> String {
    let (low, high) = score.interval().unwrap_or((score.low, score.high));
    format!("{:.4} [{low:.4}, {high:.4}]", score.value)
}

/// An accuracy with ± 1.96 standard errors.
pub fn with_margin(score: &Score) -> String {
    let error = (score.value * (1.0 - score.value) / score.n.max(1) as f64).sqrt();
    if error > 0.0 { format!("{:.4} ± {:.4}", score.value, 1.96 * error) } else { format!("{:.4}", score.value) }
}

/// What `--verbose` says of the intervals.
pub const INTERVALS: &str =
    "Intervals in brackets hold with probability 95 % for any distribution (Hoeffding's inequality).";

/// What the net reaches on the test images, beside a constant prediction.
pub fn verdict(evaluated: &Evaluated<'_>) -> String {
    let ImageOutcome { model, test_score: score, confusion, .. } = evaluated.outcome;
    let (rows, classes) = (confusion.counts().to_vec(), confusion.labels().len().max(1));
    let largest = rows.chunks(classes).map(|row| row.iter().sum::<f64>()).fold(0.0, f64::max);
    format!(
        "The {} classifies {} test images with accuracy {}; always predicting the most frequent class has {:.4}.",
        model.config().name().to_uppercase(),
        score.n,
        with_margin(score),
        largest / score.n.max(1) as f64
    )
}

fn text(evaluated: &Evaluated<'_>, files: &Files, verbose: bool) -> String {
    let ImageOutcome { test_score: test, train_score, train_images, report, .. } = evaluated.outcome;
    let shown = if verbose { with_interval(test) } else { with_margin(test) };
    let rows = [
        ["", "test", "train"].map(str::to_owned).to_vec(),
        vec!["accuracy".to_owned(), shown, format!("{:.4}", train_score.value)],
        vec!["images".to_owned(), test.n.to_string(), train_images.to_string()],
    ];
    let mut text = format!("{}\n{}", paragraph(&verdict(evaluated)), table(&rows));
    if verbose {
        text.push_str(&format!("\n{}", paragraph(INTERVALS)));
    }
    text.extend(report.as_ref().and_then(ending).map(|note| format!("\n{note}\n")));
    text.push_str(&files.list(evaluated.seconds));
    text
}

/// What reading did to images, for machines.
pub fn notes(notes: &ImageNotes) -> Value {
    json!({"scaled": notes.scaled, "broken": notes.broken})
}

fn document(fit: &ImagesFit, evaluated: &Evaluated<'_>, files: &Files) -> Value {
    let outcome = evaluated.outcome;
    let (config, facts) = (outcome.model.config(), outcome.model.facts());
    let mut document = json!({
        "file": fit.path.display().to_string(), "target": "class", "task": "classification of images",
        "classes": outcome.model.classes(), "model": config.name(), "net": config.header(),
        "parameters": config.parameters(), "seed": fit.seed, "steps": facts["steps"],
        "ending": outcome.report.as_ref().map(|report| report.ending), "best": facts["best"],
        "verdict": verdict(evaluated), "pictures": notes(evaluated.notes),
        "train": facts["scores"]["train"], "test": facts["scores"]["test"],
        "train_rows": outcome.train_images, "validation_rows": outcome.validation_images, "test_rows": outcome.test.len(),
        "seconds": evaluated.seconds,
    });
    files.note(&mut document);
    document
}
