//! Larger of two values; a NaN wins. The derivative goes to the larger operand, and half of it to each at a tie, so that
//! the two shares always sum to one and the result is a subgradient.

use super::{binary, mul};
use crate::autodiff::Saves;
use crate::ops::arith::Arith;
use crate::{Result, Tensor};

binary! {
    /// max(a, b).
    Maximum, maximum, cost 1,
    |a, b| a.maximum(b),
    integers |a, b| a.max(b),
    saves |needs| Saves::nothing().input(0).input(1),
    partial |at, index, t| mul(t, &share(at.input(index), at.input(1 - index))?).map(Some)
}

/// 1 where `own` is larger, 1/2 where both are equal, 0 elsewhere.
pub(super) fn share(own: &Tensor, other: &Tensor) -> Result<Tensor> {
    Ok(super::sub(own, other)?.sign().plus(1.0).times(0.5))
}
