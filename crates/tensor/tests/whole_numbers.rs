//! Tensors of whole numbers: exact against numbers of every kind, and with the rounding of Python.
#![allow(clippy::unwrap_used)]

use tove_tensor::{DType, Error, Tensor, TryOps};

fn truth(x: &Tensor) -> Vec<bool> {
    x.to_vec::<bool>()
}

#[test]
fn comparisons_with_a_real_number_are_those_of_real_numbers() {
    let x = Tensor::from([0i64, 1, -1]);
    assert_eq!(truth(&x.lt_scalar(0.5)), [true, false, true]);
    assert_eq!(truth(&x.le_scalar(0.5)), [true, false, true]);
    assert_eq!(truth(&x.ge_scalar(0.5)), [false, true, false]);
    assert_eq!(truth(&x.gt_scalar(-0.5)), [true, true, false]);
    assert_eq!(truth(&x.eq_scalar(0.5)), [false; 3]);
    assert_eq!(truth(&x.ne_scalar(0.5)), [true; 3]);
    assert_eq!(truth(&x.lt_scalar(1e300)), [true; 3]);
    assert_eq!(truth(&x.gt_scalar(f64::NEG_INFINITY)), [true; 3]);
    let x = Tensor::from([255u8, 0]);
    assert_eq!(truth(&x.lt_scalar(300.0)), [true; 2]);
    assert_eq!(truth(&x.ge_scalar(-3.0)), [true; 2]);
    assert_eq!(truth(&x.eq_scalar(f64::NAN)), [false; 2]);
    assert_eq!(truth(&x.ne_scalar(f64::NAN)), [true; 2]);
    assert_eq!(truth(&x.lt_scalar(f64::NAN)), [false; 2]);
    let largest = Tensor::from([i64::MAX, i64::MIN]);
    assert_eq!(truth(&largest.lt_scalar(2f64.powi(63))), [true; 2]);
    assert_eq!(truth(&largest.ge_scalar(-(2f64.powi(63)))), [true; 2]);
    assert_eq!(truth(&Tensor::from([true, false]).lt_scalar(0.5)), [false, true]);
}

#[test]
#[should_panic(expected = "convert with `to_dtype`")]
fn a_fraction_times_whole_numbers_is_refused() {
    let _ = &Tensor::from([4i64, 5]) * 0.5;
}

#[test]
#[should_panic(expected = "convert with `to_dtype`")]
fn whole_numbers_over_a_fraction_are_refused() {
    let _ = Tensor::from([4i64, 5]) / 0.5;
}

#[test]
fn bounds_of_whole_numbers_are_whole() {
    let x = Tensor::from([-3i64, 0, 9]);
    assert_eq!(x.clamp(-1.0, 5.0).to_vec::<i64>(), [-1, 0, 5]);
    assert_eq!(x.clamp(f64::NEG_INFINITY, 5.0).to_vec::<i64>(), [-3, 0, 5]);
    assert!(matches!(x.try_clamp(0.5, 5.0), Err(Error::DType { .. })));
    assert!(matches!(Tensor::from([1u8]).try_clamp(0.0, 300.0), Err(Error::DType { .. })));
}

#[test]
fn numbers_beside_i64_stay_exact() {
    let big = 9_007_199_254_740_993i64; // 2^53 + 1, which f64 does not hold
    let zero = Tensor::from([0i64]);
    assert_eq!((&zero + big).item::<i64>(), big);
    assert_eq!((big - &zero).item::<i64>(), big);
    assert_eq!((Tensor::from([1i64]) * big).item::<i64>(), big);
    assert_eq!((Tensor::from([4i64]) * 2.0).item::<i64>(), 8);
    let mut x = Tensor::from([big]);
    x -= 1;
    x /= 2;
    assert_eq!(x.item::<i64>(), 1 << 52);
}

#[test]
fn quotients_and_remainders_round_as_in_python() {
    let cases =
        [(-7i64, 2i64, -4i64, 1i64), (7, -2, -4, -1), (7, 2, 3, 1), (-7, -2, 3, -1), (6, 3, 2, 0), (5, 0, 0, 0)];
    for (a, b, quotient, rest) in cases {
        let (a, b) = (Tensor::from([a]), Tensor::from([b]));
        assert_eq!((&a / &b).item::<i64>(), quotient);
        assert_eq!((&a % &b).item::<i64>(), rest);
    }
    let largest = Tensor::from([i64::MAX]);
    assert_eq!((&(&largest - 1) % &largest).item::<i64>(), i64::MAX - 1);
    assert_eq!((Tensor::from([i64::MIN]) % Tensor::from([-1i64])).item::<i64>(), 0);
    assert_eq!((6i64 / Tensor::from([4i64, -4])).to_vec::<i64>(), [1, -2]);
}

#[test]
fn powers_take_every_whole_exponent_but_negative_ones() {
    let pow = |a: i64, b: i64| Tensor::from([a]).try_pow(&Tensor::from([b])).map(|x| x.item::<i64>());
    assert_eq!(pow(1, 1 << 33), Ok(1));
    assert_eq!(pow(-1, (1 << 33) + 1), Ok(-1));
    assert_eq!(pow(3, 5), Ok(243));
    assert_eq!(pow(0, 0), Ok(1));
    assert!(matches!(pow(1, -1), Err(Error::DType { op: "pow", .. })));
}

#[test]
fn functions_without_whole_values_are_refused() {
    let x = Tensor::from([1i64]);
    assert!(matches!(x.try_atan2(&x), Err(Error::DType { op: "atan2", .. })));
    assert!(matches!(x.try_mean(), Err(Error::DType { op: "mean", .. })));
}

#[test]
fn small_numbers_and_truth_values_sum_to_i64() {
    let x = Tensor::from([200u8, 100]);
    assert_eq!((x.sum().dtype(), x.sum().item::<i64>()), (DType::I64, 300));
    assert_eq!(x.cumsum(0).to_vec::<i64>(), [200, 300]);
    assert_eq!(x.prod().item::<i64>(), 20_000);
    assert_eq!(x.cumprod(0).to_vec::<i64>(), [200, 20_000]);
    for flags in [vec![true], vec![true, true, false]] {
        let count = flags.iter().filter(|&&flag| flag).count() as i64;
        let flags = Tensor::from(flags);
        assert_eq!(flags.sum().item::<i64>(), count);
        assert!(matches!(flags.try_max(), Err(Error::DType { op: "max", .. })));
        assert!(matches!(flags.try_argmin(0), Err(Error::DType { .. })));
    }
}
