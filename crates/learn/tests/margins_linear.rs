//! Linear support vector machines, beside scikit-learn.
#![allow(clippy::unwrap_used)]

mod common;

use common::{FitWeighted, assert_close, data, fixture, numbers, standardised};
use serde_json::Value;
use tove_learn::svm::{Dual, HingeLoss, TubeLoss};
use tove_learn::{ClassWeight, Csr, Fit, LinearSvc, LinearSvr, Model, Predict};
use tove_tensor::{DType, Key, Tensor, num_threads, set_num_threads};

fn weights(n: usize) -> Tensor {
    Tensor::from_slice(&(0..n).map(|i| [1.0, 0.5, 2.0, 1.5, 3.0][i % 5]).collect::<Vec<f64>>())
}

fn both(coef: &Tensor, intercept: &Tensor) -> Vec<f64> {
    [coef.to_f64_vec(), intercept.to_f64_vec()].concat()
}

fn expected(case: &Value) -> Vec<f64> {
    // Without an intercept scikit-learn gives a single 0 for all outputs.
    let (coef, mut intercept) = (numbers(&case["coef"]), numbers(&case["intercept"]));
    let outputs = if case["coef"][0].is_array() { case["coef"].as_array().unwrap().len() } else { 1 };
    intercept.resize(outputs, 0.0);
    [coef, intercept].concat()
}

/// ½(‖w‖² + (b/s)²) + C Σ cᵢ ℓ(yᵢ f(xᵢ)), summed over the classes against the rest: what both sides minimise.
fn objective(case: &Value, x: &Tensor, y: &Tensor, coef: &[f64], intercept: &[f64]) -> f64 {
    let (n, d, p) = (x.dims()[0], x.dims()[1], &case["parameters"]);
    let (cost, scaling) = (p["C"].as_f64().unwrap_or(1.0), p["intercept_scaling"].as_f64().unwrap_or(1.0));
    let (rows, labels) = (x.to_f64_vec(), y.to_f64_vec());
    let classes = labels.iter().fold(0.0f64, |most, &label| most.max(label)) as usize + 1;
    let share = |class: usize| {
        n as f64 / (classes as f64 * labels.iter().filter(|&&label| label == class as f64).count() as f64)
    };
    let own = weights(n).to_f64_vec();
    // With several classes LIBLINEAR weighs the class that is told from the rest, and the rest count once.
    let weight = |i: usize, class: f64| match case["extra"].as_str() {
        Some("weights") => own[i],
        Some("balanced") if classes == 2 || labels[i] == class => share(labels[i] as usize),
        _ => 1.0,
    };
    let one = |k: usize| {
        let (w, b) = (&coef[k * d..(k + 1) * d], intercept[k]);
        let class = if intercept.len() == 1 { 1.0 } else { k as f64 };
        let loss: f64 = (0..n)
            .map(|i| {
                let f: f64 = rows[i * d..(i + 1) * d].iter().zip(w).map(|(x, w)| x * w).sum::<f64>() + b;
                let gap = (1.0 - if labels[i] == class { f } else { -f }).max(0.0);
                weight(i, class) * if case["loss"] == "squared_hinge" { gap * gap } else { gap }
            })
            .sum();
        0.5 * (w.iter().map(|w| w * w).sum::<f64>() + (b / scaling).powi(2)) + cost * loss
    };
    (0..intercept.len()).map(one).sum()
}

#[test]
fn classification_is_that_of_scikit_learn_in_both_forms() {
    let all = fixture("margins.json");
    for case in all["linear_svc"].as_array().unwrap() {
        let (x, y) = data(case["set"].as_str().unwrap());
        let x = standardised(&x);
        let p = &case["parameters"];
        let squared = case["loss"] == "squared_hinge";
        let mut svc = LinearSvc::default().c(p["C"].as_f64().unwrap_or(1.0)).tol(1e-9).max_iter(1_000_000);
        svc.loss = if squared { HingeLoss::SquaredHinge } else { HingeLoss::Hinge };
        svc.intercept_scaling = p["intercept_scaling"].as_f64().unwrap_or(1.0);
        svc.fit_intercept = p["fit_intercept"] != false;
        if case["extra"] == "balanced" {
            svc.class_weight = ClassWeight::Balanced;
        }
        for dual in if squared { vec![Dual::True, Dual::False] } else { vec![Dual::True] } {
            let svc = svc.clone().dual(dual);
            let fit = |x: tove_learn::Rows| match case["extra"] == "weights" {
                true => svc.fit_weighted(x, &y, &weights(y.numel())).unwrap(),
                false => svc.fit(x, &y).unwrap(),
            };
            let model = fit((&x).into());
            assert!(model.summary().converged);
            let theirs = expected(case);
            let (coef, intercept) = theirs.split_at(model.coef().numel());
            let reached = objective(case, &x, &y, &model.coef().to_f64_vec(), &model.intercept().to_f64_vec());
            let other = objective(case, &x, &y, coef, intercept);
            assert!(reached <= other * (1.0 + 1e-9), "{case}: {reached} above {other}");
            let own = both(model.coef(), model.intercept());
            assert_close(&own, &theirs, 1e-5);
            let size = model.summary().objective.unwrap();
            assert!(model.summary().residual.unwrap() < 1e-6 * (1.0 + size), "{case}");
            let sparse = fit(Csr::from_dense(&x).unwrap().into());
            assert_close(&both(sparse.coef(), sparse.intercept()), &theirs, 1e-5);
        }
    }
}

#[test]
fn regression_is_that_of_scikit_learn() {
    let all = fixture("margins.json");
    let (x, y) = data("diabetes");
    let y = standardised(&y.to_dtype(DType::F64).reshape([442, 1])).reshape([442]);
    let x = standardised(&x);
    for case in all["linear_svr"].as_array().unwrap() {
        let p = &case["parameters"];
        let squared = case["loss"] == "squared_epsilon_insensitive";
        let mut svr = LinearSvr::default().c(p["C"].as_f64().unwrap_or(1.0)).tol(1e-9).max_iter(1_000_000);
        svr.loss = if squared { TubeLoss::SquaredEpsilonInsensitive } else { TubeLoss::EpsilonInsensitive };
        svr.epsilon = p["epsilon"].as_f64().unwrap_or(0.0);
        svr.fit_intercept = p["fit_intercept"] != false;
        for dual in if squared { vec![Dual::True, Dual::False] } else { vec![Dual::True] } {
            let svr = svr.clone().dual(dual);
            let model = match case["weighted"] == true {
                true => svr.fit_weighted(&x, &y, &weights(442)).unwrap(),
                false => svr.fit(&x, &y).unwrap(),
            };
            assert_close(&both(model.coef(), model.intercept()), &expected(case), 1e-5);
            assert!(model.summary().residual.unwrap() < 1e-5 * (1.0 + model.summary().objective.unwrap()));
        }
    }
}

#[test]
fn wide_rows_go_through_conjugate_gradients_to_the_same_optimum() {
    let x = Key::new(4).normal([900, 600], DType::F64);
    let labels: Vec<i64> = x.to_f64_vec().chunks(600).map(|x| i64::from(x[0] - x[1] + x[2] > 0.3)).collect();
    let y = Tensor::from_slice(&labels);
    let svc = LinearSvc::default().c(0.01).tol(1e-8);
    let primal = svc.clone().dual(Dual::False).fit(&x, &y).unwrap();
    let dual = svc.dual(Dual::True).max_iter(100_000).fit(&x, &y).unwrap();
    assert_close(&both(primal.coef(), primal.intercept()), &both(dual.coef(), dual.intercept()), 1e-6);
}

#[test]
fn the_number_of_threads_changes_no_bit_and_the_seed_only_the_way() {
    let x = Key::new(6).normal([5000, 12], DType::F32);
    let labels: Vec<i64> =
        x.to_f64_vec().chunks(12).map(|x| (x[0] + x[1] * x[2] > 0.0) as i64 + (x[3] > 1.0) as i64).collect();
    let y = Tensor::from_slice(&labels);
    let before = num_threads();
    for dual in [Dual::True, Dual::False] {
        let fits: Vec<Vec<f64>> = [1, 2, 3, 8]
            .into_iter()
            .map(|threads| {
                set_num_threads(threads);
                LinearSvc::default().dual(dual).fit(&x, &y).unwrap().coef().to_f64_vec()
            })
            .collect();
        assert!(fits.iter().all(|fit| *fit == fits[0]));
    }
    set_num_threads(before);
    let tight = LinearSvc::default().dual(Dual::True).tol(1e-8).max_iter(100_000);
    let (one, other) = (tight.fit(&x, &y).unwrap(), tight.clone().random_state(9).fit(&x, &y).unwrap());
    assert_close(&one.coef().to_f64_vec(), &other.coef().to_f64_vec(), 1e-6);
}

#[test]
fn what_cannot_be_solved_is_said() {
    let (x, y) = data("iris");
    let error = LinearSvc::default().loss(HingeLoss::Hinge).dual(Dual::False).fit(&x, &y).unwrap_err().to_string();
    assert!(error.contains("set `dual` to true"), "{error}");
    let model = LinearSvc::default().dual(Dual::True).max_iter(1).fit(&x, &y).unwrap();
    assert!(!model.summary().converged && model.summary().warnings[0].contains("max_iter"));
    let error = model.predict_proba(&x).unwrap_err().to_string();
    assert!(error.contains("no probabilities"), "{error}");
}
