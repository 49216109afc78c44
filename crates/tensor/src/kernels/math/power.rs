//! x^y in double precision: e^(y ln |x|) with the logarithm and the product carried to about 2^−65.
//!
//! With s = f/(2 + f): ln m = 2s + (2/3) s³ + s⁵ H(s²), where s, s² and the first two terms are kept as pairs.
use super::coefficients::{LOG64_TAIL, TWO_THIRDS};
use super::constants::{LN2_HIGH, LN2_LOW, fast_two_sum, polynomial, two_product, two_sum};
use super::exponential::exp_shifted;
use super::logarithm::{ln, split};
use super::pick;

/// ln x for x > 0 as an unevaluated sum.
#[inline(always)]
fn ln_pair(x: f64) -> (f64, f64) {
    let (e, m) = split(x);
    let f = m - 1.0;
    let denominator = 2.0 + f;
    let denominator_error = f - (denominator - 2.0);
    let s = f / denominator;
    let s_low = (f64::mul_add(-s, denominator, f) - s * denominator_error) / denominator;
    let (z, z_error) = two_product(s, s);
    let z_low = f64::mul_add(2.0 * s, s_low, z_error);
    // (2/3) z + z² H, the factor of s beyond 2.
    let (third, third_error) = two_product(z, TWO_THIRDS[0]);
    let tail = f64::mul_add(z, TWO_THIRDS[1], f64::mul_add(z_low, TWO_THIRDS[0], third_error));
    let (third, tail) = fast_two_sum(third, f64::mul_add(z * z, polynomial(z, &LOG64_TAIL), tail));
    let (product, product_error) = two_product(s, third);
    let product_low = f64::mul_add(s, tail, f64::mul_add(s_low, third, product_error));
    let (sum, error) = fast_two_sum(2.0 * s, product);
    let low = error + f64::mul_add(2.0, s_low, product_low);
    let (high, error) = two_sum(e * LN2_HIGH, sum);
    fast_two_sum(high, error + f64::mul_add(e, LN2_LOW, low))
}

/// |x|, or 1 where the logarithm is not finite; the answers for these are chosen in [`with_limits`].
#[inline(always)]
fn digestible(x: f64) -> f64 {
    let magnitude = x.abs();
    pick(magnitude > 0.0 && magnitude < f64::INFINITY, magnitude, 1.0)
}

#[inline(always)]
pub(super) fn pow(x: f64, y: f64) -> f64 {
    let (high, low) = ln_pair(digestible(x));
    // Beyond 2^80 every y overflows or underflows, except at |x| = 1.
    let exponent = pick(y > 1e24, 1e24, y);
    let exponent = pick(exponent < -1e24, -1e24, exponent);
    let (product, error) = two_product(high, exponent);
    let tail = pick(product.abs() < 1e3, f64::mul_add(low, exponent, error), 0.0);
    with_limits(x, y, exp_shifted(product, tail, 0.0))
}

/// For single precision, whose results leave room for the rounding of a plain logarithm.
#[inline(always)]
pub(super) fn pow_single(x: f64, y: f64) -> f64 {
    let product = ln(digestible(x)) * y;
    with_limits(x, y, exp_shifted(product, 0.0, 0.0))
}

/// Puts in the values at zero, one, infinity and NaN, and the sign.
#[inline(always)]
fn with_limits(x: f64, y: f64, value: f64) -> f64 {
    let magnitude = x.abs();
    let unit = pick(y < 0.0, f64::INFINITY, 0.0);
    let value = pick(magnitude == 0.0, unit, value);
    let value = pick(magnitude == f64::INFINITY, pick(y < 0.0, 0.0, f64::INFINITY), value);
    let value = pick(magnitude == 1.0, 1.0, value);
    // A negative base: the sign alternates at odd integers, a fraction has no real power.
    let whole = y.trunc() == y;
    let odd = whole && (y * 0.5).trunc() != y * 0.5;
    let negative = x.is_sign_negative();
    let value = pick(negative && odd, -value, value);
    let fraction = negative && !whole && magnitude > 0.0 && magnitude < f64::INFINITY;
    let value = pick(fraction, f64::NAN, value);
    let value = pick(x.is_nan() || y.is_nan(), f64::NAN, value);
    pick(y == 0.0 || x == 1.0, 1.0, value)
}
