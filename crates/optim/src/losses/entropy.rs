//! Losses of classes: cross-entropy from probabilities, from scores, and for two classes.
//!
//! −log softmax_y(a) = LSE(a) − a_y, computed with the largest score taken out first, so that no score overflows. The gradient
//! by the scores is softmax(a) − onehot(y).

use tove_tensor::{CrossEntropy as Options, DType, Reduction, Result, Tensor, TryIndex, TryNorm, TryOps, TryUnary};

use super::{Loss, Perfect, paired};
use crate::fault;

/// y ln p, with 0 ln 0 = 0 and y ln 0 = −∞. Where y is 0, p is replaced by 1 before the logarithm, so that neither value nor
/// slope is ever 0 · ∞.
fn weighted_log(y: &Tensor, p: &Tensor) -> Result<Tensor> {
    let counts = y.try_ne_scalar(0.0)?;
    y.try_mul(&counts.try_select(p, &Tensor::ones((), p.dtype()))?.try_ln()?)
}

/// Number of classes: the last axis.
fn classes(op: &'static str, prediction: &Tensor) -> Result<usize> {
    fault::float(op, prediction)?;
    match prediction.dims().last() {
        Some(&classes) if classes > 0 => Ok(classes),
        _ => Err(fault::shape(op, prediction.shape(), "the last axis must hold the classes")),
    }
}

/// The entry of each row that the class number names.
fn chosen(op: &'static str, values: &Tensor, target: &Tensor) -> Result<Tensor> {
    if target.dims() != &values.dims()[..values.rank() - 1] {
        return Err(fault::shapes(
            op,
            values,
            target,
            "class numbers need the shape of the prediction without its last axis",
        ));
    }
    values.try_gather(-1, &target.try_unsqueeze(-1)?)?.try_squeeze(-1)
}

/// Class weights looked up for each class number.
fn looked_up(op: &'static str, weights: Option<&Tensor>, target: &Tensor) -> Result<Option<Tensor>> {
    match weights {
        Some(weights) if target.dtype() == DType::I64 => {
            if weights.rank() != 1 {
                return Err(fault::shape(op, weights.shape(), "class weights are a vector with one weight per class"));
            }
            let flat = weights.try_index_select(0, &target.try_reshape([target.numel()])?)?;
            Ok(Some(flat.try_reshape(target.shape().clone())?))
        }
        _ => Ok(None),
    }
}

/// −Σ_c y_c ln p_c from probabilities p along the last axis; −ln p_y for class numbers (i64). A predicted 0 for what happens
/// gives +∞, never NaN, and 0 ln 0 = 0. From scores take [`Softmax`], which is exact where probabilities underflow.
///
/// ```
/// use tove_optim::losses::{CrossEntropy, Loss};
/// use tove_tensor::Tensor;
/// let p = Tensor::from([[0.25, 0.75, 0.0]]);
/// let by_class = CrossEntropy::default().mean(&p, &Tensor::from([1i64]))?;
/// let by_code = CrossEntropy::default().mean(&p, &Tensor::from([[0.0, 1.0, 0.0]]))?;
/// assert_eq!(by_class.item::<f64>(), -(0.75f64.ln()));
/// assert_eq!(by_code.item::<f64>(), by_class.item::<f64>());
/// # Ok::<(), tove_tensor::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CrossEntropy {
    /// A weight per class. Means over class numbers are divided by the sum of the samples' weights, as in PyTorch; means over
    /// distributions by their number.
    pub class_weights: Option<Tensor>,
}

impl Loss for CrossEntropy {
    fn name(&self) -> &'static str {
        "cross_entropy"
    }

    fn each(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
        classes(self.name(), prediction)?;
        if target.dtype() == DType::I64 {
            let losses = -chosen(self.name(), prediction, target)?.try_ln()?;
            return match self.counts(target)? {
                None => Ok(losses),
                Some(weights) => losses.try_mul(&weights),
            };
        }
        paired(self.name(), prediction, target)?;
        let mut terms = weighted_log(target, prediction)?;
        if let Some(weights) = &self.class_weights {
            terms = terms.try_mul(weights)?;
        }
        Ok(-terms.try_sum_axes(&[-1], false)?)
    }

    fn counts(&self, target: &Tensor) -> Result<Option<Tensor>> {
        looked_up(self.name(), self.class_weights.as_ref(), target)
    }

    fn perfect(&self, like: &Tensor, target: &Tensor) -> Result<Perfect> {
        if target.dtype() != DType::I64 {
            return Ok(Perfect::At(target.detach()));
        }
        Ok(Perfect::At(target.try_one_hot(classes(self.name(), like)?, like.dtype())?))
    }
}

/// How much of the target is taken from the true class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Smoothing {
    /// Nothing.
    #[default]
    None,
    /// 1 − α for the true class and α/(C − 1) for each other.
    Others(f64),
    /// (1 − ε) of the true class and ε/C for every class, PyTorch's `label_smoothing`; the same as α = ε(C − 1)/C above.
    Uniform(f64),
}

impl Smoothing {
    /// α for this number of classes.
    fn alpha(self, classes: usize) -> Result<f64> {
        let count = classes as f64;
        let (given, alpha) = match self {
            Smoothing::None => (0.0, 0.0),
            Smoothing::Others(alpha) => (alpha, alpha),
            Smoothing::Uniform(epsilon) => (epsilon, epsilon * (count - 1.0) / count),
        };
        if !(0.0..=1.0).contains(&given) {
            return Err(fault::parameter("softmax", "smoothing", format!("is {given}; it must lie between 0 and 1")));
        }
        if alpha > 0.0 && classes < 2 {
            return Err(fault::parameter("softmax", "smoothing", "needs a second class to give something to"));
        }
        Ok(alpha)
    }
}

/// Smoothed targets (…, C) of class numbers (…): 1 − α for the true class, α/(C − 1) for each other; every row sums to 1.
///
/// ```
/// use tove_optim::losses::{Smoothing, smooth_targets};
/// use tove_tensor::{DType, Tensor};
/// let y = smooth_targets(&Tensor::from([2i64]), 3, Smoothing::Others(0.5), DType::F64)?;
/// assert_eq!(y.to_vec::<f64>(), [0.25, 0.25, 0.5]);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn smooth_targets(target: &Tensor, classes: usize, smoothing: Smoothing, dtype: DType) -> Result<Tensor> {
    let alpha = smoothing.alpha(classes)?;
    let codes = target.try_one_hot(classes, dtype)?;
    if alpha == 0.0 {
        return Ok(codes);
    }
    let other = alpha / (classes - 1) as f64;
    Ok(codes * (1.0 - alpha - other) + other)
}

/// LSE(a) − a_y from scores a along the last axis, with y a class number (i64), or −Σ y_c log softmax_c(a) for a distribution.
/// Gradient by the scores: softmax(a) − onehot(y).
///
/// ```
/// use tove_optim::losses::{Softmax, Loss};
/// use tove_tensor::Tensor;
/// let loss = Softmax::default().mean(&Tensor::from([[1000.0, 1000.0]]), &Tensor::from([0i64]))?;
/// assert_eq!(loss.item::<f64>(), 2f64.ln());
/// # Ok::<(), tove_tensor::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Softmax {
    /// Label smoothing; for class numbers only.
    pub smoothing: Smoothing,
    /// A weight per class. Means over class numbers are divided by the sum of the samples' weights, as in PyTorch; means over
    /// distributions by their number.
    pub class_weights: Option<Tensor>,
}

impl Softmax {
    /// The target the loss works with: class numbers as they are without smoothing, distributions otherwise.
    fn smoothed(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
        let classes = classes(self.name(), prediction)?;
        if self.smoothing.alpha(classes)? == 0.0 || target.dtype() != DType::I64 {
            return Ok(target.clone());
        }
        smooth_targets(target, classes, self.smoothing, prediction.dtype())
    }
}

impl Loss for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn each(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
        let smoothed = self.smoothed(prediction, target)?;
        let Some(weights) = &self.class_weights else {
            let options = Options { reduction: Reduction::None, ..Options::default() };
            return prediction.try_cross_entropy(&smoothed, &options);
        };
        let logs = prediction.try_log_softmax(-1)?.try_mul(weights)?;
        if smoothed.dtype() == DType::I64 {
            return Ok(-chosen(self.name(), &logs, &smoothed)?);
        }
        paired(self.name(), prediction, &smoothed)?;
        Ok(-logs.try_mul(&smoothed)?.try_sum_axes(&[-1], false)?)
    }

    fn mean(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
        if self.class_weights.is_none() {
            return prediction.try_cross_entropy(&self.smoothed(prediction, target)?, &Options::default());
        }
        let losses = self.each(prediction, target)?;
        match self.counts(target)? {
            None => losses.try_mean(),
            Some(counts) => losses.try_sum()?.try_div(&counts.try_sum()?),
        }
    }

    fn counts(&self, target: &Tensor) -> Result<Option<Tensor>> {
        looked_up(self.name(), self.class_weights.as_ref(), target)
    }

    fn perfect(&self, like: &Tensor, target: &Tensor) -> Result<Perfect> {
        let classes = classes(self.name(), like)?;
        if target.dtype() != DType::I64 {
            return Ok(Perfect::At(target.try_ln()?));
        }
        if self.smoothing.alpha(classes)? == 0.0 {
            return Ok(Perfect::Never("it falls for ever as the true score rises above the others, towards 0"));
        }
        Ok(Perfect::At(smooth_targets(target, classes, self.smoothing, like.dtype())?.try_ln()?))
    }
}

/// −y ln p − (1−y) ln(1−p) from probabilities, with targets from 0 to 1. Its derivative by p is −y/p + (1−y)/(1−p).
///
/// ```
/// use tove_optim::losses::{BinaryCrossEntropy, Loss};
/// use tove_tensor::Tensor;
/// let each = BinaryCrossEntropy.each(&Tensor::from([0.5, 1.0, 1.0]), &Tensor::from([1.0, 1.0, 0.0]))?;
/// assert_eq!(each.to_vec::<f64>(), [2f64.ln(), 0.0, f64::INFINITY]);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct BinaryCrossEntropy;

impl Loss for BinaryCrossEntropy {
    fn name(&self) -> &'static str {
        "binary_cross_entropy"
    }

    fn each(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
        paired(self.name(), prediction, target)?;
        let one = weighted_log(target, prediction)?;
        let other = weighted_log(&(1.0 - target), &(1.0 - prediction))?;
        Ok(-one.try_add(&other)?)
    }

    fn perfect(&self, _like: &Tensor, target: &Tensor) -> Result<Perfect> {
        Ok(Perfect::At(target.detach()))
    }
}

/// −y ln σ(z) − (1−y) ln(1 − σ(z)) from logits z, as w y ln(1 + e^−z) + (1−y) ln(1 + e^z): stable for any z. With w = 1 the
/// derivative by z is σ(z) − y.
///
/// ```
/// use tove_optim::losses::{BinaryLogits, Loss};
/// use tove_tensor::Tensor;
/// let each = BinaryLogits::default().each(&Tensor::from([1000.0, 1000.0]), &Tensor::from([1.0, 0.0]))?;
/// assert_eq!(each.to_vec::<f64>(), [0.0, 1000.0]);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BinaryLogits {
    /// w, the weight of positive samples, as PyTorch's `pos_weight`.
    pub positive_weight: f64,
}

impl Default for BinaryLogits {
    fn default() -> BinaryLogits {
        BinaryLogits { positive_weight: 1.0 }
    }
}

impl Loss for BinaryLogits {
    fn name(&self) -> &'static str {
        "binary_logits"
    }

    fn each(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
        paired(self.name(), prediction, target)?;
        fault::positive(self.name(), "positive_weight", self.positive_weight)?;
        let yes = fault::scaled(&target.try_mul(&(-prediction).try_softplus()?)?, self.positive_weight)?;
        yes.try_add(&(1.0 - target).try_mul(&prediction.try_softplus()?)?)
    }

    fn perfect(&self, _like: &Tensor, target: &Tensor) -> Result<Perfect> {
        let hard = target.to_f64_vec().iter().any(|&y| y == 0.0 || y == 1.0);
        if hard {
            return Ok(Perfect::Never(
                "for a certain target it falls for ever as the logit moves away from 0, towards 0",
            ));
        }
        // w y σ(−z) = (1−y) σ(z) at the minimum, hence e^z = w y / (1−y).
        Ok(Perfect::At(fault::scaled(&target.try_div(&(1.0 - target))?, self.positive_weight)?.try_ln()?))
    }
}
