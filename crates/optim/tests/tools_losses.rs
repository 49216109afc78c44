//! D1 to D8, D10, D11, D13 and D15: the losses one by one.

// In helpers, too, an error is to end the test.
#![allow(clippy::unwrap_used)]

mod support;

use support::{close, fixture, input, near, output, tensor};
use tove_optim::losses::{
    Absolute, BinaryCrossEntropy, BinaryLogits, CrossEntropy, Exponential, Hinge, Huber, Logistic, Loss, Margin,
    Perfect, Smoothing, Softmax, Squared, ZeroOne, margins, smooth_targets,
};
use tove_optim::{Method, Newton, Objective, RiskFit, check_subgradient};
use tove_tensor::{DType, Error, GradCheck, Key, Reduction, Scheme, Tensor, grad, numerical_jacobian};

fn normal(seed: u64, shape: &[usize]) -> Tensor {
    Key::new(seed).normal(shape, DType::F64)
}

/// The gradient of the mean loss by the prediction.
fn slope(loss: &dyn Loss, prediction: &Tensor, target: &Tensor) -> Tensor {
    grad(|p: &Tensor| loss.mean(p, target).unwrap())(prediction)
}

fn mean(loss: &dyn Loss, prediction: &Tensor, target: &Tensor) -> f64 {
    loss.mean(prediction, target).unwrap().to_f64_vec()[0]
}

/// Every loss with a prediction off its kinks and a target.
fn samples() -> Vec<(Box<dyn Loss>, Tensor, Tensor)> {
    let (p, y, signs) = (normal(1, &[7]) * 2.0, normal(2, &[7]), normal(3, &[7]).sign());
    let (scores, classes) = (normal(4, &[7, 4]), Key::new(5).integers(0, 4, [7]));
    let soft = normal(6, &[7, 4]).softmax(-1);
    let (probabilities, shares) = (normal(7, &[7]).sigmoid(), normal(8, &[7]).sigmoid());
    let weights = Some(Tensor::from([0.5, 1.0, 2.0, 0.25]));
    let smoothed = |smoothing| Softmax { smoothing, class_weights: None };
    let weighted = |smoothing| Softmax { smoothing, class_weights: weights.clone() };
    vec![
        (Box::new(Squared), p.clone(), y.clone()),
        (Box::new(Absolute), p.clone(), y.clone()),
        (Box::new(Huber::default()), p.clone(), y.clone()),
        (Box::new(Huber { delta: 0.3 }), p.clone(), y.clone()),
        (Box::new(Hinge), p.clone(), signs.clone()),
        (Box::new(Logistic), p.clone(), signs.clone()),
        (Box::new(Exponential), p.clone(), signs.clone()),
        (Box::new(CrossEntropy::default()), scores.softmax(-1), classes.clone()),
        (Box::new(CrossEntropy::default()), scores.softmax(-1), soft.clone()),
        (Box::new(CrossEntropy { class_weights: weights.clone() }), scores.softmax(-1), classes.clone()),
        (Box::new(Softmax::default()), scores.clone(), classes.clone()),
        (Box::new(Softmax::default()), scores.clone(), soft.clone()),
        (Box::new(smoothed(Smoothing::Others(0.2))), scores.clone(), classes.clone()),
        (Box::new(smoothed(Smoothing::Uniform(0.2))), scores.clone(), classes.clone()),
        (Box::new(weighted(Smoothing::None)), scores.clone(), classes.clone()),
        (Box::new(BinaryCrossEntropy), probabilities, shares.clone()),
        (Box::new(BinaryLogits::default()), p.clone(), shares.clone()),
        (Box::new(BinaryLogits { positive_weight: 3.0 }), p.clone(), shares),
        (Box::new(BinaryLogits::default()), p.clone(), (&signs + 1.0) / 2.0),
        (Box::new(ZeroOne), p.clone(), signs.clone()),
        (Box::new(Margin), p, signs),
    ]
}

#[test]
fn d1_losses_reduce_to_rank_zero_pass_gradcheck_and_are_least_at_perfection() {
    let (mut attained, mut never) = (0, 0);
    for (loss, p, y) in samples() {
        let name = loss.name();
        for (reduction, rank) in [(Reduction::Mean, 0), (Reduction::Sum, 0), (Reduction::None, 1)] {
            assert_eq!(loss.reduced(&p, &y, reduction).unwrap().rank(), rank, "{name}");
        }
        let each = loss.each(&p, &y).unwrap();
        near(loss.reduced(&p, &y, Reduction::Sum).unwrap().item(), each.sum().item(), 1e-12);
        // Weights equal to copies, and equal weights to none.
        near(
            loss.weighted(&p, &y, &Tensor::full([7], 2.0, DType::F64)).unwrap().item(),
            mean(loss.as_ref(), &p, &y),
            1e-12,
        );
        let doubled = |t: &Tensor| Tensor::concat(&[t, &t.narrow(0, 2, 1)], 0);
        let copies = Tensor::from([1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0]);
        near(loss.weighted(&p, &y, &copies).unwrap().item(), mean(loss.as_ref(), &doubled(&p), &doubled(&y)), 1e-12);
        assert!(loss.weighted(&p, &y, &Tensor::from([1.0])).is_err());
        // f32 gives f32.
        let y32 = if y.dtype() == DType::I64 { y.clone() } else { y.to_dtype(DType::F32) };
        if !format!("{:?}", loss.counts(&y).unwrap()).contains("Some") {
            let single = loss.mean(&p.to_dtype(DType::F32), &y32).unwrap();
            assert_eq!(single.dtype(), DType::F32);
            near(single.to_f64_vec()[0], mean(loss.as_ref(), &p, &y), 1e-5);
        }
        if loss.trainable().is_ok() {
            GradCheck::default().check(|x| loss.mean(&x[0], &y).unwrap(), std::slice::from_ref(&p)).unwrap();
            GradCheck::default().check(|x| loss.each(&x[0], &y).unwrap(), std::slice::from_ref(&p)).unwrap();
        }
        match loss.perfect(&p, &y).unwrap() {
            Perfect::Never(reason) => {
                assert!(reason.len() > 20, "{name} says why");
                never += 1;
            }
            Perfect::At(best) => {
                attained += 1;
                let least = mean(loss.as_ref(), &best, &y);
                for i in 0..100 {
                    let noise = normal(100 + i, best.dims()) * 0.2;
                    // Probabilities stay such: mixed with others instead of shifted.
                    let other = match name {
                        "cross_entropy" => &best * 0.8 + noise.softmax(-1) * 0.2,
                        "binary_cross_entropy" => &best * 0.8 + noise.sigmoid() * 0.2,
                        _ => &best + noise,
                    };
                    assert!(mean(loss.as_ref(), &other, &y) >= least - 1e-12, "{name}");
                }
            }
        }
        // (n) against (n, 1) is refused, never stretched.
        if y.dtype() != DType::I64 && p.rank() == 1 {
            assert!(matches!(loss.mean(&p, &y.reshape([7, 1])), Err(Error::ShapePair { .. })), "{name}");
            assert!(matches!(loss.mean(&p, &y.to_dtype(DType::F32)), Err(Error::DTypePair { .. })), "{name}");
        }
    }
    assert!(attained >= 12 && never >= 5, "{attained} {never}");
}

#[test]
fn d3_zero_one_is_one_minus_accuracy_and_refuses_training() {
    let fixture = fixture();
    let case = fixture.case("signs");
    let (p, y) = (input(case, "prediction"), input(case, "target"));
    near(mean(&ZeroOne, &p, &y), 1.0 - case.output("accuracy").scalar(), 1e-12);
    // Its slope is 0 wherever it is defined.
    let slopes = numerical_jacobian(|p: &Tensor| ZeroOne.each(p, &y).unwrap(), &p, Scheme::Central, 1e-5);
    assert!(slopes.jacobian.to_f64_vec().iter().all(|slope| *slope == 0.0));
    // Asking to train on it is a typed error, by derivative and by fit.
    let risk = tove_optim::objective::Fallible(|p: &Tensor| ZeroOne.mean(p, &y));
    assert!(matches!(risk.gradient(&p), Err(Error::Derivative { .. })));
    let model = |w: &Tensor, x: &Tensor| x.matmul(w);
    let fit = RiskFit::new(&ZeroOne).run(model, &Tensor::from([0.0]), &p.reshape([40, 1]), &y);
    assert!(matches!(&fit, Err(Error::Derivative { .. })));
    assert!(fit.err().unwrap().to_string().contains("Hinge"));
    // sign(0) = 0 takes no side: wrong for both classes.
    let zero = Tensor::from([0.0, 0.0]);
    assert_eq!(ZeroOne.each(&zero, &Tensor::from([1.0, -1.0])).unwrap().to_vec::<f64>(), [1.0, 1.0]);
    // Classes 0 and 1 in place of −1 and +1 are a typed error.
    let labels = ZeroOne.mean(&p, &((&y + 1.0) / 2.0)).unwrap_err();
    assert!(matches!(labels, Error::Parameter { .. }) && labels.to_string().contains("y * 2"));
}

#[test]
fn d4_the_margin_is_a_score_whose_sign_is_correctness() {
    let (p, y) = (normal(1, &[5000]), normal(2, &[5000]).sign());
    let m = margins(&p, &y).unwrap().to_vec::<f64>();
    let wrong = ZeroOne.each(&p, &y).unwrap().to_vec::<f64>();
    assert!(m.iter().zip(&wrong).all(|(m, wrong)| (*m > 0.0) == (*wrong == 0.0) && (*m < 0.0) == (*wrong == 1.0)));
    assert_eq!(Margin.each(&p, &y).unwrap().to_vec::<f64>(), m);
    // As a loss it would favour wrong answers: it is lowest where all is wrong. It refuses, and every surrogate decreases in it.
    assert!(mean(&Margin, &-&y, &y) < mean(&Margin, &y, &y));
    assert!(matches!(Margin.trainable(), Err(Error::Derivative { .. })));
    let risk = tove_optim::objective::Fallible(|p: &Tensor| Margin.mean(p, &y));
    assert!(matches!(risk.gradient(&p), Err(Error::Derivative { .. })));
    let losses: [&dyn Loss; 3] = [&Hinge, &Logistic, &Exponential];
    assert!(losses.iter().all(|loss| mean(*loss, &-&y, &y) > mean(*loss, &y, &y)));
}

#[test]
fn d5_hinge_matches_scikit_learn_has_subgradients_at_its_kink_and_bounds_zero_one() {
    let fixture = fixture();
    let case = fixture.case("signs");
    let (p, y) = (input(case, "prediction"), input(case, "target"));
    near(mean(&Hinge, &p, &y), case.output("hinge").scalar(), 1e-10);
    for sign in [1.0, -1.0] {
        let (kink, target) = (Tensor::from([sign]), Tensor::from([sign])); // margin 1
        let g = slope(&Hinge, &kink, &target).item::<f64>();
        assert!(g * -sign >= 0.0 && g.abs() <= 1.0, "{g} lies between −y and 0");
        let f = |p: &Tensor| Hinge.mean(p, &target).unwrap();
        let accepted = |g: f64| check_subgradient(&f, &kink, &Tensor::from([g]), 5.0, 700, 0).unwrap().is_none();
        assert!(accepted(g) && accepted(0.0) && accepted(-sign) && accepted(-sign / 2.0));
        assert!(!accepted(sign * 0.01) && !accepted(-sign * 1.01), "a kink, not a differentiable point");
    }
    let (p, y) = (normal(3, &[4000]) * 2.0, normal(4, &[4000]).sign());
    let (hinge, wrong) = (Hinge.each(&p, &y).unwrap(), ZeroOne.each(&p, &y).unwrap());
    assert!((hinge - wrong).min().item::<f64>() >= 0.0);
}

#[test]
fn d6_surrogates_decrease_in_the_margin_and_bound_zero_one() {
    let m = Tensor::linspace(-6.0, 6.0, 2401);
    let y = m.ones_like();
    let wrong = ZeroOne.each(&m, &y).unwrap();
    for (loss, scale) in [(&Hinge as &dyn Loss, 1.0), (&Logistic, 1.0 / 2f64.ln()), (&Exponential, 1.0)] {
        let values = loss.each(&m, &y).unwrap();
        assert!(values.to_vec::<f64>().windows(2).all(|pair| pair[1] <= pair[0]), "{}", loss.name());
        let slopes = grad(|m: &Tensor| loss.each(m, &y).unwrap().sum())(&m);
        assert!(slopes.max().item::<f64>() <= 0.0);
        assert!((&values * scale - &wrong).min().item::<f64>() >= -1e-15, "{} bounds 0/1", loss.name());
        // Convex: slopes never fall.
        assert!(slopes.to_vec::<f64>().windows(2).all(|pair| pair[1] >= pair[0] - 1e-12));
        // A function of the product alone.
        close(&loss.each(&-&m, &-&y).unwrap(), &values, 1e-15);
    }
    // Unscaled, the logistic does not bound it.
    let logistic = mean(&Logistic, &Tensor::from([-0.1]), &Tensor::from([1.0]));
    assert!(logistic < 1.0);
}

#[test]
fn d7_squared_and_absolute_match_scikit_learn_and_lead_to_mean_and_median() {
    let fixture = fixture();
    let case = fixture.case("regression");
    let (p, y) = (input(case, "prediction"), input(case, "target"));
    near(mean(&Squared, &p, &y), case.output("squared").scalar(), 1e-10);
    near(mean(&Absolute, &p, &y), case.output("absolute").scalar(), 1e-10);
    let weighted = fixture.case("weighted");
    let w = input(weighted, "weights");
    near(Squared.weighted(&p, &y, &w).unwrap().item(), weighted.output("squared").scalar(), 1e-10);
    near(Absolute.weighted(&p, &y, &w).unwrap().item(), weighted.output("absolute").scalar(), 1e-10);
    // Gradients 2(ŷ − y) and sign, each over n.
    close(&(slope(&Squared, &p, &y) * 40.0), &((&p - &y) * 2.0), 1e-10);
    close(&(slope(&Absolute, &p, &y) * 40.0), &(&p - &y).sign(), 1e-10);
    let at_zero = |g: f64| {
        let f = |p: &Tensor| Absolute.mean(p, &Tensor::from([2.0])).unwrap();
        check_subgradient(&f, &Tensor::from([2.0]), &Tensor::from([g]), 5.0, 700, 0).unwrap().is_none()
    };
    assert!([-1.0, -0.3, 0.0, 0.7, 1.0].iter().all(|g| at_zero(*g)) && !at_zero(1.01) && !at_zero(-1.01));
    assert_eq!(slope(&Absolute, &Tensor::from([2.0]), &Tensor::from([2.0])).item::<f64>(), 0.0);
    // Constant minimisers.
    let constant = |c: &Tensor, x: &Tensor| x * 0.0 + c;
    let (zero, targets) = (Tensor::from([0.3]), y.narrow(0, 0, 39)); // an odd number: one median
    let newton = Method::Newton(Newton::default());
    let found = RiskFit::new(&Squared).method(newton).run(constant, &zero, &targets, &targets).unwrap().parameters;
    near(found.item(), targets.mean().item(), 1e-10);
    let steps = Method::Subgradient { step: 1.0, iterations: 20_000 };
    let found = RiskFit::new(&Absolute).method(steps).run(constant, &zero, &targets, &targets).unwrap().parameters;
    near(found.item(), targets.median().item(), 1e-2);
    // Exactly: at the median as many targets lie above as below, so that 0 is a subgradient; at the mean it is not.
    let total = |c: &Tensor| Absolute.mean(&(targets.zeros_like() + c), &targets).unwrap();
    let refuted = |at: Tensor| check_subgradient(&total, &at, &Tensor::from([0.0]), 3.0, 2000, 0).unwrap().is_some();
    assert!(!refuted(targets.median().reshape([1])) && refuted(targets.mean().reshape([1])));
}

#[test]
fn d8_huber_matches_torch_and_joins_smoothly() {
    let at = |e: f64, delta: f64| mean(&Huber { delta }, &Tensor::from([e]), &Tensor::from([0.0]));
    assert_eq!((at(0.5, 1.0), at(2.0, 1.0), at(-2.0, 1.0)), (0.125, 1.5, 1.5));
    near(at(5.0, 2.0), 2.0 * (5.0 - 1.0), 1e-15);
    for delta in [0.5, 1.0, 3.0] {
        for sign in [1.0, -1.0] {
            let joint = |shift: f64| Tensor::from([sign * (delta + shift)]);
            let value = |shift| mean(&Huber { delta }, &joint(shift), &Tensor::from([0.0]));
            let slope = |shift| slope(&Huber { delta }, &joint(shift), &Tensor::from([0.0])).item::<f64>();
            let tiny = 1e-9;
            assert!(
                (value(tiny) - value(-tiny)).abs() < 4.0 * tiny * delta
                    && (value(0.0) - delta * delta / 2.0).abs() < 1e-12
            );
            assert!((slope(tiny) - slope(-tiny)).abs() < 4.0 * tiny && (slope(0.0) - sign * delta).abs() < 1e-12);
        }
    }
    compare_with_torch("huber", |case| Box::new(Huber { delta: case.attrs["delta"].as_f64().unwrap() }));
    assert!(matches!(
        Huber { delta: 0.0 }.mean(&Tensor::from([1.0]), &Tensor::from([1.0])),
        Err(Error::Parameter { .. })
    ));
}

/// Value and gradient against torch, for all cases whose name begins so.
fn compare_with_torch(start: &str, loss: impl Fn(&support::Case) -> Box<dyn Loss>) {
    let fixture = fixture();
    let cases = fixture.cases_starting(&format!("{start} "));
    assert!(cases.len() >= 2);
    for case in
        cases.into_iter().filter(|case| case.name[start.len() + 1..].starts_with(|c: char| c == 'f' || c.is_numeric()))
    {
        let (loss, p, y) = (loss(case), input(case, "prediction"), input(case, "target"));
        let tolerance = if p.dtype() == DType::F32 { 1e-5 } else { 1e-10 };
        let found = loss.mean(&p, &y).unwrap();
        assert_eq!(found.dtype(), p.dtype());
        near(found.to_f64_vec()[0], output(case, "y").to_f64_vec()[0], tolerance);
        close(&slope(loss.as_ref(), &p, &y), &tensor(case.grad("prediction")), tolerance);
    }
}

#[test]
fn d10_cross_entropy_of_probabilities() {
    let fixture = fixture();
    let case = fixture.case("log_loss");
    let (p, classes) = (input(case, "prediction"), input(case, "target"));
    let loss = CrossEntropy::default();
    near(mean(&loss, &p, &classes), output(case, "y").item(), 1e-10);
    let codes = classes.one_hot(4, DType::F64);
    near(mean(&loss, &p, &codes), mean(&loss, &p, &classes), 1e-15);
    close(&slope(&loss, &p, &codes), &slope(&loss, &p, &classes), 1e-14);
    // Zero probability for what happens is +∞; for what does not, it costs nothing and has no slope. Never NaN.
    let sure = Tensor::from([[0.0, 1.0, 0.0]]);
    for target in [Tensor::from([0i64]), Tensor::from([2i64])] {
        assert_eq!(mean(&loss, &sure, &target), f64::INFINITY);
        assert_eq!(mean(&loss, &sure, &target.one_hot(3, DType::F64)), f64::INFINITY);
    }
    assert_eq!(mean(&loss, &sure, &Tensor::from([1i64])), 0.0);
    assert_eq!(mean(&loss, &sure, &sure), 0.0);
    assert_eq!(slope(&loss, &sure, &sure).to_vec::<f64>(), [0.0, -1.0, 0.0]);
    // Raising the true score lowers every other probability.
    let scores = normal(9, &[50, 5]);
    for class in 0..5 {
        let code = Tensor::from([class as i64]).one_hot(5, DType::F64);
        let (before, after) = (scores.softmax(-1), (&scores + &code * 0.1).softmax(-1));
        let change = (after - before).to_vec::<f64>();
        assert!(change.iter().enumerate().all(|(i, d)| if i % 5 == class { *d > 0.0 } else { *d < 0.0 }));
    }
    assert!(matches!(loss.mean(&p, &Tensor::from([0i64])), Err(Error::ShapePair { .. })));
    assert!(matches!(loss.mean(&Tensor::scalar(0.5), &Tensor::scalar(0i64)), Err(Error::Shape { .. })));
}

#[test]
fn d11_binary_cross_entropy_by_probability_and_by_logit() {
    let (z, y) = (normal(1, &[30]), (normal(2, &[30]).sign() + 1.0) / 2.0);
    let p = z.sigmoid();
    near(mean(&BinaryCrossEntropy, &p, &y), mean(&BinaryLogits::default(), &z, &y), 1e-12);
    GradCheck::default().check(|x| BinaryCrossEntropy.mean(&x[0], &y).unwrap(), std::slice::from_ref(&p)).unwrap();
    GradCheck::default().check(|x| BinaryLogits::default().mean(&x[0], &y).unwrap(), std::slice::from_ref(&z)).unwrap();
    // By p: −y/p + (1−y)/(1−p), not its negative; by the logit: p − y.
    let by_p = (1.0 - &y) / (1.0 - &p) - &y / &p;
    close(&(slope(&BinaryCrossEntropy, &p, &y) * 30.0), &by_p, 1e-10);
    assert!((slope(&BinaryCrossEntropy, &p, &y) * 30.0 + &by_p).norm(2.0).item::<f64>() > 1.0, "the sign matters");
    close(&(slope(&BinaryLogits::default(), &z, &y) * 30.0), &(&p - &y), 1e-10);
    // Stable far out, with slopes, and at 0.
    let (far, labels) =
        (Tensor::from([1000.0, 1000.0, -1000.0, -1000.0, 0.0]), Tensor::from([1.0, 0.0, 1.0, 0.0, 1.0]));
    let each = BinaryLogits::default().each(&far, &labels).unwrap();
    assert_eq!(each.to_vec::<f64>(), [0.0, 1000.0, 1000.0, 0.0, 2f64.ln()]);
    assert_eq!((slope(&BinaryLogits::default(), &far, &labels) * 5.0).to_vec::<f64>(), [0.0, 1.0, -1.0, 0.0, -0.5]);
    let small = BinaryLogits::default().each(&Tensor::from([40.0]), &Tensor::from([1.0])).unwrap().item::<f64>();
    assert!((small / (-40f64).exp() - 1.0).abs() < 1e-12, "full relative precision where the loss is tiny");
    compare_with_torch("logits", |_| Box::new(BinaryLogits::default()));
    compare_with_torch("logits weighted", |_| Box::new(BinaryLogits { positive_weight: 2.5 }));
    // The probability form at certainty: +∞ for a miss, 0 for a hit, never NaN.
    let each =
        BinaryCrossEntropy.each(&Tensor::from([0.0, 1.0, 0.0, 1.0]), &Tensor::from([0.0, 1.0, 1.0, 0.0])).unwrap();
    assert_eq!(each.to_vec::<f64>(), [0.0, 0.0, f64::INFINITY, f64::INFINITY]);
}

#[test]
fn d13_softmax_loss_of_scores_matches_torch() {
    compare_with_torch("softmax", |_| Box::new(Softmax::default()));
    compare_with_torch("soft targets", |_| Box::new(Softmax::default()));
    let weights = |dtype| Some(Tensor::from([0.5, 1.0, 2.0, 0.25, 1.5]).to_dtype(dtype));
    let weighted = |case: &support::Case, smoothing| {
        let dtype = input(case, "prediction").dtype();
        Box::new(Softmax { smoothing, class_weights: weights(dtype) }) as Box<dyn Loss>
    };
    compare_with_torch("class weights", |case| weighted(case, Smoothing::None));
    compare_with_torch("class weights soft", |case| weighted(case, Smoothing::None));
    compare_with_torch("class weights smoothed", |case| weighted(case, Smoothing::Uniform(0.2)));
    // The definition: mean of LSE − a_y, with a_y the score of the true class at x, and gradient softmax − onehot.
    let (scores, classes) = (normal(1, &[9, 4]) * 3.0, Key::new(2).integers(0, 4, [9]));
    let chosen = scores.gather(-1, &classes.reshape([9, 1])).reshape([9]);
    let loss = Softmax::default();
    near(mean(&loss, &scores, &classes), (scores.logsumexp(&[-1], false) - chosen).mean().item(), 1e-12);
    let expected = scores.softmax(-1) - classes.one_hot(4, DType::F64);
    close(&(slope(&loss, &scores, &classes) * 9.0), &expected, 1e-12);
    GradCheck::default().check(|x| loss.mean(&x[0], &classes).unwrap(), std::slice::from_ref(&scores)).unwrap();
    near(mean(&loss, &scores, &classes), mean(&CrossEntropy::default(), &scores.softmax(-1), &classes), 1e-12);
}

#[test]
fn d15_label_smoothing_takes_from_the_true_class_and_sums_to_one() {
    let classes = Key::new(1).integers(0, 4, [6]);
    for alpha in [0.0, 0.1, 0.5, 1.0] {
        let targets = smooth_targets(&classes, 4, Smoothing::Others(alpha), DType::F64).unwrap();
        close(&targets.sum_axes(&[-1], false), &Tensor::ones([6], DType::F64), 1e-15);
        for (row, class) in classes.to_vec::<i64>().iter().enumerate() {
            for c in 0..4 {
                let expected = if c as i64 == *class { 1.0 - alpha } else { alpha / 3.0 };
                near(targets.at(&[row, c]), expected, 1e-15);
            }
        }
    }
    // PyTorch's ε is α = ε (C − 1)/C.
    compare_with_torch("smoothing", |case| {
        let epsilon = case.attrs["epsilon"].as_f64().unwrap();
        Box::new(Softmax { smoothing: Smoothing::Others(epsilon * 4.0 / 5.0), class_weights: None })
    });
    compare_with_torch("smoothing", |case| {
        let smoothing = Smoothing::Uniform(case.attrs["epsilon"].as_f64().unwrap());
        Box::new(Softmax { smoothing, class_weights: None })
    });
    // −Σ y′ log p from probabilities, and α = 0 is plain cross-entropy.
    let scores = normal(2, &[6, 4]);
    let smoothing = Smoothing::Others(0.3);
    let targets = smooth_targets(&classes, 4, smoothing, DType::F64).unwrap();
    let by_scores = mean(&Softmax { smoothing, class_weights: None }, &scores, &classes);
    near(by_scores, mean(&CrossEntropy::default(), &scores.softmax(-1), &targets), 1e-12);
    let none = Softmax { smoothing: Smoothing::Others(0.0), class_weights: None };
    near(mean(&none, &scores, &classes), mean(&CrossEntropy::default(), &scores.softmax(-1), &classes), 1e-12);
    let wrong = Softmax { smoothing: Smoothing::Others(1.5), class_weights: None };
    assert!(matches!(wrong.mean(&scores, &classes), Err(Error::Parameter { .. })));
}
