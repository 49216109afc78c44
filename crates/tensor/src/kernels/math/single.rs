//! The functions that nets call most, in single precision throughout: twice the lanes of the detour over `f64`.
use super::coefficients::{ERF32, ERFC_LN32, EXP32, LOG32, TANH32};
use super::pick;

/// Adding and taking away 3·2^22 rounds to an integer, which then sits in the low bits.
const ROUNDER: f32 = 12582912.0;
const LN2_HIGH: f32 = std::f32::consts::LN_2;
const LN2_LOW: f32 = -1.904_654_2e-9; // ln 2 − LN2_HIGH
const HALF_SQRT_2_BITS: u32 = 0x3f35_04f3;
const ONE_BITS: u32 = 0x3f80_0000;

#[inline(always)]
fn polynomial<const N: usize>(x: f32, coefficients: &[f32; N]) -> f32 {
    let mut sum = coefficients[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = f32::mul_add(sum, x, coefficients[i]);
    }
    sum
}

/// 2^n for the integer in the low bits of `shifted`, |n| ≤ 126.
#[inline(always)]
fn power(shifted: f32) -> f32 {
    f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

/// y 2^n, rounded once.
#[inline(always)]
fn scale(y: f32, n: f32) -> f32 {
    let first = f32::mul_add(n, 0.5, ROUNDER);
    let rest = (n - (first - ROUNDER)) + ROUNDER;
    y * power(first) * power(rest)
}

/// e^r − 1 for x = n ln 2 + r, and n.
#[inline(always)]
fn reduced(x: f32) -> (f32, f32) {
    let n = f32::mul_add(x, std::f32::consts::LOG2_E, ROUNDER) - ROUNDER;
    let high = f32::mul_add(-n, LN2_HIGH, x);
    let r = f32::mul_add(-n, LN2_LOW, high);
    (f32::mul_add(r * r, polynomial(r, &EXP32), r), n)
}

#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let x = pick(x > 89.0, 89.0, x);
    let x = pick(x < -105.0, -105.0, x);
    let (p, n) = reduced(x);
    scale(1.0 + p, n)
}

/// e^x for x in [−105, 0], not fit for subnormal results, but with one multiplication less.
#[inline(always)]
fn exp_negative(x: f32) -> f32 {
    let x = pick(x < -87.0, -87.0, x);
    let (p, n) = reduced(x);
    (1.0 + p) * power(n + ROUNDER)
}

/// e^x for −121 ≤ x ≤ 0 in double arithmetic, to single accuracy.
#[inline(always)]
pub(super) fn exp_wide(x: f64) -> f64 {
    let shifted = f64::mul_add(x, std::f64::consts::LOG2_E, super::constants::ROUNDER);
    let r = f64::mul_add(-(shifted - super::constants::ROUNDER), std::f64::consts::LN_2, x);
    let mut sum = f64::from(EXP32[EXP32.len() - 1]);
    for i in (0..EXP32.len() - 1).rev() {
        sum = f64::mul_add(sum, r, f64::from(EXP32[i]));
    }
    let p = f64::mul_add(r * r, sum, 1.0 + r);
    p * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

#[inline(always)]
pub(super) fn exp2(x: f32) -> f32 {
    let x = pick(x > 130.0, 130.0, x);
    let x = pick(x < -151.0, -151.0, x);
    let n = (x + ROUNDER) - ROUNDER;
    let f = x - n;
    let r = f * std::f32::consts::LN_2;
    let error = f32::mul_add(f, std::f32::consts::LN_2, -r);
    scale(1.0 + (r + f32::mul_add(r * r, polynomial(r, &EXP32), error)), n)
}

#[inline(always)]
pub(super) fn expm1(x: f32) -> f32 {
    let clamped = pick(x > 89.0, 89.0, x);
    let clamped = pick(clamped < -20.0, -20.0, clamped);
    let (small, n) = reduced(clamped);
    // 2^n (small + 1 − 2^−n): for n = 0 this is `small` itself, for large n the last term no longer counts.
    let inverse = power(pick(n > 40.0, -40.0, -n) + ROUNDER);
    let offset = pick(n > 40.0, 1.0, 1.0 - inverse);
    pick(x.abs() < 1e-8, x, scale(small + offset, n))
}

/// Exponent and mantissa in [√½, √2).
#[inline(always)]
fn split(x: f32) -> (f32, f32) {
    let subnormal = x < f32::MIN_POSITIVE;
    let scaled = pick(subnormal, x * 16777216.0, x); // 2^24
    let bits = scaled.to_bits().wrapping_add(ONE_BITS - HALF_SQRT_2_BITS);
    let mantissa = f32::from_bits((bits & 0x007f_ffff).wrapping_add(HALF_SQRT_2_BITS));
    let exponent = (bits >> 23) as i32 - pick(subnormal, 127 + 24, 127);
    (exponent as f32, mantissa)
}

/// Puts in the values at 0, below 0, at ∞ and at NaN.
#[inline(always)]
fn with_limits(x: f32, value: f32) -> f32 {
    let value = pick(x == 0.0, f32::NEG_INFINITY, value);
    let value = pick(x < 0.0, f32::NAN, value);
    pick(x < f32::INFINITY, value, x)
}

/// e ln 2 + ln(1 + f) + extra.
#[inline(always)]
fn ln_sum(e: f32, f: f32, extra: f32) -> f32 {
    let z = f * f;
    let cubic = f32::mul_add(f * z, polynomial(f, &LOG32), f32::mul_add(e, LN2_LOW, extra));
    f32::mul_add(e, LN2_HIGH, f + f32::mul_add(-0.5, z, cubic))
}

#[inline(always)]
pub(super) fn ln(x: f32) -> f32 {
    let (e, m) = split(x);
    with_limits(x, ln_sum(e, m - 1.0, 0.0))
}

#[inline(always)]
pub(super) fn log1p(x: f32) -> f32 {
    let u = 1.0 + x;
    let (e, m) = split(u);
    let lost = pick(x > 1.0, 1.0 - (u - x), x - (u - 1.0)) / u;
    let near = e == 0.0;
    let value = ln_sum(e, pick(near, x, m - 1.0), pick(near, 0.0, lost));
    pick(x.abs() < 1e-8, x, with_limits(u, value))
}

/// x + x³ P(x²) up to 0.625, 1 − 2/(e^(2x) + 1) above.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let a = x.abs();
    let z = a * a;
    let series = f32::mul_add(a * z, polynomial(z, &TANH32), a);
    let e = exp_negative(-2.0 * a);
    let value = pick(a < 0.625, series, 1.0 - 2.0 * (e / (1.0 + e))).copysign(x);
    pick(x.is_nan(), x, value)
}

/// With e = e^−|x| and s = e/(1 + e): 1 − s, or e − e s, in which the roundings of 1 + e and of s hardly count.
/// The relative error of e is passed on in full, so e gets back what the reduction lost.
#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    let a = pick(x.abs() > 105.0, 105.0, x.abs());
    let n = f32::mul_add(a, -std::f32::consts::LOG2_E, ROUNDER) - ROUNDER;
    let high = f32::mul_add(-n, LN2_HIGH, -a);
    let r = f32::mul_add(-n, LN2_LOW, high);
    let error = f32::mul_add(-n, LN2_LOW, high - r);
    let e = scale(1.0 + (r + f32::mul_add(r * r, polynomial(r, &EXP32), error)), n);
    let s = e / (1.0 + e);
    pick(x < 0.0, f32::mul_add(-e, s, e), 1.0 - s)
}

/// x σ(x), with e = e^−|x| = 2^n (1 + p): on the right x/(1 + e), on the left x 2^n (1 + p)/(1 + e), where x 2^n is exact
/// and is scaled so that results below the normal numbers are rounded once. What 1 + e loses goes into the numerator.
#[inline(always)]
pub(super) fn silu(x: f32) -> f32 {
    const SMALL: f32 = 5.421_011e-20; // 2^−64
    let a = pick(x.abs() > 120.0, 120.0, x.abs());
    let shifted = f32::mul_add(a, -std::f32::consts::LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let high = f32::mul_add(-n, LN2_HIGH, -a);
    let r = f32::mul_add(-n, LN2_LOW, high);
    let error = f32::mul_add(-n, LN2_LOW, high - r);
    let p = r + f32::mul_add(r * r, polynomial(r, &EXP32), error);
    let large = power(shifted + 64.0);
    let e = (1.0 + p) * large * SMALL;
    let below = 1.0 + e;
    // Relative to 1 + e, with 1 − e/2 for its inverse: one digit of it is enough.
    let lost = (e - (below - 1.0)) * f32::mul_add(e, -0.5, 1.0);
    let left = x < 0.0;
    let base = pick(left, a * large, a);
    let above = f32::mul_add(base, pick(left, f32::mul_add(-lost, 1.0 + p, p), -lost), base);
    let value = above / below * pick(left, SMALL, 1.0);
    pick(x > 100.0, x, value.copysign(x))
}

#[inline(always)]
pub(super) fn softplus(x: f32) -> f32 {
    pick(x < 0.0, 0.0, x) + log1p(exp(-x.abs()))
}

/// x + x P(x²) up to 0.92, 1 − e^(−L(x)) above, where L = −ln erfc is close to a polynomial.
#[inline(always)]
pub(super) fn erf(x: f32) -> f32 {
    let a = x.abs();
    let series = f32::mul_add(a, polynomial(a * a, &ERF32), a);
    let far = 1.0 - exp_negative(-polynomial(pick(a > 4.0, 4.0, a), &ERFC_LN32));
    let value = pick(a < 0.923, series, far).copysign(x);
    pick(x.is_nan(), x, value)
}
