//! Power with an exponent per element: ∂/∂a = b a^(b-1), ∂/∂b = a^b ln a (0 where a = 0 and b > 0).
//! Whole numbers wrap on overflow and take no negative exponents, as in numpy.

use super::{binary, mul, sub};
use crate::autodiff::Saves;
use crate::ops::unary;
use crate::{Error, Result, Tensor};

binary! {
    /// a ^ b.
    Pow, pow, cost 15,
    |a, b| a.pow(b),
    integers |a, b| whole_power(a, b),
    checked by no_negative_exponents,
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

/// Negative powers of whole numbers have fractions.
fn no_negative_exponents(_a: &Tensor, b: &Tensor) -> Result<()> {
    match b.contiguous_data()?.contiguous_slice::<i64>().iter().find(|&&b| b < 0) {
        None => Ok(()),
        Some(_) => {
            let expected = "negative powers of whole numbers have fractions; convert to f64 first";
            Err(Error::DType { op: "pow", dtype: b.dtype(), expected })
        }
    }
}
