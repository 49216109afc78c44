//! Quotient: ∂/∂a = 1/b, ∂/∂b = -(a/b)/b. Whole numbers divide towards minus infinity, as
//! `//` in Python; division by zero gives 0.

use super::{binary, mul};
use crate::autodiff::Saves;
use crate::ops::unary::neg;

/// ⌊a / b⌋, or 0 for b = 0; wraps where the smallest number is divided by −1.
#[inline(always)]
fn floor_div(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

binary! {
    /// a / b.
    Div, div, cost 2,
    |a, b| a / b,
    integers |a, b| floor_div(a, b),
    saves |needs| if needs[1] { Saves::output().input(1) } else { Saves::nothing().input(1) },
    partial |at, index, t| {
        let quotient = div(t, at.input(1))?;
        if index == 0 { Ok(Some(quotient)) } else { neg(&mul(&quotient, at.output())?).map(Some) }
    }
}
