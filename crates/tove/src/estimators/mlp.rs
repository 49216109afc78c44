//! Perceptrons fitted through the interface of estimators.

use std::marker::PhantomData;

use tove_data::{Dataset, Subset, TensorDataset};
use tove_learn::{
    Abilities, About, Fit, Labels, LearnError, Model, Record, Restore, Result, Rows, Samples, Summary, Task,
};
use tove_nn::train::Ending;
use tove_nn::{
    Classification, Layer, Mlp, ModuleExt, Pass, Progress, Regression, Report, Rng, Task as NetTask, Trainer,
};
use tove_optim::AdamW;
use tove_tensor::{DType, Key, Tensor, TryNorm, TryOps};

use super::settings::{HiddenActivation, MlpClassifier, MlpRegressor, widths};

/// What both estimators share: settings of the same names.
pub trait Perceptron: Fit {
    /// The settings, by reference.
    fn plan(&self) -> Plan<'_>;
}

/// The settings of an estimator, by reference.
pub struct Plan<'s> {
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

macro_rules! perceptron {
    ($type:ty) => {
        impl Perceptron for $type {
            fn plan(&self) -> Plan<'_> {
                Plan {
                    name: Self::NAME,
                    hidden: &self.hidden,
                    activation: self.activation,
                    learning_rate: self.learning_rate,
                    epochs: self.epochs,
                    batch_size: self.batch_size,
                    alpha: self.alpha,
                    dropout: self.dropout,
                    validation_fraction: self.validation_fraction,
                    patience: self.patience,
                    seed: self.seed,
                }
            }
        }
    };
}
perceptron!(MlpClassifier);
perceptron!(MlpRegressor);

/// An error of a net as one of this estimator.
fn net_error(who: &'static str) -> impl Fn(tove_nn::Error) -> LearnError {
    move |error| LearnError::data(who, error.to_string(), "scale the features, or lower `learning_rate`")
}

impl Plan<'_> {
    fn train(&self, x: &Tensor, y: Tensor, outputs: usize, task: &impl NetTask<Mlp>) -> Result<(Mlp, Summary)> {
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
        Ok((net, self.summary(&report)))
    }

    fn summary(&self, report: &Report) -> Summary {
        let mut summary = Summary::exact();
        summary.iterations = report.history.len();
        summary.objective = report.best.map(|(loss, _)| loss).or(report.losses.last().copied());
        summary.curve = report.history.iter().map(|evaluation| evaluation.train_loss).collect();
        summary.converged = report.ending == Ending::EarlyStop;
        if !summary.converged && report.ending != Ending::Interrupted && self.validation_fraction > 0.0 {
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

const ABILITIES: Abilities = Abilities { several: true, order_free: false, accuracy: 0.2, ..Abilities::PLAIN };

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
        let (net, summary) = self.plan().train(x, y, labels.classes().len(), &Classification::new())?;
        let about = About::of(self, samples).classes(labels.classes()).summary(summary);
        Ok(FittedMlp { about, net, scale: None, estimator: PhantomData })
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
        let (net, summary) = self.plan().train(x, y, 1, &Regression)?;
        let about = About::of(self, samples).summary(summary);
        Ok(FittedMlp { about, net, scale: Some((centre, spread)), estimator: PhantomData })
    }
}

/// A fitted multi-layer perceptron of the estimator `E`.
#[derive(Clone, Debug)]
pub struct FittedMlp<E> {
    about: About,
    net: Mlp,
    /// Mean and spread of the targets of a regression, which the net sees standardised.
    scale: Option<(f64, f64)>,
    estimator: PhantomData<E>,
}

/// A fitted [`MlpClassifier`].
pub type FittedMlpClassifier = FittedMlp<MlpClassifier>;
/// A fitted [`MlpRegressor`].
pub type FittedMlpRegressor = FittedMlp<MlpRegressor>;

impl<E: Perceptron> FittedMlp<E> {
    /// The net; its last layer gives logits of classes, or standardised targets.
    pub fn net(&self) -> &Mlp {
        &self.net
    }

    fn forward(&self, x: &Rows) -> Result<Tensor> {
        Ok(self.net.forward(x.dense(E::NAME)?, &Pass::eval()).map_err(net_error(E::NAME))?.detach())
    }

    /// Widths of all layers, the features first.
    fn sizes(&self) -> Vec<usize> {
        let outputs = self.net.layers.iter().map(|layer| layer.weight.dims()[0]);
        std::iter::once(self.about.width).chain(outputs).collect()
    }
}

impl<E: Perceptron> Model for FittedMlp<E> {
    fn about(&self) -> &About {
        &self.about
    }

    fn longest_sum(&self) -> usize {
        self.sizes().into_iter().max().unwrap_or(0)
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let answers = self.forward(x)?;
        if let Some((centre, spread)) = self.scale {
            return Ok(answers.try_reshape([x.len()])? * spread + centre);
        }
        let best = answers.try_argmax(-1)?.to_vec::<i64>();
        Ok(Labels::decode(self.classes(), best.into_iter().map(|code| code as usize)))
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        if E::TASK == Task::Regression {
            return Err(LearnError::unsupported(E::NAME, "gives no probabilities", "use `predict`"));
        }
        // In double precision, so that rows sum to 1 as closely as they can.
        let logits = self.forward(x)?;
        Ok(logits.to_dtype(DType::F64).try_softmax(-1)?.to_dtype(self.dtype()))
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.about.write_shape(&mut record);
        record.put("sizes", self.sizes());
        if let Some((centre, spread)) = self.scale {
            record.put_real("centre", centre);
            record.put_real("spread", spread);
        }
        for (name, tensor) in self.net.state() {
            record.put_tensor(&format!("net.{name}"), &tensor);
        }
        record
    }
}

impl<E: Perceptron> Restore for FittedMlp<E> {
    fn restore(record: &Record) -> Result<FittedMlp<E>> {
        let settings: E = record.settings(E::NAME, 1)?;
        let sizes = sizes(record)?;
        let about = About::read(&settings, record, sizes[0], record.precision()?)?;
        let outputs = if E::TASK == Task::Classification { about.classes.len() } else { 1 };
        if sizes.last() != Some(&outputs) {
            return Err(record.wrong("sizes", "widths that end in one output, or one per class"));
        }
        let net = read_net(record, &sizes, settings.plan().activation, about.dtype)?;
        let scale = match E::TASK {
            Task::Classification => None,
            Task::Regression => Some((record.real("centre")?, record.real("spread")?)),
        };
        Ok(FittedMlp { about, net, scale, estimator: PhantomData })
    }
}

/// The widths of a record, with weights to match: a net of that size may be made.
fn sizes(record: &Record) -> Result<Vec<usize>> {
    let list = record.get("sizes")?.as_array().cloned().unwrap_or_default();
    let sizes: Option<Vec<usize>> = list.iter().map(|size| size.as_u64().map(|size| size as usize)).collect();
    let sizes = sizes.filter(|sizes| sizes.len() >= 2 && sizes.iter().all(|&size| size < 1 << 24));
    let sizes = sizes.ok_or_else(|| record.wrong("sizes", "a list of widths"))?;
    for (layer, pair) in sizes.windows(2).enumerate() {
        record.shaped(&format!("net.layers.{layer}.weight"), &[pair[1], pair[0]])?;
    }
    Ok(sizes)
}

fn read_net(record: &Record, sizes: &[usize], activation: HiddenActivation, dtype: DType) -> Result<Mlp> {
    let mut net = build(sizes, activation, 0);
    let damaged =
        |error: tove_nn::Error| LearnError::model(error.to_string(), "the file is damaged: save the model anew");
    net.to_dtype(dtype).map_err(damaged)?;
    let mut state = Vec::new();
    for (name, _) in net.state() {
        let tensor = record.tensor(&format!("net.{name}"))?.clone();
        state.push((name, tensor));
    }
    net.load_state(&state).map_err(damaged)?;
    Ok(net)
}
