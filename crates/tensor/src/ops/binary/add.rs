//! Sum: passes derivatives on unchanged to both operands.

use super::binary;
use crate::autodiff::Saves;
use crate::{Result, Tensor};

binary! {
    /// a + b.
    Add, add, cost 1,
    |a, b| a + b,
    integers |a, b| a.wrapping_add(b),
    saves |needs| Saves::nothing(),
    partial |_at, _index, t| Ok(Some(t.clone()))
}

/// The sum of two tensors that are not needed any more; in place when nobody else holds one of them.
pub(crate) fn add_owned(mut a: Tensor, mut b: Tensor) -> Result<Tensor> {
    if a.shape() == b.shape() && !a.owns_alone() && b.owns_alone() {
        return super::binary_owned(Add, b, &a);
    }
    super::binary_owned(Add, a, &b)
}
