//! Power with an exponent per element: ∂/∂a = b a^(b-1), ∂/∂b = a^b ln a (0 where a = 0 and b > 0).

use super::{binary, mul, sub};
use crate::autodiff::Saves;
use crate::ops::unary;

binary! {
    /// a ^ b.
    Pow, pow, cost 15,
    |a, b| a.pow(b),
    integers |a, b| u32::try_from(b).map_or(0, |b| a.wrapping_pow(b)),
    saves |needs| Saves::output().input(0).input(1),
    partial |at, index, t| {
        let (a, b) = (at.input(0), at.input(1));
        if index == 0 {
            // b a^(b-1) is 0 for b = 0 whatever a is; the plain formula would give 0 · inf at a = 0.
            let zero = super::eq_scalar(b, 0.0)?;
            let safe = super::select(&zero, &b.ones_like(), b)?;
            let slope = mul(b, &pow(a, &sub(&safe, &b.ones_like())?)?)?;
            mul(t, &slope).map(Some)
        } else {
            let zero = super::eq_scalar(a, 0.0)?;
            let logarithm = unary::ln(&super::select(&zero, &a.ones_like(), a)?)?;
            mul(t, &mul(at.output(), &logarithm)?).map(Some)
        }
    }
}
