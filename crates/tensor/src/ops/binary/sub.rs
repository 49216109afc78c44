//! Difference: derivatives pass to the first operand unchanged, to the second negated.

use super::binary;
use crate::autodiff::Saves;
use crate::ops::unary::neg;

binary! {
    /// a - b.
    Sub, sub, cost 1,
    |a, b| a - b,
    integers |a, b| a.wrapping_sub(b),
    saves |needs| Saves::nothing(),
    partial |_at, index, t| if index == 0 { Ok(Some(t.clone())) } else { neg(t).map(Some) }
}
