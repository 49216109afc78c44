//! Discriminant analysis beside scikit-learn, and what it refuses.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, data, fixture, numbers};
use serde_json::Value;
use tove_learn::discriminant::{DiscriminantSolver, QuadraticSolver, Shrinkage};
use tove_learn::*;
use tove_tensor::{DType, Tensor};

/// Every 7th row, as in the fixture.
fn some(x: &Tensor) -> Tensor {
    x.slice(0, 0, x.dims()[0], 7).contiguous()
}

/// The data of a case; `iris_dependent` has a column that depends on others and a constant one.
fn set(case: &Value) -> (Tensor, Tensor) {
    let (x, y) = data(case["set"].as_str().unwrap());
    if case["name"] != "iris_dependent" {
        return (x, y);
    }
    let rows = x.to_f64_vec();
    let wide: Vec<f64> = rows.chunks(4).flat_map(|r| [r[0], r[1], r[2], r[3], r[0] - 2.0 * r[2], 3.0]).collect();
    (Tensor::from_vec(wide, [x.dims()[0], 6]), y)
}

fn attribute(model: &dyn Model, name: &str) -> Vec<f64> {
    model.record().tensor(name).unwrap().to_f64_vec()
}

#[track_caller]
fn assert_answers(model: &(impl Model + Predict), x: &Tensor, case: &Value, tolerance: f64) {
    assert_close(&attribute(model, "means"), &numbers(&case["means"]), 1e-12);
    assert_close(&attribute(model, "priors"), &numbers(&case["priors"]), 1e-15);
    let x = some(x);
    assert_close(&model.decision_function(&x).unwrap().to_f64_vec(), &numbers(&case["decision"]), tolerance);
    assert_close(&model.predict_proba(&x).unwrap().to_f64_vec(), &numbers(&case["proba"]), tolerance);
    assert_eq!(model.predict(&x).unwrap().to_f64_vec(), numbers(&case["labels"]));
}

#[test]
fn linear_discriminants_are_scikit_learn_s() {
    let cases = fixture("discriminant.json");
    let cases = cases["linear"].as_object().unwrap();
    assert_eq!(cases.len(), 8);
    for case in cases.values() {
        let (x, y) = set(case);
        let model = LinearDiscriminantAnalysis::default().tol(case["tol"].as_f64().unwrap()).fit(&x, &y).unwrap();
        assert_close(&model.coef().to_f64_vec(), &numbers(&case["coef"]), 1e-8);
        assert_close(&model.intercept().to_f64_vec(), &numbers(&case["intercept"]), 1e-8);
        assert_answers(&model, &x, case, 1e-8);
        let outputs = if model.classes().len() == 2 { 1 } else { 3 };
        assert_eq!(model.coef().dims(), [outputs, x.dims()[1]]);
        let copy = FittedLinearDiscriminantAnalysis::restore(&model.record()).unwrap();
        assert_eq!(copy.predict_proba(&x).unwrap().to_f64_vec(), model.predict_proba(&x).unwrap().to_f64_vec());
    }
}

fn set_all(estimator: &mut dyn Estimator, settings: &Value) {
    for (name, value) in settings.as_object().unwrap() {
        let value = match value {
            Value::String(text) => text.as_str().into(),
            Value::Bool(value) => (*value).into(),
            Value::Array(list) => {
                tove_optim::settings::Value::List(list.iter().map(|v| v.as_f64().unwrap().into()).collect())
            }
            Value::Number(number) if number.is_u64() => number.as_u64().unwrap().into(),
            number => number.as_f64().unwrap().into(),
        };
        estimator.set(name, value).unwrap();
    }
}

#[test]
fn solvers_shrinkage_priors_and_projections_are_scikit_learn_s() {
    let cases = fixture("discriminant.json");
    let cases = cases["solvers"].as_array().unwrap();
    assert_eq!(cases.len(), 24);
    for case in cases {
        let (x, y) = set(case);
        let mut estimator = LinearDiscriminantAnalysis::default();
        set_all(&mut estimator, &case["settings"]);
        let model = estimator.fit(&x, &y).unwrap();
        assert_close(&model.coef().to_f64_vec(), &numbers(&case["coef"]), 1e-7);
        assert_close(&model.intercept().to_f64_vec(), &numbers(&case["intercept"]), 1e-7);
        assert_answers(&model, &x, case, 1e-7);
        if let Some(expected) = case.get("covariance") {
            assert_close(&attribute(&model, "covariance"), &numbers(expected), 1e-10);
        }
        let Some(expected) = case.get("transform") else {
            assert!(!model.capabilities().transform && model.transform(&x).is_err());
            continue;
        };
        assert_close(&attribute(&model, "explained_variance_ratio"), &numbers(&case["explained_variance_ratio"]), 1e-8);
        let (found, expected) = (model.transform(some(&x)).unwrap(), numbers(expected));
        let (k, found) = (found.dims()[1], found.to_f64_vec());
        assert_eq!(found.len(), expected.len());
        for column in 0..k {
            let take = |all: &[f64]| all.iter().skip(column).step_by(k).copied().collect::<Vec<_>>();
            let (found, expected) = (take(&found), take(&expected));
            // A direction has no sign of its own.
            let sign = (found[0] * expected[0]).signum();
            assert_close(&found.iter().map(|v| sign * v).collect::<Vec<_>>(), &expected, 1e-7);
        }
        let copy = FittedLinearDiscriminantAnalysis::restore(&model.record()).unwrap();
        assert_eq!(copy.transform(&x).unwrap().to_f64_vec(), model.transform(&x).unwrap().to_f64_vec());
    }
}

#[test]
fn quadratic_discriminants_are_scikit_learn_s() {
    let cases = fixture("discriminant.json");
    let cases = cases["quadratic"].as_object().unwrap();
    assert_eq!(cases.len(), 20);
    let mut refused = 0;
    for case in cases.values() {
        let (x, y) = set(case);
        let mut estimator = QuadraticDiscriminantAnalysis::default();
        set_all(&mut estimator, &case["settings"]);
        let model = estimator.fit(&x, &y);
        if case.get("error").is_some() {
            let error = model.unwrap_err().to_string();
            assert!(error.contains("covariance matrix has no inverse") && error.contains("reg_param"), "{error}");
            refused += 1;
            continue;
        }
        let model = model.unwrap();
        assert_answers(&model, &x, case, 1e-7);
        if let Some(expected) = case.get("covariance") {
            assert_close(&attribute(&model, "covariance"), &numbers(expected), 1e-10);
        }
        let copy = FittedQuadraticDiscriminantAnalysis::restore(&model.record()).unwrap();
        assert_eq!(copy.predict_proba(&x).unwrap().to_f64_vec(), model.predict_proba(&x).unwrap().to_f64_vec());
    }
    assert!(refused >= 2, "{refused}");
}

#[test]
fn two_forms_of_quadratic_discriminants_agree() {
    let (x, y) = data("wine");
    let answer = |solver| {
        let model = QuadraticDiscriminantAnalysis::default()
            .solver(solver)
            .tol(0.0)
            .store_covariance(true)
            .fit(&x, &y)
            .unwrap();
        (model.decision_function(&x).unwrap().to_f64_vec(), attribute(&model, "covariance"))
    };
    let (svd, eigen) = (answer(QuadraticSolver::Svd), answer(QuadraticSolver::Eigen));
    assert_close(&svd.0, &eigen.0, 1e-8);
    assert_close(&svd.1, &eigen.1, 1e-12);
}

#[test]
fn settings_of_discriminants_that_contradict_each_other_are_refused() {
    let (x, y) = data("iris");
    let linear = |change: &dyn Fn(LinearDiscriminantAnalysis) -> LinearDiscriminantAnalysis| {
        change(LinearDiscriminantAnalysis::default()).fit(&x, &y).map(|_| ()).unwrap_err().to_string()
    };
    let quadratic = |change: &dyn Fn(QuadraticDiscriminantAnalysis) -> QuadraticDiscriminantAnalysis| {
        change(QuadraticDiscriminantAnalysis::default()).fit(&x, &y).map(|_| ()).unwrap_err().to_string()
    };
    for (error, part) in [
        (linear(&|own| own.shrinkage(Some(Shrinkage::Auto))), "svd does not support `shrinkage`"),
        (linear(&|own| own.solver(DiscriminantSolver::Eigen).shrinkage(Some(Shrinkage::Value(1.5)))), "shrinkage"),
        (linear(&|own| own.priors(Some(vec![0.5, 0.5]))), "3 positive numbers"),
        (linear(&|own| own.priors(Some(vec![0.5, 0.3, 0.3]))), "sum 1"),
        (linear(&|own| own.priors(Some(vec![-0.5, 1.2, 0.3]))), "priors"),
        (linear(&|own| own.n_components(Some(3))), "at most 2"),
        (quadratic(&|own| own.shrinkage(Some(Shrinkage::Auto))), "shrinkage"),
        (quadratic(&|own| own.solver(QuadraticSolver::Eigen).reg_param(0.1)), "reg_param"),
        (quadratic(&|own| own.priors(Some(vec![0.5, 0.5]))), "3 positive numbers"),
    ] {
        assert!(error.contains(part), "{error} lacks {part}");
    }
    // A feature that depends on others: no inverse without shrinkage, an answer with it or with the solver lsqr.
    let wide: Vec<f64> = x.to_f64_vec().chunks(4).flat_map(|r| [r[0], r[1], r[2], r[3], r[0] - r[2]]).collect();
    let wide = Tensor::from_vec(wide, [150, 5]);
    let eigen = LinearDiscriminantAnalysis::default().solver(DiscriminantSolver::Eigen);
    let error = eigen.fit(&wide, &y).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("singular") && error.contains("shrinkage"), "{error}");
    let plain = LinearDiscriminantAnalysis::default().fit(&x, &y).unwrap().predict(&x).unwrap().to_f64_vec();
    let lsqr = LinearDiscriminantAnalysis::default().solver(DiscriminantSolver::Lsqr).fit(&wide, &y).unwrap();
    assert_eq!(lsqr.predict(&wide).unwrap().to_f64_vec(), plain);
    assert!(eigen.shrinkage(Some(Shrinkage::Auto)).fit(&wide, &y).is_ok());
}

#[test]
fn a_feature_that_is_constant_up_to_rounding_is_dropped() {
    let (x, y) = data("iris");
    let plain = LinearDiscriminantAnalysis::default().fit(&x, &y).unwrap();
    for constant in [0.1, 1e9 / 3.0, -1e-12] {
        let wide: Vec<f64> = x.to_f64_vec().chunks(4).flat_map(|r| [r[0], r[1], r[2], r[3], constant]).collect();
        let model = LinearDiscriminantAnalysis::default().fit(Tensor::from_vec(wide, [150, 5]), &y).unwrap();
        let coef = model.coef().to_f64_vec();
        let (own, rest): (Vec<_>, Vec<_>) = coef.iter().enumerate().partition(|(index, _)| index % 5 == 4);
        assert!(own.iter().all(|(_, w)| w.abs() < 1e-12), "{own:?}");
        assert_close(&rest.into_iter().map(|(_, w)| *w).collect::<Vec<_>>(), &plain.coef().to_f64_vec(), 1e-10);
    }
}

#[test]
fn single_precision_agrees_with_double() {
    let (x, y) = data("wine");
    let double = LinearDiscriminantAnalysis::default().fit(&x, &y).unwrap().predict_proba(&x).unwrap();
    let single = LinearDiscriminantAnalysis::default().fit(x.to_dtype(DType::F32), &y).unwrap();
    let found = single.predict_proba(x.to_dtype(DType::F32)).unwrap();
    assert_eq!(found.dtype(), DType::F32);
    assert_close(&found.to_f64_vec(), &double.to_f64_vec(), 1e-3);
}

#[test]
fn linear_discriminants_refuse_what_has_no_answer() {
    let fit = |x: &[[f64; 2]], y: &[i64]| {
        let x = Tensor::from_vec(x.concat(), [x.len(), 2]);
        LinearDiscriminantAnalysis::default().fit(&x, &Tensor::from_slice(y)).map(|_| ()).unwrap_err().to_string()
    };
    let error = fit(&[[0.0, 1.0], [1.0, 2.0], [3.0, 1.0]], &[4, 4, 4]);
    assert!(error.contains("class"), "{error}");
    let error = fit(&[[0.0, 1.0], [1.0, 2.0], [3.0, 1.0]], &[0, 1, 2]);
    assert!(error.contains("more samples than classes"), "{error}");
    let error = fit(&[[0.0, 1.0], [0.0, 1.0], [3.0, 1.0], [3.0, 1.0]], &[0, 0, 1, 1]);
    assert!(error.contains("no feature varies within the classes"), "{error}");
    let error = fit(&[[1e308, 1.0], [-1e308, 1.0], [3.0, 1.0], [3.0, 2.0]], &[0, 0, 1, 1]);
    assert!(error.contains("large"), "{error}");
}
