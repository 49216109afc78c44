//! `tove images transfer`: the layers of a trained net are reused for other classes, of which few images are labeled.

use std::time::Instant;

use serde_json::{Value, json};
use tove::data::{Dataset, TensorDataset};
use tove::learn::{Fit, LogisticRegression, Predict};
use tove::metrics::{ConfusionMatrix, Score, accuracy};
use tove::nn::{Classification, ModuleExt, Progress, Report, Trainer};
use tove::optim::Adam;
use tove::tensor::random::permutation;
use tove::tensor::{DType, Key, Tensor};

use super::fit::{Evaluated, INTERVALS, evaluate, with_interval, with_margin};
use super::folder::Wish;
use super::model::ImageModel;
use super::page;
use super::source::{Pictures, shifted};
use crate::arguments::{ImagesTransfer, NetKind};
use crate::commands::training::{Files, Told, count, score};
use crate::failure::Failure;
use crate::output::{Output, paragraph, table};

pub fn run(transfer: &ImagesTransfer, output: &Output) -> Result<(), Failure> {
    count("labels", transfer.labels, 1 << 20)?;
    let model = ImageModel::load(&transfer.model)?;
    let [channels, height, width] = model.picture();
    let wish = Wish { classes: &transfer.classes, size: Some([height, width]), channels: Some(channels) };
    let pictures = Pictures::read(&transfer.path, wish)?;
    let (few, rest) = chosen(&pictures, transfer)?;
    if few.x().dims()[1] != channels {
        let (path, has) = (transfer.path.display(), few.x().dims()[1]);
        return Err(Failure::work(format!("{path} has images in {has} channels, and the net takes {channels}")));
    }
    pictures.notes.sentences().into_iter().for_each(|sentence| output.remark(sentence));
    // Images are preprocessed as those that the net was trained on.
    let key = Key::new(transfer.seed).fold(2);
    let (few, rest) = (shifted(&few, model.border, key.fold(0))?, shifted(&rest, model.border, key.fold(1))?);
    let files = Files::begin(&transfer.keeping, &[&transfer.model])?;
    match work(transfer, model, pictures, (&few, &rest), &files, output) {
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
    mut model: ImageModel,
    pictures: Pictures,
    (few, rest): (&TensorDataset, &TensorDataset),
    files: &Files,
    output: &Output,
) -> Result<Told, Failure> {
    let start = Instant::now();
    let features = |set: &TensorDataset| model.net.general_features(set.x());
    let (from_pixels, _) = regression(&few.x().flatten(1), &rest.x().flatten(1), few.y(), rest.y())?;
    let (from_features, head) = regression(&features(few)?, &features(rest)?, few.y(), rest.y())?;
    let before = model.net.state();
    let (replaced, report) = retrain(transfer, &mut model, head, few, files)?;
    let frozen = unchanged(&before, &model.net.state(), &replaced)?;
    let (train_score, _) = evaluate(&model.net, few)?;
    let (tuned, probabilities) = evaluate(&model.net, rest)?;
    model.classes = pictures.classes;
    model.facts = json!({
        "data": transfer.path.display().to_string(), "seed": transfer.seed, "labels": transfer.labels,
        "from": model.facts, "scores": {"test": {"accuracy": score(&tuned)}},
    });
    let rows = vec![
        ("raw pixels, logistic regression", None, from_pixels),
        ("frozen layers, logistic regression", None, from_features),
        ("frozen layers, classifier fine-tuned", Some(train_score), tuned),
    ];
    let evaluated = Evaluated {
        title: format!("Images of {} with the layers of {}", transfer.path.display(), transfer.model.display()),
        seed: transfer.seed,
        model: &model,
        report: report.as_ref(),
        test: rest,
        confusion: ConfusionMatrix::new(rest.y(), &probabilities.argmax(-1), None)?,
        probabilities,
        rows,
        test_score: tuned,
        seconds: start.elapsed().as_secs_f64(),
        train_images: few.len(),
        validation_images: 0,
        notes: &pictures.notes,
    };
    model.save(&files.model, files.options)?;
    let saved = page::of(&evaluated).and_then(|page| Ok(page.save(&files.page, files.options)?));
    let verbose = output.is_verbose();
    Ok((text(&evaluated, transfer, frozen, files, verbose), document(&evaluated, transfer, frozen, files), saved))
}

/// A few images of each class, and all others.
fn chosen(pictures: &Pictures, transfer: &ImagesTransfer) -> Result<(TensorDataset, TensorDataset), Failure> {
    let set = &pictures.all;
    let labels = set.y().to_vec::<i64>();
    let order = permutation(Key::new(transfer.seed), labels.len());
    let mut taken = vec![0; pictures.classes.len()];
    let (mut few, mut rest) = (Vec::new(), Vec::new());
    for row in order {
        let taken = &mut taken[labels[row as usize] as usize];
        if *taken < transfer.labels {
            *taken += 1;
            few.push(row);
        } else {
            rest.push(row);
        }
    }
    if let Some(class) = taken.iter().position(|&taken| taken < transfer.labels) {
        let (name, there) = (&pictures.classes[class], taken[class]);
        return Err(Failure::work(format!("--labels {}: class {name} has {there} images only", transfer.labels)));
    }
    if rest.is_empty() {
        return Err(Failure::work("no test images are left; give fewer --labels"));
    }
    let pick = |rows: Vec<i64>| -> Result<TensorDataset, Failure> {
        let rows = Tensor::from(rows);
        Ok(TensorDataset::new(set.x().index_select(0, &rows), set.y().index_select(0, &rows))?)
    };
    Ok((pick(few)?, pick(rest)?))
}

/// A logistic regression: its accuracy on other rows, and its weights and intercepts with one row per class.
fn regression(
    train: &Tensor,
    test: &Tensor,
    train_y: &Tensor,
    test_y: &Tensor,
) -> Result<(Score, (Tensor, Tensor)), Failure> {
    let (train, test) = (train.to_dtype(DType::F64), test.to_dtype(DType::F64));
    let fitted = LogisticRegression { max_iter: 1000, ..LogisticRegression::default() }.fit(&train, train_y)?;
    let score = accuracy(test_y, &fitted.predict(&test)?, None)?;
    let (mut weight, mut bias) = (fitted.coef().clone(), fitted.intercept().flatten(0));
    if weight.dims()[0] == 1 {
        // Two classes have one score z; the logits (0, z) say the same.
        weight = Tensor::concat(&[&weight.zeros_like(), &weight], 0);
        bias = Tensor::concat(&[&bias.zeros_like(), &bias], 0);
    }
    Ok((score, (weight.to_dtype(DType::F32), bias.to_dtype(DType::F32))))
}

/// Puts the regression in the place of the layers behind the features and trains it further, everything before it frozen.
/// Returns the names of the layers replaced.
fn retrain(
    transfer: &ImagesTransfer,
    model: &mut ImageModel,
    (weight, bias): (Tensor, Tensor),
    few: &TensorDataset,
    files: &Files,
) -> Result<(Vec<String>, Option<Report>), Failure> {
    model.net.freeze("")?;
    let replaced = model.net.set_classifier(&weight, &bias)?;
    let classes = bias.numel();
    model.plan.classes = classes;
    if model.plan.kind == NetKind::Cnn {
        model.plan.hidden = vec![2 * classes];
    }
    if transfer.epochs == 0 {
        return Ok((replaced, None));
    }
    let trainer = Trainer::new(Adam::new(1e-3)).epochs(transfer.epochs).batch_size(10).seed(transfer.seed);
    let mut trainer = trainer.progress(Progress::Silent).log(&files.losses).interruptible()?;
    let report = trainer.fit(&mut model.net, &Classification::new(), few, None)?;
    Ok((replaced, Some(report)))
}

/// The number of tensors outside the layers replaced, which must have kept every bit.
fn unchanged(before: &[(String, Tensor)], after: &[(String, Tensor)], replaced: &[String]) -> Result<usize, Failure> {
    let is_kept =
        |name: &str| !replaced.iter().any(|layer| name.strip_prefix(layer).is_some_and(|rest| rest.starts_with('.')));
    let mut count = 0;
    for ((name, old), (_, new)) in before.iter().zip(after).filter(|((name, _), _)| is_kept(name)) {
        let bits = |tensor: &Tensor| tensor.to_vec::<f32>().into_iter().map(f32::to_bits).collect::<Vec<_>>();
        if bits(old) != bits(new) {
            return Err(Failure::work(format!("{name} was frozen, but its values changed")));
        }
        count += 1;
    }
    Ok(count)
}

/// What the reused layers are worth.
fn verdict(evaluated: &Evaluated<'_>, transfer: &ImagesTransfer) -> String {
    format!(
        "With {} labeled images per class, the classifier on the frozen layers has accuracy {} on {} test images; logistic \
         regression on the raw pixels has {:.4}.",
        transfer.labels,
        with_margin(&evaluated.test_score),
        evaluated.test_score.n,
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
    let [pixels, features, tuned] = [0, 1, 2].map(|place| score(&evaluated.rows[place].2));
    let model = evaluated.model;
    let mut document = json!({
        "file": transfer.path.display().to_string(), "target": "class", "task": "classification of images",
        "model": model.plan.name(), "from": transfer.model.display().to_string(), "labels": transfer.labels,
        "classes": model.classes, "frozen_tensors": frozen, "seed": transfer.seed, "verdict": verdict(evaluated, transfer), "raw_pixels": pixels,
        "features": features, "trained_on": tuned, "test": {"accuracy": tuned}, "pictures": evaluated.notes.document(),
        "train_rows": evaluated.train_images, "test_rows": evaluated.test.len(), "seconds": evaluated.seconds,
    });
    files.note(&mut document);
    document
}
