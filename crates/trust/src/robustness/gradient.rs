//! Derivatives by the input: of the loss of each row, and of any function of the scores.
//!
//! The chain rule runs back through the model to its input. Parameters are constants here: nothing is recorded for them and
//! their gradients stay as they are.

use std::cell::RefCell;

use tove_tensor::{Tensor, TryOps, no_grad, value_and_grad};

use super::model::{AttackLoss, DifferentiableModel, class_scores};
use super::rows::{Batch, classes};
use crate::{Result, TrustError};

/// Numbers in a chunk of rows that go through the model together, about.
const CHUNK: usize = 1 << 18;

/// The gradient by the input of the loss of each row, in the shape of `x`. Ascent along it makes the prediction worse: for a
/// score z whose sign decides, it lowers z where the label is 1 and raises it where the label is 0.
///
/// ```
/// use tove_nn::{Layer, Mlp, ModuleExt, Pass, Rng};
/// use tove_tensor::{DType, Key, Tensor};
/// use tove_trust::robustness::{AttackLoss, input_gradient};
/// let net = Mlp::new(&[4, 8, 3], &mut Rng::new(0));
/// let model = |x: &Tensor| Ok(net.forward(x, &Pass::eval())?);
/// let (x, labels) = (Key::new(1).normal([5, 4], DType::F32), Tensor::from([0i64, 1, 2, 0, 1]));
/// assert_eq!(input_gradient(&model, &x, &labels, AttackLoss::CrossEntropy)?.dims(), [5, 4]);
/// assert!(net.layers[0].weight.grad().is_none()); // parameters are constants
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// Inputs or a gradient that are not finite; a label that is not a class of the model; a model that refuses the batch.
pub fn input_gradient(
    model: &dyn DifferentiableModel,
    x: &Tensor,
    labels: &Tensor,
    loss: AttackLoss,
) -> Result<Tensor> {
    const WHAT: &str = "input_gradient";
    let batch = Batch::read(WHAT, x)?;
    let labels = classes(WHAT, labels, batch.len())?;
    let values = evaluate(WHAT, model, &batch, &labels, loss, true)?.gradient;
    batch.tensor_of(values)
}

/// Maps of input gradients for pictures and files: [`input_gradient`] with each sample divided by its largest absolute value, so
/// that entries lie in [−1, 1]. Negative entries are where a larger input supports the label. A gradient of 0 stays 0.
///
/// ```
/// use tove_tensor::{Tensor, TryOps, io};
/// use tove_trust::robustness::{AttackLoss, gradient_maps};
/// let w = Tensor::from([[1.0, -1.0], [0.0, 4.0]]);
/// let model = |x: &Tensor| Ok(x.try_matmul(&w)?);
/// let maps = gradient_maps(&model, &Tensor::from([[3.0, 1.0]]), &Tensor::from([0i64]), AttackLoss::Margin)?;
/// assert_eq!(maps.to_vec::<f64>(), [-0.5, 1.0]);
/// let file = std::env::temp_dir().join(format!("tove-maps-{}.npz", std::process::id()));
/// io::write_npz(&file, &[("maps", &maps)], io::WriteOptions::overwriting())?;
/// std::fs::remove_file(file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`input_gradient`].
pub fn gradient_maps(model: &dyn DifferentiableModel, x: &Tensor, labels: &Tensor, loss: AttackLoss) -> Result<Tensor> {
    let slopes = Batch::read("gradient_maps", &input_gradient(model, x, labels, loss)?)?;
    let mut values = slopes.values().to_vec();
    for row in values.chunks_exact_mut(slopes.width()) {
        let largest = row.iter().fold(0.0f64, |largest, slope| slope.abs().max(largest));
        if largest > 0.0 {
            row.iter_mut().for_each(|slope| *slope /= largest);
        }
    }
    slopes.tensor_of(values)
}

/// The gradient by the input of `objective(scores)`, which gives one number: for regressions, and for saliency maps of a
/// single score.
///
/// ```
/// use tove_tensor::{Tensor, TryOps, TryUnary};
/// use tove_trust::robustness::score_gradient;
/// let model = |x: &Tensor| Ok(x.try_square()?);
/// let slope = score_gradient(&model, &Tensor::from([[1.0, 3.0]]), |scores| Ok(scores.try_sum()?))?;
/// assert_eq!(slope.to_vec::<f64>(), [2.0, 6.0]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// Inputs or a gradient that are not finite; an objective that is not a single number.
pub fn score_gradient(
    model: &dyn DifferentiableModel,
    x: &Tensor,
    objective: impl Fn(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    const WHAT: &str = "score_gradient";
    let batch = Batch::read(WHAT, x)?;
    let gradient = differentiate(x, |x| {
        let value = objective(&model.scores(x)?)?;
        match value.numel() {
            1 => Ok(value),
            _ => Err(TrustError::argument(WHAT, format!("the objective has shape {}; sum it up", value.shape()))),
        }
    })?;
    finite(WHAT, &gradient, batch.width())?;
    Ok(gradient)
}

/// What a model says about rows.
#[derive(Debug, Default)]
pub(super) struct Evaluation {
    /// The loss of each row.
    pub(super) losses: Vec<f64>,
    /// The predicted class of each row.
    pub(super) decisions: Vec<usize>,
    /// The gradient of the loss of each row, row after row; empty unless asked for.
    pub(super) gradient: Vec<f64>,
}

/// Losses, decisions and, if asked for, gradients of all rows.
pub(super) fn evaluate(
    what: &'static str,
    model: &dyn DifferentiableModel,
    batch: &Batch,
    labels: &[usize],
    loss: AttackLoss,
    gradient: bool,
) -> Result<Evaluation> {
    let mut all = Evaluation::default();
    let size = (CHUNK / batch.width()).clamp(64, 4096);
    for (rows, labels) in batch.values().chunks(size * batch.width()).zip(labels.chunks(size)) {
        let x = batch.tensor_of_rows(rows.to_vec(), labels.len())?;
        let kept = RefCell::new(None);
        let total = |x: &Tensor| -> Result<Tensor> {
            let scores = class_scores(what, model.scores(x)?)?;
            let losses = loss.of(&scores, &mask(what, &scores, labels)?)?;
            let total = losses.try_sum()?;
            *kept.borrow_mut() = Some((scores.detach(), losses.detach()));
            Ok(total)
        };
        let slopes = if gradient { Some(differentiate(&x, total)?) } else { no_grad(|| total(&x)).map(|_| None)? };
        let Some((scores, losses)) = kept.into_inner() else { continue };
        if let Some(row) = losses.to_f64_vec().iter().position(|loss| loss.is_nan()) {
            let problem = format!("the scores of row {} are not finite", row + all.losses.len());
            return Err(TrustError::data(
                what,
                problem,
                "scale the inputs, or train the model again with a smaller step",
            ));
        }
        if let Some(slopes) = slopes {
            finite(what, &slopes, batch.width())?;
            all.gradient.extend(slopes.to_f64_vec());
        }
        all.decisions.extend(model.predicted(&x, &scores)?);
        all.losses.extend(losses.to_f64_vec());
    }
    Ok(all)
}

/// The gradient of a function that may fail.
fn differentiate(x: &Tensor, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let failure = RefCell::new(None);
    let guarded = |x: &Tensor| {
        f(x).unwrap_or_else(|error| {
            *failure.borrow_mut() = Some(error);
            Tensor::zeros([1], x.dtype())
        })
    };
    let (_, gradient) = no_grad(|| value_and_grad(guarded)(&x.detach()));
    match failure.into_inner() {
        Some(error) => Err(error),
        None => Ok(gradient.detach()),
    }
}

fn finite(what: &'static str, gradient: &Tensor, width: usize) -> Result<()> {
    match gradient.to_f64_vec().iter().position(|slope| !slope.is_finite()) {
        None => Ok(()),
        Some(place) => {
            let problem = format!("the gradient by the input of row {} is not finite", place / width);
            Err(TrustError::data(what, problem, "scale the inputs, or use a model without kinks of infinite slope"))
        }
    }
}

/// Whether a column is the class of the row, (n, m).
pub(super) fn mask(what: &'static str, scores: &Tensor, labels: &[usize]) -> Result<Tensor> {
    let (n, m) = (scores.dims()[0], scores.dims()[1]);
    if n != labels.len() {
        let problem = format!("the model gives {n} rows of scores for {} rows of input", labels.len());
        return Err(TrustError::data(what, problem, "give a row of scores per sample"));
    }
    if let Some(row) = labels.iter().position(|&label| label >= m) {
        let problem = format!("label {} in row {row}, but the model has {m} classes", labels[row]);
        return Err(TrustError::data(what, problem, "give the column of the class among the scores, from 0 on"));
    }
    let mut out = vec![false; n * m];
    labels.iter().enumerate().for_each(|(row, &label)| out[row * m + label] = true);
    Ok(Tensor::try_from_vec(out, [n, m])?)
}
