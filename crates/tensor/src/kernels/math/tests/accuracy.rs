use super::super::Float;
use super::{Unary, available, map, unary};

/// The error of `got` in units of the last place of the single-precision number nearest to `expected`.
fn ulps_single(got: f32, expected: f64) -> f64 {
    let nearest = expected as f32;
    if got == nearest || (got.is_nan() && nearest.is_nan()) {
        return 0.0;
    }
    let unit = if nearest.is_infinite() { 2f64.powi(104) } else { unit_single(nearest) };
    let got = if got.is_infinite() { 2f64.powi(128).copysign(f64::from(got)) } else { f64::from(got) };
    ((got - expected) / unit).abs()
}

fn unit_single(x: f32) -> f64 {
    let exponent = ((x.to_bits() >> 23) & 0xff).max(1) as i32;
    2f64.powi(exponent - 150)
}

/// Largest error over every `stride`-th bit pattern, and where.
fn worst_single(stride: usize, function: impl Unary, reference: impl Fn(f64) -> f64) -> (f64, f32) {
    let set = *available().last().expect("the baseline is always there");
    let mut worst = (0.0, 0.0);
    let patterns: Vec<u32> = (0..=u32::MAX).step_by(stride).collect();
    for block in patterns.chunks(4096) {
        let x: Vec<f32> = block.iter().map(|&bits| f32::from_bits(bits)).collect();
        for (&x, got) in x.iter().zip(map(set, &x, function)) {
            let error = ulps_single(got, reference(f64::from(x)));
            if error.is_nan() || error > worst.0 {
                worst = (error, x);
            }
        }
    }
    worst
}

macro_rules! single {
    ($($test:ident: $stride:literal, $function:expr, $reference:expr, $bound:literal;)*) => {$(
        #[test]
        fn $test() {
            let (error, x) = worst_single($stride, $function, $reference);
            println!("{:16} f32 {error:.3} ulp at {x:e}", stringify!($test));
            assert!(error <= $bound, "{error} ulp at {x:e}");
        }
    )*};
}

single! {
    single_exp: 97, unary!(exp), f64::exp, 1.1;
    single_exp2: 997, unary!(exp2), f64::exp2, 1.0;
    single_expm1: 97, unary!(expm1), f64::exp_m1, 2.0;
    single_ln: 97, unary!(ln), f64::ln, 1.0;
    single_log2: 997, unary!(log2), f64::log2, 1.0;
    single_log10: 997, unary!(log10), f64::log10, 1.0;
    single_log1p: 97, unary!(log1p), f64::ln_1p, 2.0;
    single_sin: 97, unary!(sin), f64::sin, 1.0;
    single_cos: 97, unary!(cos), f64::cos, 1.0;
    single_tan: 997, unary!(tan), f64::tan, 1.0;
    single_asin: 997, unary!(asin), f64::asin, 1.0;
    single_acos: 997, unary!(acos), f64::acos, 1.0;
    single_atan: 997, unary!(atan), f64::atan, 1.0;
    single_sinh: 997, unary!(sinh), f64::sinh, 1.0;
    single_cosh: 997, unary!(cosh), f64::cosh, 1.0;
    single_tanh: 97, unary!(tanh), f64::tanh, 2.0;
    single_asinh: 997, unary!(asinh), f64::asinh, 1.0;
    single_acosh: 997, unary!(acosh), f64::acosh, 1.0;
    single_atanh: 997, unary!(atanh), f64::atanh, 1.0;
    single_sigmoid: 97, unary!(sigmoid), sigmoid_reference, 2.0;
    single_silu: 97, unary!(silu), |x: f64| x * sigmoid_reference(x), 2.0;
    single_softplus: 97, unary!(softplus), softplus_reference, 2.0;
    // The double-precision versions are held against mpmath below.
    single_erf: 97, unary!(erf), <f64 as Float>::erf, 2.0;
    single_erfc: 997, unary!(erfc), <f64 as Float>::erfc, 1.0;
    single_normal_cdf: 997, unary!(normal_cdf), <f64 as Float>::normal_cdf, 1.0;
    single_gelu: 97, unary!(gelu), <f64 as Float>::gelu, 2.0;
    single_pow: 997, unary!(x => x.pow(T::from_f64(2.5))), |x: f64| x.powf(2.5), 1.0;
    single_pow_negative: 997, unary!(x => x.pow(T::from_f64(-3.0))), |x: f64| x.powf(-3.0), 1.0;
    single_pow_base: 997, unary!(x => T::from_f64(1.125).pow(x)), |x: f64| 1.125f64.powf(x), 1.0;
    single_atan2: 997, unary!(x => x.atan2(T::from_f64(-2.5))), |x: f64| x.atan2(-2.5), 1.0;
    single_sqrt: 997, unary!(sqrt), f64::sqrt, 0.5;
    single_rsqrt: 997, unary!(rsqrt), |x: f64| 1.0 / x.sqrt(), 1.5;
}

fn sigmoid_reference(x: f64) -> f64 {
    if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
}

fn softplus_reference(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn fixture() -> serde_json::Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/math_f64.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("fixture file")).expect("fixture syntax")
}

fn numbers(row: &serde_json::Value) -> Vec<f64> {
    let row = row.as_array().expect("row");
    row.iter().map(|bits| f64::from_bits(bits.as_u64().expect("bits"))).collect()
}

/// How many double-precision numbers lie between two, both zeros counting as one.
fn steps(a: f64, b: f64) -> u64 {
    let order = |x: f64| if x < 0.0 { -((x.to_bits() << 1 >> 1) as i64) } else { x.to_bits() as i64 };
    if a.is_nan() || b.is_nan() { u64::MAX } else { order(a).abs_diff(order(b)) }
}

fn check_double(name: &str, bound: u64, skip: impl Fn(f64) -> bool, function: impl Unary) {
    let data = fixture();
    let rows: Vec<Vec<f64>> = data["unary"][name].as_array().expect("function").iter().map(numbers).collect();
    assert!(rows.len() > 100);
    let x: Vec<f64> = rows.iter().map(|row| row[0]).collect();
    for set in available() {
        let got = map(set, &x, function);
        let mut worst = (0, 0.0, 0.0, 0.0);
        for (row, &got) in rows.iter().zip(&got).filter(|(row, _)| !skip(row[0])) {
            let distance = steps(got, row[1]);
            if distance > worst.0 {
                worst = (distance, row[0], got, row[1]);
            }
        }
        let (distance, x, got, expected) = worst;
        println!("{name:12} f64 {set:?}: {distance} steps at {x:e}");
        assert!(distance <= bound, "{name}({x:e}) = {got:e} instead of {expected:e}: {distance} steps");
    }
}

macro_rules! double {
    ($($test:ident $name:ident $bound:literal;)*) => {$(
        #[test]
        fn $test() {
            check_double(stringify!($name), $bound, |_| false, unary!($name));
        }
    )*};
}

double! {
    double_exp exp 1;
    double_exp2 exp2 1;
    double_expm1 expm1 2;
    double_ln ln 1;
    double_log2 log2 1;
    double_log10 log10 1;
    double_log1p log1p 2;
    double_sin sin 1;
    double_cos cos 1;
    double_tan tan 2;
    double_asin asin 1;
    double_acos acos 1;
    double_atan atan 1;
    double_sinh sinh 2;
    double_cosh cosh 2;
    double_tanh tanh 3;
    double_asinh asinh 3;
    double_acosh acosh 3;
    double_atanh atanh 3;
    double_sigmoid sigmoid 2;
    double_softplus softplus 2;
    double_erf erf 2;
    double_erfc erfc 4;
    double_normal_cdf normal_cdf 4;
    double_gelu gelu 4;
}

type Unaries = [(&'static str, fn(f64) -> f64); 3];
type Binaries = [(&'static str, fn(f64, f64) -> f64); 2];

/// Next to the zeros at negative arguments the reflection loses digits, as it does in every C library: the absolute
/// error is small there, not the relative one.
#[test]
fn double_gamma_family() {
    check_double("lgamma", 4, |x| x < 0.0, unary!(lgamma));
    check_double("digamma", 4, |x| x < 0.0, unary!(digamma));
    check_double("trigamma", 4, |x| x < 0.0, unary!(trigamma));
    let data = fixture();
    let functions: Unaries = [("lgamma", Float::lgamma), ("digamma", Float::digamma), ("trigamma", Float::trigamma)];
    for (name, function) in functions {
        for row in data["unary"][name].as_array().expect("rows").iter().map(numbers).filter(|row| row[0] < 0.0) {
            let scale = row[1].abs().max(10.0);
            assert!((function(row[0]) - row[1]).abs() < 1e-13 * scale, "{name}({})", row[0]);
        }
    }
}

#[test]
fn double_binary() {
    let data = fixture();
    let functions: Binaries = [("pow", Float::pow), ("atan2", Float::atan2)];
    for (name, function) in functions {
        let mut worst = 0;
        for row in data["binary"][name].as_array().expect("rows").iter().map(numbers) {
            let got = function(row[0], row[1]);
            let distance = steps(got, row[2]);
            worst = worst.max(distance);
            assert!(distance <= 1, "{name}({:e}, {:e}) = {got:e} instead of {:e}", row[0], row[1], row[2]);
        }
        println!("{name} f64 {worst} steps");
    }
}
