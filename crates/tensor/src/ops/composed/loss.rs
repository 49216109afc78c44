//! Distances between predictions and targets. Shapes must be equal: (n) against (n, 1) would broadcast to (n, n), a
//! mistake that trains without a word and learns nothing.

use crate::ops::fused::squared_error;
use crate::ops::{binary, unary};
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
