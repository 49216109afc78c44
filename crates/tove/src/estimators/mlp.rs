//! Perceptrons fitted through the interface of estimators.

use std::marker::PhantomData;

use tove_data::{Dataset, Subset, TensorDataset};
use tove_learn::{
    About, Algorithm, Capabilities, Labels, LearnError, Model, Record, Restore, Result, Rows, Samples, Summary,
};
use tove_nn::train::Ending;
use tove_nn::{
    Classification, Layer, Mlp, ModuleExt, Pass, Progress, Regression, Rng, Trainer, TrainingReport, TrainingTask,
};
use tove_optim::AdamW;
use tove_optim::settings::Named;
use tove_tensor::{DType, Key, Tensor, TryNorm, TryOps};

use super::settings::{HiddenActivation, MlpClassifier, MlpRegressor, MlpSettings};
use super::weighted::{WeightedClassification, WeightedRegression, counting, side_by_side};

/// What both estimators share.
pub trait Perceptron: Algorithm {
    /// The net and its training.
    fn net_settings(&self) -> &MlpSettings;
}

impl Perceptron for MlpClassifier {
    fn net_settings(&self) -> &MlpSettings {
        &self.net
    }
}

impl Perceptron for MlpRegressor {
    fn net_settings(&self) -> &MlpSettings {
        &self.net
    }
}

/// An error of a net as one of this estimator.
fn net_error(who: &'static str) -> impl Fn(tove_nn::Error) -> LearnError {
    move |error| LearnError::data(who, error.to_string(), "scale the features, or lower `learning_rate`")
}

impl MlpSettings {
    fn train(
        &self,
        who: &'static str,
        x: &Tensor,
        y: Tensor,
        outputs: usize,
        task: &impl TrainingTask<Mlp>,
    ) -> Result<(Mlp, Summary)> {
        let mut sizes = vec![x.dims()[1]];
        sizes.extend(&self.hidden);
        sizes.push(outputs);
        let wrap = net_error(who);
        self.fits_into_memory(who, &sizes, x)?;
        let mut net = build(&sizes, self.activation, self.seed).map_err(&wrap)?.dropout(self.dropout);
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
        Ok((net, self.summary(who, &report)))
    }

    /// An error unless the net can be trained in the memory there is: weights, their gradients, two averages of Adam's and the
    /// best weights so far; and for each layer and row of a batch what the derivative needs.
    fn fits_into_memory(&self, who: &'static str, sizes: &[usize], x: &Tensor) -> Result<()> {
        let product = |a: usize, b: usize| (a as u64).saturating_mul(b as u64);
        let weights = sizes.windows(2).map(|pair| product(pair[0], pair[1]).saturating_add(pair[1] as u64));
        let weights = weights.fold(0, u64::saturating_add);
        let width = sizes.iter().copied().fold(0, usize::saturating_add);
        let values = product(self.batch_size.min(x.dims()[0]), width).saturating_mul(4);
        let bytes = weights.saturating_mul(5).saturating_add(values).saturating_mul(x.dtype().size() as u64);
        let what = format!("a net of {weights} weights");
        tove_learn::memory::require(who, what, bytes, "choose smaller layers with `hidden`")
    }

    fn summary(&self, who: &str, report: &TrainingReport) -> Summary {
        let mut summary = Summary::exact();
        // Epochs begun count, so that one that a time limit cut short is not taken for none.
        summary.iterations = report.history.len().max(usize::from(report.steps > 0));
        summary.objective = report.best.map(|(loss, _)| loss).or(report.losses.last().copied());
        summary.curve = report.history.iter().map(|evaluation| evaluation.train_loss).collect();
        summary.converged = report.ending == Ending::EarlyStop;
        if report.ending == Ending::Interrupted {
            summary.warn(format!("{who}: training was cut short after {} steps", report.steps));
        }
        if !summary.converged && report.ending != Ending::Interrupted && self.validation_fraction > 0.0 {
            let epochs = self.epochs;
            summary.warn(format!("{who}: the loss was still falling after {epochs} epochs; allow more with `epochs`"));
        }
        summary
    }
}

fn build(sizes: &[usize], activation: HiddenActivation, seed: u64) -> tove_nn::Result<Mlp> {
    Ok(Mlp::try_new(sizes, &mut Rng::new(seed))?.activation(activation.into()))
}

impl Algorithm for MlpClassifier {
    type Fitted = FittedMlpClassifier;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        probabilities: true,
        order_free: false,
        accuracy: 0.2,
        anytime: true,
        ..Capabilities::CLASSIFIER
    };

    fn train(&self, samples: &Samples) -> Result<FittedMlpClassifier> {
        // Classes whose samples all weigh 0 are classes all the same.
        let labels = Labels::several(Self::NAME, samples.y()?)?;
        let (counting, weights) = counting(samples)?;
        let known = labels.classes();
        let code = |label: i64| known.binary_search(&label).unwrap_or(0);
        let codes: Vec<usize> = counting.y()?.to_dtype(DType::I64).to_vec::<i64>().into_iter().map(code).collect();
        let x = counting.x().dense(Self::NAME)?;
        let (net, summary) = match weights {
            None => {
                let y = Tensor::try_from_vec(codes.iter().map(|&code| code as i64).collect(), [codes.len()])?;
                self.net.train(Self::NAME, x, y, known.len(), &Classification::new())?
            }
            Some(weights) => {
                let codes: Vec<f64> = codes.iter().map(|&code| code as f64).collect();
                let y = side_by_side(&codes, &weights, x.dtype())?;
                self.net.train(Self::NAME, x, y, known.len(), &WeightedClassification)?
            }
        };
        let about = About::of(self, samples).classes(labels.classes()).summary(summary);
        Ok(FittedMlp { about, net, scale: None, estimator: PhantomData })
    }
}

impl Algorithm for MlpRegressor {
    type Fitted = FittedMlpRegressor;
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, order_free: false, accuracy: 0.2, anytime: true, ..Capabilities::REGRESSOR };

    fn train(&self, samples: &Samples) -> Result<FittedMlpRegressor> {
        let (counting, weights) = counting(samples)?;
        let y = counting.single_target(Self::NAME)?;
        let (centre, spread) = standard(&y, weights.as_deref());
        let scaled: Vec<f64> = y.iter().map(|y| (y - centre) / spread).collect();
        let x = counting.x().dense(Self::NAME)?;
        let (net, summary) = match weights {
            None => {
                let y = Tensor::try_from_vec(scaled, [counting.len(), 1])?.to_dtype(x.dtype());
                self.net.train(Self::NAME, x, y, 1, &Regression)?
            }
            Some(weights) => {
                self.net.train(Self::NAME, x, side_by_side(&scaled, &weights, x.dtype())?, 1, &WeightedRegression)?
            }
        };
        let about = About::of(self, samples).summary(summary);
        Ok(FittedMlp { about, net, scale: Some((centre, spread)), estimator: PhantomData })
    }
}

/// Mean and standard deviation of the targets, by weights of mean 1; a deviation of 1 where all are equal.
fn standard(y: &[f64], weights: Option<&[f64]>) -> (f64, f64) {
    let n = y.len() as f64;
    let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
    let centre = y.iter().enumerate().map(|(row, y)| weight(row) * y).sum::<f64>() / n;
    let variance = y.iter().enumerate().map(|(row, y)| weight(row) * (y - centre).powi(2)).sum::<f64>() / n;
    (centre, if variance > 0.0 { variance.sqrt() } else { 1.0 })
}

// Not derived: the net must be built from the settings before its weights can be read.
/// A fitted multi-layer perceptron of the estimator `E`.
#[derive(Clone, Debug)]
pub struct FittedMlp<E> {
    about: About,
    net: Mlp,
    /// Mean and spread of the targets of a regression, which the net sees standardized.
    scale: Option<(f64, f64)>,
    estimator: PhantomData<E>,
}

/// A fitted [`MlpClassifier`].
pub type FittedMlpClassifier = FittedMlp<MlpClassifier>;
/// A fitted [`MlpRegressor`].
pub type FittedMlpRegressor = FittedMlp<MlpRegressor>;

impl<E: Perceptron> FittedMlp<E> {
    /// The net; its last layer gives logits of classes, or standardized targets.
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
        if let Some((centre, spread)) = self.scale {
            return Ok(self.forward(x)?.try_reshape([x.len()])? * spread + centre);
        }
        // By the probabilities, so that both answers agree where rounding makes two of them equal.
        let best = self.proba_rows(x)?.try_argmax(-1)?.to_vec::<i64>();
        Ok(Labels::decode(self.classes(), best.into_iter().map(|code| code as usize)))
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        if self.scale.is_some() {
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
        let outputs = if E::CAPABILITIES.classifies() { about.classes.len() } else { 1 };
        if sizes.last() != Some(&outputs) {
            return Err(record.wrong("sizes", "widths that end in one output, or one per class"));
        }
        let net = read_net(record, &sizes, settings.net_settings().activation, about.dtype)?;
        let scale = match E::CAPABILITIES.classifies() {
            true => None,
            false => Some((record.real("centre")?, record.real("spread")?)),
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
    let damaged =
        |error: tove_nn::Error| LearnError::model(error.to_string(), "the file is damaged: save the model anew");
    let mut net = build(sizes, activation, 0).map_err(damaged)?;
    net.to_dtype(dtype).map_err(damaged)?;
    let mut state = Vec::new();
    for (name, _) in net.state() {
        let key = format!("net.{name}");
        let tensor = record.tensor(&key)?.clone();
        if tensor.dtype() != dtype {
            return Err(record.wrong(&key, "of the model's precision"));
        }
        state.push((name, tensor));
    }
    net.load_state(&state).map_err(damaged)?;
    Ok(net)
}
