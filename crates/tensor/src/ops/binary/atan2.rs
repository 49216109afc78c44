//! Angle of the point (b, a): ∂/∂a = b/(a² + b²), ∂/∂b = -a/(a² + b²).

use super::{add, binary, div, mul};
use crate::autodiff::Saves;
use crate::ops::unary::{neg, square};

binary! {
    /// atan2(a, b).
    Atan2, atan2, cost 15,
    |a, b| a.atan2(b),
    saves |needs| Saves::nothing().input(0).input(1),
    partial |at, index, t| {
        let (a, b) = (at.input(0), at.input(1));
        let length = add(&square(a)?, &square(b)?)?;
        let numerator = if index == 0 { b.clone() } else { neg(a)? };
        mul(t, &div(&numerator, &length)?).map(Some)
    }
}
