//! Helpers shared by the double-precision functions.
use super::coefficients::LN2;

/// Adding and taking away 3·2^51 rounds a number of moderate size to an integer, which then sits in the low bits.
pub(super) const ROUNDER: f64 = 6755399441055744.0;
pub(super) const LN2_HIGH: f64 = LN2[0];
pub(super) const LN2_LOW: f64 = LN2[1];

/// c₀ + x (c₁ + x (c₂ + …)).
#[inline(always)]
pub(super) fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = f64::mul_add(sum, x, coefficients[i]);
    }
    sum
}

/// a + b and its rounding error.
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// a + b and its rounding error, for |a| ≥ |b|.
#[inline(always)]
pub(super) fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// a b and its rounding error.
#[inline(always)]
pub(super) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, f64::mul_add(a, b, -product))
}
