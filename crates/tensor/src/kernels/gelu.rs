//! x Φ(x) and its slope Φ(x) + x φ(x), in single precision throughout for `f32`.
//!
//! With a = |x| and e = e^(−a²/2), the tail Φ(−a) is e · t · P(2t − 1), t = 1/(1 + a/3), and φ(a) = e/√(2π): one
//! exponential and one division serve both. Nothing cancels: x Φ(x) = max(x, 0) − a Φ(−a). The coefficients come from
//! `tests/reference/gelu_coefficients.py`; the largest relative error of the polynomial is 5e-8.

use super::math::Float;

const TAIL: [f32; 10] = [
    2.430_278_966_978e-1,
    1.697_773_863_889e-1,
    7.667_260_390_826e-2,
    1.575_277_224_641e-2,
    -3.487_882_159_099e-3,
    -2.312_616_094_727e-3,
    3.405_867_753_304e-4,
    3.151_979_746_166e-4,
    -6.987_775_456_981e-5,
    -1.607_667_173_267e-5,
];
/// 1 / √(2π).
const INV_SQRT_TAU: f32 = 0.398_942_3;
/// Beyond it the tail is zero in single precision.
const FAR: f32 = 15.0;

/// a, Φ(−a) and e^(−a²/2) for a = |x|, held below [`FAR`].
#[inline(always)]
fn parts(x: f32) -> (f32, f32, f32) {
    let a = x.abs();
    let a = if a > FAR { FAR } else { a };
    let square = a * a;
    // What rounding the square loses would be felt in the exponential of a large number.
    let lost = f32::mul_add(a, a, -square);
    let e = Float::exp(-0.5 * square);
    let e = f32::mul_add(e, -0.5 * lost, e);
    let t = 3.0 / (3.0 + a);
    let u = f32::mul_add(2.0, t, -1.0);
    let mut sum = TAIL[TAIL.len() - 1];
    for i in (0..TAIL.len() - 1).rev() {
        sum = f32::mul_add(sum, u, TAIL[i]);
    }
    (a, e * t * sum, e)
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
    positive - a * tail
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
