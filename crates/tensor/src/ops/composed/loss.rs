//! Distances between predictions and targets. Shapes must be equal: (n) against (n, 1) would broadcast to (n, n), a
//! mistake that trains without a word and learns nothing.

use crate::ops::reduce::{mean_all, sum_all};
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

impl Reduction {
    /// Applies the reduction.
    pub(crate) fn of(self, losses: &Tensor) -> Result<Tensor> {
        match self {
            Reduction::Mean => mean_all(losses),
            Reduction::Sum => sum_all(losses),
            Reduction::None => Ok(losses.clone()),
        }
    }
}

/// prediction − target, of equal shapes.
pub(crate) fn residual(prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
    if prediction.shape() == target.shape() {
        return binary::sub(prediction, target);
    }
    let problem = if prediction.numel() == target.numel() {
        format!("prediction and target must have one shape; call `reshape({})` on the target", prediction.shape())
    } else {
        "prediction and target must have one shape and are never stretched; `reshape` or `broadcast_to` one of them"
            .to_string()
    };
    Err(Error::shapes("residual", prediction.shape(), target.shape(), problem))
}

/// Squared error (prediction − target)².
pub(crate) fn mse_loss(prediction: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    match reduction {
        Reduction::None => unary::square(&residual(prediction, target)?),
        _ => {
            check(prediction, target)?;
            squared_error(prediction, target, reduction == Reduction::Mean)
        }
    }
}
