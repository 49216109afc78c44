//! x Φ(x) and its slope Φ(x) + x φ(x), in single precision throughout for `f32`.
//!
//! Value: x Φ(x) = max(x, 0) − a Φ(−a) with a = |x|, in which nothing cancels; see [`value`].
//!
//! Slope: the tail is Φ(−a) = e^(−a²/2) / (2 + a W(a)). W climbs slowly from 4/√(2π) to √(2π), so that it is a constant
//! and a correction V = N/D, whose own rounding hardly counts; φ(a) = e^(−a²/2)/√(2π). Numerators and denominators are
//! scaled by 2^64, so that tails below the normal numbers are rounded once too.

mod coefficients;
mod value;

use super::math::pick;
use coefficients::{CONSTANT, DENOMINATOR, EXPONENTIAL, NUMERATOR};

pub(crate) use value::{row, value_of};

/// Adding it rounds to an integer, which then sits in the low bits.
const ROUNDER: f32 = 12_582_912.0;
/// 2^65.
const TWO: f32 = 36_893_488_147_419_103_232.0;
/// 1 / (√(2π) 2^64).
const DENSITY: f32 = 2.162_670_4e-20;
/// Beyond it everything rounds to zero.
const FAR: f32 = 14.6;

/// e^(−s/2) − 1 for |s| ≤ ln 2.
#[inline(always)]
fn exponential(s: f32) -> f32 {
    let mut e = EXPONENTIAL[5];
    for coefficient in [EXPONENTIAL[4], EXPONENTIAL[3], EXPONENTIAL[2], EXPONENTIAL[1], EXPONENTIAL[0]] {
        e = f32::mul_add(e, s, coefficient);
    }
    e * s
}

/// What the slope is made of, for a = |x| held below [`FAR`].
struct Parts {
    a: f32,
    /// e^(−a²/2) 2^64 is scale · (1 + rest).
    scale: f32,
    rest: f32,
    /// (2 + a W(a)) 2^64.
    below: f32,
}

#[inline(always)]
fn parts(x: f32) -> Parts {
    let magnitude = x.abs();
    let a = pick(magnitude > FAR, FAR, magnitude);
    // a² = s − 2n ln 2, with what rounding the square loses; what rounding ln 2 loses is part of the coefficients.
    let square = a * a;
    let shifted = f32::mul_add(square, -0.5 * std::f32::consts::LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let s = f32::mul_add(n, 2.0 * std::f32::consts::LN_2, square) + f32::mul_add(a, a, -square);
    let mut numerator = NUMERATOR[3];
    for coefficient in [NUMERATOR[2], NUMERATOR[1], NUMERATOR[0]] {
        numerator = f32::mul_add(numerator, a, coefficient);
    }
    let mut denominator = a + DENOMINATOR[3];
    for coefficient in [DENOMINATOR[2], DENOMINATOR[1], DENOMINATOR[0]] {
        denominator = f32::mul_add(denominator, a, coefficient);
    }
    let below = f32::mul_add(a, numerator / denominator + CONSTANT, TWO);
    let scale = f32::from_bits(shifted.to_bits().wrapping_add(127 + 64) << 23);
    Parts { a, scale, rest: exponential(s), below }
}

/// Φ(x) + x φ(x).
#[inline(always)]
pub(crate) fn slope(x: f32) -> f32 {
    let Parts { a, scale, rest, below } = parts(x);
    // At −a the slope is Φ(−a) − a φ(a), at a one less that.
    let left = f32::mul_add(scale, rest, scale) * f32::mul_add(-a, DENSITY, 1.0 / below);
    if x < 0.0 { left } else { 1.0 - left }
}

#[cfg(test)]
mod tests {
    use super::super::math::Float;
    use super::*;

    #[test]
    fn the_slope_is_accurate_everywhere() {
        for i in -60_000..60_000 {
            let x = i as f32 * 5e-4;
            let exact = f64::from(x);
            let density = Float::exp(-0.5 * exact * exact) * 0.398_942_280_401_432_7;
            let (wanted, got) = (Float::normal_cdf(exact) + exact * density, f64::from(slope(x)));
            assert!(
                (wanted - got).abs() <= 4e-7 * (wanted.abs() + exact.abs() * density) + 3e-45,
                "slope at {x}: {got}"
            );
        }
        assert_eq!((slope(f32::INFINITY), slope(f32::NEG_INFINITY), slope(0.0)), (1.0, 0.0, 0.5));
        assert!(slope(f32::NAN).is_nan());
    }
}
