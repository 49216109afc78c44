//! x Φ(x) and its slope Φ(x) + x φ(x), in single precision throughout for `f32`.
//!
//! With a = |x| and e = e^(−a²/2), the tail Φ(−a) is e · P(u), u = (2.5 − a)/(2.5 + a), and φ(a) = e/√(2π): one
//! exponential and one division serve both. Nothing cancels: x Φ(x) = max(x, 0) − a Φ(−a). The coefficients come from
//! `tests/reference/gelu_coefficients.py`.

use super::math::{Float, pick};

const TAIL: [f32; 9] = [
    1.413_313_405_440e-1,
    2.280_698_018_454e-1,
    1.131_352_567_408e-1,
    2.454_816_462_643e-2,
    -5.118_780_156_720e-3,
    -2.942_367_268_494e-3,
    8.022_570_039_211e-4,
    3.308_368_111_145e-4,
    -1.565_435_311_611e-4,
];
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
    let u = (2.5 - a) / (2.5 + a);
    let mut sum = TAIL[TAIL.len() - 1];
    for i in (0..TAIL.len() - 1).rev() {
        sum = f32::mul_add(sum, u, TAIL[i]);
    }
    (a, e * sum, e)
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
            assert!((wanted - got).abs() <= 1e-6 * wanted.abs() + 1e-36, "x {x}: {got} is not {wanted}");
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
