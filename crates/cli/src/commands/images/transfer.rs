//! `tove images transfer`: the layers of a trained net serve for other classes, of which few images have labels.

use serde_json::{Value, json};
use tove::data::TensorDataset;
use tove::learn::{Fit, LogisticRegression, Predict};
use tove::metrics::{Score, accuracy};
use tove::nn::{Classification, Linear, ModuleExt, Progress, Rng, Trainer};
use tove::optim::Adam;
use tove::tensor::io::WriteOptions;
use tove::tensor::random::permutation;
use tove::tensor::{DType, Key, Tensor};

use super::fit::{judge, with_interval};
use super::model::ImageModel;
use super::source::{Pictures, pixels, shifted};
use crate::arguments::ImagesTransfer;
use crate::commands::training::{count, may_write, score};
use crate::failure::Failure;
use crate::output::{Output, table};

pub fn run(transfer: &ImagesTransfer, output: &Output) -> Result<(), Failure> {
    count("labels", transfer.labels, 1 << 20)?;
    if let Some(path) = &transfer.output {
        may_write(path, transfer.overwrite)?;
    }
    let mut model = ImageModel::load(&transfer.model)?;
    let pictures = Pictures::read(&transfer.path, &transfer.classes)?;
    let (few, rest) = chosen(&pictures, transfer)?;
    let wanted = model.picture();
    if few.x().dims()[1..] != wanted {
        return Err(Failure::work(format!(
            "{} has images of {} pixels in {} channels, and the net was trained on {} in {}",
            transfer.path.display(),
            pixels(&few.x().dims()[1..]),
            few.x().dims()[1],
            pixels(&wanted),
            wanted[0]
        )));
    }
    // Images are treated as those were that the net learned from.
    let key = Key::new(transfer.seed).fold(2);
    let (few, rest) = (shifted(&few, model.border, key.fold(0))?, shifted(&rest, model.border, key.fold(1))?);
    let features = |set: &TensorDataset| model.net.all_features(set.x());
    let (from_pixels, _) = regression(&few.x().flatten(1), &rest.x().flatten(1), few.y(), rest.y())?;
    let (from_features, head) = regression(&features(&few)?, &features(&rest)?, few.y(), rest.y())?;
    let before = model.net.state();
    let head_name = retrain(transfer, &mut model, head, &few, pictures.classes.len())?;
    let frozen = unchanged(&before, &model.net.state(), &head_name)?;
    let (tuned, _) = judge(&model.net, &rest)?;
    model.classes = pictures.classes;
    model.facts = json!({
        "data": transfer.path.display().to_string(), "seed": transfer.seed, "labels": transfer.labels,
        "from": model.facts, "scores": {"test": {"accuracy": score(&tuned)}},
    });
    if let Some(path) = &transfer.output {
        model.save(path, WriteOptions { overwrite: transfer.overwrite, ..WriteOptions::default() })?;
    }
    let results = [
        ("raw pixels, logistic regression", from_pixels),
        ("frozen layers, logistic regression", from_features),
        ("frozen layers, last layer trained on", tuned),
    ];
    output.result(|| text(&results, transfer, frozen), || document(&results, transfer, &model, frozen))
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
        return Err(Failure::work("no image is left to judge by; give fewer --labels"));
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

/// Puts the regression in the place of the last layer and trains that on, everything before it frozen.
fn retrain(
    transfer: &ImagesTransfer,
    model: &mut ImageModel,
    (weight, bias): (Tensor, Tensor),
    few: &TensorDataset,
    classes: usize,
) -> Result<String, Failure> {
    let head_name = model.net.head_name();
    let width = weight.dims()[1];
    let mut head = Linear::new(width, classes, &mut Rng::new(transfer.seed));
    head.load_state(&[("weight".to_owned(), weight), ("bias".to_owned(), bias)])?;
    model.net.freeze("")?;
    if let Some(place) = model.net.head_mut() {
        *place = head;
    }
    model.plan.classes = classes;
    if transfer.epochs > 0 {
        let trainer = Trainer::new(Adam::new(1e-3)).epochs(transfer.epochs).batch_size(10).seed(transfer.seed);
        let mut trainer = trainer.progress(Progress::Silent).interruptible()?;
        trainer.fit(&mut model.net, &Classification::new(), few, None)?;
    }
    Ok(head_name)
}

/// The number of tensors outside the head, which must have kept every bit.
fn unchanged(before: &[(String, Tensor)], after: &[(String, Tensor)], head: &str) -> Result<usize, Failure> {
    let head = format!("{head}.");
    let mut count = 0;
    for ((name, old), (_, new)) in before.iter().zip(after).filter(|((name, _), _)| !name.starts_with(&head)) {
        let bits = |tensor: &Tensor| tensor.to_vec::<f32>().into_iter().map(f32::to_bits).collect::<Vec<_>>();
        if bits(old) != bits(new) {
            return Err(Failure::work(format!("{name} was to stay as it is, and changed")));
        }
        count += 1;
    }
    Ok(count)
}

fn text(results: &[(&str, Score)], transfer: &ImagesTransfer, frozen: usize) -> String {
    let mut rows = vec![["what the classifier sees".to_owned(), "accuracy".to_owned()].to_vec()];
    rows.extend(results.iter().map(|(name, score)| vec![(*name).to_owned(), with_interval(score)]));
    let mut text = format!("{} labelled images per class, judged on {} others:\n\n", transfer.labels, results[0].1.n);
    text.push_str(&table(&rows));
    text.push_str(&format!("\n{frozen} tensors of the frozen layers are unchanged, bit for bit.\n"));
    if let Some(path) = &transfer.output {
        text.push_str(&format!("Model: {}\n", path.display()));
    }
    text
}

fn document(results: &[(&str, Score)], transfer: &ImagesTransfer, model: &ImageModel, frozen: usize) -> Value {
    let [pixels, features, tuned] = [0, 1, 2].map(|place| score(&results[place].1));
    json!({
        "labels": transfer.labels, "classes": model.classes, "frozen_tensors": frozen, "seed": transfer.seed,
        "raw_pixels": pixels, "features": features, "trained_on": tuned,
        "model_file": transfer.output.as_ref().map(|path| path.display().to_string()),
    })
}
