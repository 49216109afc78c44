//! Remainder with the sign of the divisor, as in Python: a - b floor(a/b). ∂/∂a = 1, ∂/∂b = -floor(a/b).

use super::{binary, div, mul};
use crate::autodiff::Saves;
use crate::ops::unary::{floor, neg};

binary! {
    /// a mod b.
    Rem, rem, cost 3,
    |a, b| a - b * (a / b).floor(),
    integers |a, b| if b == 0 { 0 } else { a.wrapping_rem(b).wrapping_add(b).wrapping_rem(b) },
    saves |needs| Saves::nothing().input_if(0, needs[1]).input_if(1, needs[1]),
    partial |at, index, t| {
        if index == 0 {
            return Ok(Some(t.clone()));
        }
        neg(&mul(t, &floor(&div(at.input(0), at.input(1))?)?)?).map(Some)
    }
}
