//! Sparse regressions and further options against scikit-learn.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, data, fixture, matrix, numbers, standardised};
use serde_json::Value;
use tove_learn::ensemble::{CalibratedClassifier, CalibrationMethod};
use tove_learn::features::{Extrapolation, Knots, SplineTransformer};
use tove_learn::linear::{ArdRegression, Lars, LassoLars, OrthogonalMatchingPursuit};
use tove_learn::{
    Estimator, Fit, GammaRegressor, GaussianNb, LinearSvc, Model, Pipeline, PoissonRegressor, Predict, RobustScaler,
    StandardScaler, Transform, TweedieRegressor, restore,
};
use tove_optim::settings::Hyperparameters;
use tove_tensor::Tensor;

fn cases<'a>(document: &'a Value, name: &str) -> &'a Vec<Value> {
    document[name].as_array().unwrap()
}

fn sparse_set(document: &Value) -> (Tensor, Tensor) {
    (matrix(&document["x"]), Tensor::from_slice(&numbers(&document["y"])))
}

/// Coefficients and intercept, and that a copy from its record predicts the same bits.
#[track_caller]
fn check(model: &dyn Model, case: &Value, x: &Tensor, tolerance: f64) {
    let attribute = |name: &str| {
        let all = model.attributes();
        all.iter().find(|(own, _)| *own == name).unwrap().1.to_f64_vec()
    };
    assert_close(&attribute("coef"), &numbers(&case["coef"]), tolerance);
    assert_close(&attribute("intercept"), &numbers(&case["intercept"]), tolerance);
    let copy = restore(&model.record()).unwrap();
    assert_eq!(copy.predict(x).unwrap().to_f64_vec(), model.predict(x).unwrap().to_f64_vec());
}

#[test]
fn orthogonal_matching_pursuit_is_that_of_scikit_learn() {
    let document = fixture("options.json");
    let (x, y) = sparse_set(&document);
    for case in cases(&document, "omp") {
        let mut estimator = OrthogonalMatchingPursuit::default().fit_intercept(case["fit_intercept"] == true);
        estimator.n_nonzero_coefs = case["n"].as_u64().map(|n| n as usize);
        estimator.tol = case["tol"].as_f64();
        check(&estimator.fit(&x, &y).unwrap(), case, &x, 1e-10);
    }
    let many = OrthogonalMatchingPursuit::default().n_nonzero_coefs(Some(11)).fit(&x, &y).unwrap_err().to_string();
    assert!(many.contains("10 features"), "{many}");
}

#[test]
fn automatic_relevance_determination_is_that_of_scikit_learn() {
    let document = fixture("options.json");
    let (x, y) = sparse_set(&document);
    for case in cases(&document, "ard") {
        let estimator = ArdRegression::default().tol(1e-6).threshold_lambda(case["threshold"].as_f64().unwrap());
        let model = estimator.fit_intercept(case["fit_intercept"] == true).fit(&x, &y).unwrap();
        check(&model, case, &x, 1e-7);
        assert_close(&[model.alpha()], &numbers(&case["alpha"]), 1e-7);
        assert_close(&model.sigma().to_f64_vec(), &numbers(&case["sigma"]), 1e-7);
        assert_close(model.lambda(), &numbers(&case["lambda"]), 1e-5);
    }
}

#[test]
fn least_angle_regression_follows_the_path_of_scikit_learn() {
    let document = fixture("options.json");
    let (x, y) = sparse_set(&document);
    for case in cases(&document, "lars") {
        let model = Lars::default().n_nonzero_coefs(case["n"].as_u64().unwrap() as usize).fit(&x, &y).unwrap();
        check(&model, case, &x, 1e-9);
        assert_close(model.alphas(), &numbers(&case["alphas"]), 1e-9);
        let active: Vec<f64> = model.active().iter().map(|&place| place as f64).collect();
        assert_eq!(active, numbers(&case["active"]));
    }
    for case in cases(&document, "lasso_lars") {
        let estimator = LassoLars::default().alpha(case["alpha"].as_f64().unwrap());
        let model = estimator.fit_intercept(case["fit_intercept"] == true).fit(&x, &y).unwrap();
        check(&model, case, &x, 1e-9);
        assert_close(model.alphas(), &numbers(&case["alphas"]), 1e-9);
    }
    // A column that comes twice is left out the second time.
    let twice = Tensor::concat(&[&x, &x], 1);
    let model = tove_learn::quietly(|| Lars::default().fit(&twice, &y)).unwrap();
    assert!(model.active().len() == 10 && !model.summary().warnings.is_empty(), "{:?}", model.active());
}

#[test]
fn generalized_linear_models_are_scored_by_the_deviance_that_they_explain() {
    let document = fixture("options.json");
    let (x, y) = sparse_set(&document);
    let estimators: [(&str, Box<dyn Estimator>); 3] = [
        ("poisson", Box::new(PoissonRegressor::default())),
        ("gamma", Box::new(GammaRegressor::default())),
        ("tweedie", Box::new(TweedieRegressor::default().power(1.5))),
    ];
    for (name, estimator) in estimators {
        let score = estimator.fit(&x, &y).unwrap().score(&x, &y).unwrap().value;
        assert_close(&[score], &numbers(&document["d2"][name]), 1e-4);
        let pipeline = Pipeline::of(StandardScaler::default()).step("glm", estimator).fit(&x, &y).unwrap();
        assert_close(&[pipeline.score(&x, &y).unwrap().value], &[score], 1e-6);
    }
}

#[test]
fn periodic_splines_are_those_of_scikit_learn() {
    let document = &fixture("options.json")["splines"];
    let (train, values) = (matrix(&document["train"]), matrix(&document["values"]));
    for case in cases(document, "cases") {
        let knots = if case["knots"] == "uniform" { Knots::Uniform } else { Knots::Quantile };
        let splines = SplineTransformer::default().n_knots(6).degree(case["degree"].as_u64().unwrap() as usize);
        let splines = splines.knots(knots).extrapolation(Extrapolation::Periodic);
        let model = splines.include_bias(case["include_bias"] == true).fit(&train, None).unwrap();
        assert_close(&model.transform(&values).unwrap().to_f64_vec(), &numbers(&case["transform"]), 1e-12);
    }
    let steep = SplineTransformer::default().n_knots(3).extrapolation(Extrapolation::Periodic);
    assert!(steep.validate().unwrap_err().to_string().contains("below `n_knots`"));
}

#[test]
fn temperatures_are_those_of_scikit_learn() {
    for case in cases(&fixture("options.json"), "temperature") {
        let (x, y) = data(case["set"].as_str().unwrap());
        let x = if case["set"] == "iris" { x } else { standardised(&x) };
        let base: Box<dyn Estimator> = match case["model"].as_str().unwrap() {
            "LinearSVC" => Box::new(LinearSvc::default().c(0.1).tol(1e-10).max_iter(1_000_000)),
            _ => Box::new(GaussianNb::default()),
        };
        let calibrated = CalibratedClassifier { estimator: base, ..CalibratedClassifier::default() };
        let calibrated = calibrated.method(CalibrationMethod::Temperature).cv(3).ensemble(case["ensemble"] == true);
        let model = calibrated.fit(&x, &y).unwrap();
        let proba = model.predict_proba(&x).unwrap();
        let m = proba.dims()[1];
        let every: Vec<f64> = proba.to_f64_vec().chunks(m).step_by(7).flatten().copied().collect();
        assert_close(&every, &numbers(&case["proba"]), 1e-5);
        let copy = restore(&model.record()).unwrap();
        assert_eq!(copy.predict_proba(&x).unwrap().to_f64_vec(), proba.to_f64_vec());
    }
}

#[test]
fn the_quantile_range_of_a_robust_scaler() {
    let (x, _) = data("iris");
    let mut scaler = RobustScaler::default().quantile_range((10.0, 80.0).into());
    let model = scaler.fit(&x, None).unwrap();
    assert_close(model.scale(), &numbers(&fixture("options.json")["robust"]), 1e-12);
    // Names of former versions.
    scaler.set("quantile_low", 20.0.into()).unwrap();
    assert_eq!(scaler.value("quantile_range").unwrap().to_string(), "[20, 80]");
    assert!(scaler.set("quantile_range", [80.0, 20.0].into()).is_ok() && scaler.validate().is_err());
}
