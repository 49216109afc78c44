//! Hyperbolic functions, their inverses, and the logistic pair, in double precision.
use super::coefficients::SINH64;
use super::constants::polynomial;
use super::exponential::{exp, exp_shifted, expm1};
use super::logarithm::log1p;
use super::pick;

/// Above this, x² may not be formed and √(x² ± 1) equals x.
const LARGE: f64 = 1152921504606846976.0; // 2^60

/// x + x³ S(x²) up to 1, E − 1/(4E) with E = e^x/2 above.
#[inline(always)]
pub(super) fn sinh(x: f64) -> f64 {
    let a = x.abs();
    let z = a * a;
    let series = f64::mul_add(a * z, polynomial(z, &SINH64), a);
    let half = exp_shifted(a, 0.0, -1.0);
    pick(a < 1.0, series, half - 0.25 / half).copysign(x)
}

#[inline(always)]
pub(super) fn cosh(x: f64) -> f64 {
    let half = exp_shifted(x.abs(), 0.0, -1.0);
    half + 0.25 / half
}

/// With t = e^(2x) − 1: t/(t + 2), or 1 − 2/(t + 2) where that is more accurate.
#[inline(always)]
pub(super) fn tanh(x: f64) -> f64 {
    let a = x.abs();
    let t = expm1(2.0 * pick(a > 22.0, 22.0, a));
    let large = a > 0.55;
    let quotient = pick(large, 2.0, t) / (t + 2.0);
    pick(large, 1.0 - quotient, quotient).copysign(x)
}

/// ln(x + √(x² + 1)) = ln(1 + x + x²/(1 + √(x² + 1))).
#[inline(always)]
pub(super) fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let large = a > LARGE;
    let square = a * a;
    let w = pick(large, a, a + square / (1.0 + (square + 1.0).sqrt()));
    let offset = pick(large, std::f64::consts::LN_2, 0.0);
    (log1p(w) + offset).copysign(x)
}

/// ln(1 + t + √(2t + t²)) with t = x − 1.
#[inline(always)]
pub(super) fn acosh(x: f64) -> f64 {
    let large = x > LARGE;
    let t = x - 1.0;
    let w = pick(large, x, t + f64::mul_add(t, t, 2.0 * t).sqrt());
    let offset = pick(large, std::f64::consts::LN_2, 0.0);
    pick(x < 1.0, f64::NAN, log1p(w) + offset)
}

/// ln((1 + x)/(1 − x))/2.
#[inline(always)]
pub(super) fn atanh(x: f64) -> f64 {
    let a = x.abs();
    let double = a + a;
    let ratio = pick(a < 0.5, double + double * a / (1.0 - a), double / (1.0 - a));
    (0.5 * log1p(ratio)).copysign(x)
}

#[inline(always)]
pub(super) fn sigmoid(x: f64) -> f64 {
    let e = exp(-x.abs());
    pick(x < 0.0, e, 1.0) / (1.0 + e)
}

#[inline(always)]
pub(super) fn softplus(x: f64) -> f64 {
    pick(x < 0.0, 0.0, x) + log1p(exp(-x.abs()))
}
