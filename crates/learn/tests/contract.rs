//! Every registered estimator fulfils the contract.
#![allow(clippy::unwrap_used)]

use tove_learn::{Abilities, Estimator, Model, Result, Samples, Task, Tunable, contract, registry};
use tove_optim::settings::{Hyperparameter, Value};

#[test]
fn every_estimator_fulfils_the_contract() {
    let mut failed = String::new();
    for entry in registry::estimators() {
        let report = contract::check(&*(entry.estimator)());
        if !report.passed() {
            failed.push_str(&report.to_string());
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn one_against_the_rest_fulfils_the_contract() {
    let report = contract::check(&tove_learn::OneVsRest::default());
    assert!(report.passed(), "{report}");
}

/// An estimator that promises more than its default settings do.
#[derive(Clone)]
struct Precise {
    inner: Box<dyn Estimator>,
    accuracy: f64,
}

impl Tunable for Precise {
    fn set_any(&mut self, name: &str, text: &str) -> Result<()> {
        self.inner.set_any(name, text)
    }
    fn values_any(&self) -> Vec<(String, Value)> {
        self.inner.values_any()
    }
    fn describe_any(&self) -> Vec<(String, Hyperparameter)> {
        self.inner.describe_any()
    }
    fn validate_any(&self) -> Result<()> {
        self.inner.validate_any()
    }
}

impl Estimator for Precise {
    fn name(&self) -> &'static str {
        self.inner.name()
    }
    fn task(&self) -> Task {
        self.inner.task()
    }
    fn abilities(&self) -> Abilities {
        Abilities { accuracy: self.accuracy, ..self.inner.abilities() }
    }
    fn fit_any(&self, samples: &Samples) -> Result<Box<dyn Model>> {
        self.inner.fit_any(samples)
    }
    fn duplicate(&self) -> Box<dyn Estimator> {
        Box::new(self.clone())
    }
}

/// Iterative methods stop where their default tolerance says, which is what their promise at default settings allows for.
/// Asked for a tight tolerance, order, weights, storage and precision leave them where they were to many more digits.
#[test]
fn a_tight_tolerance_tightens_the_contract() {
    let cases: [(&str, &[(&str, &str)], f64); 11] = [
        ("Lasso", &[("tol", "1e-13"), ("max_iter", "100000")], 1e-6),
        ("ElasticNet", &[("tol", "1e-13"), ("max_iter", "100000")], 1e-6),
        ("HuberRegressor", &[("tol", "1e-9"), ("max_iter", "10000")], 1e-6),
        ("QuantileRegressor", &[("tol", "1e-12")], 1e-6),
        // One penalty: with several, two copies are left out one by one and a sample of weight 2 at once.
        ("RidgeCV", &[("alphas", "1")], 1e-8),
        // Kernel values are kept in single precision, 6e-8, which decision values inherit some times over.
        ("SVC", &[("tol", "1e-9")], 1e-5),
        ("SVR", &[("tol", "1e-9")], 1e-5),
        ("NuSVC", &[("tol", "1e-9")], 1e-5),
        ("NuSVR", &[("tol", "1e-9")], 1e-5),
        ("LinearSVC", &[("tol", "1e-11"), ("max_iter", "100000")], 1e-6),
        ("LinearSVR", &[("tol", "1e-11"), ("max_iter", "1000000")], 1e-5),
    ];
    let mut failed = String::new();
    for (name, settings, accuracy) in cases {
        let mut inner = (registry::find(name).unwrap().estimator)();
        settings.iter().for_each(|(name, text)| inner.set_any(name, text).unwrap());
        let report = contract::check(&Precise { inner, accuracy });
        if !report.passed() {
            failed.push_str(&report.to_string());
        }
    }
    assert!(failed.is_empty(), "{failed}");
}
