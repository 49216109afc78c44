//! Quotient: ∂/∂a = 1/b, ∂/∂b = -(a/b)/b. Integers divide towards zero; division by zero gives 0.

use super::{binary, mul};
use crate::autodiff::Saves;
use crate::ops::unary::neg;

binary! {
    /// a / b.
    Div, div, cost 2,
    |a, b| a / b,
    integers |a, b| a.checked_div(b).unwrap_or(0),
    saves |needs| if needs[1] { Saves::output().input(1) } else { Saves::nothing().input(1) },
    partial |at, index, t| {
        let quotient = div(t, at.input(1))?;
        if index == 0 { Ok(Some(quotient)) } else { neg(&mul(&quotient, at.output())?).map(Some) }
    }
}
