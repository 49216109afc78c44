//! Values at the edges, and equality of the copies for the instruction sets.
use super::super::Float;
use super::{Unary, available, map, unary};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn same(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan()) || (a == b && a.is_sign_negative() == b.is_sign_negative())
}

/// Checks exact values, signs of zero included, in both precisions and all compiled copies.
fn exactly(name: &str, function: impl Unary, cases: &[(f64, f64)]) {
    for set in available() {
        let x: Vec<f64> = cases.iter().map(|case| case.0).collect();
        let single: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        for (i, (double, single)) in map(set, &x, function).into_iter().zip(map(set, &single, function)).enumerate() {
            let (x, expected) = cases[i];
            assert!(same(double, expected), "{set:?} f64 {name}({x:e}) = {double:e}, not {expected:e}");
            let expected = f64::from(expected as f32);
            assert!(same(f64::from(single), expected), "{set:?} f32 {name}({x:e}) = {single:e}, not {expected:e}");
        }
    }
}

#[test]
fn exponentials_and_logarithms_at_the_edges() {
    let e = [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN), (1e4, INF), (-1e4, 0.0), (1e-40, 1.0)];
    exactly("exp", unary!(exp), &e);
    exactly("exp2", unary!(exp2), &e);
    exactly("exp2", unary!(exp2), &[(10.0, 1024.0), (-3.0, 0.125), (-149.0, 2f64.powi(-149)), (127.0, 2f64.powi(127))]);
    let tiny = (1e-40f32 as f64, 1e-40f32 as f64);
    let m1 = [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (NAN, NAN), (1e4, INF), (-1e4, -1.0), tiny];
    exactly("expm1", unary!(expm1), &m1);
    let log = [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-1.0, NAN), (-INF, NAN), (NAN, NAN)];
    exactly("ln", unary!(ln), &log);
    exactly("log2", unary!(log2), &log);
    exactly("log10", unary!(log10), &log);
    exactly("log2", unary!(log2), &[(2.0, 1.0), (1024.0, 10.0), (2f64.powi(-149), -149.0)]);
    exactly("log10", unary!(log10), &[(10.0, 1.0), (1e5, 5.0), (1e10, 10.0)]);
    let p1 = [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (INF, INF), (-1.5, NAN), (-INF, NAN), (NAN, NAN), tiny];
    exactly("log1p", unary!(log1p), &p1);
}

#[test]
fn circular_functions_at_the_edges() {
    let odd = [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)];
    exactly("sin", unary!(sin), &odd);
    exactly("tan", unary!(tan), &odd);
    exactly("cos", unary!(cos), &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN), (1e-30, 1.0)]);
    let half = std::f64::consts::FRAC_PI_2;
    let arc = [(0.0, 0.0), (-0.0, -0.0), (1.0, half), (-1.0, -half), (1.5, NAN), (-INF, NAN), (NAN, NAN)];
    exactly("asin", unary!(asin), &arc);
    exactly("acos", unary!(acos), &[(1.0, 0.0), (-1.0, 2.0 * half), (0.0, half), (2.0, NAN), (INF, NAN), (NAN, NAN)]);
    exactly("atan", unary!(atan), &[(0.0, 0.0), (-0.0, -0.0), (INF, half), (-INF, -half), (NAN, NAN)]);
    let tiny = 1e-40f32 as f64;
    exactly("sin", unary!(sin), &[(tiny, tiny), (-tiny, -tiny)]);
    exactly("asin", unary!(asin), &[(tiny, tiny)]);
    exactly("atan", unary!(atan), &[(tiny, tiny)]);
}

#[test]
fn hyperbolic_and_logistic_functions_at_the_edges() {
    let odd = [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)];
    exactly("sinh", unary!(sinh), &odd);
    exactly("sinh", unary!(sinh), &[(1e4, INF), (-1e4, -INF)]);
    exactly("asinh", unary!(asinh), &odd);
    exactly("cosh", unary!(cosh), &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN), (1e4, INF)]);
    exactly("tanh", unary!(tanh), &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN), (1e4, 1.0)]);
    exactly("acosh", unary!(acosh), &[(1.0, 0.0), (0.5, NAN), (-5.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)]);
    let area = [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (2.0, NAN), (INF, NAN), (-INF, NAN), (NAN, NAN)];
    exactly("atanh", unary!(atanh), &area);
    exactly("sigmoid", unary!(sigmoid), &[(0.0, 0.5), (INF, 1.0), (-INF, 0.0), (1e3, 1.0), (-1e3, 0.0), (NAN, NAN)]);
    exactly("softplus", unary!(softplus), &[(INF, INF), (-INF, 0.0), (1e3, 1e3), (-1e3, 0.0), (NAN, NAN)]);
}

#[test]
fn error_functions_at_the_edges() {
    exactly("erf", unary!(erf), &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN), (10.0, 1.0)]);
    exactly("erfc", unary!(erfc), &[(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (NAN, NAN), (30.0, 0.0)]);
    exactly("normal_cdf", unary!(normal_cdf), &[(0.0, 0.5), (INF, 1.0), (-INF, 0.0), (NAN, NAN), (-50.0, 0.0)]);
    exactly("gelu", unary!(gelu), &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -0.0), (NAN, NAN), (100.0, 100.0)]);
}

#[test]
fn gamma_functions_at_the_edges() {
    let log = [(1.0, 0.0), (2.0, 0.0), (0.0, INF), (-0.0, INF), (-3.0, INF), (INF, INF), (-INF, INF), (NAN, NAN)];
    exactly("lgamma", unary!(lgamma), &log);
    exactly("digamma", unary!(digamma), &[(0.0, -INF), (-0.0, INF), (-3.0, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)]);
    exactly("trigamma", unary!(trigamma), &[(0.0, INF), (-3.0, INF), (INF, 0.0), (NAN, NAN)]);
}

#[test]
fn rounding_and_signs() {
    let round = [(0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (-1.5, -2.0), (INF, INF), (NAN, NAN)];
    exactly("round_half_even", unary!(round_half_even), &round);
    exactly("floor", unary!(floor), &[(1.5, 1.0), (-1.5, -2.0), (-0.0, -0.0), (NAN, NAN)]);
    exactly("ceil", unary!(ceil), &[(1.5, 2.0), (-1.5, -1.0), (-0.5, -0.0), (NAN, NAN)]);
    exactly("trunc", unary!(trunc), &[(1.5, 1.0), (-1.5, -1.0), (NAN, NAN)]);
    exactly("sign", unary!(sign), &[(3.0, 1.0), (-3.0, -1.0), (0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (NAN, NAN)]);
    exactly("rsqrt", unary!(rsqrt), &[(4.0, 0.5), (0.0, INF), (INF, 0.0), (-1.0, NAN), (NAN, NAN)]);
    for (a, b, larger, smaller) in
        [(1.0, 2.0, 2.0, 1.0), (NAN, 1.0, NAN, NAN), (1.0, NAN, NAN, NAN), (-INF, 3.0, 3.0, -INF)]
    {
        assert!(same(Float::maximum(a, b), larger) && same(Float::minimum(a, b), smaller));
    }
}

/// The table of IEEE 754 (and C99 annex F), each line checked against the standard library as well.
#[test]
fn powers_at_the_edges() {
    let values =
        [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 2.5, -2.5, INF, -INF, NAN, 1e300, -1e300, 7.0, 1e-300];
    for x in values {
        for y in values {
            let (got, expected) = (Float::pow(x, y), x.powf(y));
            let close = same(got, expected) || (got - expected).abs() <= 1e-15 * expected.abs();
            assert!(close, "{x}^{y} = {got}, not {expected}");
            let (x, y) = (x as f32, y as f32);
            let (got, expected) = (Float::pow(x, y), f64::from(x).powf(f64::from(y)) as f32);
            assert!(
                same(got.into(), expected.into()) || (got - expected).abs() <= 1e-7 * expected.abs(),
                "{x}^{y} = {got}"
            );
        }
    }
}

#[test]
fn angles_at_the_edges() {
    let values = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 5e-324, -5e-324, f64::MAX, f64::MIN, 1e-300];
    for y in values {
        for x in values {
            let (got, expected) = (Float::atan2(y, x), f64::atan2(y, x));
            assert!(same(got, expected) || (got - expected).abs() <= 1e-15 * expected.abs(), "atan2({y}, {x}) = {got}");
        }
    }
}

fn equal_in_all_copies(name: &str, function: impl Unary) {
    let double: Vec<f64> = (0..20_000u64).map(|i| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let single: Vec<f32> = (0..20_000u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b9))).collect();
    let near: Vec<f64> = (0..20_000).map(|i| f64::from(i) * 1e-3 - 10.0).collect();
    let sets = available();
    let (a, b, c) = (map(sets[0], &double, function), map(sets[0], &single, function), map(sets[0], &near, function));
    for &set in &sets[1..] {
        let equal = |x: f64, y: f64| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
        assert!(a.iter().zip(map(set, &double, function)).all(|(&x, y)| equal(x, y)), "{name} f64 {set:?}");
        assert!(c.iter().zip(map(set, &near, function)).all(|(&x, y)| equal(x, y)), "{name} f64 {set:?}");
        let b2 = map(set, &single, function);
        assert!(b.iter().zip(b2).all(|(&x, y)| equal(x.into(), y.into())), "{name} f32 {set:?}");
    }
}

macro_rules! copies {
    ($($name:ident)*) => {
        /// Bit for bit, over all magnitudes and over the ordinary range.
        #[test]
        fn every_instruction_set_gives_the_same_bits() {
            $(equal_in_all_copies(stringify!($name), unary!($name));)*
            equal_in_all_copies("pow", unary!(x => x.pow(T::from_f64(-1.7))));
            equal_in_all_copies("pow", unary!(x => T::from_f64(1.7).pow(x)));
            equal_in_all_copies("pow", unary!(x => x.pow(T::from_f64(3.0))));
            equal_in_all_copies("atan2", unary!(x => x.atan2(T::from_f64(-2.5))));
            equal_in_all_copies("maximum", unary!(x => x.maximum(T::ONE)));
        }
    };
}

copies! {
    exp exp2 expm1 ln log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid silu softplus erf erfc
    normal_cdf gelu sqrt rsqrt recip square sign floor ceil trunc round_half_even abs
}
