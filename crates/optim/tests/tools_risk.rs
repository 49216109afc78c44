//! D2, D9, D16 and D17: fitting any model with any loss, outliers, penalties, sparse activations.

// In helpers, too, an error is to end the test.
#![allow(clippy::unwrap_used)]

mod support;

use support::{close, fixture, input, least_squares_data, least_squares_solution, near};
use tove_optim::losses::{Absolute, Exponential, Hinge, Huber, Logistic, Loss, Softmax, Squared};
use tove_optim::penalties::{l1, l2, toward, tying};
use tove_optim::{
    Armijo, Mask, Method, Newton, Norm, NormPenalty, Objective, RiskFit, Rules, SparseActivations, compare,
    gradient_descent, ravel,
};
use tove_tensor::{DType, Error, GradCheck, Key, Tensor, grad};

type Line = (Tensor, Tensor);

fn line((w, b): &Line, x: &Tensor) -> Tensor {
    x.matmul(w) + b
}

fn zero_line(d: usize) -> Line {
    (Tensor::zeros([d], DType::F64), Tensor::zeros((), DType::F64))
}

/// Weights (in, hidden), (hidden); tanh between.
fn mlp((v, u): &(Tensor, Tensor), x: &Tensor) -> Tensor {
    x.matmul(v).tanh().matmul(u)
}

#[test]
fn d2_one_fit_drives_any_model_and_loss_and_repeated_data_change_nothing() {
    let (x, y) = least_squares_data(60, 3, 1);
    let labels = y.sign();
    let classes = (&labels + 1.0).to_dtype(DType::I64) / 2i64;
    let scores = |w: &Tensor, x: &Tensor| x.matmul(w);
    let twice = |t: &Tensor| Tensor::concat(&[t, t], 0);
    // Any pair: the same call for each.
    let newton = || Method::Newton(Newton::default());
    let subgradient = || Method::Subgradient { step: 1.0, iterations: 30_000 };
    let pairs: [(&dyn Loss, Method, &Tensor); 7] = [
        (&Squared, newton(), &y),
        (&Huber { delta: 0.5 }, newton(), &y),
        (&Absolute, subgradient(), &y),
        (&Hinge, subgradient(), &labels),
        (&Logistic, newton(), &labels),
        (&Exponential, Method::Backtracking(Armijo::default(), Rules::default()), &labels),
        (&Squared, Method::GradientDescent { step: 0.2, rules: Rules::default() }, &y),
    ];
    for (loss, method, target) in pairs {
        let fit = RiskFit::new(loss).method(method.clone());
        let (risk, start) = fit.risk(line, &zero_line(3), &x, target).unwrap();
        let (double, _) = fit.risk(line, &zero_line(3), &twice(&x), &twice(target)).unwrap();
        for seed in 0..3 {
            let w = Key::new(seed).normal([4], DType::F64);
            near(double.value(&w).unwrap(), risk.value(&w).unwrap(), 1e-12);
            close(&double.gradient(&w).unwrap(), &risk.gradient(&w).unwrap(), 1e-12);
        }
        // The objective is the mean loss by hand.
        let w = Key::new(9).normal([4], DType::F64);
        let prediction = line(&(w.narrow(0, 0, 3), w.get(3)), &x);
        near(risk.value(&w).unwrap(), loss.each(&prediction, target).unwrap().mean().item(), 1e-12);
        let fitted = fit.run(line, &zero_line(3), &x, target).unwrap();
        assert!(fitted.risk < 0.8 * risk.value(&start).unwrap(), "{}", loss.name());
        // No random point does better, as far as the method resolves: subgradient steps come close slowly.
        let slack = if matches!(method, Method::Subgradient { .. }) { 5e-3 } else { 1e-9 };
        let (found, _) = ravel(&fitted.parameters).unwrap();
        for seed in 0..200 {
            let other = &found + Key::new(seed).normal([4], DType::F64) * 0.1;
            assert!(risk.value(&other).unwrap() >= fitted.risk - slack, "{}", loss.name());
        }
    }
    let rows = Tensor::concat(&[&x, &Tensor::ones([60, 1], DType::F64)], 1);
    let fitted = RiskFit::new(&Squared).method(newton()).run(line, &zero_line(3), &x, &y).unwrap();
    close(&ravel(&fitted.parameters).unwrap().0, &least_squares_solution(&rows, &y), 1e-9);
    // Class scores, and a network with mini-batches.
    let start = Tensor::zeros([3, 2], DType::F64);
    let softmax = RiskFit::new(&Softmax::default()).run(scores, &start, &x, &classes).unwrap();
    assert!(softmax.risk < 0.5 * 2f64.ln());
    let net = (Key::new(1).normal([3, 8], DType::F64) * 0.5, Key::new(2).normal([8], DType::F64) * 0.3);
    let method = Method::Stochastic { batch_size: 10, epochs: 200, step: 0.05, decay: 1e-3, seed: 1 };
    let fitted = RiskFit::new(&Squared).method(method).run(mlp, &net, &x, &y).unwrap();
    assert_eq!(fitted.steps, 1200);
    let before = Squared.mean(&mlp(&net, &x), &y).unwrap().item::<f64>();
    assert!(fitted.risk < before / 3.0);
    // Weights count as copies; f32 works too.
    let weights = Tensor::from_vec((0..60).map(|i| if i < 20 { 2.0 } else { 1.0 }).collect(), [60]);
    let copies = |t: &Tensor| Tensor::concat(&[t, &t.narrow(0, 0, 20)], 0);
    let weighted =
        RiskFit::new(&Squared).method(newton()).sample_weights(&weights).run(line, &zero_line(3), &x, &y).unwrap();
    let copied = RiskFit::new(&Squared).method(newton()).run(line, &zero_line(3), &copies(&x), &copies(&y)).unwrap();
    close(&weighted.parameters.0, &copied.parameters.0, 1e-10);
    let single = |t: &Tensor| t.to_dtype(DType::F32);
    let start = (single(&zero_line(3).0), single(&zero_line(3).1));
    let fitted32 = RiskFit::new(&Squared).run(line, &start, &single(&x), &single(&y)).unwrap();
    close(&fitted32.parameters.0.to_dtype(DType::F64), &least_squares_solution(&rows, &y).narrow(0, 0, 3), 1e-3);
    // Models are compared by mean loss on the same data.
    let table = compare(&Squared, &[("line", line(&weighted.parameters, &x)), ("zero", y.zeros_like())], &y).unwrap();
    assert_eq!(table[0].0, "line");
    near(table[1].1, y.square().mean().item(), 1e-12);
    // Divergence and mismatched rows are errors.
    let wild = Method::GradientDescent { step: 100.0, rules: Rules::default() };
    let error = RiskFit::new(&Squared).method(wild).run(line, &zero_line(3), &x, &y).unwrap_err();
    assert!(error.is_data() && error.to_string().contains("must stay below"), "{error}");
    assert!(matches!(
        RiskFit::new(&Squared).run(line, &zero_line(3), &x, &y.narrow(0, 0, 5)),
        Err(Error::ShapePair { .. })
    ));
}

#[test]
fn d9_one_outlier_moves_the_squared_fit_more_than_ten_times_as_far() {
    let fixture = fixture();
    let case = fixture.case("outlier");
    let x = input(case, "x").reshape([50, 1]);
    let (y, moved) = (input(case, "y"), input(case, "moved"));
    assert_eq!((&y - &moved).count_nonzero().item::<i64>(), 1);
    assert_eq!(moved.max().item::<f64>(), 1e3);
    let slope = |loss: &dyn Loss, method: Method, y: &Tensor| {
        RiskFit::new(loss).method(method).run(line, &zero_line(1), &x, y).unwrap().parameters.0.item::<f64>()
    };
    let newton = || Method::Newton(Newton::default());
    let subgradient = || Method::Subgradient { step: 1.0, iterations: 20_000 };
    let shift =
        |loss: &dyn Loss, method: fn() -> Method| (slope(loss, method(), &moved) - slope(loss, method(), &y)).abs();
    let squared = shift(&Squared, newton);
    let huber = shift(&Huber::default(), newton);
    let absolute = shift(&Absolute, subgradient);
    assert!(squared > 10.0 * huber && squared > 10.0 * absolute, "{squared} {huber} {absolute}");
    // scikit-learn's own estimators show the same.
    let theirs = |name: &str| {
        let slopes = &case.output(name).data;
        (slopes[1] - slopes[0]).abs()
    };
    assert!(theirs("squared") > 10.0 * theirs("huber") && theirs("squared") > 10.0 * theirs("absolute"));
    near(squared, theirs("squared"), 1e-8);
    assert!((absolute - theirs("absolute")).abs() < 0.05 && huber < 0.5 && theirs("huber") < 0.5);
}

#[test]
fn d16_norm_penalties_have_their_gradients_and_their_pull() {
    let (w, b) = (Key::new(1).normal([6], DType::F64), Key::new(2).normal([6], DType::F64));
    let one = std::slice::from_ref(&w);
    GradCheck::default().check(|x| l2(&x[0]).unwrap(), one).unwrap();
    GradCheck::default().check(|x| l1(&x[0]).unwrap(), one).unwrap();
    GradCheck::default().check(|x| toward(&x[0], &b).unwrap(), one).unwrap();
    GradCheck::default().check(|x| tying(&x[0], &x[1]).unwrap(), &[w.clone(), b.clone()]).unwrap();
    // ‖w − b‖² and ‖w − v‖², without a half: values and gradients written out.
    let gap: Vec<f64> = w.to_vec::<f64>().iter().zip(b.to_vec::<f64>()).map(|(w, b)| w - b).collect();
    let square: f64 = gap.iter().map(|d| d * d).sum();
    near(toward(&w, &b).unwrap().item(), square, 1e-12);
    near(tying(&w, &b).unwrap().item(), square, 1e-12);
    let twice = Tensor::from(gap.iter().map(|d| 2.0 * d).collect::<Vec<f64>>());
    close(&grad(|w: &Tensor| toward(w, &b).unwrap())(&w), &twice, 1e-14);
    close(&grad(|w: &Tensor| tying(w, &b).unwrap())(&w), &twice, 1e-14);
    close(&grad(|v: &Tensor| tying(&w, v).unwrap())(&b), &-&twice, 1e-14);
    // α multiplies each of them once.
    let parameters: [(&str, &Tensor); 2] = [("v", &w), ("w", &b)];
    let scaled = |norm: Norm| NormPenalty::new(0.3, norm).unwrap().of(&parameters).unwrap().item::<f64>();
    near(scaled(Norm::Tied("v".into(), "w".into())), 0.3 * square, 1e-12);
    let alone = NormPenalty::new(0.3, Norm::Toward(b.clone())).unwrap().of(&[("v", &w)]).unwrap().item::<f64>();
    near(alone, 0.3 * square, 1e-12);
    let elastic = NormPenalty::new(0.7, Norm::Elastic { l1_ratio: 0.3 }).unwrap();
    GradCheck::default().check(|x| elastic.of(&[("w", &x[0])]).unwrap(), one).unwrap();
    assert_eq!(grad(|w: &Tensor| l2(w).unwrap())(&w).to_vec::<f64>(), w.to_vec::<f64>(), "the gradient of ½‖w‖² is w");
    assert_eq!(grad(|w: &Tensor| l1(w).unwrap())(&w).to_vec::<f64>(), w.sign().to_vec::<f64>());
    let by_hand = 0.7 * (0.3 * w.abs().sum().item::<f64>() + 0.7 * 0.5 * w.square().sum().item::<f64>());
    near(elastic.of(&[("w", &w)]).unwrap().item(), by_hand, 1e-12);
    // The penalised gradient is ∇L + α w.
    let (x, y) = least_squares_data(40, 3, 3);
    let y = y + 5.0;
    let names = ["layer.weight", "layer.bias"];
    let fit = |penalty: NormPenalty| {
        RiskFit::new(&Squared).method(Method::Newton(Newton::default())).names(&names).penalty(penalty)
    };
    let flat = Key::new(5).normal([4], DType::F64);
    let (plain, _) = RiskFit::new(&Squared).risk(line, &zero_line(3), &x, &y).unwrap();
    let ridge = fit(NormPenalty::new(0.4, Norm::L2).unwrap());
    let (ridged, _) = ridge.risk(line, &zero_line(3), &x, &y).unwrap();
    let masked = &flat * Tensor::from([1.0, 1.0, 1.0, 0.0]); // the bias is left out
    close(&ridged.gradient(&flat).unwrap(), &(plain.gradient(&flat).unwrap() + masked * 0.4), 1e-10);
    // Large α: to 0, to b, or together; the bias stays free and finds the mean.
    let fitted = |penalty| fit(penalty).run(line, &zero_line(3), &x, &y).unwrap().parameters;
    let (weight, bias) = fitted(NormPenalty::new(1e6, Norm::L2).unwrap());
    assert!(weight.norm(2.0).item::<f64>() < 1e-4);
    near(bias.item(), y.mean().item(), 1e-3);
    let (_, bias) = fitted(NormPenalty::new(1e6, Norm::L2).unwrap().on(Mask::All));
    assert!(bias.item::<f64>().abs() < 1e-3, "counted when asked for");
    let reference = Tensor::from([1.0, -2.0, 3.0]);
    let (weight, _) = fitted(NormPenalty::new(1e6, Norm::Toward(reference.clone())).unwrap());
    close(&weight, &reference, 1e-4);
    let lasso =
        fit(NormPenalty::new(50.0, Norm::L1).unwrap()).method(Method::Subgradient { step: 0.02, iterations: 20_000 });
    let started = (Tensor::from([1.0, 1.0, 1.0]), Tensor::from(5.0));
    let (weight, bias) = lasso.run(line, &started, &x, &y).unwrap().parameters;
    assert!(weight.norm(f64::INFINITY).item::<f64>() < 0.02 && bias.item::<f64>() > 2.0);
    // Two lines, tied.
    let both = |(v, w): &(Tensor, Tensor), x: &Tensor| x.narrow(1, 0, 1).matmul(v) + x.narrow(1, 1, 1).matmul(w);
    let start = (Tensor::from([1.0]), Tensor::from([-1.0]));
    let apart = |alpha| {
        let tie = NormPenalty::new(alpha, Norm::Tied("v".into(), "w".into())).unwrap();
        let fit = RiskFit::new(&Squared).method(Method::Newton(Newton::default())).names(&["v", "w"]).penalty(tie);
        let (v, w) = fit.run(both, &start, &x, &y).unwrap().parameters;
        ((v.item::<f64>() - w.item::<f64>()).abs(), v.item::<f64>().abs())
    };
    assert!(apart(0.0).0 > 0.1 && apart(1e6).0 < 1e-5 && apart(1e6).1 > 1e-2, "{:?} {:?}", apart(0.0), apart(1e6));
    // Names decide; unknown ones and negative α are errors.
    let of = |mask: Mask, names: [&str; 2]| {
        NormPenalty::new(1.0, Norm::L1)
            .unwrap()
            .on(mask)
            .of(&[(names[0], &Tensor::from([1.0])), (names[1], &Tensor::from([10.0]))])
    };
    for bias in ["bias", "b", "net.0.bias", "intercept", "rnn.bias_ih_l0", "output_bias"] {
        assert_eq!(of(Mask::default(), ["net.0.weight", bias]).unwrap().item::<f64>(), 1.0, "{bias}");
    }
    assert_eq!(of(Mask::Only(vec!["x".into()]), ["w", "x"]).unwrap().item::<f64>(), 10.0);
    assert_eq!(of(Mask::Except(vec!["x".into()]), ["w", "x"]).unwrap().item::<f64>(), 1.0);
    assert!(of(Mask::Only(vec!["z".into()]), ["w", "x"]).unwrap_err().to_string().contains("w, x"));
    assert!(
        NormPenalty::new(-1.0, Norm::L1).is_err() && NormPenalty::new(1.0, Norm::Elastic { l1_ratio: 2.0 }).is_err()
    );
    assert!(
        RiskFit::new(&Squared)
            .penalty(NormPenalty::new(1.0, Norm::L2).unwrap())
            .run(line, &zero_line(3), &x, &y)
            .is_err()
    );
}

/// A network 2 → 24 → 24 → 1 with rectifiers, trained with penalties on the activations of its hidden layers; the shares of
/// activations below 1e-3 per hidden layer come back.
fn trained_sparsity(sparse: &SparseActivations) -> [f64; 2] {
    let x = Key::new(1).normal([64, 2], DType::F64);
    let column = |i| x.select_index(1, i);
    let y = column(0).sin() * column(1) + column(1).square() * 0.5;
    let key = |i: u64| Key::new(40).fold(i);
    let start = vec![
        key(0).normal([2, 24], DType::F64) * 0.7,
        Tensor::full([24], 0.2, DType::F64),
        key(1).normal([24, 24], DType::F64) * 0.28,
        Tensor::full([24], 0.2, DType::F64),
        key(2).normal([24], DType::F64) * 0.28,
    ];
    let hidden = |p: &[Tensor]| {
        let first = (x.matmul(&p[0]) + &p[1]).relu();
        let second = (first.matmul(&p[2]) + &p[3]).relu();
        (first, second)
    };
    let (flat, unravel) = ravel(&start).unwrap();
    let objective = |flat: &Tensor| {
        let p = unravel.tree(flat).unwrap();
        let (first, second) = hidden(&p);
        let loss = Squared.mean(&second.matmul(&p[4]), &y).unwrap();
        loss + sparse.of(&[("first", &first), ("second", &second)]).unwrap()
    };
    let run = gradient_descent(&objective, &flat, 0.03, &Rules::fixed(1500)).unwrap();
    let (first, second) = hidden(&unravel.tree(&run.x).unwrap());
    let share = |h: &Tensor| h.abs().lt_scalar(1e-3).count_nonzero().item::<i64>() as f64 / h.numel() as f64;
    [share(&first), share(&second)]
}

#[test]
fn d17_sparse_activations_rise_with_the_weight_layer_by_layer() {
    let weights = [0.0, 1e-3, 1e-2, 1e-1];
    let on = |layer: &str, weight: f64| SparseActivations::new().layer(layer, weight).unwrap();
    let shares: Vec<[f64; 2]> = weights
        .iter()
        .map(|weight| trained_sparsity(&on("first", *weight).layer("second", *weight).unwrap()))
        .collect();
    let total: Vec<f64> = shares.iter().map(|[first, second]| (first + second) / 2.0).collect();
    assert!(total.windows(2).all(|pair| pair[1] > pair[0]), "{shares:?}");
    assert!(total[3] > total[0] + 0.1, "{shares:?}");
    // Opt-in: only the named layer is penalised.
    let none = trained_sparsity(&SparseActivations::new());
    assert_eq!(none, shares[0]);
    for (layer, index) in [("first", 0), ("second", 1)] {
        let only = trained_sparsity(&on(layer, 1e-2));
        assert!(only[index] > none[index], "{layer}: {only:?} against {none:?}");
    }
    let (a, b) = (Key::new(1).normal([4, 3], DType::F64), Key::new(2).normal([4, 5], DType::F64));
    let penalty = on("first", 0.5);
    let value = penalty.of(&[("first", &a), ("second", &b)]).unwrap().item::<f64>();
    near(value, 0.5 * a.abs().sum().item::<f64>() / 4.0, 1e-12);
    let slope = grad(|b: &Tensor| penalty.of(&[("first", &a), ("second", b)]).unwrap())(&b);
    assert!(slope.to_vec::<f64>().iter().all(|g| *g == 0.0), "the other layer feels nothing");
    GradCheck::default().check(|x| penalty.of(&[("first", &x[0])]).unwrap(), &[a]).unwrap();
    assert!(penalty.of(&[("second", &b)]).is_err(), "a layer that was asked for must be there");
}
