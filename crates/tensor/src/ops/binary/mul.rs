//! Product: ∂/∂a = b, ∂/∂b = a.

use super::binary;
use crate::autodiff::Saves;

binary! {
    /// a · b.
    Mul, mul, cost 1,
    |a, b| a * b,
    integers |a, b| a.wrapping_mul(b),
    saves |needs| Saves::nothing().input_if(1, needs[0]).input_if(0, needs[1]),
    partial |at, index, t| mul(t, at.input(1 - index)).map(Some)
}
