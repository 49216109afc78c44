//! ln |Γ|, its derivative and second derivative, in double precision.
//!
//! Large arguments: Stirling's series. Small ones are moved by the recurrence Γ(x+1) = x Γ(x) to an interval with a
//! polynomial that carries the function's zeros as factors, so that the values next to them keep their digits.
//! Negative ones are reflected: Γ(x) Γ(1−x) = π / sin πx. These are rare in loops, so plain branches serve;
//! inlining still matters, because a call would leave the copy compiled for the instruction set.
use super::circular::{cos, sin};
use super::coefficients::{DIGAMMA_ROOT, DIGAMMA64, LGAMMA64};
use super::constants::polynomial;
use super::logarithm::{ln, log1p};
use std::f64::consts::PI;

/// B_{2k} / (2k (2k−1)), k = 1 … 8: the series of ln Γ in 1/x².
const LGAMMA_SERIES: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360360.0,
    1.0 / 156.0,
    -3617.0 / 122400.0,
];
/// B_{2k} / (2k), k = 1 … 8: the series of digamma.
const DIGAMMA_SERIES: [f64; 8] =
    [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0, -3617.0 / 8160.0];
/// B_{2k}, k = 1 … 9: the series of trigamma.
const TRIGAMMA_SERIES: [f64; 9] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
];
const HALF_LN_TWO_PI: f64 = 0.9189385332046728;
/// From here on the series above are exact to rounding.
const STIRLING: f64 = 10.0;

/// sin πx and cos πx for finite x, from the exact distance to the nearest integer.
#[inline(always)]
fn sin_cos_pi(x: f64) -> (f64, f64) {
    let nearest = x.round_ties_even();
    let r = PI * (x - nearest);
    let sign = if (nearest * 0.5).trunc() * 2.0 == nearest { 1.0 } else { -1.0 };
    (sign * sin(r), sign * cos(r))
}

#[inline(always)]
pub(super) fn lgamma(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else if x.is_infinite() {
        f64::INFINITY
    } else if x <= 0.0 {
        if x.trunc() == x { f64::INFINITY } else { lgamma_reflected(x) }
    } else {
        lgamma_positive(x)
    }
}

/// ln(π / |x sin πx|) − ln Γ(−x), which stays accurate for tiny x.
#[inline(always)]
fn lgamma_reflected(x: f64) -> f64 {
    if x > -1e-20 {
        return -ln(-x);
    }
    let (sine, _) = sin_cos_pi(x);
    ln(PI / (x * sine).abs()) - lgamma_positive(-x)
}

#[inline(always)]
fn lgamma_positive(x: f64) -> f64 {
    if x >= STIRLING {
        let log = ln(x);
        if x > 1e17 {
            return x * (log - 1.0);
        }
        let inverse = 1.0 / x;
        let series = inverse * polynomial(inverse * inverse, &LGAMMA_SERIES);
        return f64::mul_add(x - 0.5, log - 1.0, HALF_LN_TWO_PI - 0.5 + series);
    }
    if x < 0.5 {
        // ln Γ(x) = ln Γ(1 + x) − ln x.
        return x * polynomial(x, &LGAMMA64) - log1p(x) - ln(x);
    }
    if x < 1.5 {
        let y = x - 1.0;
        return f64::mul_add(y, polynomial(y, &LGAMMA64), -log1p(y));
    }
    let mut y = x;
    let mut product = 1.0;
    while y >= 2.5 {
        y -= 1.0;
        product *= y;
    }
    f64::mul_add(y - 2.0, polynomial(y - 2.0, &LGAMMA64), ln(product))
}

#[inline(always)]
pub(super) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return -1.0 / x;
    }
    if x <= 0.0 {
        if x.trunc() == x {
            return f64::NAN;
        }
        let (sine, cosine) = sin_cos_pi(x);
        return digamma_positive(1.0 - x) - PI * cosine / sine;
    }
    digamma_positive(x)
}

#[inline(always)]
fn digamma_positive(x: f64) -> f64 {
    if x >= STIRLING {
        let inverse = 1.0 / x;
        let square = inverse * inverse;
        return ln(x) - f64::mul_add(square, polynomial(square, &DIGAMMA_SERIES), 0.5 * inverse);
    }
    if x < 1.0 {
        return digamma_one_to_two(x + 1.0) - 1.0 / x;
    }
    let mut y = x;
    let mut sum = 0.0;
    while y > 2.0 {
        y -= 1.0;
        sum += 1.0 / y;
    }
    sum + digamma_one_to_two(y)
}

#[inline(always)]
fn digamma_one_to_two(x: f64) -> f64 {
    ((x - DIGAMMA_ROOT[0]) - DIGAMMA_ROOT[1]) * polynomial(x - 1.5, &DIGAMMA64)
}

#[inline(always)]
pub(super) fn trigamma(x: f64) -> f64 {
    if x <= 0.0 {
        if x.trunc() == x {
            return f64::INFINITY;
        }
        let (sine, _) = sin_cos_pi(x);
        let ratio = PI / sine;
        return ratio * ratio - trigamma_positive(1.0 - x);
    }
    trigamma_positive(x)
}

#[inline(always)]
fn trigamma_positive(x: f64) -> f64 {
    let mut y = x;
    let mut sum = 0.0;
    while y < STIRLING + 2.0 {
        sum += 1.0 / (y * y);
        y += 1.0;
    }
    let inverse = 1.0 / y;
    let square = inverse * inverse;
    let series = inverse * square * polynomial(square, &TRIGAMMA_SERIES);
    sum + (inverse + f64::mul_add(0.5, square, series))
}
