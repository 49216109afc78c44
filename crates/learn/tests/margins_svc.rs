//! Support vector machines with kernels, beside scikit-learn.
#![allow(clippy::unwrap_used)]

mod common;

use common::{FitWeighted, assert_close, data, error, fixture, matrix, numbers, standardised};
use serde_json::Value;
use tove_learn::svm::{DecisionShape, Svc, Svr};
use tove_learn::{ClassWeight, Fit, FittedSvc, Gamma, KernelFunction, KernelKind, Model, Predict, Restore, Samples};
use tove_tensor::{DType, Key, Tensor, num_threads, set_num_threads};

fn weights(n: usize) -> Tensor {
    Tensor::from_slice(&(0..n).map(|i| [1.0, 0.5, 2.0, 1.5, 3.0][i % 5]).collect::<Vec<f64>>())
}

fn kind(name: &Value) -> KernelKind {
    match name.as_str().unwrap() {
        "linear" => KernelKind::Linear,
        "poly" => KernelKind::Poly,
        "rbf" => KernelKind::Rbf,
        _ => KernelKind::Sigmoid,
    }
}

fn gamma(value: &Value) -> Gamma {
    match value {
        Value::Null => Gamma::Scale,
        Value::String(_) => Gamma::Auto,
        number => Gamma::Value(number.as_f64().unwrap()),
    }
}

fn settings(case: &Value) -> Svc {
    let p = &case["parameters"];
    let mut svc = Svc::default().kernel(kind(&case["kernel"])).tol(case["tol"].as_f64().unwrap());
    svc = svc.c(p["C"].as_f64().unwrap_or(1.0)).gamma(gamma(&p["gamma"])).coef0(p["coef0"].as_f64().unwrap_or(0.0));
    svc.machine.class_weight = if p["class_weight"] == "balanced" { ClassWeight::Balanced } else { ClassWeight::None };
    svc.decision_function_shape(DecisionShape::Ovo)
}

/// Every 7th row, as in the fixture.
fn some(x: &Tensor) -> Tensor {
    let n = x.dims()[0];
    x.slice(0, 0, n, 7)
}

fn largest_gap(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |most, (a, b)| most.max((a - b).abs()))
}

/// The first sample with the same features: iris has two that are equal, between which a coefficient can be shared at will.
fn first_equal(x: &Tensor, place: i64) -> usize {
    let (rows, d) = (x.to_f64_vec(), x.dims()[1]);
    let own = &rows[place as usize * d..][..d];
    rows.chunks(d).position(|row| row == own).unwrap()
}

fn distinct(x: &Tensor, support: &[i64]) -> Vec<usize> {
    let mut places: Vec<usize> = support.iter().map(|&place| first_equal(x, place)).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Coefficients of all samples, (machines, n), added up over equal samples.
fn merged(x: &Tensor, support: &[i64], dual: &[f64]) -> Vec<f64> {
    let n = x.dims()[0];
    let mut out = vec![0.0; dual.len() / support.len() * n];
    for (line, row) in dual.chunks(support.len()).enumerate() {
        for (&place, &dual) in support.iter().zip(row) {
            out[line * n + first_equal(x, place)] += dual;
        }
    }
    out
}

#[test]
fn classification_is_that_of_scikit_learn() {
    let all = fixture("margins.json");
    for case in all["svc"].as_array().unwrap() {
        let (x, y) = data(case["set"].as_str().unwrap());
        let x = standardised(&x);
        let svc = settings(case);
        let fit = |svc: &Svc| match case["parameters"]["sample_weight"] == true {
            true => svc.fit_weighted(&x, &y, &weights(x.dims()[0])).unwrap(),
            false => svc.fit(&x, &y).unwrap(),
        };
        let model = fit(&svc);
        let what = format!("{} {} {} {}", case["set"], case["kernel"], case["parameters"], case["tol"]);
        let tight = svc.machine.tol < 1e-6;
        let decision = model.decision_function(some(&x)).unwrap().to_f64_vec();
        // At the default tolerance both sides stop within tol of the optimum, on different paths.
        let expected = numbers(&case["decision"]);
        if case["kernel"] == "sigmoid" {
            // Not positive semi-definite: there are several optima, and the path decides. The labels hardly differ. Where all
            // paths lead to one optimum, it is compared in further_reference.rs.
            let labels = model.predict(&x).unwrap().to_f64_vec();
            let same = labels.iter().zip(numbers(&case["predict"])).filter(|(a, b)| **a == *b).count();
            assert!(same * 100 >= labels.len() * 97, "{what}: {same} of {} labels", labels.len());
            continue;
        }
        let gap = if tight { largest_gap(&decision, &expected) } else { error(&decision, &expected) };
        assert!(gap < if tight { 1e-6 } else { 2e-3 }, "{what}: decision values differ by {gap:e}");
        let ovr = fit(&svc.clone().decision_function_shape(DecisionShape::Ovr));
        let scores = ovr.decision_function(some(&x)).unwrap().to_f64_vec();
        let limit = if tight { 1e-6 } else { 2e-3 };
        assert!(error(&scores, &numbers(&case["ovr"])) < limit, "{what}: scores of classes");
        assert!(model.summary().converged, "{what}");
        if tight {
            let theirs: Vec<i64> = numbers(&case["support"]).iter().map(|&place| place as i64).collect();
            let (own, other) = (distinct(&x, model.support()), distinct(&x, &theirs));
            assert_eq!(own, other, "{what}: support vectors");
            assert_eq!(model.n_support().iter().sum::<i64>() as usize, model.support().len(), "{what}");
            assert!(largest_gap(&model.intercept(), &numbers(&case["intercept"])) < 1e-5, "{what}: intercept");
            let predicted = model.predict(&x).unwrap().to_f64_vec();
            assert_eq!(predicted, numbers(&case["predict"]), "{what}: labels");
            assert_eq!(model.support_vectors().len(), model.support().len());
            let dual = model.dual_coef().unwrap();
            assert_eq!(dual.dims(), [model.classes().len() - 1, model.support().len()]);
            let own = merged(&x, model.support(), &dual.to_f64_vec());
            assert_close(&own, &merged(&x, &theirs, &numbers(&case["dual_coef"])), 1e-4);
            if case["set"] != "iris" {
                assert_eq!(model.support(), theirs, "{what}: support vectors in their order");
                let counts: Vec<f64> = model.n_support().iter().map(|&count| count as f64).collect();
                assert_eq!(counts, numbers(&case["n_support"]), "{what}");
            }
        }
    }
}

#[test]
fn hard_cases_are_those_of_scikit_learn() {
    let all = fixture("margins.json");
    for case in all["hard"].as_array().unwrap() {
        let x = matrix(&case["x"]);
        let labels: Vec<i64> = numbers(&case["y"]).iter().map(|&label| label as i64).collect();
        let svc = Svc::default().kernel(kind(&case["kernel"])).c(case["C"].as_f64().unwrap()).gamma(Gamma::Value(0.5));
        let svc = svc.tol(1e-9).decision_function_shape(DecisionShape::Ovo);
        for shrinking in [true, false] {
            let model = svc.clone().shrinking(shrinking).fit(&x, &Tensor::from_slice(&labels)).unwrap();
            let decision = model.decision_function(&x).unwrap().to_f64_vec();
            let expected = numbers(&case["decision"]);
            let size = expected.iter().fold(1.0f64, |size, value| size.max(value.abs()));
            let gap = largest_gap(&decision, &expected) / size;
            // Kernel values are single on both sides; 1000 times their rounding is what C = 1000 makes of it.
            let allowed = if case["C"] == 1000.0 { 1e-4 } else { 1e-6 };
            assert!(gap < allowed, "{} {} {}: {gap:e}", case["name"], case["kernel"], case["C"]);
            assert_eq!(model.predict(&x).unwrap().to_f64_vec(), numbers(&case["predict"]), "{}", case["name"]);
        }
    }
}

#[test]
fn regression_is_that_of_scikit_learn() {
    let all = fixture("margins.json");
    let (x, y) = data("diabetes");
    let y = standardised(&y.to_dtype(DType::F64).reshape([442, 1])).reshape([442]);
    let x = standardised(&x);
    for case in all["svr"].as_array().unwrap() {
        let p = &case["parameters"];
        let svr = Svr::default().kernel(kind(&case["kernel"])).c(p["C"].as_f64().unwrap_or(1.0)).tol(1e-9);
        // scikit-learn's variance does not count weights, so γ is given by number.
        let scale = if p["gamma"].is_null() { Gamma::Value(0.1) } else { gamma(&p["gamma"]) };
        let svr = svr.gamma(scale).epsilon(p["epsilon"].as_f64().unwrap_or(0.1));
        let model = match case["weighted"] == true {
            true => svr.fit_weighted(&x, &y, &weights(442)).unwrap(),
            false => svr.fit(&x, &y).unwrap(),
        };
        let predicted = model.predict(x.narrow(0, 0, 60)).unwrap().to_f64_vec();
        let gap = largest_gap(&predicted, &numbers(&case["predict"]));
        assert!(gap < 1e-6, "{} {}: {gap:e}", case["kernel"], p);
        let support: Vec<f64> = model.support().iter().map(|&place| place as f64).collect();
        assert_eq!(support, numbers(&case["support"]));
        assert!((model.intercept() - numbers(&case["intercept"])[0]).abs() < 1e-6);
    }
}

#[test]
fn a_small_cache_and_shrinking_change_nothing_but_the_way() {
    let (x, y) = data("breast_cancer");
    let x = standardised(&x);
    let svc = Svc::default().c(5.0).tol(1e-7);
    let whole = svc.fit(&x, &y).unwrap().decision_function(&x).unwrap().to_f64_vec();
    for shrinking in [true, false] {
        // 0.1 MB holds 44 rows of 569 numbers.
        let svc = svc.clone().cache_size(0.1).shrinking(shrinking);
        let cached = svc.fit(&x, &y).unwrap().decision_function(&x).unwrap().to_f64_vec();
        assert!(largest_gap(&whole, &cached) < 1e-5);
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (x, y) = data("wine");
    let x = standardised(&x);
    let before = num_threads();
    let mut results = Vec::new();
    for cache in [200.0, 0.02] {
        let fits: Vec<Vec<f64>> = [1, 2, 3, 8]
            .into_iter()
            .map(|threads| {
                set_num_threads(threads);
                let model = Svc::default().cache_size(cache).probability(true).fit(&x, &y).unwrap();
                let mut all = model.decision_function(&x).unwrap().to_f64_vec();
                all.extend(model.predict_proba(&x).unwrap().to_f64_vec());
                all
            })
            .collect();
        results.push(fits);
    }
    set_num_threads(before);
    assert!(results.iter().all(|fits| fits.iter().all(|fit| *fit == fits[0])));
}

#[test]
fn probabilities_are_calibrated_and_agree_with_votes_where_they_are_sure() {
    let (x, y) = data("breast_cancer");
    let x = standardised(&x);
    let model = Svc::default().probability(true).fit(&x, &y).unwrap();
    let p = model.predict_proba(&x).unwrap().to_f64_vec();
    let labels = y.to_f64_vec();
    // The share of the second class among samples with a similar probability is that probability.
    let mean: f64 = p.chunks(2).map(|p| p[1]).sum::<f64>() / 569.0;
    let share = labels.iter().sum::<f64>() / 569.0;
    assert!((mean - share).abs() < 0.02, "{mean} {share}");
    let loss: f64 =
        p.chunks(2).zip(&labels).map(|(p, &y)| -if y == 1.0 { p[1] } else { p[0] }.ln()).sum::<f64>() / 569.0;
    assert!(loss < 0.08, "{loss}");
    let iris = data("iris");
    let model = Svc::default().probability(true).fit(&iris.0, &iris.1).unwrap();
    let p = model.predict_proba(&iris.0).unwrap().to_f64_vec();
    let votes = model.predict(&iris.0).unwrap().to_f64_vec();
    for (p, vote) in p.chunks(3).zip(votes) {
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        if let Some(sure) = p.iter().position(|&p| p > 0.7) {
            assert_eq!(sure as f64, vote);
        }
    }
}

#[test]
fn a_custom_kernel_is_like_the_named_one() {
    let (x, y) = data("iris");
    let kernel = KernelFunction::custom(|x, z| KernelFunction::Rbf { gamma: 0.3 }.of(x, z));
    let svc = Svc::default().gamma(Gamma::Value(0.3)).tol(1e-8);
    let model = svc.fit_with(&kernel, &Samples::new(&x, &y).unwrap()).unwrap();
    let named = svc.fit(&x, &y).unwrap();
    let (a, b) = (model.decision_function(&x).unwrap(), named.decision_function(&x).unwrap());
    assert!(largest_gap(&a.to_f64_vec(), &b.to_f64_vec()) < 1e-5);
    assert!(FittedSvc::restore(&model.record()).is_err());
    let back = FittedSvc::restore_with(&model.record(), Some(&kernel)).unwrap();
    assert_eq!(back.decision_function(&x).unwrap().to_f64_vec(), a.to_f64_vec());
}

#[test]
fn the_optimum_fulfils_its_conditions() {
    // 0 < α < C on the margin, α = 0 outside, α = C inside: checked from the decision values alone.
    let x = Key::new(3).normal([300, 5], DType::F64);
    let labels: Vec<i64> = x.to_f64_vec().chunks(5).map(|x| i64::from(x[0] + x[1] * x[2] > 0.2)).collect();
    let y = Tensor::from_slice(&labels);
    let model = Svc::default().c(3.0).tol(1e-8).fit(&x, &y).unwrap();
    let decision = model.decision_function(&x).unwrap().to_f64_vec();
    let dual = model.dual_coef().unwrap().to_f64_vec();
    let mut alpha = vec![0.0; 300];
    model.support().iter().zip(&dual).for_each(|(&place, &dual)| alpha[place as usize] = dual.abs());
    assert!(dual.iter().sum::<f64>().abs() < 1e-9);
    for i in 0..300 {
        let margin = decision[i] * if labels[i] == 1 { 1.0 } else { -1.0 };
        match alpha[i] {
            0.0 => assert!(margin > 1.0 - 1e-5),
            3.0 => assert!(margin < 1.0 + 1e-5),
            _ => assert!((margin - 1.0).abs() < 1e-5),
        }
    }
}
