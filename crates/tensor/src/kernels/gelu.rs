//! x Φ(x) and its slope Φ(x) + x φ(x), in single precision throughout for `f32`.
//!
//! With a = |x| the tail is Φ(−a) = e^(−a²/2) / (2 + a W(a)). W climbs slowly from 4/√(2π) to √(2π), so that it is a constant
//! and a correction V = N/D, whose own rounding hardly counts. Nothing cancels after that: x Φ(x) = max(x, 0) − a Φ(−a), and
//! φ(a) = e^(−a²/2)/√(2π). Numerators and denominators are scaled by 2^64, so that tails below the normal numbers are rounded
//! once too. The coefficients come from `tests/reference/gelu_coefficients.py`.

use super::math::{Float, pick};

/// N · 2^64, and D without its last coefficient, which is 1.
const NUMERATOR: [f32; 4] = [-2.026_663_039e21, -1.172_746_139e21, -3.179_778_128e20, -3.686_452_261e19];
const DENOMINATOR: [f32; 4] = [120.620_498_7, 105.981_590_3, 44.372_917_18, 9.855_825_424];
/// The constant of W, and 2, times 2^64.
const CONSTANT: f32 = 4.623_873_445e19;
const TWO: f32 = 36_893_488_147_419_103_232.0;
/// (e^(−s/2) − 1) / s for |s| ≤ ln 2.
const EXPONENTIAL: [f32; 6] =
    [-0.5, 1.249_999_851e-1, -2.083_314_955e-2, 2.604_274_545e-3, -2.615_244_011e-4, 2.158_510_506e-5];
/// Adding it rounds to an integer, which then sits in the low bits.
const ROUNDER: f32 = 12_582_912.0;
/// 1 / (√(2π) 2^64).
const DENSITY: f32 = 2.162_670_4e-20;
/// Beyond it everything rounds to zero.
const FAR: f32 = 14.6;

/// What both functions need, for a = |x| held below [`FAR`].
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
    let mut e = EXPONENTIAL[5];
    for coefficient in [EXPONENTIAL[4], EXPONENTIAL[3], EXPONENTIAL[2], EXPONENTIAL[1], EXPONENTIAL[0]] {
        e = f32::mul_add(e, s, coefficient);
    }
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
    Parts { a, scale, rest: e * s, below }
}

/// x Φ(x) for either type; conversions to and from the same type cost nothing.
#[inline(always)]
pub(crate) fn value_of<T: Float>(x: T) -> T {
    if size_of::<T>() == 4 { T::from_f64(f64::from(value(x.to_f64() as f32))) } else { x.gelu() }
}

/// x Φ(x).
#[inline(always)]
pub(crate) fn value(x: f32) -> f32 {
    let Parts { a, scale, rest, below } = parts(x);
    let scaled = a * scale;
    let positive = if x < 0.0 { 0.0 } else { x };
    positive - f32::mul_add(scaled, rest, scaled) / below
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
    use super::*;

    /// The error in units of the last place of the wanted number.
    fn units(got: f32, wanted: f64) -> f64 {
        let nearest = (wanted as f32).abs();
        (f64::from(got) - wanted).abs() / (f64::from(nearest.next_up()) - f64::from(nearest))
    }

    #[test]
    fn the_value_is_accurate_everywhere() {
        let mut worst = (0.0, 0.0);
        let tails = (0..600_000).map(|i| i as f32 * -2.5e-5);
        for x in (0..=u32::MAX).step_by(997).map(f32::from_bits).chain(tails) {
            let exact = f64::from(x);
            let wanted = Float::gelu(exact);
            if wanted.is_finite() && (wanted as f32).is_finite() {
                let error = units(value(x), wanted);
                worst = if error > worst.0 { (error, x) } else { worst };
            }
        }
        println!("{} units at {}", worst.0, worst.1);
        assert!(worst.0 <= 3.5, "{} units at {}", worst.0, worst.1);
        assert_eq!((value(f32::INFINITY), value(f32::NEG_INFINITY), value(0.0)), (f32::INFINITY, 0.0, 0.0));
        assert!(value(f32::NAN).is_nan());
    }

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
