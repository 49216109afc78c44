//! Perceptrons fitted through the interface of estimators.

use tove_data::{Dataset, Subset, TensorDataset};
use tove_learn::{Abilities, Fit, Labels, LearnError, Model, Record, Restore, Result, Rows, Samples, Summary, Task};
use tove_nn::train::Ending;
use tove_nn::{
    Classification, Layer, Mlp, ModuleExt, Pass, Progress, Regression, Report, Rng, Task as NetTask, Trainer,
};
use tove_optim::AdamW;
use tove_optim::settings::Hyperparameters;
use tove_tensor::{DType, Key, Tensor, TryNorm, TryOps};

use super::settings::{HiddenActivation, MlpClassifier, MlpRegressor, widths};

/// A net with what is known of its training.
#[derive(Clone, Debug)]
struct Trained {
    net: Mlp,
    sizes: Vec<usize>,
    dtype: DType,
    summary: Summary,
}

/// The settings that both estimators share, by reference.
struct Plan<'s> {
    name: &'static str,
    hidden: &'s str,
    activation: HiddenActivation,
    learning_rate: f64,
    epochs: usize,
    batch_size: usize,
    alpha: f64,
    dropout: f64,
    validation_fraction: f64,
    patience: usize,
    seed: u64,
}

macro_rules! plan {
    ($settings:expr, $name:expr) => {
        Plan {
            name: $name,
            hidden: &$settings.hidden,
            activation: $settings.activation,
            learning_rate: $settings.learning_rate,
            epochs: $settings.epochs,
            batch_size: $settings.batch_size,
            alpha: $settings.alpha,
            dropout: $settings.dropout,
            validation_fraction: $settings.validation_fraction,
            patience: $settings.patience,
            seed: $settings.seed,
        }
    };
}

/// An error of a net as one of this estimator.
fn net_error(who: &'static str) -> impl Fn(tove_nn::Error) -> LearnError {
    move |error| LearnError::data(who, error.to_string(), "scale the features, or lower `learning_rate`")
}

impl Plan<'_> {
    fn train(&self, x: &Tensor, y: Tensor, outputs: usize, task: &impl NetTask<Mlp>) -> Result<Trained> {
        let mut sizes = vec![x.dims()[1]];
        sizes.extend(widths(self.hidden).unwrap_or_default());
        sizes.push(outputs);
        let mut net = build(&sizes, self.activation, self.seed).dropout(self.dropout);
        let wrap = net_error(self.name);
        net.to_dtype(x.dtype()).map_err(&wrap)?;
        let rows = x.dims()[0];
        let data = TensorDataset::new(x.clone(), y).map_err(|error| wrap(error.into()))?;
        let order: Vec<usize> = Key::new(self.seed)
            .fold(1)
            .try_permutation(rows)?
            .to_vec::<i64>()
            .iter()
            .map(|&row| row as usize)
            .collect();
        let aside = (self.validation_fraction * rows as f64).round() as usize;
        let mut trainer = Trainer::new(AdamW::new(self.learning_rate).with(|rule| rule.weight_decay(self.alpha)))
            .epochs(self.epochs)
            .batch_size(self.batch_size)
            .seed(self.seed)
            .progress(Progress::Silent);
        // Too few samples to judge by: train on all of them.
        let report = if aside < 2 || rows - aside < 2 {
            trainer.fit(&mut net, task, &data, None).map_err(&wrap)?
        } else {
            let (judge, learn) = order.split_at(aside);
            let mut learn = learn.to_vec();
            learn.sort_unstable();
            let part = |rows: &[usize]| Subset::new(&data, rows.to_vec()).map_err(|error| wrap(error.into()));
            let (learn, judge) = (part(&learn)?, part(judge)?);
            let mut trainer = trainer.early_stopping(self.patience, 1e-4).keep_best();
            trainer.fit(&mut net, task, &learn as &dyn Dataset, Some(&judge as &dyn Dataset)).map_err(&wrap)?
        };
        let summary = self.summary(&report);
        Ok(Trained { net, sizes, dtype: x.dtype(), summary })
    }

    fn summary(&self, report: &Report) -> Summary {
        let mut summary = Summary::exact();
        summary.iterations = report.history.len();
        summary.objective = report.best.map(|(loss, _)| loss).or(report.losses.last().copied());
        summary.curve = report.history.iter().map(|evaluation| evaluation.train_loss).collect();
        summary.converged = report.ending == Ending::EarlyStop;
        if !summary.converged && self.validation_fraction > 0.0 {
            let epochs = self.epochs;
            summary.warn(format!(
                "{}: the loss was still falling after {epochs} epochs; allow more with `epochs`",
                self.name
            ));
        }
        summary
    }
}

fn build(sizes: &[usize], activation: HiddenActivation, seed: u64) -> Mlp {
    Mlp::new(sizes, &mut Rng::new(seed)).activation(activation.into())
}

impl Trained {
    fn forward(&self, name: &'static str, x: &Rows) -> Result<Tensor> {
        Ok(self.net.forward(x.dense(name)?, &Pass::eval()).map_err(net_error(name))?.detach())
    }

    fn write(&self, record: &mut Record) {
        record.put("sizes", self.sizes.clone());
        record.put("single", self.dtype == DType::F32);
        self.summary.write(record);
        for (name, tensor) in self.net.state() {
            record.put_tensor(&format!("net.{name}"), &tensor);
        }
    }

    fn read(record: &Record, activation: HiddenActivation) -> Result<Trained> {
        let list = record.get("sizes")?.as_array().cloned().unwrap_or_default();
        let sizes: Option<Vec<usize>> = list.iter().map(|size| size.as_u64().map(|size| size as usize)).collect();
        let sizes = sizes.filter(|sizes| sizes.len() >= 2 && sizes.iter().all(|&size| size < 1 << 24));
        let sizes = sizes.ok_or_else(|| record.wrong("sizes", "a list of widths"))?;
        // The weights must be there before a net of that size is made.
        for (layer, pair) in sizes.windows(2).enumerate() {
            record.shaped(&format!("net.layers.{layer}.weight"), &[pair[1], pair[0]])?;
        }
        let dtype = if record.switch("single")? { DType::F32 } else { DType::F64 };
        let mut net = build(&sizes, activation, 0);
        let damaged =
            |error: tove_nn::Error| LearnError::model(error.to_string(), "the file is damaged: save the model anew");
        net.to_dtype(dtype).map_err(damaged)?;
        let mut state = Vec::new();
        for (name, _) in net.state() {
            let tensor = record.tensor(&format!("net.{name}"))?.clone();
            state.push((name, tensor));
        }
        net.load_state(&state).map_err(damaged)?;
        Ok(Trained { net, sizes, dtype, summary: Summary::read(record)? })
    }
}

const ABILITIES: Abilities = Abilities { several: true, order_free: false, accuracy: 0.2, ..Abilities::PLAIN };

/// A fitted [`MlpClassifier`].
#[derive(Clone, Debug)]
pub struct FittedMlpClassifier {
    settings: MlpClassifier,
    trained: Trained,
    classes: Vec<i64>,
}

impl FittedMlpClassifier {
    /// The net; its last layer gives logits.
    pub fn net(&self) -> &Mlp {
        &self.trained.net
    }
}

impl Fit for MlpClassifier {
    type Fitted = FittedMlpClassifier;
    const NAME: &'static str = "MlpClassifier";
    const TASK: Task = Task::Classification;
    const ABILITIES: Abilities = Abilities { probabilities: true, ..ABILITIES };

    fn fit_samples(&self, samples: &Samples) -> Result<FittedMlpClassifier> {
        let labels = Labels::several(Self::NAME, samples.y())?;
        let codes: Vec<i64> = labels.codes().iter().map(|&code| code as i64).collect();
        let x = samples.x().dense(Self::NAME)?;
        let y = Tensor::try_from_vec(codes, [samples.len()])?;
        let trained = plan!(self, Self::NAME).train(x, y, labels.classes().len(), &Classification::new())?;
        Ok(FittedMlpClassifier { settings: self.clone(), trained, classes: labels.classes().to_vec() })
    }
}

impl Model for FittedMlpClassifier {
    fn name(&self) -> &'static str {
        MlpClassifier::NAME
    }

    fn task(&self) -> Task {
        Task::Classification
    }

    fn width(&self) -> usize {
        self.trained.sizes[0]
    }

    fn dtype(&self) -> DType {
        self.trained.dtype
    }

    fn summary(&self) -> &Summary {
        &self.trained.summary
    }

    fn settings(&self) -> serde_json::Value {
        self.settings.to_json()
    }

    fn classes(&self) -> &[i64] {
        &self.classes
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let best = self.trained.forward(self.name(), x)?.try_argmax(-1)?.to_vec::<i64>();
        Ok(Labels::decode(&self.classes, best.into_iter().map(|code| code as usize)))
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        // In double precision, so that rows sum to 1 as closely as they can.
        let logits = self.trained.forward(self.name(), x)?;
        Ok(logits.to_dtype(DType::F64).try_softmax(-1)?.to_dtype(self.dtype()))
    }

    fn record(&self) -> Record {
        let mut record = Record::new(self.name(), 1);
        record.put("settings", self.settings());
        record.put_tensor("classes", &Tensor::from_slice(&self.classes));
        self.trained.write(&mut record);
        record
    }
}

impl Restore for FittedMlpClassifier {
    fn restore(record: &Record) -> Result<FittedMlpClassifier> {
        record.expect(MlpClassifier::NAME, 1)?;
        let mut settings = MlpClassifier::default();
        settings.load_json(record.get("settings")?)?;
        let trained = Trained::read(record, settings.activation)?;
        let classes = record.integers("classes")?;
        if trained.sizes.last() != Some(&classes.len()) {
            return Err(record.wrong("classes", "one class per output of the net"));
        }
        Ok(FittedMlpClassifier { settings, trained, classes })
    }
}

/// A fitted [`MlpRegressor`].
#[derive(Clone, Debug)]
pub struct FittedMlpRegressor {
    settings: MlpRegressor,
    trained: Trained,
    /// Mean and spread of the targets, which the net sees standardised.
    centre: f64,
    spread: f64,
}

impl FittedMlpRegressor {
    /// The net; it gives standardised targets.
    pub fn net(&self) -> &Mlp {
        &self.trained.net
    }
}

impl Fit for MlpRegressor {
    type Fitted = FittedMlpRegressor;
    const NAME: &'static str = "MlpRegressor";
    const TASK: Task = Task::Regression;
    const ABILITIES: Abilities = Abilities { several: false, ..ABILITIES };

    fn fit_samples(&self, samples: &Samples) -> Result<FittedMlpRegressor> {
        let y = samples.targets(Self::NAME)?;
        let n = y.len() as f64;
        let centre = y.iter().sum::<f64>() / n;
        let variance = y.iter().map(|y| (y - centre).powi(2)).sum::<f64>() / n;
        let spread = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        let scaled: Vec<f64> = y.iter().map(|y| (y - centre) / spread).collect();
        let x = samples.x().dense(Self::NAME)?;
        let y = Tensor::try_from_vec(scaled, [samples.len(), 1])?.to_dtype(x.dtype());
        let trained = plan!(self, Self::NAME).train(x, y, 1, &Regression)?;
        Ok(FittedMlpRegressor { settings: self.clone(), trained, centre, spread })
    }
}

impl Model for FittedMlpRegressor {
    fn name(&self) -> &'static str {
        MlpRegressor::NAME
    }

    fn task(&self) -> Task {
        Task::Regression
    }

    fn width(&self) -> usize {
        self.trained.sizes[0]
    }

    fn dtype(&self) -> DType {
        self.trained.dtype
    }

    fn summary(&self) -> &Summary {
        &self.trained.summary
    }

    fn settings(&self) -> serde_json::Value {
        self.settings.to_json()
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let scaled = self.trained.forward(self.name(), x)?.try_reshape([x.len()])?;
        Ok(scaled * self.spread + self.centre)
    }

    fn record(&self) -> Record {
        let mut record = Record::new(self.name(), 1);
        record.put("settings", self.settings());
        record.put_real("centre", self.centre);
        record.put_real("spread", self.spread);
        self.trained.write(&mut record);
        record
    }
}

impl Restore for FittedMlpRegressor {
    fn restore(record: &Record) -> Result<FittedMlpRegressor> {
        record.expect(MlpRegressor::NAME, 1)?;
        let mut settings = MlpRegressor::default();
        settings.load_json(record.get("settings")?)?;
        let trained = Trained::read(record, settings.activation)?;
        if trained.sizes.last() != Some(&1) {
            return Err(record.wrong("sizes", "widths that end in one output"));
        }
        Ok(FittedMlpRegressor { settings, trained, centre: record.real("centre")?, spread: record.real("spread")? })
    }
}
