//! Remainder with the sign of the divisor, as in Python: a - b ⌊a/b⌋, exact as `fmod` is. ∂/∂a = 1, ∂/∂b = -⌊a/b⌋.
//! An infinite divisor leaves a number of its own sign as it is and takes one of the other sign to itself.

use super::{binary, div, is_finite, is_inf, logical_and, mul, select, sub};
use crate::Tensor;
use crate::autodiff::Saves;
use crate::kernels::math::Float;
use crate::ops::unary::{neg, round};

binary! {
    /// a mod b.
    Rem, rem, cost 20,
    |a, b| floor_rem(a, b),
    integers |a, b| whole_rem(a, b),
    saves |needs| if needs[1] { Saves::output().input(0).input(1) } else { Saves::nothing() },
    partial |at, index, t| {
        if index == 0 {
            return Ok(Some(t.clone()));
        }
        // The quotient a / b may round up to the next whole number; what the remainder leaves of a does not.
        let (a, b, rest) = (at.input(0), at.input(1), at.output());
        let quotient = round(&div(&sub(a, rest)?, b)?)?;
        // ⌊a/b⌋ for an infinite b: 0, or -1 where the signs differ, where the remainder is b itself.
        let number = |value: f64| Tensor::scalar_of(value, b.dtype());
        let unbounded = logical_and(&is_inf(b)?, &is_finite(a)?)?;
        let limit = select(&is_inf(rest)?, &number(-1.0), &number(0.0))?;
        let quotient = select(&unbounded, &limit, &quotient)?;
        neg(&mul(t, &quotient)?).map(Some)
    }
}

/// The exact remainder, moved to the divisor's side of zero.
#[inline(always)]
fn floor_rem<T: Float>(a: T, b: T) -> T {
    let rest = T::from_f64(a.to_f64() % b.to_f64());
    T::select((rest != T::ZERO) & ((rest < T::ZERO) != (b < T::ZERO)), rest + b, rest)
}

#[inline(always)]
fn whole_rem(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let rest = a.wrapping_rem(b);
    if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
}
