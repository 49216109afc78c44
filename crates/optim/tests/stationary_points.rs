//! What is said about stationary points: labels, certificates, the end of a run, and divergence.

// In helpers, too, an error is to end the test.
#![allow(clippy::unwrap_used)]

mod support;

use support::near;
use tove_optim::{Claim, DivergenceWatch, Objective, PointKind, Rules, classify, gradient_descent, second_order};
use tove_tensor::{DType, Tensor};

/// The label of a point is the same for f and for c f, and small gradients alone make no minimum.
#[test]
fn labels_do_not_depend_on_the_scale_of_the_function() {
    let at = |f: &dyn Objective, x: &[f64]| classify(f, &Tensor::from(x.to_vec()), 1e-3).unwrap().kind;
    for scale in [1e-30, 1e-8, 1.0, 1e8, 1e30] {
        // No stationary point anywhere: the gradient is as large as the curvature.
        for x in [-20.0, -3.0, 0.0, 5.0] {
            assert_eq!(at(&|x: &Tensor| x.exp().sum() * scale, &[x]), PointKind::NotStationary, "{scale:e} exp at {x}");
        }
        // x³ has no minimum, however near to 0 one looks.
        for x in [1e-2, 1e-4, 1e-7, 1e-12] {
            let cubic = |x: &Tensor| x.powf(3.0).sum() * scale;
            assert!(
                !matches!(at(&cubic, &[x]), PointKind::Minimum | PointKind::Maximum | PointKind::Saddle),
                "{scale:e} x³ at {x}"
            );
            assert!(!second_order(&cubic, &Tensor::from([x])).unwrap().accepted);
        }
        // Next to a minimum, a maximum or a saddle the label is theirs; farther away there is none.
        let bowl = |x: &Tensor| ((x - 2.0).square() + (x - 2.0).powf(4.0)).sum() * scale;
        let saddle = |x: &Tensor| (x.get(0).square() - x.get(1).square()) * scale;
        for d in [0.0, 1e-12, 1e-8] {
            assert_eq!(at(&bowl, &[2.0 + d, 2.0 - d]), PointKind::Minimum, "{scale:e}, {d:e}");
            assert_eq!(at(&|x: &Tensor| -bowl(x), &[2.0 + d, 2.0 - d]), PointKind::Maximum);
            assert_eq!(at(&saddle, &[d, d]), PointKind::Saddle);
        }
        for f in [&bowl as &dyn Objective, &saddle] {
            assert_eq!(at(f, &[2.0 + 1e-3, 2.1]), PointKind::NotStationary);
        }
    }
    let found = second_order(&|x: &Tensor| x.powf(3.0).sum(), &Tensor::from([1e-8])).unwrap();
    assert!(!found.accepted && found.because.contains("does not confirm"), "{}", found.because);
}

#[test]
fn a_run_that_ends_at_a_saddle_has_no_minimiser() {
    let refused = |f: &dyn Objective, start: Tensor| {
        let run = gradient_descent(f, &start, 0.1, &Rules::default()).unwrap();
        let error = run.minimiser().unwrap_err();
        assert!(error.is_data() && error.to_string().contains("saddle or a maximum"), "{error}");
        let escape = run.escape.clone().unwrap();
        assert!(escape.value < run.value);
        let there = &run.x + &escape.direction * escape.distance;
        near(f.value(&there).unwrap(), escape.value, 1e-12);
        (run, escape)
    };
    let saddle = |x: &Tensor| x.get(0).square() - x.get(1).square();
    let (run, escape) = refused(&saddle, Tensor::from([3.0, 0.0]));
    assert_eq!(run.claim(), Claim::Stationary);
    near(escape.curvature, -2.0, 1e-9);
    refused(&|x: &Tensor| -x.square().sum(), Tensor::zeros([3], DType::F64));
    // Without curvature: the gradient is exactly zero, and values decide.
    refused(&|x: &Tensor| x.powf(3.0).sum(), Tensor::from([0.0]));
    let monkey = |x: &Tensor| x.get(0).powf(3.0) - x.get(0) * x.get(1).square() * 3.0;
    refused(&monkey, Tensor::from([0.0, 0.0]));
    // One downward direction among two hundred, found from products with the Hessian.
    let signs =
        Tensor::from((0..200).map(|i| if i == 137 { -0.3 } else { 1.0 + 0.01 * f64::from(i) }).collect::<Vec<f64>>());
    let many = |x: &Tensor| (x.square() * &signs).sum();
    let (_, escape) =
        refused(&many, Tensor::ones([200], DType::F64) * (1.0 - signs.lt_scalar(0.0).to_dtype(DType::F64)));
    near(escape.direction.at::<f64>(&[137]).abs(), 1.0, 1e-3);
    // Minima are minima: simple, flat in some directions, or of fourth order.
    let accepted = |f: &dyn Objective, start: Tensor| {
        let run = gradient_descent(f, &start, 0.1, &Rules { max_iterations: 200_000, ..Rules::default() }).unwrap();
        run.minimiser().unwrap_or_else(|error| panic!("{error}"));
    };
    accepted(&|x: &Tensor| (x - 1.0).square().sum(), Tensor::zeros([3], DType::F64));
    accepted(&|x: &Tensor| x.get(0).square() + x.get(1) * 0.0, Tensor::from([1.0, 5.0]));
    accepted(&|x: &Tensor| x.powf(4.0).sum(), Tensor::from([0.0]));
    accepted(&|x: &Tensor| (x - 1.0).square().sum(), Tensor::zeros([100], DType::F64));
}

/// A loss of exactly 0 at the first step has no size that later ones could be compared with.
#[test]
fn divergence_is_not_seen_behind_a_first_loss_of_zero() {
    let mut watch = DivergenceWatch::default();
    for loss in [0.0, 0.0, 0.5, 0.7, 20.0, 0.0, 49.0] {
        watch.observe(loss).unwrap();
    }
    assert!(watch.observe(51.0).unwrap_err().to_string().contains("diverges"));
    let mut zero = DivergenceWatch::default();
    assert!((0..100).all(|_| zero.observe(0.0).is_ok()));
    assert!(zero.observe(f64::NAN).is_err() && zero.observe(f64::INFINITY).is_err());
    // A first loss below zero, and one that is not zero, count themselves.
    let mut negative = DivergenceWatch::new(10.0);
    assert!(negative.observe(-2.0).is_ok() && negative.observe(17.0).is_ok() && negative.observe(19.0).is_err());
}
