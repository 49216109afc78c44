//! `tove images fit`.

use std::time::Instant;

use serde_json::{Value, json};
use tove::data::{Augment, Dataset, TensorDataset};
use tove::metrics::{ConfusionMatrix, Score, accuracy};
use tove::nn::{Classification, Progress, Report, Rng, Trainer};
use tove::optim::{Adam, AdamW, Schedule};
use tove::tensor::{Key, Tensor};

use super::folder::{Notes, Wish};
use super::model::ImageModel;
use super::net::{Net, Plan};
use super::page;
use super::source::{Pictures, pixels, shifted, with_validation};
use crate::arguments::{ImagesFit, NetKind};
use crate::commands::training::{Files, Told, best, count, ending, positive, score, share};
use crate::failure::Failure;
use crate::output::{Output, paragraph, table};

/// An evaluated net, for the report.
pub struct Evaluated<'a> {
    pub title: String,
    pub seed: u64,
    pub model: &'a ImageModel,
    /// The report of the training, if there was any.
    pub report: Option<&'a Report>,
    pub test: &'a TensorDataset,
    pub probabilities: Tensor,
    pub confusion: ConfusionMatrix,
    /// Accuracies by name: on training images, where that says something, and on test images.
    pub rows: Vec<(&'static str, Option<Score>, Score)>,
    pub test_score: Score,
    pub seconds: f64,
    pub train_images: usize,
    /// Number of validation images.
    pub validation_images: usize,
    pub notes: &'a Notes,
}

/// The images of a run.
struct Sets {
    train: TensorDataset,
    validation: Option<TensorDataset>,
    test: TensorDataset,
    notes: Notes,
}

impl Sets {
    fn validation_images(&self) -> usize {
        self.validation.as_ref().map_or(0, TensorDataset::len)
    }
}

pub fn run(fit: &ImagesFit, output: &Output) -> Result<(), Failure> {
    check(fit)?;
    let pictures = Pictures::read(&fit.path, Wish { classes: &fit.classes, size: fit.size, channels: None })?;
    let (train, test) = pictures.split(fit.test_size, fit.seed)?;
    let key = Key::new(fit.seed).fold(2);
    let (train, test) = (shifted(&train, fit.shift, key.fold(0))?, shifted(&test, fit.shift, key.fold(1))?);
    let (train, validation) = with_validation(train, fit.validation, fit.seed)?;
    let plan = plan(fit, &train, pictures.classes.len())?;
    let net = plan.build(&mut Rng::new(fit.seed)).map_err(Failure::usage)?;
    let sets = Sets { train, validation, test, notes: pictures.notes };
    sets.notes.sentences().into_iter().for_each(|sentence| output.remark(sentence));
    output.remark(format!(
        "{}: {} train, {} validation and {} test images of {} pixels, {} classes; {} with {} parameters",
        fit.path.display(),
        sets.train.len(),
        sets.validation_images(),
        sets.test.len(),
        pixels(&plan.input),
        plan.classes,
        plan.name(),
        plan.parameters().unwrap_or(0)
    ));
    let files = Files::begin(&fit.keeping, &[&fit.path])?;
    match work(fit, pictures.classes, plan, net, &sets, &files, output) {
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

fn check(fit: &ImagesFit) -> Result<(), Failure> {
    share("test-size", fit.test_size)?;
    if fit.validation != 0.0 {
        share("validation", fit.validation)?;
    }
    count("epochs", fit.epochs, 100_000)?;
    count("batch", fit.batch, 1 << 20)?;
    for (name, sizes) in [("hidden", &fit.hidden), ("filters", &fit.filters)] {
        sizes.iter().try_for_each(|&size| count(name, size, 1 << 16).map(|_| ()))?;
    }
    if fit.shift > 1000 {
        return Err(Failure::usage(format!("--shift {}: give a number of pixels up to 1000", fit.shift)));
    }
    if fit.model != NetKind::Cnn && !fit.filters.is_empty() {
        return Err(Failure::usage("--filters: only a CNN has filters; add --model cnn"));
    }
    match (fit.model, fit.hidden.len()) {
        (NetKind::Vit, 1..) => Err(Failure::usage("--hidden: a transformer's layers are not set this way")),
        (NetKind::Cnn, 2..) => Err(Failure::usage("--hidden: a CNN has one hidden layer; give one number")),
        _ => positive("learning-rate", fit.learning_rate.unwrap_or(1.0)).map(|_| ()),
    }
}

fn plan(fit: &ImagesFit, train: &TensorDataset, classes: usize) -> Result<Plan, Failure> {
    let shape = &train.x().dims()[1..];
    let input = <[usize; 3]>::try_from(shape).map_err(|_| Failure::work(format!("images of shape {shape:?}")))?;
    let or = |given: &[usize], usual: &[usize]| if given.is_empty() { usual.to_vec() } else { given.to_vec() };
    let (hidden, filters) = match fit.model {
        NetKind::Mlp => (or(&fit.hidden, &[128]), Vec::new()),
        NetKind::Cnn => (or(&fit.hidden, &[64]), or(&fit.filters, &[16, 32])),
        NetKind::Vit => (Vec::new(), Vec::new()),
    };
    Ok(Plan { kind: fit.model, input, hidden, filters, classes })
}

fn train_net(fit: &ImagesFit, net: &mut Net, sets: &Sets, files: &Files, output: &Output) -> Result<Report, Failure> {
    let train = &sets.train;
    let steps = (train.len().div_ceil(fit.batch) * fit.epochs) as u64;
    let trainer = match fit.model {
        NetKind::Vit => Trainer::new(AdamW::new(fit.learning_rate.unwrap_or(1e-3)))
            .schedule(Schedule::cosine(steps).after_warm_up((steps / 20).clamp(1, 100))),
        _ => Trainer::new(Adam::new(fit.learning_rate.unwrap_or(2e-3))),
    };
    let progress = if output.is_quiet() { Progress::Silent } else { Progress::Auto };
    let mut trainer = trainer
        .epochs(fit.epochs)
        .batch_size(fit.batch)
        .seed(fit.seed)
        .log(&files.losses)
        .progress(progress)
        .interruptible()?;
    let validation = sets.validation.as_ref().map(|set| set as &dyn Dataset);
    if validation.is_some() {
        trainer = trainer.keep_best();
    }
    let task = Classification::new();
    if !fit.augment {
        return Ok(trainer.fit(net, &task, train, validation)?);
    }
    let side = train.x().dims()[2].min(train.x().dims()[3]);
    let by = (side / 14).max(1);
    let moved = train.clone().augmented(Augment::new().shift(by, by).rotate(10.0));
    Ok(trainer.fit(net, &task, &moved, validation)?)
}

/// The accuracy on a set, with the predicted probabilities.
pub fn evaluate(net: &Net, set: &TensorDataset) -> Result<(Score, Tensor), Failure> {
    let probabilities = net.probabilities(set.x())?;
    Ok((accuracy(set.y(), &probabilities.argmax(-1), None)?, probabilities))
}

fn work(
    fit: &ImagesFit,
    classes: Vec<String>,
    plan: Plan,
    mut net: Net,
    sets: &Sets,
    files: &Files,
    output: &Output,
) -> Result<Told, Failure> {
    let start = Instant::now();
    let report = train_net(fit, &mut net, sets, files, output)?;
    let (train_score, _) = evaluate(&net, &sets.train)?;
    let (test_score, probabilities) = evaluate(&net, &sets.test)?;
    let confusion = ConfusionMatrix::new(sets.test.y(), &probabilities.argmax(-1), None)?;
    let facts = json!({
        "data": fit.path.display().to_string(), "seed": fit.seed, "epochs": fit.epochs, "batch": fit.batch,
        "augment": fit.augment, "shift": fit.shift, "steps": report.steps, "best": best(&report),
        "scores": {"train": {"accuracy": score(&train_score)}, "test": {"accuracy": score(&test_score)}},
    });
    let model = ImageModel { net, plan, classes, border: fit.shift, facts };
    let evaluated = Evaluated {
        title: format!("Images of {}", fit.path.display()),
        seed: fit.seed,
        model: &model,
        report: Some(&report),
        test: &sets.test,
        probabilities,
        confusion,
        rows: vec![("accuracy", Some(train_score), test_score)],
        test_score,
        seconds: start.elapsed().as_secs_f64(),
        train_images: sets.train.len(),
        validation_images: sets.validation_images(),
        notes: &sets.notes,
    };
    model.save(&files.model, files.options)?;
    let saved = page::of(&evaluated).and_then(|page| Ok(page.save(&files.page, files.options)?));
    Ok((
        text(&evaluated, &train_score, files, output.is_verbose()),
        document(fit, &evaluated, &report, &train_score, files),
        saved,
    ))
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
    let (name, score) = (evaluated.model.plan.name().to_uppercase(), &evaluated.test_score);
    let (rows, classes) = (evaluated.confusion.counts().to_vec(), evaluated.confusion.labels().len().max(1));
    let largest = rows.chunks(classes).map(|row| row.iter().sum::<f64>()).fold(0.0, f64::max);
    format!(
        "The {name} classifies {} test images with accuracy {}; always predicting the most frequent class has {:.4}.",
        score.n,
        with_margin(score),
        largest / score.n.max(1) as f64
    )
}

fn text(evaluated: &Evaluated<'_>, train_score: &Score, files: &Files, verbose: bool) -> String {
    let test = &evaluated.test_score;
    let shown = if verbose { with_interval(test) } else { with_margin(test) };
    let rows = [
        ["", "test", "train"].map(str::to_owned).to_vec(),
        vec!["accuracy".to_owned(), shown, format!("{:.4}", train_score.value)],
        vec!["images".to_owned(), test.n.to_string(), evaluated.train_images.to_string()],
    ];
    let mut text = format!("{}\n{}", paragraph(&verdict(evaluated)), table(&rows));
    if verbose {
        text.push_str(&format!("\n{}", paragraph(INTERVALS)));
    }
    text.extend(evaluated.report.and_then(ending).map(|note| format!("\n{note}\n")));
    text.push_str(&files.list(evaluated.seconds));
    text
}

fn document(fit: &ImagesFit, evaluated: &Evaluated<'_>, report: &Report, train_score: &Score, files: &Files) -> Value {
    let model = evaluated.model;
    let mut document = json!({
        "file": fit.path.display().to_string(), "target": "class", "task": "classification of images",
        "classes": model.classes, "model": model.plan.name(), "net": model.plan.header(),
        "parameters": model.plan.parameters(), "seed": fit.seed, "steps": report.steps, "ending": report.ending,
        "best": best(report), "verdict": verdict(evaluated), "pictures": evaluated.notes.document(),
        "train": {"accuracy": score(train_score)}, "test": {"accuracy": score(&evaluated.test_score)},
        "train_rows": evaluated.train_images, "validation_rows": evaluated.validation_images, "test_rows": evaluated.test.len(),
        "seconds": evaluated.seconds,
    });
    files.note(&mut document);
    document
}
