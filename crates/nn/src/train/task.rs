//! What is to be learned: a loss to train on and scores to judge by.

use tove_data::Batch;
use tove_optim::losses::{Loss, Smoothing, Softmax};
use tove_tensor::{CrossEntropy, DType, Reduction, Tensor, TryIndex, TryNorm, TryOps, TryReduce};

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
///
/// ```
/// use tove_nn::Scored;
/// let loss = Scored::lower("loss", 0.7);
/// let accuracy = Scored::higher("accuracy", 0.5).over(24.0); // of which 24 rows were asked for
/// assert_eq!((loss.count, accuracy.count), (None, Some(24.0)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Which way it improves.
    pub better: Better,
    /// How much it counts in the mean over batches; by default the number of samples.
    pub count: Option<f64>,
}

impl Scored {
    /// A score of which lower values are better.
    pub fn lower(name: &'static str, value: f64) -> Scored {
        Scored { name, value, better: Better::Lower, count: None }
    }

    /// A score of which higher values are better.
    pub fn higher(name: &'static str, value: f64) -> Scored {
        Scored { name, value, better: Better::Higher, count: None }
    }

    /// The same score as a mean over so many rows, or with this sum of weights.
    #[must_use]
    pub fn over(self, count: f64) -> Scored {
        Scored { count: Some(count), ..self }
    }
}

/// What a net is trained for. A closure `|net: &Net, batch: &Batch, pass: &Pass| -> Result<Tensor>` that gives the loss is
/// one too.
pub trait TrainingTask<M: ?Sized> {
    /// The loss of a batch, a mean over its samples: one number, lower meaning better.
    fn loss(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Tensor>;

    /// How much a batch counts beside others: what its loss is a mean over. That is the number of samples, or, where rows are
    /// weighted or ignored, the sum of the weights of those that count. With it the batches of a step
    /// ([`Trainer::accumulate`](super::Trainer::accumulate)), of several processes, or of a whole set (L-BFGS) make the loss of
    /// one large batch, Σ wᵢ Lᵢ / Σ wᵢ. A batch with weight 0 is left out.
    fn weight(&self, batch: &Batch) -> Result<f64> {
        Ok(batch.len() as f64)
    }

    /// Scores of a batch in evaluation, the loss first.
    fn scores(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Vec<Scored>> {
        Ok(vec![Scored::lower("loss", number(&self.loss(net, batch, pass)?)?)])
    }
}

impl<M: ?Sized, F: Fn(&M, &Batch, &Pass) -> Result<Tensor>> TrainingTask<M> for F {
    fn loss(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Tensor> {
        self(net, batch, pass)
    }
}

/// The value of a loss.
pub(super) fn number(loss: &Tensor) -> Result<f64> {
    match loss.to_f64_vec()[..] {
        [value] => Ok(value),
        _ => {
            Err(Error::setting("TrainingTask", "loss", format!("has shape {:?}; reduce it to one number", loss.dims())))
        }
    }
}

/// Classes from logits: softmax cross-entropy, and the share of right answers. Targets are class numbers (i64), one per
/// row of logits; further axes, such as the positions of a text, count as rows.
///
/// ```
/// use tove_nn::{Classification, Linear, Pass, Rng, TrainingTask};
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
    /// A weight per class, (classes).
    weights: Option<Tensor>,
}

impl Classification {
    /// Plain cross-entropy.
    pub fn new() -> Classification {
        Classification::default()
    }

    /// With options: label smoothing, and a class number whose rows count neither in the loss nor in the accuracy. The loss
    /// is a mean whatever the options' reduction.
    pub fn with(options: CrossEntropy) -> Classification {
        Classification { options: CrossEntropy { reduction: Reduction::Mean, ..options }, weights: None }
    }

    /// The same with a weight per class, for classes of unequal size or importance: the mean loss is Σ w l / Σ w with the
    /// weight w of each row's class, as in PyTorch. The accuracy stays a plain share.
    ///
    /// ```
    /// use tove_data::Batch;
    /// use tove_nn::{Classification, Nonlinearity, Pass, TrainingTask};
    /// use tove_tensor::Tensor;
    /// let batch = Batch { x: Tensor::from([[0.0, 0.0], [0.0, 3f64.ln()]]), y: Tensor::from([0i64, 0]) };
    /// let rare = Batch { y: Tensor::from([0i64, 1]), ..batch.clone() };
    /// let task = Classification::new().class_weights(&[1.0, 9.0]);
    /// let loss = |batch| task.loss(&Nonlinearity::Identity, batch, &Pass::eval()).map(|loss| loss.item::<f64>());
    /// assert!((loss(&batch)? - (2f64.ln() + 4f64.ln()) / 2.0).abs() < 1e-12); // one class: nothing to weigh
    /// assert!((loss(&rare)? - (2f64.ln() + 9.0 * (4.0 / 3.0f64).ln()) / 10.0).abs() < 1e-12);
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    #[must_use]
    pub fn class_weights(self, weights: &[f64]) -> Classification {
        Classification { weights: Some(Tensor::from(weights.to_vec())), ..self }
    }

    /// The loss, and how much the batch counts where that is not the number of its rows.
    fn judge(&self, logits: &Tensor, target: &Tensor) -> Result<(Tensor, Option<f64>)> {
        let plain = logits.try_cross_entropy(target, &self.options)?;
        let Some(weights) = &self.weights else {
            return Ok((plain, self.counted(target)?));
        };
        let classes = logits.dims().last().copied().unwrap_or(0);
        check_count(weights, classes)?;
        check_weights(weights)?;
        let (logits, target) = self.kept_rows(logits, target, classes)?;
        let softmax = Softmax {
            smoothing: Smoothing::Uniform(self.options.label_smoothing),
            class_weights: Some(weights.try_to_dtype(logits.dtype())?),
        };
        let count = softmax.counts(&target)?.map(|counts| number(&counts.try_sum()?)).transpose()?;
        Ok((softmax.mean(&logits, &target)?, count))
    }

    /// Number of rows whose class is not the ignored one, if there is one.
    fn counted(&self, target: &Tensor) -> Result<Option<f64>> {
        let Some(ignored) = self.options.ignore_index else { return Ok(None) };
        Ok(Some(target.try_ne(&Tensor::scalar(ignored))?.try_count_nonzero()?.item::<i64>() as f64))
    }

    /// Rows (rows, classes) and class numbers (rows) without the ignored ones.
    fn kept_rows(&self, logits: &Tensor, target: &Tensor, classes: usize) -> Result<(Tensor, Tensor)> {
        if target.dtype() != DType::I64 {
            return Ok((logits.clone(), target.clone()));
        }
        let (rows, target) = (logits.try_reshape([target.numel(), classes])?, target.try_reshape([target.numel()])?);
        let Some(ignored) = self.options.ignore_index else { return Ok((rows, target)) };
        let kept = (0i64..).zip(target.try_to_vec::<i64>()?).filter(|&(_, class)| class != ignored);
        let kept = Tensor::from(kept.map(|(row, _)| row).collect::<Vec<i64>>());
        Ok((rows.try_index_select(0, &kept)?, target.try_index_select(0, &kept)?))
    }
}

fn check_count(weights: &Tensor, classes: usize) -> Result<()> {
    let given = weights.numel();
    if given == classes {
        return Ok(());
    }
    let problem = format!("are {given}, and the net tells {classes} classes apart; give one for each");
    Err(Error::setting("Classification", "class_weights", problem))
}

fn check_weights(weights: &Tensor) -> Result<()> {
    let given = weights.to_f64_vec();
    match given.iter().position(|weight| !(*weight >= 0.0 && weight.is_finite())) {
        Some(class) => {
            let problem = format!("have {} for class {class}; give finite numbers of at least 0", given[class]);
            Err(Error::setting("Classification", "class_weights", problem))
        }
        None => Ok(()),
    }
}

impl<M: Layer + ?Sized> TrainingTask<M> for Classification {
    fn loss(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Tensor> {
        let (loss, count) = self.judge(&net.forward(&batch.x, pass)?, &batch.y)?;
        if count == Some(0.0) {
            let problem = "has no row that counts in this batch: all are ignored or weigh 0; take larger batches";
            return Err(Error::setting("Classification", "target", problem));
        }
        Ok(loss)
    }

    /// The rows that are not ignored, or the sum of their classes' weights. Of targets that are distributions all rows count.
    fn weight(&self, batch: &Batch) -> Result<f64> {
        if batch.y.dtype() != DType::I64 {
            let classes = batch.y.dims().last().copied().unwrap_or(1).max(1);
            return Ok((batch.y.numel() / classes) as f64);
        }
        let Some(weights) = &self.weights else {
            return Ok(self.counted(&batch.y)?.unwrap_or(batch.y.numel() as f64));
        };
        check_weights(weights)?;
        let weights = weights.to_f64_vec();
        let counts = batch.y.try_to_vec::<i64>()?.into_iter().filter(|class| Some(*class) != self.options.ignore_index);
        // A class that is not there is for the loss to complain of.
        Ok(counts.filter_map(|class| usize::try_from(class).ok().and_then(|class| weights.get(class))).sum())
    }

    fn scores(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Vec<Scored>> {
        let logits = net.forward(&batch.x, pass)?;
        let (loss, weight) = self.judge(&logits, &batch.y)?;
        let truth = if batch.y.dtype() == DType::I64 { batch.y.clone() } else { batch.y.try_argmax(-1)? };
        let mut right = logits.try_argmax(-1)?.try_eq(&truth)?;
        if let Some(ignored) = self.options.ignore_index {
            right = right.try_logical_and(&truth.try_ne(&Tensor::scalar(ignored))?)?;
        }
        let rows = self.counted(&truth)?;
        let share = right.try_count_nonzero()?.item::<i64>() as f64 / rows.unwrap_or(truth.numel() as f64);
        let (loss, accuracy) = (Scored::lower("loss", number(&loss)?), Scored::higher("accuracy", share));
        Ok(vec![Scored { count: weight, ..loss }, Scored { count: rows, ..accuracy }])
    }
}

/// Numbers from inputs: mean squared error, and mean absolute error beside it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Regression;

impl<M: Layer + ?Sized> TrainingTask<M> for Regression {
    fn loss(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Tensor> {
        Ok(net.forward(&batch.x, pass)?.try_mse_loss(&batch.y, Reduction::Mean)?)
    }

    fn scores(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Vec<Scored>> {
        let prediction = net.forward(&batch.x, pass)?;
        let loss = number(&prediction.try_mse_loss(&batch.y, Reduction::Mean)?)?;
        let value = number(&prediction.try_residual(&batch.y)?.abs().try_mean()?)?;
        Ok(vec![Scored::lower("loss", loss), Scored::lower("absolute error", value)])
    }
}
