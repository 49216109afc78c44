//! Results that a shorter way of computing would spoil.
#![allow(clippy::unwrap_used)]
#![allow(clippy::reversed_empty_ranges, reason = "walked backwards")]

use tove_tensor::{
    CustomOp, DType, Error, GradCheck, Scheme, Tensor, TryIndex, TryOps, TryReduce, grad, gradcheck,
    numerical_jacobian, stepped,
};

#[test]
fn a_number_over_a_tensor_is_rounded_once() {
    assert_eq!((49.0 / Tensor::from([49.0])).item::<f64>(), 1.0);
    assert_eq!((1e-300 / &Tensor::from([1e-310])).item::<f64>(), 1e-300 / 1e-310);
    let slope = grad(|x: &Tensor| (3.0 / x).sum())(&Tensor::from([2.0, -4.0]));
    assert_eq!(slope.to_vec::<f64>(), [-0.75, -3.0 / 16.0]);
    gradcheck(|x: &[Tensor]| 2.5 / &x[0], &[Tensor::from([0.7, -1.3])]).unwrap();
}

#[test]
fn remainders_are_exact() {
    let rem = |a: f64, b: f64| (Tensor::from([a]) % Tensor::from([b])).item::<f64>();
    assert_eq!(rem(1.0, 0.1), 0.099_999_999_999_999_95);
    assert_eq!(rem(5.0, f64::INFINITY), 5.0);
    assert_eq!(rem(-5.0, f64::INFINITY), f64::INFINITY);
    assert_eq!((rem(-7.5, 2.0), rem(7.5, -2.0)), (0.5, -0.5));
    assert!(rem(1.0, 0.0).is_nan());
    let slope = grad(|b: &Tensor| (Tensor::from([1.0]) % b).sum())(&Tensor::from([0.1]));
    assert_eq!(slope.item::<f64>(), -9.0);
}

#[test]
fn the_slope_of_trigamma_holds_on_both_sides_of_zero() {
    const APERY: f64 = 1.202_056_903_159_594_3; // ζ(3); ψ''(1/2) = -14 ζ(3) and ψ''(x + 1) = ψ''(x) + 2/x³
    for steps in -11i32..=12 {
        let x = 0.5 + f64::from(steps);
        let terms = |from: i32, to: i32| (from..to).map(|k| 2.0 / (0.5 + f64::from(k)).powi(3)).sum::<f64>();
        let expected = -14.0 * APERY + terms(0, steps) - terms(steps, 0);
        let slope = grad(|x: &Tensor| x.trigamma().sum())(&Tensor::from([x])).item::<f64>();
        assert!((slope - expected).abs() < 1e-12 * APERY * 14.0, "{x}: {slope} instead of {expected}");
    }
    gradcheck(|x: &[Tensor]| x[0].trigamma(), &[Tensor::from([-3.4, -0.7, 0.3, 4.2])]).unwrap();
}

#[test]
fn differences_measure_the_step_in_the_type_of_the_point() {
    let jacobian = numerical_jacobian(|x: &Tensor| x * 3.0, &Tensor::from([2.0f32]), Scheme::Central, 1e-3).jacobian;
    assert!((jacobian.item::<f64>() - 3.0).abs() < 1e-3);
    let lost = tove_tensor::Tensor::from([1e10f32]);
    assert!(GradCheck::default().check(|x: &[Tensor]| x[0].square(), &[lost]).is_err());
    gradcheck(|x: &[Tensor]| x[0].square(), &[Tensor::from([2.0f32, -0.3])]).unwrap();
    // Derivatives so small beside the value that their ratio is no number: the difference quotient cannot see them.
    for x in [-700.0, -720.0] {
        gradcheck(|x: &[Tensor]| x[0].exp() + 1.0, &[Tensor::from([x])]).unwrap();
        gradcheck(|x: &[Tensor]| x[0].exp() * 1e-300 + 1e300, &[Tensor::from([x + 690.0])]).unwrap();
    }
    gradcheck(|x: &[Tensor]| (&x[0] * &x[1]).sin(), &[Tensor::from([0.3f32]), Tensor::from([1.1f32])]).unwrap();
}

#[test]
fn small_derivatives_are_checked_too() {
    let flat = CustomOp::new("flat", |x| &x[0] * 1e-7).with_backward(|_, _, g| vec![g * 0.0]);
    assert!(gradcheck(|x: &[Tensor]| flat.apply(&[&x[0]]), &[Tensor::from([0.4, 1.0])]).is_err());
    let right = CustomOp::new("right", |x| &x[0] * 1e-7).with_backward(|_, _, g| vec![g * 1e-7]);
    gradcheck(|x: &[Tensor]| right.apply(&[&x[0]]), &[Tensor::from([0.4, 1.0])]).unwrap();
    // A vanishing derivative beside large higher ones is what it is.
    gradcheck(|x: &[Tensor]| &x[0] * &x[0] * &x[0], &[Tensor::from([0.0])]).unwrap();
}

#[test]
fn positions_beyond_every_axis_are_out_of_range() {
    let x = Tensor::arange(0, 5);
    assert!(matches!(x.try_index(usize::MAX), Err(Error::Index { .. })));
    assert!(matches!(x.try_get(usize::MAX), Err(Error::Index { op: "get", .. })));
    assert_eq!(x.index(1..usize::MAX).to_vec::<i64>(), [1, 2, 3, 4]);
    assert_eq!(x.index(usize::MAX..).numel(), 0);
}

#[test]
fn inclusive_ranges_include_their_end_in_both_directions() {
    let x = Tensor::arange(0, 5);
    let walk = |index: tove_tensor::Index| x.index(index).to_vec::<i64>();
    assert_eq!(walk(stepped(4..=0, -1)), [4, 3, 2, 1, 0]);
    assert_eq!(walk(stepped(3..=1, -1)), [3, 2, 1]);
    assert_eq!(walk(stepped(4..=0, -2)), [4, 2, 0]);
    assert_eq!(walk(stepped(..=2, -1)), [4, 3, 2]);
    assert_eq!(walk(stepped(0..=-1, 2)), [0, 2, 4]);
    assert_eq!(walk(stepped(-1..=-3, -1)), [4, 3, 2]);
    assert_eq!(walk(stepped(4..0, -1)), [4, 3, 2, 1]);
}

#[test]
fn messages_name_what_was_called() {
    let none = Tensor::zeros([0], tove_tensor::DType::F64);
    assert!(matches!(none.try_argmin(0), Err(Error::Shape { op: "argmin", .. })));
    let (single, double) = (Tensor::from([1.0f32]), Tensor::from([1.0]));
    let error = single.try_mse_loss(&double, Default::default()).unwrap_err();
    assert!(matches!(error, Error::DTypePair { op: "mse_loss", .. }), "{error}");
    let w = Tensor::from([1.0]).requires_grad();
    grad(|x: &Tensor| {
        let loss = (x * &w).sum();
        let error = loss.try_backward().unwrap_err();
        assert!(error.to_string().contains("outside"), "{error}");
        loss
    })(&Tensor::from([2.0]));
}

/// The distance from `wanted` in units of the last place of the single-precision number nearest to it.
fn units(got: f32, wanted: f64) -> f64 {
    let nearest = (wanted as f32).abs();
    (f64::from(got) - wanted).abs() / (f64::from(nearest.next_up()) - f64::from(nearest))
}

/// In single precision against double precision, whose values are held against mpmath: over all magnitudes, and densely
/// where the functions are neither flat nor infinite.
#[test]
fn functions_of_nets_are_within_two_units_in_the_last_place() {
    type Function = fn(&Tensor) -> Tensor;
    let functions: [(&str, Function); 15] = [
        ("exp", Tensor::exp),
        ("expm1", Tensor::expm1),
        ("ln", Tensor::ln),
        ("log1p", Tensor::log1p),
        ("tanh", Tensor::tanh),
        ("sigmoid", Tensor::sigmoid),
        ("log_sigmoid", Tensor::log_sigmoid),
        ("softplus", Tensor::softplus),
        ("silu", Tensor::silu),
        ("erf", Tensor::erf),
        ("erfc", Tensor::erfc),
        ("normal_cdf", Tensor::normal_cdf),
        ("gelu", Tensor::gelu),
        ("sin", Tensor::sin),
        ("cos", Tensor::cos),
    ];
    let everywhere = (0..=u32::MAX).step_by(16_381).map(f32::from_bits).filter(|x| x.is_finite());
    let near = (-1_200_000..1_200_000).map(|i| i as f32 * 1e-4);
    let x = Tensor::from(everywhere.chain(near).collect::<Vec<f32>>());
    let exact = x.to_dtype(DType::F64);
    for (name, function) in functions {
        let mut worst = (0.0, 0.0);
        let results = function(&x).to_vec::<f32>().into_iter().zip(function(&exact).to_vec::<f64>());
        for (&x, (got, wanted)) in x.to_vec::<f32>().iter().zip(results) {
            if (wanted as f32).is_finite() {
                let error = units(got, wanted);
                worst = if error <= worst.0 { worst } else { (error, x) };
            }
        }
        println!("{name}: {:.3} units at {:e}", worst.0, worst.1);
        assert!(worst.0 <= 2.0, "{name}: {} units at {:e}", worst.0, worst.1);
    }
}
