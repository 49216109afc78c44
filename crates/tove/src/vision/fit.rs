//! Training a net on images.

use serde_json::{Value, json};
use tove_data::{Augment, Dataset, TensorDataset};
use tove_metrics::{ConfusionMatrix, Score, accuracy};
use tove_nn::{Classification, Rng, Trainer, TrainingReport};
use tove_optim::{Adam, AdamW, Schedule};
use tove_tensor::{Key, Tensor};

use super::model::ImageModel;
use super::net::{Net, NetConfig, NetKind};
use super::source::{Images, shifted, with_validation};
use crate::net_files::{ModelError, Result, Watch, best, count, fraction, positive, score};

/// Settings of a training on images.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageFit {
    /// The architecture.
    pub kind: NetKind,
    /// Epochs of training.
    pub epochs: usize,
    /// Batch size.
    pub batch: usize,
    /// Learning rate; by default 0.002, and 0.001 for a vision transformer.
    pub learning_rate: Option<f64>,
    /// Units of the hidden layers, one number for a CNN; by default 128, and 64 for a CNN.
    pub hidden: Vec<usize>,
    /// Filters of a CNN's blocks; by default 16 and 32.
    pub filters: Vec<usize>,
    /// Whether training images are shifted and rotated a little, anew in every epoch.
    pub augment: bool,
    /// Pixels by which all images are padded; each is shifted at random within the padding, held-out images too.
    pub shift: usize,
    /// Fraction of the images that is held out, if the folder has no test set.
    pub test_size: f64,
    /// Fraction of the other images used for validation: the weights with the lowest validation loss are kept. 0 keeps the last
    /// weights, as do sets with fewer than 20 validation images.
    pub validation: f64,
    /// Seed of the split, the initial weights, the order of samples and the augmentation.
    pub seed: u64,
}

impl Default for ImageFit {
    fn default() -> ImageFit {
        ImageFit {
            kind: NetKind::Mlp,
            epochs: 20,
            batch: 32,
            learning_rate: None,
            hidden: Vec::new(),
            filters: Vec::new(),
            augment: false,
            shift: 0,
            test_size: 0.25,
            validation: 0.1,
            seed: 0,
        }
    }
}

/// A training that is ready to begin.
pub struct ImageTraining {
    fit: ImageFit,
    classes: Vec<String>,
    config: NetConfig,
    net: Net,
    train: TensorDataset,
    validation: Option<TensorDataset>,
    test: TensorDataset,
}

/// A trained and evaluated model.
#[derive(Clone)]
pub struct ImageOutcome {
    /// The model.
    pub model: ImageModel,
    /// How the training went, if there was any.
    pub report: Option<TrainingReport>,
    /// Accuracy on the training images.
    pub train_score: Score,
    /// Accuracy on the test images.
    pub test_score: Score,
    /// The test images, as the net sees them.
    pub test: TensorDataset,
    /// Probabilities (images, classes) for the test images.
    pub probabilities: Tensor,
    /// How often each class was taken for which.
    pub confusion: ConfusionMatrix,
    /// Number of training images.
    pub train_images: usize,
    /// Number of validation images.
    pub validation_images: usize,
}

impl ImageFit {
    /// Trains and evaluates a net.
    ///
    /// # Errors
    /// If a setting is outside its range, there are too few images, or the training diverges.
    pub fn fit(&self, images: &Images) -> Result<ImageOutcome> {
        self.prepare(images)?.run(&Watch::default())
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// If one is outside its range.
    pub fn check(&self) -> Result<()> {
        fraction("test_size", self.test_size)?;
        if self.validation != 0.0 {
            fraction("validation", self.validation)?;
        }
        count("epochs", self.epochs, 100_000)?;
        count("batch", self.batch, 1 << 20)?;
        for (name, sizes) in [("hidden", &self.hidden), ("filters", &self.filters)] {
            sizes.iter().try_for_each(|&size| count(name, size, 1 << 16))?;
        }
        let wrong = |name, problem: &str| Err(ModelError::setting(name, "", problem));
        if self.shift > 1000 {
            return Err(ModelError::setting("shift", self.shift, "give a number of pixels up to 1000"));
        }
        if self.kind != NetKind::Cnn && !self.filters.is_empty() {
            return wrong("filters", "only a CNN has filters; choose the architecture cnn");
        }
        match (self.kind, self.hidden.len()) {
            (NetKind::Vit, 1..) => wrong("hidden", "a transformer's layers are not set this way"),
            (NetKind::Cnn, 2..) => wrong("hidden", "a CNN has one hidden layer; give one number"),
            _ => positive("learning_rate", self.learning_rate.unwrap_or(1.0)),
        }
    }

    /// Splits the images and builds the net.
    ///
    /// # Errors
    /// As [`ImageFit::fit`].
    pub fn prepare(&self, images: &Images) -> Result<ImageTraining> {
        self.check()?;
        let (train, test) = images.split(self.test_size, self.seed)?;
        let key = Key::new(self.seed).fold(2);
        let (train, test) = (shifted(&train, self.shift, key.fold(0))?, shifted(&test, self.shift, key.fold(1))?);
        let (train, validation) = with_validation(train, self.validation, self.seed)?;
        let config = self.config(&train, images.classes.len())?;
        let net = config.build(&mut Rng::new(self.seed)).map_err(|error| match error {
            ModelError::Net(error) => ModelError::setting("kind", config.name(), error.to_string()),
            other => other,
        })?;
        Ok(ImageTraining { fit: self.clone(), classes: images.classes.clone(), config, net, train, validation, test })
    }

    fn config(&self, train: &TensorDataset, classes: usize) -> Result<NetConfig> {
        let shape = &train.x().dims()[1..];
        let input = <[usize; 3]>::try_from(shape)
            .map_err(|_| ModelError::source(format!("images of shape {shape:?}; give (channels, height, width)")))?;
        let or = |given: &[usize], usual: &[usize]| if given.is_empty() { usual.to_vec() } else { given.to_vec() };
        let (hidden, filters) = match self.kind {
            NetKind::Mlp => (or(&self.hidden, &[128]), Vec::new()),
            NetKind::Cnn => (or(&self.hidden, &[64]), or(&self.filters, &[16, 32])),
            NetKind::Vit => (Vec::new(), Vec::new()),
        };
        Ok(NetConfig { kind: self.kind, input, hidden, filters, classes })
    }
}

impl ImageTraining {
    /// The sizes of the net.
    pub fn config(&self) -> &NetConfig {
        &self.config
    }

    /// Numbers of training, validation and test images.
    pub fn images(&self) -> [usize; 3] {
        [self.train.len(), self.validation.as_ref().map_or(0, TensorDataset::len), self.test.len()]
    }

    /// Trains and evaluates the net.
    ///
    /// # Errors
    /// If the training diverges, or the log cannot be written.
    pub fn run(mut self, watch: &Watch) -> Result<ImageOutcome> {
        let [train_images, validation_images, _] = self.images();
        let report = self.train(watch)?;
        let ImageTraining { fit, classes, config, net, train, test, .. } = self;
        let (train_score, _) = evaluate(&net, &train)?;
        let (test_score, probabilities) = evaluate(&net, &test)?;
        let confusion = ConfusionMatrix::new(test.y(), &probabilities.argmax(-1), None)?;
        let facts: Value = json!({
            "seed": fit.seed, "epochs": fit.epochs, "batch": fit.batch, "augment": fit.augment, "shift": fit.shift,
            "steps": report.steps, "best": best(&report),
            "scores": {"train": {"accuracy": score(&train_score)}, "test": {"accuracy": score(&test_score)}},
        });
        let model = ImageModel { net, config, classes, border: fit.shift, facts };
        let report = Some(report);
        Ok(ImageOutcome {
            model,
            report,
            train_score,
            test_score,
            test,
            probabilities,
            confusion,
            train_images,
            validation_images,
        })
    }

    fn train(&mut self, watch: &Watch) -> Result<TrainingReport> {
        let (fit, train) = (&self.fit, &self.train);
        let steps = (train.len().div_ceil(fit.batch) * fit.epochs) as u64;
        let trainer = match fit.kind {
            NetKind::Vit => Trainer::new(AdamW::new(fit.learning_rate.unwrap_or(1e-3)))
                .schedule(Schedule::cosine(steps).after_warm_up((steps / 20).clamp(1, 100))),
            _ => Trainer::new(Adam::new(fit.learning_rate.unwrap_or(2e-3))),
        };
        let mut trainer = watch.over(trainer.epochs(fit.epochs).batch_size(fit.batch).seed(fit.seed))?;
        let validation = self.validation.as_ref().map(|set| set as &dyn Dataset);
        if validation.is_some() {
            trainer = trainer.keep_best();
        }
        let task = Classification::new();
        if !fit.augment {
            return Ok(trainer.fit(&mut self.net, &task, train, validation)?);
        }
        let side = train.x().dims()[2].min(train.x().dims()[3]);
        let by = (side / 14).max(1);
        let moved = train.clone().augmented(Augment::new().shift(by, by).rotate(10.0));
        Ok(trainer.fit(&mut self.net, &task, &moved, validation)?)
    }
}

/// The accuracy on a set, with the predicted probabilities.
pub(super) fn evaluate(net: &Net, set: &TensorDataset) -> Result<(Score, Tensor)> {
    let probabilities = net.probabilities(set.x())?;
    Ok((accuracy(set.y(), &probabilities.argmax(-1), None)?, probabilities))
}
