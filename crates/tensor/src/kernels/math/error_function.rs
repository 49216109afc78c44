//! The error function and the normal distribution function.
//!
//! |x| ≤ 1: erf x = x + x P(x²). Above: erfc x = e^(−x²) Q(t)/(1 + 2x) with t = (x − 4)/(x + 4), which maps the half-line
//! to a short interval (after Shepherd and Laframboise, 1981); x² is carried in two parts, or the tail would lose digits.
//! For single precision Q(t)/(x + 3) with t = 1 − 6/(x + 3) makes one division do.
use super::coefficients::{ERF64, ERFCX32, ERFCX64};
use super::constants::{fast_two_sum, polynomial, two_product};
use super::exponential::exp_shifted;
use super::pick;

/// erfc(a + low) for 0 ≤ a, low far below a.
#[inline(always)]
fn tail(a: f64, low: f64) -> f64 {
    let a = pick(a > 28.0, 28.0, a);
    let q = polynomial((a - 4.0) / (a + 4.0), &ERFCX64) / f64::mul_add(2.0, a, 1.0);
    let (square, error) = two_product(a, a);
    let correction = f64::mul_add(2.0 * a, low, error);
    // d(erfcx)/dx = 2x erfcx − 2/√π; the first half cancels against the correction of the exponent for large x.
    (q + low * f64::mul_add(2.0 * a, q, -std::f64::consts::FRAC_2_SQRT_PI)) * exp_shifted(-square, -correction, 0.0)
}

#[inline(always)]
pub(super) fn erf(x: f64) -> f64 {
    let a = x.abs();
    let series = f64::mul_add(a, polynomial(a * a, &ERF64), a);
    pick(a < 1.0, series, 1.0 - tail(a, 0.0)).copysign(x)
}

/// erfc of the sum of a number and a small correction.
#[inline(always)]
fn erfc_pair(x: f64, low: f64) -> f64 {
    let a = x.abs();
    let series = f64::mul_add(x, polynomial(x * x, &ERF64), x);
    let series = 1.0 - f64::mul_add(low, std::f64::consts::FRAC_2_SQRT_PI, series);
    let far = tail(a, pick(x < 0.0, -low, low));
    let value = pick(x < 0.0, 2.0 - far, far);
    pick(a < 0.4 || (x < 0.0 && a < 1.0), series, value)
}

#[inline(always)]
pub(super) fn erfc(x: f64) -> f64 {
    erfc_pair(x, 0.0)
}

/// −x/√2 in two parts, clamped where Φ is 0 or 1.
#[inline(always)]
fn over_root_two(x: f64) -> (f64, f64) {
    const HIGH: f64 = -std::f64::consts::FRAC_1_SQRT_2;
    const LOW: f64 = 4.833646656726457e-17; // −1/√2 − HIGH
    let x = pick(x > 40.0, 40.0, x);
    let x = pick(x < -40.0, -40.0, x);
    let (product, error) = two_product(x, HIGH);
    fast_two_sum(product, f64::mul_add(x, LOW, error))
}

#[inline(always)]
pub(super) fn normal_cdf(x: f64) -> f64 {
    let (high, low) = over_root_two(x);
    0.5 * erfc_pair(high, low)
}

#[inline(always)]
pub(super) fn gelu(x: f64) -> f64 {
    // x Φ(x) is far below the smallest number at −40; without the clamp −∞ would give NaN.
    let x = pick(x < -40.0, -40.0, x);
    x * normal_cdf(x)
}

/// Φ for single precision, computed in double with short polynomials.
#[inline(always)]
pub(super) fn normal_cdf_single(x: f64) -> f64 {
    0.5 * erfc_single(x * -std::f64::consts::FRAC_1_SQRT_2)
}

/// erfc for single precision, computed in double with short polynomials.
#[inline(always)]
pub(super) fn erfc_single(x: f64) -> f64 {
    let a = x.abs();
    let a = pick(a > 10.4, 10.4, a); // 20 erfc 10.4 rounds to zero in single precision
    let inverse = 1.0 / (a + 3.0);
    let q = inverse * polynomial(f64::mul_add(-6.0, inverse, 1.0), &ERFCX32);
    let far = q * super::single::exp_wide(-a * a);
    pick(x < 0.0, 2.0 - far, far)
}
