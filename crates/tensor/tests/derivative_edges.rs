//! Values and derivatives at the edges of domains: zero, infinity, NaN, nothing.

#![allow(clippy::unwrap_used, reason = "a test ends where its expectations do")]

use tove_tensor::linalg::Norm;
use tove_tensor::{Activation, DType, Tensor, Trace, TryReduce, grad, hessian, jvp, vjp, vmap};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn slope(f: impl Fn(&Tensor) -> Tensor, x: f64) -> f64 {
    grad(|x: &Tensor| f(x).sum())(&Tensor::from([x])).item()
}

/// The derivative at the zero matrix is 0, as that of `norm(2.0)`, in both modes and to second order.
#[test]
fn frobenius_norm_at_zero() {
    let f = |x: &Tensor| x.matrix_norm(Norm::Frobenius);
    let zero = Tensor::zeros([2, 3], DType::F64);
    assert_eq!(grad(f)(&zero).to_vec::<f64>(), [0.0; 6]);
    assert_eq!(grad(|x: &Tensor| x.norm(2.0))(&zero).to_vec::<f64>(), [0.0; 6]);
    assert_eq!(jvp(f, &zero, &zero.ones_like()).1.item::<f64>(), 0.0);
    assert!(hessian(f, &zero).to_vec::<f64>().iter().all(|h| *h == 0.0));
    // One matrix of a batch may be zero, whichever way the batch is written.
    let both = Tensor::stack(&[&zero, &zero.ones_like()], 0);
    let expected = [[0.0; 6], [1.0 / 6f64.sqrt(); 6]].concat();
    for gradient in [grad(|x: &Tensor| f(x).sum())(&both), vmap(grad(f))(&both)] {
        let gap = gradient.to_vec::<f64>().iter().zip(&expected).fold(0.0f64, |gap, (a, b)| gap.max((a - b).abs()));
        assert!(gap < 1e-15, "{gradient}");
    }
    // Squares that overflow or vanish do not matter.
    for size in [1e-200, 1e200] {
        let x = Tensor::from([[3.0 * size, 0.0], [0.0, 4.0 * size]]);
        assert!((f(&x).item::<f64>() / (5.0 * size) - 1.0).abs() < 1e-15);
        assert!((grad(f)(&x).at::<f64>(&[0, 0]) - 0.6).abs() < 1e-15);
    }
}

#[test]
fn hypot_with_infinite_operands() {
    let hypot = |a: f64, b: f64| Tensor::from([a]).hypot(&Tensor::from([b])).item::<f64>();
    for other in [NAN, 0.0, -3.0, INF, -INF] {
        for infinite in [INF, -INF] {
            assert_eq!((hypot(infinite, other), hypot(other, infinite)), (INF, INF), "{infinite} and {other}");
        }
    }
    assert!(hypot(NAN, 3.0).is_nan() && hypot(0.0, NAN).is_nan());
    assert_eq!((hypot(3.0, -4.0), hypot(0.0, 0.0)), (5.0, 0.0));
    // The limit of a / hypot(a, b): ±1 for the infinite operand, 0 for the finite one.
    let slopes = |a: f64, b: f64| {
        let (_, pull) = vjp(|[a, b]: &[Tensor; 2]| a.hypot(b), &[Tensor::from([a]), Tensor::from([b])]);
        pull(&Tensor::from([1.0])).map(|g| g.item::<f64>())
    };
    assert_eq!((slopes(INF, 3.0), slopes(2.0, -INF)), ([1.0, 0.0], [0.0, -1.0]));
    assert_eq!(slopes(-INF, 0.0), [-1.0, 0.0]);
    assert_eq!(slopes(0.0, 0.0), [0.0, 0.0]);
    let [a, b] = slopes(3.0, -4.0);
    assert!((a - 0.6).abs() < 1e-15 && (b + 0.8).abs() < 1e-15, "{a} and {b}");
}

/// ψ''(x) = ψ''(x + 1) − 2/x³ everywhere, −2/x³ next to 0, −1/x² − 1/x³ far out, and the reflection below 0.
#[test]
fn slope_of_trigamma() {
    let tetragamma = |x: f64| slope(|x| x.trigamma(), x);
    let near = |found: f64, expected: f64, tolerance: f64| {
        assert!((found / expected - 1.0).abs() <= tolerance, "{found:e} instead of {expected:e}");
    };
    for x in [1e-100, 1e-20, 1e-8, -1e-20, -1e-8] {
        near(tetragamma(x), -2.0 / (x * x * x), 1e-14);
    }
    for x in [1e6, 1e10, 1e100] {
        near(tetragamma(x), -1.0 / (x * x) - 1.0 / (x * x * x), 1e-11);
    }
    assert_eq!(tetragamma(INF), 0.0);
    assert!(tetragamma(NAN).is_nan() && tetragamma(-INF).is_nan());
    for x in [0.01, 0.3, 0.5, 0.7, 1.0, 3.3, 40.0, -0.25, -0.5, -1.75, -7.3] {
        near(tetragamma(x + 1.0) - 2.0 / (x * x * x), tetragamma(x), 1e-12);
    }
    // ψ''(1) = −2 ζ(3).
    near(tetragamma(1.0), -2.0 * (1..=2000).map(|k| 1.0 / f64::from(k).powi(3)).sum::<f64>(), 1e-6);
    // Far below zero the reflected term keeps its digits, because it has period 1.
    near(tetragamma(-1000.25), tetragamma(1001.25) + 4.0 * std::f64::consts::PI.powi(3), 1e-6);
    // Derivatives of it, by both modes.
    let third = |x: f64| slope(|x| grad(|x: &Tensor| x.trigamma().sum())(x), x);
    near(third(1e-20), 6e80, 1e-13);
    near(third(2.0) + 6.0, third(1.0), 1e-12);
    assert_eq!(third(INF), 0.0);
    let (_, forward) =
        jvp(|x: &Tensor| x.trigamma(), &Tensor::from([1e-20f32, f32::INFINITY]), &Tensor::from([1f32, 1.0]));
    assert_eq!(forward.to_vec::<f32>(), [f32::NEG_INFINITY, 0.0]);
}

/// As in Python: an infinite divisor leaves what has its sign as it is, and takes anything else to itself.
#[test]
fn remainders_by_infinity() {
    let rem = |a: f64, b: f64| {
        let (y, pull) = vjp(|[a, b]: &[Tensor; 2]| a.rem(b), &[Tensor::from([a]), Tensor::from([b])]);
        let [da, db] = pull(&Tensor::from([1.0])).map(|g| g.item::<f64>());
        (y.item::<f64>(), da, db)
    };
    assert_eq!((rem(5.0, INF), rem(-5.0, -INF)), ((5.0, 1.0, 0.0), (-5.0, 1.0, 0.0)));
    // ⌊−5/∞⌋ is −1, so the slope by the divisor is 1.
    assert_eq!((rem(-5.0, INF), rem(5.0, -INF)), ((INF, 1.0, 1.0), (-INF, 1.0, 1.0)));
    assert_eq!((rem(0.0, INF), rem(7.0, 3.0), rem(-7.0, 3.0)), ((0.0, 1.0, 0.0), (1.0, 1.0, -2.0), (2.0, 1.0, 3.0)));
    assert!(rem(INF, 3.0).0.is_nan() && rem(NAN, INF).0.is_nan());
}

/// One variable has a variance, as in numpy and PyTorch; several have a matrix.
#[test]
fn covariance_of_one_row() {
    let row = Tensor::from([[1.0, 2.0, 6.0]]);
    assert_eq!((row.cov(1).dims(), row.cov(1).item::<f64>()), (&[][..], 7.0));
    let vector = row.reshape([3]);
    assert_eq!((vector.cov(0).dims(), vector.cov(0).item::<f64>()), (&[][..], 14.0 / 3.0));
    let rows = Tensor::from([[1.0, 2.0, 6.0], [0.0, 1.0, 5.0]]);
    assert_eq!(rows.cov(1).to_vec::<f64>(), [7.0; 4]);
    // The same under leading axes and under `vmap`.
    let batch = Tensor::stack(&[&row, &row], 0);
    assert_eq!(batch.cov(1).dims(), [2]);
    assert_eq!(vmap(|x: &Tensor| x.cov(1))(&batch).to_vec::<f64>(), batch.cov(1).to_vec::<f64>());
    assert!(Tensor::scalar(1.0).try_cov(0).is_err() && Tensor::from([1.0]).try_cov(1).is_err());
}

/// Of nothing, mean, median and quantiles are NaN, as in numpy.
#[test]
fn medians_of_nothing() {
    let none = Tensor::zeros([0], DType::F64);
    assert!(none.mean().item::<f64>().is_nan() && none.median().item::<f64>().is_nan());
    assert!(none.quantile(0.3).item::<f64>().is_nan());
    assert!(none.try_quantile(1.3).is_err());
    let rows = Tensor::zeros([2, 0, 3], DType::F32);
    for (keep, shape) in [(false, &[2usize, 3][..]), (true, &[2, 1, 3])] {
        let (median, mean) = (rows.median_axis(1, keep), rows.mean_axes(&[1], keep));
        assert_eq!((median.dims(), mean.dims(), median.dtype()), (shape, shape, DType::F32));
        assert!(median.to_vec::<f32>().iter().all(|x| x.is_nan()));
    }
    assert_eq!(rows.median_axis(0, false).dims(), [0, 3]);
    assert_eq!(grad(|x: &Tensor| x.median())(&none).dims(), [0]);
}

/// An infinite cotangent does not turn into NaN where a choice lets nothing through.
#[test]
fn choices_block_infinite_derivatives() {
    let through = |f: &dyn Fn(&Tensor) -> Tensor, x: f64| {
        let (_, pull) = vjp(f, &Tensor::from([x]));
        pull(&Tensor::from([INF])).item::<f64>()
    };
    let two = Tensor::from([2.0]);
    type Case<'a> = (&'a dyn Fn(&Tensor) -> Tensor, f64, f64);
    let cases: [Case<'_>; 5] = [
        (&|x| x.relu(), -1.0, 1.0),
        (&|x| x.clamp(2.0, 9.0), 1.0, 3.0),
        (&|x| x.clamp(-9.0, 2.0), 3.0, 1.0),
        (&|x| x.maximum(&two), 1.0, 3.0),
        (&|x| x.minimum(&two), 3.0, 1.0),
    ];
    for (number, (f, blocked, open)) in cases.into_iter().enumerate() {
        assert_eq!((through(f, blocked), through(f, open)), (0.0, INF), "case {number}");
    }
    // A rectifier that is part of a layer, in both modes.
    let (w, b) = (Tensor::from([[1.0]]), Tensor::from([0.0]));
    let layer = |x: &Tensor| x.linear(&w, Some(&b), Activation::Relu);
    for (x, expected) in [(-1.0, 0.0), (1.0, INF)] {
        assert_eq!(through(&layer, x), expected);
        assert_eq!(jvp(layer, &Tensor::from([x]), &Tensor::from([INF])).1.item::<f64>(), expected);
        let (_, again) =
            jvp(|u: &Tensor| vjp(layer, &Tensor::from([x])).1(u), &Tensor::from([1.0]), &Tensor::from([INF]));
        assert_eq!(again.item::<f64>(), expected);
    }
}

/// A step that names an operand several times, also with others between, passes one sum on to it.
#[test]
fn the_reverse_program_names_each_operand_once() {
    let inputs = [Tensor::from([1.0]), Tensor::from([2.0])];
    let trace = Trace::of(|x| Tensor::concat(&[&x[0], &x[1], &x[0], &x[0]], 0).sum(), &inputs);
    let dual = trace.dual();
    assert!(dual.contains("~%0 = ~%2 d%2/d%0\n") && dual.contains("~%1 = ~%2 d%2/d%1\n"), "{dual}");
    assert_eq!(trace.adjoints().unwrap()[0].item::<f64>(), 3.0);
    // Different steps have a term each.
    let two = Trace::of(|x| x[0].sin() * &x[0], &inputs[..1]).dual();
    assert!(two.contains("~%0 = ~%1 d%1/d%0 + ~%2 d%2/d%0"), "{two}");
}
