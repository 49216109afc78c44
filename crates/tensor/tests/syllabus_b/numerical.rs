//! B7, B8 and B11: differences, the gradient checker, primitives and their Jacobians.

use std::cell::Cell;

use tove_tensor::testing::{registry, values};
use tove_tensor::{
    Activation, CheckError, CustomOp, Error, GradCheck, Scheme, Tensor, grad, gradcheck, jacobian, jvp,
    numerical_jacobian,
};

use crate::support::{TOL64, close, log_slope, norm};

fn error_of(scheme: Scheme, h: f64) -> f64 {
    let x = Tensor::from([0.7, -1.2, 2.0]);
    let f = |x: &Tensor| (x.sin() * x.exp()).sum();
    let exact = grad(f)(&x);
    let found = numerical_jacobian(f, &x, scheme, h).jacobian;
    norm(&(found - exact).to_vec::<f64>())
}

#[test]
fn b7_numerical_differentiation() {
    let steps: Vec<f64> = (0..8).map(|k| 1e-2 / f64::from(1 << k)).collect();
    for (scheme, order) in [(Scheme::Forward, 1.0), (Scheme::Central, 2.0)] {
        let points: Vec<_> = steps.iter().map(|&h| (h, error_of(scheme, h))).collect();
        assert!((log_slope(&points) - order).abs() < 0.05, "{scheme:?}: slope {}", log_slope(&points));
        // The curve is a V: round-off takes over on the left, truncation on the right.
        let curve: Vec<f64> = (1..=14).map(|k| error_of(scheme, 10f64.powi(-k))).collect();
        let best = (0..curve.len()).min_by(|&i, &j| curve[i].total_cmp(&curve[j])).unwrap();
        assert!((3..=9).contains(&best), "{scheme:?}: best step 1e-{}", best + 1);
        assert!(curve[0] > 1e3 * curve[best] && curve[13] > 1e3 * curve[best], "{scheme:?}: {curve:?}");
    }
    let f = |x: &Tensor| (x * x - x * 1.5).sum();
    let slope = |scheme| numerical_jacobian(f, &Tensor::from([0.5]), scheme, 0.01).jacobian.item::<f64>();
    assert_eq!(format!("{:.2} {:.2}", slope(Scheme::Forward), slope(Scheme::Central)), "-0.49 -0.50");
    assert!((slope(Scheme::Forward) + 0.49).abs() < 1e-12 && (slope(Scheme::Central) + 0.5).abs() < 1e-12);
}

/// The runnable example is `crates/tove/examples/gradient_check.rs`.
#[test]
fn b8_gradient_checker_and_the_cost_of_differences() {
    for parameters in [1, 5, 12] {
        let calls = Cell::new(0);
        let f = |x: &Tensor| {
            calls.set(calls.get() + 1);
            x.tanh().square().sum()
        };
        for (scheme, expected) in [(Scheme::Forward, parameters + 1), (Scheme::Central, 2 * parameters)] {
            calls.set(0);
            let found = numerical_jacobian(f, &values(parameters, 1), scheme, 1e-5);
            assert_eq!((calls.get(), found.evaluations), (expected, expected));
        }
    }
    // A backward rule that is wrong in one place: entry 2 gets twice its share.
    let wrong = CustomOp::new("square, wrongly", |x| x[0].square()).with_backward(|x, _, g| {
        let factor = Tensor::from([2.0, 2.0, 4.0, 2.0]);
        vec![g * &x[0] * factor]
    });
    let x = Tensor::from([0.5, 1.5, 2.5, -1.0]);
    let report = gradcheck(|x: &[Tensor]| wrong.apply(&[&x[0]]).sum(), &[x]).unwrap_err();
    let CheckError::Mismatch(found) = &report else { panic!("{report}") };
    assert_eq!((found.input, found.entry.1.as_slice()), (0, &[2][..]));
    assert!((found.automatic - 10.0).abs() < 1e-12 && (found.numerical - 5.0).abs() < 1e-6);
    let text = report.to_string();
    assert!(text.contains("entry [2] of input 0") && text.contains("automatic 10"), "{text}");
    // A derivative that is much too large, infinite or not a number is reported as well, by its place.
    for slope in [1e150, 1e200, -1e200, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let wrong = CustomOp::new("sine, wrongly", |x| x[0].sin())
            .with_backward(move |x, _, g| vec![g * x[0].cos() + Tensor::from([0.0, 0.0, slope])]);
        let report =
            gradcheck(|x: &[Tensor]| wrong.apply(&[&x[0]]).sum(), &[Tensor::from([0.5, 1.5, 2.5])]).unwrap_err();
        let CheckError::Mismatch(found) = &report else { panic!("{report}") };
        assert_eq!((found.input, found.entry.1.as_slice()), (0, &[2][..]), "{slope:e}");
        assert!(found.automatic == slope || found.automatic.is_nan() && slope.is_nan(), "{report}");
        assert!(report.to_string().len() < 200, "{report}");
    }
    // Right ones pass at any size; an infinite one has nothing that confirms it.
    for factor in [1e-300, 1e-200, 1e200, 1e300] {
        gradcheck(|x: &[Tensor]| &x[0] * factor, &[values(4, 1)]).unwrap();
    }
    // A large constant hides the slope from small steps only: wrong rules are found, and the right one passes or is undecided.
    for (constant, slope) in [(1e9, 0.0), (1e12, 1000.0), (1e12, -1.0)] {
        let f = move |x: &[Tensor]| x[0].sin() + constant;
        let wrong = CustomOp::new("sine far up, wrongly", f).with_backward(move |x, _, g| vec![g * x[0].cos() * slope]);
        let report = gradcheck(|x: &[Tensor]| wrong.apply(&[&x[0]]), &[Tensor::from([1.0])]).unwrap_err();
        assert!(
            matches!(report, CheckError::Mismatch(_) | CheckError::Undecided(_)),
            "{constant:e}, {slope}: {report}"
        );
    }
    gradcheck(|x: &[Tensor]| x[0].sin() + 1e6, &[Tensor::from([1.0])]).unwrap();
    let far = GradCheck { order: 1, ..GradCheck::default() }.check(|x| x[0].sin() + 1e12, &[Tensor::from([1.0])]);
    assert!(matches!(far, Ok(()) | Err(CheckError::Undecided(_))), "{far:?}");
    let infinite = gradcheck(|x: &[Tensor]| x[0].sqrt().sum(), &[Tensor::from([4.0, 0.0])]).unwrap_err();
    assert!(infinite.to_string().contains("entry [1] of input 0: automatic inf"), "{infinite}");
    assert!(
        GradCheck { tolerance: f64::INFINITY, ..GradCheck::default() }.check(|x| x[0].sin(), &[values(2, 1)]).is_err()
    );
    let right = CustomOp::new("square", |x| x[0].square()).with_backward(|x, _, g| vec![g * &x[0] * 2.0]);
    gradcheck(|x: &[Tensor]| right.apply(&[&x[0]]).sum(), &[values(4, 1)]).unwrap();
}

#[test]
fn b11_primitives_expose_both_jacobians_or_refuse() {
    let check = GradCheck { order: 1, ..GradCheck::default() };
    let mut with_two_operands = 0;
    for sample in registry() {
        check.check(sample.apply, &sample.inputs).unwrap_or_else(|error| panic!("{}: {error}", sample.name));
        with_two_operands += usize::from(sample.inputs.len() > 1);
    }
    assert!(with_two_operands > 20, "only {with_two_operands} primitives with a second operand");

    // y = W x + b: the Jacobian by x is (c', c) and equals W; the one by W is (c', c' c).
    let (x, w, b) = (values(3, 1), values([2, 3], 2), values(2, 3));
    let layer = |x: &Tensor, w: &Tensor| x.linear(w, Some(&b), Activation::Identity);
    let by_x = jacobian(|x: &Tensor| layer(x, &w), &x);
    assert_eq!(by_x.shape(), &[2, 3]);
    close(&by_x, &w, TOL64);
    let by_w = jacobian(|w: &Tensor| layer(&x, w), &w).reshape([2, 6]);
    let zeros = Tensor::zeros(3, x.dtype());
    let expected = Tensor::stack(&[&Tensor::concat(&[&x, &zeros], 0), &Tensor::concat(&[&zeros, &x], 0)], 0);
    close(&by_w, &expected, TOL64);

    // Without a derivative, building the graph is refused, not the backward pass; plain values still work.
    let bare = CustomOp::new("no rule", |x| x[0].square());
    assert_eq!(bare.apply(&[&x]).shape(), x.shape());
    let refused = bare.try_apply(&[&x.requires_grad()]).unwrap_err();
    assert!(matches!(refused, Error::Derivative { op: "no rule", .. }), "{refused}");
    let found = std::cell::RefCell::new(None);
    let keep = |x: &Tensor| match bare.try_apply(&[x]) {
        Ok(y) => y,
        Err(error) => {
            found.replace(Some(error));
            x.detach()
        }
    };
    let _ = jvp(keep, &x, &x);
    assert!(matches!(found.into_inner(), Some(Error::Derivative { op: "no rule", .. })));
}
