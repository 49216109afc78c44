//! x Φ(x) and its slope Φ(x) + x φ(x), in single precision throughout for `f32`.
//!
//! With a = |x| and e = e^(−a²/2), the tail Φ(−a) is e · N(a)/D(a) and φ(a) = e/√(2π): one exponential and one division
//! serve both. All coefficients are positive, so that neither N nor D loses digits, and nothing cancels after them:
//! x Φ(x) = max(x, 0) − a Φ(−a). They come from `tests/reference/gelu_coefficients.py`.

use super::math::{Float, pick};

/// N, and D without its last coefficient, which is 1.
const NUMERATOR: [f32; 5] = [49.723_093_4, 43.304_185_8, 18.013_206, 3.970_546_4, 0.398_948_05];
const DENOMINATOR: [f32; 5] = [99.446_19, 165.954_98, 118.715_832, 46.135_83, 9.953_426_6];
/// (e^r − 1 − r) / r² for |r| ≤ ln(2)/2.
const EXPONENTIAL: [f32; 4] = [4.999_923_178_092e-1, 1.666_711_446_074e-1, 4.189_011_427_198e-2, 8.312_525_609_310e-3];
/// Adding it rounds to an integer, which then sits in the low bits.
const ROUNDER: f32 = 12_582_912.0;
/// ln 2 to 15 bits, so that its multiples are exact, and the rest.
const LN2_HIGH: f32 = 0.693_145_75;
const LN2_LOW: f32 = 1.428_606_8e-6;
/// 1 / √(2π).
const INV_SQRT_TAU: f32 = 0.398_942_3;
/// Beyond it the tail counts as zero: less than 1e-37.
const FAR: f32 = 13.185;

/// a, Φ(−a) and e^(−a²/2) for a = |x|, held below [`FAR`].
#[inline(always)]
fn parts(x: f32) -> (f32, f32, f32) {
    let magnitude = x.abs();
    let a = pick(magnitude > FAR, FAR, magnitude);
    // −a²/2 = n ln 2 + r. What rounding the square loses would be felt, so −2r is taken from the factors.
    let shifted = f32::mul_add(a * a, -0.5 * std::f32::consts::LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let s = f32::mul_add(n, 2.0 * LN2_LOW, f32::mul_add(a, a, n * (2.0 * LN2_HIGH)));
    let [p, q, r, t] = EXPONENTIAL;
    let mut e = t / -32.0;
    for coefficient in [r / 16.0, q / -8.0, p / 4.0, -0.5, 1.0] {
        e = f32::mul_add(e, s, coefficient);
    }
    let e = f32::from_bits(e.to_bits().wrapping_add(shifted.to_bits() << 23));
    let e = pick(magnitude > FAR, 0.0, e);
    let mut numerator = NUMERATOR[4];
    for coefficient in [NUMERATOR[3], NUMERATOR[2], NUMERATOR[1], NUMERATOR[0]] {
        numerator = f32::mul_add(numerator, a, coefficient);
    }
    let mut denominator = a + DENOMINATOR[4];
    for coefficient in [DENOMINATOR[3], DENOMINATOR[2], DENOMINATOR[1], DENOMINATOR[0]] {
        denominator = f32::mul_add(denominator, a, coefficient);
    }
    (a, e * numerator / denominator, e)
}

/// x Φ(x) for either type; conversions to and from the same type cost nothing.
#[inline(always)]
pub(crate) fn value_of<T: Float>(x: T) -> T {
    if size_of::<T>() == 4 { T::from_f64(f64::from(value(x.to_f64() as f32))) } else { x.gelu() }
}

/// x Φ(x).
#[inline(always)]
pub(crate) fn value(x: f32) -> f32 {
    let (a, tail, _) = parts(x);
    let positive = if x < 0.0 { 0.0 } else { x };
    f32::mul_add(-a, tail, positive)
}

/// Φ(x) + x φ(x).
#[inline(always)]
pub(crate) fn slope(x: f32) -> f32 {
    let (a, tail, e) = parts(x);
    // At −a the slope is Φ(−a) − a φ(a), at a one less that.
    let left = f32::mul_add(-a * INV_SQRT_TAU, e, tail);
    if x < 0.0 { left } else { 1.0 - left }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_accurate_everywhere() {
        for i in -60_000..60_000 {
            let x = i as f32 * 5e-4;
            let exact = f64::from(x);
            let (cdf, density) = (Float::normal_cdf(exact), Float::exp(-0.5 * exact * exact) * f64::from(INV_SQRT_TAU));
            let (wanted, got) = (exact * cdf, f64::from(value(x)));
            assert!((wanted - got).abs() <= 6e-7 * wanted.abs() + 1e-37, "x {x}: {got} is not {wanted}");
            let (wanted, got) = (cdf + exact * density, f64::from(slope(x)));
            assert!(
                (wanted - got).abs() <= 1e-6 * (wanted.abs() + exact.abs() * density) + 1e-37,
                "slope at {x}: {got}"
            );
        }
        assert_eq!((value(f32::INFINITY), value(f32::NEG_INFINITY)), (f32::INFINITY, 0.0));
        assert!(value(f32::NAN).is_nan() && slope(f32::NAN).is_nan());
    }
}
