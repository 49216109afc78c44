//! Stochastic gradient descent and the perceptron against scikit-learn, in pieces, and against the exact optimum.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, data, fixture, numbers, standardised};
use serde_json::Value;
use tove_learn::sgd::{ClassLoss, LearningRate, RegressionLoss};
use tove_learn::{
    Csr, Fit, Learner, LogisticRegression, Model, OneVsRest, PartialFit, Penalty, Perceptron, Predict, Samples,
    SgdClassifier, SgdRegressor,
};
use tove_optim::settings::Hyperparameters;
use tove_tensor::DType;

fn plan<S: Hyperparameters>(mut settings: S, plan: &Value) -> S {
    for (name, value) in plan.as_object().unwrap() {
        settings.parse(name, value.as_str().unwrap()).unwrap();
    }
    settings
}

#[test]
fn steps_in_a_given_order_are_scikit_learn_s() {
    let expected = fixture("sgd.json");
    for case in expected["classifier"].as_array().unwrap() {
        let (x, y) = data(case["data"].as_str().unwrap());
        let x = standardised(&x);
        let settings = plan(SgdClassifier::default().shuffle(false).tol(None).max_iter(5), &case["plan"]);
        let model = settings.fit(&x, &y).unwrap();
        println!("{}", case["plan"]);
        assert_close(&model.coef().to_f64_vec(), &numbers(&case["coef"]), 1e-8);
        assert_close(&model.intercept().to_f64_vec(), &numbers(&case["intercept"]), 1e-8);
        if let Some(proba) = case.get("proba") {
            let found = model.predict_proba(&x).unwrap().to_f64_vec();
            let proba = numbers(proba);
            assert_close(&found[..proba.len()], &proba, 1e-8);
        }
        // Rounding to single precision changes the path of such large steps, not how good it is.
        let single = settings.fit(x.to_dtype(DType::F32), &y).unwrap();
        assert_eq!(single.coef().dtype(), DType::F32);
        assert!(single.score(&x, &y).unwrap().value > model.score(&x, &y).unwrap().value - 0.05);
    }
    for name in ["iris", "breast_cancer"] {
        let (x, y) = data(name);
        let settings = Perceptron::default().shuffle(false).tol(None).max_iter(5);
        let model = settings.fit(standardised(&x), &y).unwrap();
        let wanted = &expected[format!("perceptron_{name}")];
        assert_close(&model.coef().to_f64_vec(), &numbers(&wanted["coef"]), 1e-8);
        assert_close(&model.intercept().to_f64_vec(), &numbers(&wanted["intercept"]), 1e-8);
        assert!(model.predict_proba(&x).unwrap_err().to_string().contains("decision_function"));
    }
}

#[test]
fn regressions_in_a_given_order_are_scikit_learn_s() {
    let (x, y) = data("diabetes");
    let (x, y) = (standardised(&x), standardised(&y.reshape([442, 1])).reshape([442]));
    for case in fixture("sgd.json")["regressor"].as_array().unwrap() {
        let settings = plan(SgdRegressor::default().shuffle(false).tol(None).max_iter(5), &case["plan"]);
        let model = settings.fit(&x, &y).unwrap();
        assert_close(&model.coef().to_f64_vec(), &numbers(&case["coef"]), 1e-8);
        assert_close(&[model.intercept()], &numbers(&case["intercept"]), 1e-8);
    }
}

#[test]
fn averaged_steps_come_near_the_exact_optimum_and_l1_leaves_zeros() {
    let (x, y) = data("breast_cancer");
    let x = standardised(&x);
    let alpha = 0.01;
    let exact = LogisticRegression::default().c(1.0 / (alpha * 569.0)).tol(1e-9).fit(&x, &y).unwrap();
    let settings =
        SgdClassifier::default().loss(ClassLoss::LogLoss).alpha(alpha).average(true.into()).max_iter(300).tol(None);
    let model = settings.fit(&x, &y).unwrap();
    let (a, b) = (model.predict_proba(&x).unwrap().to_f64_vec(), exact.predict_proba(&x).unwrap().to_f64_vec());
    assert_close(&a, &b, 0.01);
    let sparse = SgdClassifier::default().penalty(Penalty::L1).alpha(0.02).fit(&x, &y).unwrap();
    assert!(sparse.coef().to_f64_vec().iter().filter(|&&w| w == 0.0).count() >= 10);
    assert!(sparse.score(&x, &y).unwrap().value > 0.93);
}

#[test]
fn pieces_in_order_are_one_epoch_and_unknown_classes_are_refused() {
    let (x, y) = data("iris");
    let x = standardised(&x);
    let settings = SgdClassifier::default().shuffle(false).max_iter(1).tol(None).loss(ClassLoss::ModifiedHuber);
    let whole = settings.fit(&x, &y).unwrap();
    let mut learner = settings.learner(&[2, 0, 1]).unwrap();
    let samples = Samples::new(&x, &y).unwrap();
    for start in [0, 50, 100] {
        learner.learn(&samples.take(&(start..start + 50).collect::<Vec<_>>()).unwrap()).unwrap();
    }
    let pieces = learner.model().unwrap();
    assert_eq!(pieces.coef().to_vec::<f64>(), whole.coef().to_vec::<f64>());
    assert_eq!(pieces.classes(), [0, 1, 2]);
    let strange = Samples::new(&x, &(&y + 5.0).to_dtype(DType::I64)).unwrap();
    assert!(learner.learn(&strange).unwrap_err().to_string().contains("class 5"));
    let narrow = Samples::new(x.narrow(1, 0, 2), &y).unwrap();
    assert!(learner.learn(&narrow).is_err());
    assert!(settings.learner(&[1]).is_err());

    let (x, y) = data("diabetes");
    let y = standardised(&y.reshape([442, 1])).reshape([442]);
    let settings = SgdRegressor::default().loss(RegressionLoss::Huber);
    let mut learner = settings.learner(&[]).unwrap();
    assert!(learner.model().is_err());
    (0..20).for_each(|_| learner.learn(&Samples::new(standardised(&x), &y).unwrap()).unwrap());
    assert!(learner.model().unwrap().score(standardised(&x), &y).unwrap().value > 0.4);
}

#[test]
fn early_stopping_schedules_and_sparse_rows_work() {
    let (x, y) = data("breast_cancer");
    let x = standardised(&x);
    for schedule in [LearningRate::Optimal, LearningRate::Constant, LearningRate::Invscaling, LearningRate::Adaptive] {
        let settings = SgdClassifier::default().learning_rate(schedule).early_stopping(true);
        let model = settings.fit(&x, &y).unwrap();
        assert!(model.score(&x, &y).unwrap().value > 0.94, "{schedule:?}");
        assert!(model.summary().converged && model.summary().iterations < 200);
    }
    let holes = x.relu();
    let settings = SgdClassifier::default().penalty(Penalty::Elasticnet).average(true.into());
    let (dense, sparse) =
        (settings.fit(&holes, &y).unwrap(), settings.fit(Csr::from_dense(&holes).unwrap(), &y).unwrap());
    assert_close(&sparse.coef().to_f64_vec(), &dense.coef().to_f64_vec(), 0.3); // l1 is charged where a row has entries
    let rest = OneVsRest::new(Perceptron::default());
    let (x, y) = data("wine");
    let model = rest.fit(standardised(&x), &y).unwrap();
    assert!(model.score(standardised(&x), &y).unwrap().value > 0.97);
    assert!(OneVsRest::new(SgdRegressor::default()).fit(&x, &y).is_err());
}

#[test]
fn weights_that_explode_are_an_error() {
    let (x, y) = data("diabetes");
    let error = SgdRegressor::default().fit(&(&x * 1e100), &y).unwrap_err();
    assert!(error.to_string().contains("eta0"), "{error}");
}
