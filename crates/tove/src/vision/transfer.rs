//! Transfer learning: the layers of a trained net are reused for other classes, of which few images are labeled.

use serde_json::json;
use tove_data::TensorDataset;
use tove_learn::{Fit, LogisticRegression, Predict};
use tove_metrics::{ConfusionMatrix, Score, accuracy};
use tove_nn::{Classification, ModuleExt, Trainer, TrainingReport};
use tove_optim::Adam;
use tove_tensor::random::permutation;
use tove_tensor::{DType, Key, Tensor};

use super::fit::{ImageOutcome, evaluate};
use super::model::ImageModel;
use super::net::NetKind;
use super::source::{Images, shifted};
use crate::net_files::{ModelError, Result, Watch, count, score};

/// Settings of a transfer. The convolutions of a CNN, or all layers but the last of another net, are frozen. A logistic regression is
/// fitted to their output for a few labeled images, and takes the place of the layers behind them, fine-tuned for a few epochs.
///
/// ```
/// use tove::vision::{ImageFit, ImageOptions, Images, Transfer};
/// let digits = |classes: [&str; 3]| {
///     let classes = classes.map(str::to_owned).to_vec();
///     Images::read("digits", &ImageOptions { classes, ..ImageOptions::default() })
/// };
/// let trained = ImageFit { epochs: 3, ..ImageFit::default() }.fit(&digits(["0", "1", "2"])?)?;
/// let moved = Transfer { labels: 10, ..Transfer::default() }.fit(trained.model, &digits(["7", "8", "9"])?)?;
/// assert_eq!(moved.outcome.model.classes(), ["7", "8", "9"]);
/// assert!(moved.outcome.test_score.value > 0.8 && moved.frozen_tensors == 2);
/// # Ok::<(), tove::vision::ModelError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Labeled images per class; all others are held out.
    pub labels: usize,
    /// Epochs of fine-tuning the classifier behind the frozen layers.
    pub epochs: usize,
    /// Seed of the choice of labeled images.
    pub seed: u64,
}

impl Default for Transfer {
    fn default() -> Transfer {
        Transfer { labels: 10, epochs: 20, seed: 0 }
    }
}

/// A transfer that is ready to begin.
pub struct TransferTraining {
    transfer: Transfer,
    model: ImageModel,
    classes: Vec<String>,
    few: TensorDataset,
    rest: TensorDataset,
}

/// A model of other classes, beside what its layers are worth.
pub struct TransferOutcome {
    /// The new model, evaluated on the images that are not labeled.
    pub outcome: ImageOutcome,
    /// Accuracy of a logistic regression on the raw pixels.
    pub from_pixels: Score,
    /// Accuracy of a logistic regression on the output of the frozen layers.
    pub from_features: Score,
    /// Number of tensors in the frozen layers, which kept every bit.
    pub frozen_tensors: usize,
}

impl Transfer {
    /// Trains and evaluates a model of the images' classes from the layers of another.
    ///
    /// # Errors
    /// If a class has too few images, or they have another number of channels than those of the model.
    pub fn fit(&self, model: ImageModel, images: &Images) -> Result<TransferOutcome> {
        self.prepare(model, images)?.run(&Watch::default())
    }

    /// Chooses the labeled images.
    ///
    /// # Errors
    /// As [`Transfer::fit`].
    pub fn prepare(&self, model: ImageModel, images: &Images) -> Result<TransferTraining> {
        count("labels", self.labels, 1 << 20)?;
        let (few, rest) = chosen(images, self)?;
        let (has, takes) = (few.x().dims()[1], model.input()[0]);
        if has != takes {
            return Err(ModelError::source(format!("the images have {has} channels, and the net takes {takes}")));
        }
        // Images are preprocessed as those that the net was trained on.
        let key = Key::new(self.seed).fold(2);
        let (few, rest) = (shifted(&few, model.border, key.fold(0))?, shifted(&rest, model.border, key.fold(1))?);
        Ok(TransferTraining { transfer: self.clone(), model, classes: images.classes.clone(), few, rest })
    }
}

impl TransferTraining {
    /// Trains and evaluates the new classifier.
    ///
    /// # Errors
    /// If the images have another size than those of the model, or the training diverges.
    pub fn run(self, watch: &Watch) -> Result<TransferOutcome> {
        let TransferTraining { transfer, mut model, classes, few, rest } = self;
        let features = |set: &TensorDataset| model.net.general_features(set.x());
        let (from_pixels, _) = regression(&few.x().flatten(1), &rest.x().flatten(1), few.y(), rest.y())?;
        let (from_features, head) = regression(&features(&few)?, &features(&rest)?, few.y(), rest.y())?;
        let before = model.net.state();
        let (replaced, report) = retrain(&transfer, &mut model, head, &few, watch)?;
        let frozen_tensors = unchanged(&before, &model.net.state(), &replaced)?;
        let (train_score, _) = evaluate(&model.net, &few)?;
        let (test_score, probabilities) = evaluate(&model.net, &rest)?;
        model.classes = classes;
        model.facts = json!({
            "seed": transfer.seed, "labels": transfer.labels, "from": model.facts,
            "scores": {"test": {"accuracy": score(&test_score)}},
        });
        let confusion = ConfusionMatrix::new(rest.y(), &probabilities.argmax(-1), None)?;
        let outcome = ImageOutcome {
            model,
            report,
            train_score,
            test_score,
            test: rest,
            probabilities,
            confusion,
            train_images: few.y().numel(),
            validation_images: 0,
        };
        Ok(TransferOutcome { outcome, from_pixels, from_features, frozen_tensors })
    }
}

/// A few images of each class, and all others.
fn chosen(images: &Images, transfer: &Transfer) -> Result<(TensorDataset, TensorDataset)> {
    let set = &images.all;
    let labels = set.y().to_vec::<i64>();
    let order = permutation(Key::new(transfer.seed), labels.len());
    let mut taken = vec![0; images.classes.len()];
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
        let (name, there) = (&images.classes[class], taken[class]);
        let problem = format!("class {name} has {there} images only");
        return Err(ModelError::unsuited("labels", transfer.labels, problem));
    }
    if rest.is_empty() {
        return Err(ModelError::unsuited("labels", transfer.labels, "no test images are left; give fewer"));
    }
    let pick = |rows: Vec<i64>| -> Result<TensorDataset> {
        let rows = Tensor::from(rows);
        Ok(TensorDataset::new(set.x().index_select(0, &rows), set.y().index_select(0, &rows))?)
    };
    Ok((pick(few)?, pick(rest)?))
}

/// A logistic regression: its accuracy on other rows, and its weights and intercepts with one row per class.
fn regression(train: &Tensor, test: &Tensor, train_y: &Tensor, test_y: &Tensor) -> Result<(Score, (Tensor, Tensor))> {
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
    transfer: &Transfer,
    model: &mut ImageModel,
    (weight, bias): (Tensor, Tensor),
    few: &TensorDataset,
    watch: &Watch,
) -> Result<(Vec<String>, Option<TrainingReport>)> {
    model.net.freeze("")?;
    let replaced = model.net.set_classifier(&weight, &bias)?;
    let classes = bias.numel();
    model.config.classes = classes;
    if model.config.kind == NetKind::Cnn {
        model.config.hidden = vec![2 * classes];
    }
    if transfer.epochs == 0 {
        return Ok((replaced, None));
    }
    let trainer = Trainer::new(Adam::new(1e-3)).epochs(transfer.epochs).batch_size(10).seed(transfer.seed);
    let mut trainer = watch.over(trainer)?;
    let report = trainer.fit(&mut model.net, &Classification::new(), few, None)?;
    Ok((replaced, Some(report)))
}

/// The number of tensors outside the layers replaced, which must have kept every bit.
fn unchanged(before: &[(String, Tensor)], after: &[(String, Tensor)], replaced: &[String]) -> Result<usize> {
    let is_kept =
        |name: &str| !replaced.iter().any(|layer| name.strip_prefix(layer).is_some_and(|rest| rest.starts_with('.')));
    let mut count = 0;
    for ((name, old), (_, new)) in before.iter().zip(after).filter(|((name, _), _)| is_kept(name)) {
        let bits = |tensor: &Tensor| tensor.to_vec::<f32>().into_iter().map(f32::to_bits).collect::<Vec<_>>();
        if bits(old) != bits(new) {
            return Err(ModelError::source(format!("{name} was frozen, but its values changed")));
        }
        count += 1;
    }
    Ok(count)
}
