//! Logarithms in double precision.
//!
//! x = 2^e m with m in [√½, √2), f = m − 1, s = f/(2 + f): ln m = f − f²/2 + s (f²/2 + R), R = s² G(s²).
use super::coefficients::{LOG2_E, LOG10_2, LOG10_E, LOG64};
use super::constants::{LN2_HIGH, LN2_LOW, ROUNDER, fast_two_sum, polynomial, two_product};
use super::pick;

const HALF_SQRT_2_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
const ONE_BITS: u64 = 0x3ff0_0000_0000_0000;

/// The exponent e and mantissa m in [√½, √2) of a positive normal or subnormal number.
#[inline(always)]
pub(super) fn split(x: f64) -> (f64, f64) {
    let subnormal = x < f64::MIN_POSITIVE;
    let scaled = pick(subnormal, x * 18014398509481984.0, x); // 2^54
    let bits = scaled.to_bits().wrapping_add(ONE_BITS - HALF_SQRT_2_BITS);
    let exponent = f64::from_bits((bits >> 52).wrapping_add(ROUNDER.to_bits())) - ROUNDER;
    let mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff).wrapping_add(HALF_SQRT_2_BITS));
    (exponent - pick(subnormal, 1023.0 + 54.0, 1023.0), mantissa)
}

/// Puts in the values at 0, below 0, at ∞ and at NaN.
#[inline(always)]
pub(super) fn with_limits(x: f64, value: f64) -> f64 {
    let value = pick(x == 0.0, f64::NEG_INFINITY, value);
    let value = pick(x < 0.0, f64::NAN, value);
    pick(x < f64::INFINITY, value, x)
}

/// The two parts of ln(1+f): f²/2 and s (f²/2 + R).
#[inline(always)]
fn parts(f: f64) -> (f64, f64) {
    let s = f / (2.0 + f);
    let z = s * s;
    let half_square = 0.5 * f * f;
    (half_square, s * f64::mul_add(z, polynomial(z, &LOG64), half_square))
}

#[inline(always)]
pub(super) fn ln(x: f64) -> f64 {
    let (e, m) = split(x);
    let f = m - 1.0;
    let (half_square, rest) = parts(f);
    let low = f64::mul_add(e, LN2_LOW, rest);
    with_limits(x, f64::mul_add(e, LN2_HIGH, -((half_square - low) - f)))
}

/// ln m as an unevaluated sum of two numbers.
#[inline(always)]
fn ln_pair(m: f64) -> (f64, f64) {
    let f = m - 1.0;
    let (half_square, rest) = parts(f);
    let error = f64::mul_add(0.5 * f, f, -half_square);
    let high = f - half_square;
    fast_two_sum(high, ((f - high) - half_square - error) + rest)
}

/// e·unit + ln(m)·factor, with both constants in two parts.
#[inline(always)]
fn other_base(x: f64, unit: [f64; 2], factor: [f64; 2]) -> f64 {
    let (e, m) = split(x);
    let (high, low) = ln_pair(m);
    let (product, error) = two_product(high, factor[0]);
    let rest = f64::mul_add(high, factor[1], f64::mul_add(low, factor[0], error));
    let whole = e * unit[0];
    let (sum, sum_error) = super::constants::two_sum(whole, product);
    with_limits(x, sum + (sum_error + f64::mul_add(e, unit[1], rest)))
}

#[inline(always)]
pub(super) fn log2(x: f64) -> f64 {
    other_base(x, [1.0, 0.0], LOG2_E)
}

#[inline(always)]
pub(super) fn log10(x: f64) -> f64 {
    other_base(x, LOG10_2, LOG10_E)
}

#[inline(always)]
pub(super) fn log1p(x: f64) -> f64 {
    let u = 1.0 + x;
    let (e, m) = split(u);
    // What was lost in 1 + x, relative to it; exactly nothing is lost where f = x can be used directly.
    let lost = pick(x > 1.0, 1.0 - (u - x), x - (u - 1.0)) / u;
    let near = e == 0.0;
    let f = pick(near, x, m - 1.0);
    let lost = pick(near, 0.0, lost);
    let (half_square, rest) = parts(f);
    let low = f64::mul_add(e, LN2_LOW, rest) + lost;
    let value = f64::mul_add(e, LN2_HIGH, -((half_square - low) - f));
    let value = with_limits(u, value);
    pick(x.abs() < 1e-17, x, value)
}
