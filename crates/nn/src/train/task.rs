//! What is to be learned: a loss to train on and scores to judge by.

use tove_data::Batch;
use tove_tensor::{CrossEntropy, Reduction, Tensor, TryNorm, TryOps, TryReduce};

use crate::{Error, Layer, Pass, Result};

/// Which way a score improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Lower is better: losses and errors.
    Lower,
    /// Higher is better: accuracies.
    Higher,
}

impl Better {
    /// Whether `new` improves on `old` by more than `margin`.
    pub fn improves(self, new: f64, old: f64, margin: f64) -> bool {
        match self {
            Better::Lower => new < old - margin,
            Better::Higher => new > old + margin,
        }
    }
}

/// A score of a batch, a mean over its samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Which way it improves.
    pub better: Better,
}

/// What a net is trained for. A closure `|net: &Net, batch: &Batch, pass: &Pass| -> Result<Tensor>` that gives the loss is
/// one too.
pub trait Task<M: ?Sized> {
    /// The loss of a batch, a mean over its samples: one number, lower meaning better.
    fn loss(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Tensor>;

    /// Scores of a batch in evaluation, the loss first.
    fn scores(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Vec<Scored>> {
        Ok(vec![loss_score(&self.loss(net, batch, pass)?)?])
    }
}

impl<M: ?Sized, F: Fn(&M, &Batch, &Pass) -> Result<Tensor>> Task<M> for F {
    fn loss(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Tensor> {
        self(net, batch, pass)
    }
}

fn loss_score(loss: &Tensor) -> Result<Scored> {
    Ok(Scored { name: "loss", value: number(loss)?, better: Better::Lower })
}

/// The value of a loss.
pub(super) fn number(loss: &Tensor) -> Result<f64> {
    match loss.to_f64_vec()[..] {
        [value] => Ok(value),
        _ => Err(Error::setting("Task", "loss", format!("has shape {:?}; reduce it to one number", loss.dims()))),
    }
}

/// Classes from logits: softmax cross-entropy, and the share of right answers. Targets are class numbers (i64), one per
/// row of logits; further axes, such as the positions of a text, count as rows.
///
/// ```
/// use tove_nn::{Classification, Linear, Pass, Rng, Task};
/// use tove_data::Batch;
/// use tove_tensor::{DType, Tensor};
/// let net = Linear::new(2, 3, &mut Rng::new(0));
/// let batch = Batch { x: Tensor::ones([4, 2], DType::F32), y: Tensor::from([0i64, 1, 2, 5]) };
/// let error = Classification::new().loss(&net, &batch, &Pass::eval()).unwrap_err();
/// assert!(error.to_string().contains("class 5"), "{error}");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Classification {
    options: CrossEntropy,
}

impl Classification {
    /// Plain cross-entropy.
    pub fn new() -> Classification {
        Classification::default()
    }

    /// With options: label smoothing, weights of classes.
    pub fn with(options: CrossEntropy) -> Classification {
        Classification { options }
    }

    fn cross_entropy(&self, logits: &Tensor, target: &Tensor) -> Result<Tensor> {
        logits.try_cross_entropy(target, &self.options).map_err(|error| {
            let classes = logits.dims().last().copied().unwrap_or(0);
            let labels = target.try_to_vec::<i64>().unwrap_or_default();
            match labels.iter().position(|&label| label < 0 || label as usize >= classes) {
                Some(row) => {
                    let label = labels[row];
                    let problem = format!("has class {label} in row {row}; the net tells {classes} classes apart");
                    Error::setting("Classification", "target", problem)
                }
                None => error.into(),
            }
        })
    }
}

impl<M: Layer + ?Sized> Task<M> for Classification {
    fn loss(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Tensor> {
        self.cross_entropy(&net.forward(&batch.x, pass)?, &batch.y)
    }

    fn scores(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Vec<Scored>> {
        let logits = net.forward(&batch.x, pass)?;
        let loss = loss_score(&self.cross_entropy(&logits, &batch.y)?)?;
        let right = logits.try_argmax(-1)?.try_eq(&batch.y)?.try_count_nonzero()?.item::<i64>();
        let value = right as f64 / batch.y.numel().max(1) as f64;
        Ok(vec![loss, Scored { name: "accuracy", value, better: Better::Higher }])
    }
}

/// Numbers from inputs: mean squared error, and mean absolute error beside it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Regression;

impl<M: Layer + ?Sized> Task<M> for Regression {
    fn loss(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Tensor> {
        Ok(net.forward(&batch.x, pass)?.try_mse_loss(&batch.y, Reduction::Mean)?)
    }

    fn scores(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Vec<Scored>> {
        let prediction = net.forward(&batch.x, pass)?;
        let loss = loss_score(&prediction.try_mse_loss(&batch.y, Reduction::Mean)?)?;
        let value = number(&prediction.try_residual(&batch.y)?.abs().try_mean()?)?;
        Ok(vec![loss, Scored { name: "absolute error", value, better: Better::Lower }])
    }
}
