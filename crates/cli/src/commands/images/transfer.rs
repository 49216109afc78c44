//! `tove images transfer`: the layers of a trained net are reused for other classes, of which few images are labeled.

use std::time::Instant;

use serde_json::{Value, json};
use tove::data::Dataset;
use tove::metrics::Score;
use tove::nn::Progress;
use tove::vision::{ImageModel, ImageNotes, ImageOptions, Images, Transfer, TransferTraining};

use super::fit::{Evaluated, INTERVALS, notes, with_interval, with_margin};
use super::page;
use crate::arguments::ImagesTransfer;
use crate::commands::training::{Files, Told};
use crate::failure::Failure;
use crate::output::{Output, paragraph, table};

pub fn run(transfer: &ImagesTransfer, output: &Output) -> Result<(), Failure> {
    let model = ImageModel::load(&transfer.model)?;
    let options = ImageOptions { classes: transfer.classes.clone(), ..model.options() };
    let images = Images::read(&transfer.path, &options)?;
    let settings = Transfer { labels: transfer.labels, epochs: transfer.epochs, seed: transfer.seed };
    let training = settings.prepare(model, &images)?;
    images.notes.sentences().into_iter().for_each(|sentence| output.remark(sentence));
    let files = Files::begin(&transfer.keeping, &[&transfer.model])?;
    match work(transfer, training, &images.notes, &files, output) {
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

fn work(
    transfer: &ImagesTransfer,
    training: TransferTraining,
    notes: &ImageNotes,
    files: &Files,
    output: &Output,
) -> Result<Told, Failure> {
    let start = Instant::now();
    let moved = training.run(&files.watch(Progress::Silent))?;
    let (mut outcome, frozen) = (moved.outcome, moved.frozen_tensors);
    outcome.model.note("data", transfer.path.display().to_string());
    let rows = vec![
        ("raw pixels, logistic regression", None, moved.from_pixels),
        ("frozen layers, logistic regression", None, moved.from_features),
        ("frozen layers, classifier fine-tuned", Some(outcome.train_score), outcome.test_score),
    ];
    let evaluated = Evaluated {
        title: format!("Images of {} with the layers of {}", transfer.path.display(), transfer.model.display()),
        seed: transfer.seed,
        outcome: &outcome,
        rows,
        seconds: start.elapsed().as_secs_f64(),
        notes,
    };
    outcome.model.save(&files.model, files.options)?;
    let saved = page::of(&evaluated).and_then(|page| Ok(page.save(&files.page, files.options)?));
    let verbose = output.is_verbose();
    Ok((text(&evaluated, transfer, frozen, files, verbose), document(&evaluated, transfer, frozen, files), saved))
}

/// What the reused layers are worth.
fn verdict(evaluated: &Evaluated<'_>, transfer: &ImagesTransfer) -> String {
    format!(
        "With {} labeled images per class, the classifier on the frozen layers has accuracy {} on {} test images; logistic \
         regression on the raw pixels has {:.4}.",
        transfer.labels,
        with_margin(&evaluated.outcome.test_score),
        evaluated.outcome.test_score.n,
        evaluated.rows.first().map_or(f64::NAN, |row| row.2.value)
    )
}

fn text(evaluated: &Evaluated<'_>, transfer: &ImagesTransfer, frozen: usize, files: &Files, verbose: bool) -> String {
    let mut rows = vec![["features and classifier".to_owned(), "test accuracy".to_owned()].to_vec()];
    let shown = |score: &Score| if verbose { with_interval(score) } else { with_margin(score) };
    rows.extend(evaluated.rows.iter().map(|(name, _, score)| vec![(*name).to_owned(), shown(score)]));
    let mut text = format!("{}\n{}", paragraph(&verdict(evaluated, transfer)), table(&rows));
    if verbose {
        let kept = format!("{INTERVALS} The {frozen} tensors of the frozen layers are bitwise unchanged.");
        text.push_str(&format!("\n{}", paragraph(&kept)));
    }
    text.push_str(&files.list(evaluated.seconds));
    text
}

fn document(evaluated: &Evaluated<'_>, transfer: &ImagesTransfer, frozen: usize, files: &Files) -> Value {
    let score = |score: &Score| json!({"value": score.value, "interval": score.interval(), "n": score.n});
    let [pixels, features, tuned] = [0, 1, 2].map(|place| score(&evaluated.rows[place].2));
    let (outcome, model) = (evaluated.outcome, &evaluated.outcome.model);
    let mut document = json!({
        "file": transfer.path.display().to_string(), "target": "class", "task": "classification of images",
        "model": model.config().name(), "from": transfer.model.display().to_string(), "labels": transfer.labels,
        "classes": model.classes(), "frozen_tensors": frozen, "seed": transfer.seed, "verdict": verdict(evaluated, transfer), "raw_pixels": pixels,
        "features": features, "trained_on": tuned, "test": {"accuracy": tuned}, "pictures": notes(evaluated.notes),
        "train_rows": outcome.train_images, "test_rows": outcome.test.len(), "seconds": evaluated.seconds,
    });
    files.note(&mut document);
    document
}
