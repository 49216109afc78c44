//! e^x, 2^x and e^x − 1 in double precision.
//!
//! x = n ln 2 + r with |r| ≤ ln(2)/2; e^r = 1 + r + r² q(r); the power of two is multiplied in two steps, so that
//! results below the normal range are rounded once and overflow gives ∞.
use super::coefficients::EXP64;
use super::constants::{LN2_HIGH, LN2_LOW, ROUNDER, polynomial};
use super::pick;

/// Splits x into an integer n and r = x − n ln 2, with the rounding error of r; |x| must stay below 2^20.
#[inline(always)]
fn reduce(x: f64) -> (f64, f64, f64) {
    let n = f64::mul_add(x, std::f64::consts::LOG2_E, ROUNDER) - ROUNDER;
    let high = f64::mul_add(-n, LN2_HIGH, x);
    let r = f64::mul_add(-n, LN2_LOW, high);
    let error = f64::mul_add(-n, LN2_LOW, high - r);
    (n, r, error)
}

/// y 2^n for an integral |n| ≤ 2000, rounded once.
#[inline(always)]
pub(super) fn scale(y: f64, n: f64) -> f64 {
    let first = f64::mul_add(n, 0.5, ROUNDER);
    let rest = (n - (first - ROUNDER)) + ROUNDER;
    let power = |shifted: f64| f64::from_bits((shifted.to_bits().wrapping_add(1023)) << 52);
    y * power(first) * power(rest)
}

/// e^(x + tail) 2^shift for a tail far below x; x is clamped so that every intermediate is finite.
#[inline(always)]
pub(super) fn exp_shifted(x: f64, tail: f64, shift: f64) -> f64 {
    let x = pick(x > 712.0, 712.0, x);
    let x = pick(x < -760.0, -760.0, x);
    let (n, r, error) = reduce(x);
    let q = polynomial(r, &EXP64);
    let tail = error + tail;
    let p = f64::mul_add(r * r, q, r); // e^r − 1
    scale(1.0 + (r + f64::mul_add(r * r, q, f64::mul_add(tail, p, tail))), n + shift)
}

#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    exp_shifted(x, 0.0, 0.0)
}

#[inline(always)]
pub(super) fn exp2(x: f64) -> f64 {
    let x = pick(x > 1025.0, 1025.0, x);
    let x = pick(x < -1080.0, -1080.0, x);
    let n = (x + ROUNDER) - ROUNDER;
    let f = x - n;
    let r = f * std::f64::consts::LN_2;
    let error = f64::mul_add(f, std::f64::consts::LN_2, -r);
    let q = polynomial(r, &EXP64);
    scale(1.0 + (r + f64::mul_add(r * r, q, error)), n)
}

#[inline(always)]
pub(super) fn expm1(x: f64) -> f64 {
    let clamped = pick(x > 712.0, 712.0, x);
    let clamped = pick(clamped < -40.0, -40.0, clamped);
    let (n, r, error) = reduce(clamped);
    let q = polynomial(r, &EXP64);
    let small = r + f64::mul_add(r * r, q, f64::mul_add(error, r, error));
    // 2^n (small + 1 − 2^−n): for n = 0 this is `small` itself, for large n the last term no longer counts.
    let inverse = scale(1.0, pick(n > 64.0, -64.0, -n));
    let offset = pick(n > 64.0, 1.0, 1.0 - inverse);
    let value = scale(small + offset, n);
    pick(x.abs() < 1e-17, x, value)
}
