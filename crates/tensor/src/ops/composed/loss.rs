//! Distances between predictions and targets. Shapes must be equal: (n) against (n, 1) would broadcast to (n, n), a
//! mistake that trains without a word and learns nothing.

use crate::ops::fused::squared_error;
use crate::ops::{binary, reduce, unary};
use crate::{Error, Result, Tensor};

/// What becomes of the losses of single elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Their mean.
    #[default]
    Mean,
    /// Their sum.
    Sum,
    /// They are returned one by one.
    None,
}

/// An error that says how to bring both to one shape.
fn check(op: &'static str, prediction: &Tensor, target: &Tensor) -> Result<()> {
    if prediction.dtype() != target.dtype() {
        return Err(Error::DTypePair { op, left: prediction.dtype(), right: target.dtype() });
    }
    if prediction.shape() == target.shape() {
        return Ok(());
    }
    let problem = if prediction.numel() == target.numel() {
        format!("prediction and target must have one shape; call `reshape({})` on the target", prediction.shape())
    } else {
        "prediction and target must have one shape and are never stretched; `reshape` or `broadcast_to` one of them"
            .to_string()
    };
    Err(Error::shapes(op, prediction.shape(), target.shape(), problem))
}

/// prediction − target, of equal shapes.
pub(crate) fn residual(prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
    check("residual", prediction, target)?;
    binary::sub(prediction, target)
}

/// Squared error (prediction − target)².
pub(crate) fn mse_loss(prediction: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    check("mse_loss", prediction, target)?;
    match reduction {
        Reduction::None => unary::square(&binary::sub(prediction, target)?),
        Reduction::Mean => squared_error(prediction, target, true),
        Reduction::Sum => squared_error(prediction, target, false),
    }
}

fn reduced(losses: &Tensor, reduction: Reduction) -> Result<Tensor> {
    match reduction {
        Reduction::None => Ok(losses.clone()),
        Reduction::Mean => reduce::mean_all(losses),
        Reduction::Sum => reduce::sum_all(losses),
    }
}

/// −y ln p − (1 − y) ln(1 − p).
pub(crate) fn binary_cross_entropy(prediction: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    check("binary_cross_entropy", prediction, target)?;
    reduced(&binary::probability_loss(prediction, target)?, reduction)
}

/// The same from logits, p = σ(x); with a weight w for positive targets, w y ln(1 + e^−x) + (1 − y) ln(1 + e^x).
pub(crate) fn binary_cross_entropy_with_logits(
    logits: &Tensor,
    target: &Tensor,
    positive_weight: Option<&Tensor>,
    reduction: Reduction,
) -> Result<Tensor> {
    const OP: &str = "binary_cross_entropy_with_logits";
    check(OP, logits, target)?;
    let Some(weight) = positive_weight else { return reduced(&binary::logit_loss(logits, target)?, reduction) };
    if binary::common_shape(OP, logits, weight)? != *logits.shape() {
        let problem = "the weight of positive targets must broadcast to the logits";
        return Err(Error::shapes(OP, logits.shape(), weight.shape(), problem));
    }
    let yes = binary::mul(&binary::mul(weight, target)?, &unary::softplus(&unary::neg(logits)?)?)?;
    let no = binary::mul(&unary::sub_from(target, 1.0)?, &unary::softplus(logits)?)?;
    reduced(&binary::add(&yes, &no)?, reduction)
}
