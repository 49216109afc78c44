//! Power with an exponent per element: ∂/∂a = b a^(b-1), ∂/∂b = a^b ln a (0 where a = 0 and b > 0).
//! Whole numbers wrap on overflow and take no negative exponents, as in numpy.

use super::{binary, mul, sub};
use crate::autodiff::Saves;
use crate::ops::unary;
use crate::{DType, Error, Result, Tensor};

binary! {
    /// a ^ b.
    Pow, power, cost 15,
    |a, b| a.pow(b),
    integers |a, b| whole_power(a, b),
    saves |needs| Saves::output().input(0).input(1),
    partial |at, index, t| {
        let (a, b) = (at.input(0), at.input(1));
        if index == 0 {
            // b a^(b-1) is 0 for b = 0 whatever a is; the plain formula would give 0 · inf at a = 0.
            let zero = super::eq_scalar(b, 0.0)?;
            let safe = super::select(&zero, &b.ones_like(), b)?;
            let slope = mul(b, &power(a, &sub(&safe, &b.ones_like())?)?)?;
            mul(t, &slope).map(Some)
        } else {
            let zero = super::eq_scalar(a, 0.0)?;
            let logarithm = unary::ln(&super::select(&zero, &a.ones_like(), a)?)?;
            mul(t, &mul(at.output(), &logarithm)?).map(Some)
        }
    }
}

/// a to the power b ≥ 0 by repeated squaring, modulo 2^64.
fn whole_power(mut a: i64, b: i64) -> i64 {
    let (mut result, mut rest) = (1i64, b.max(0));
    while rest > 0 {
        if rest & 1 == 1 {
            result = result.wrapping_mul(a);
        }
        a = a.wrapping_mul(a);
        rest >>= 1;
    }
    result
}

/// a ^ b, refusing negative exponents of whole numbers, whose powers have fractions.
pub(crate) fn pow(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if b.dtype() == DType::I64 {
        let negative = b.untracked().contiguous_data()?.contiguous_slice::<i64>().iter().any(|&b| b < 0);
        if negative {
            let expected = "negative powers of whole numbers have fractions";
            return Err(Error::DType { op: "pow", dtype: b.dtype(), expected });
        }
    }
    power(a, b)
}
