//! Stacking and calibration against scikit-learn, and what they promise of themselves.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, data, fixture, numbers, standardised};
use tove_learn::ensemble::*;
use tove_learn::{
    About, Algorithm, Capabilities, DummyClassifier, Estimator, Fit, GaussianNb, LinearRegression, LinearSvc,
    LogisticRegression, Model, Perceptron, Predict, Record, Restore, Result, Ridge, Rows, Samples, SgdRegressor,
    Transform, registry, restore,
};
use tove_optim::settings::{Hyperparameters, Value};
use tove_tensor::{DType, Key, Tensor};

fn logistic(c: f64) -> LogisticRegression {
    LogisticRegression::default().c(c).tol(1e-10).max_iter(10000)
}

/// Every seventh row.
fn some(tensor: &Tensor) -> Vec<f64> {
    let width = tensor.dims().get(1).copied().unwrap_or(1);
    tensor.to_f64_vec().chunks(width).step_by(7).flatten().copied().collect()
}

fn weights(n: usize) -> Tensor {
    Tensor::from((0..n).map(|i| 1.0 + (i % 3) as f64).collect::<Vec<f64>>())
}

fn classes(name: &str) -> (Tensor, Tensor) {
    let (x, y) = data(name);
    (if name == "breast_cancer" { standardised(&x) } else { x }, y)
}

#[test]
fn stacked_regressors_predict_as_in_sklearn() {
    let f = fixture("stacking.json");
    let (x, y) = data("diabetes");
    let stack = StackingRegressor::default()
        .with("ridge", Ridge::default().alpha(0.1))
        .with("line", LinearRegression::default());
    let last = || Box::new(Ridge::default().alpha(2.0));
    let samples = Samples::new(&x, &y).unwrap();
    let weighted = samples.clone().weighted(&weights(samples.len())).unwrap();
    let cases = [
        ("default", stack.clone(), &samples),
        ("passthrough", stack.clone().passthrough(true).cv(3).final_estimator(last()), &samples),
        ("weighted", stack.clone().final_estimator(last()), &weighted),
    ];
    for (name, stack, samples) in cases {
        let model = stack.fit_samples(samples).unwrap();
        let wanted = &f["regression"][name];
        assert_close(&model.predict(&x).unwrap().to_f64_vec(), &numbers(&wanted["predict"]), 1e-8);
        let made = model.transform(&x).unwrap();
        assert_eq!(made.dims()[1], if name == "passthrough" { 12 } else { 2 });
        assert_close(&made.narrow(0, 0, 5).narrow(1, 0, 2).to_f64_vec(), &numbers(&wanted["transform"]), 1e-9);
        let copy = restore(&model.record()).unwrap();
        assert_eq!(copy.predict(&x).unwrap().to_f64_vec(), model.predict(&x).unwrap().to_f64_vec());
    }
}

#[test]
fn stacked_classifiers_predict_as_in_sklearn() {
    let f = fixture("stacking.json");
    for set in ["iris", "breast_cancer"] {
        let (x, y) = classes(set);
        let stack = StackingClassifier::default().final_estimator(Box::new(logistic(1.0)));
        let both = stack.clone().with("nb", GaussianNb::default()).with("logistic", logistic(0.5));
        let cases = [
            ("auto", both.clone()),
            ("decision", stack.with("logistic", logistic(0.5)).stack_method(StackMethod::DecisionFunction)),
            ("predict", both.clone().stack_method(StackMethod::Predict).cv(3)),
            ("passthrough", both.passthrough(true)),
        ];
        for (name, stack) in cases {
            let model = stack.fit(&x, &y).unwrap();
            let found = some(&model.predict_proba(&x).unwrap());
            assert_close(&found, &numbers(&f["classification"][format!("{set} {name}")]), 1e-6);
        }
    }
}

#[test]
fn calibrated_probabilities_are_those_of_sklearn() {
    let f = fixture("stacking.json");
    let svc = || LinearSvc::default().tol(1e-12).max_iter(1_000_000);
    let bases: [(&str, Box<dyn Estimator>, f64); 3] = [
        ("nb", Box::new(GaussianNb::default()), 1e-5),
        ("logistic", Box::new(logistic(1.0)), 1e-5),
        ("svc", Box::new(svc()), 1e-4),
    ];
    for set in ["iris", "breast_cancer"] {
        let (x, y) = classes(set);
        let samples = Samples::new(&x, &y).unwrap();
        for (name, base, tolerance) in &bases {
            for method in [CalibrationMethod::Sigmoid, CalibrationMethod::Isotonic] {
                for joint in [true, false] {
                    let own = match *name {
                        "svc" => samples.clone(),
                        _ => samples.clone().weighted(&weights(samples.len())).unwrap(),
                    };
                    let calibrated = CalibratedClassifier::new(base.clone()).method(method).ensemble(joint).cv(4);
                    let model = calibrated.fit_samples(&own).unwrap();
                    assert_eq!(model.models().len(), if joint { 4 } else { 1 });
                    let kind = if method == CalibrationMethod::Sigmoid { "sigmoid" } else { "isotonic" };
                    let key = format!("{set} {name} {kind} {joint}");
                    let found = some(&model.predict_proba(&x).unwrap());
                    assert_close(&found, &numbers(&f["calibration"][&key]), *tolerance);
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_stacked_or_calibrated_is_refused() {
    let (x, y) = classes("iris");
    let message = |estimator: &dyn Estimator| estimator.fit(&x, &y).err().map(|error| error.to_string()).unwrap();
    let stack = StackingClassifier::default();
    assert!(message(&stack).contains("add estimators with `with`"));
    assert!(message(&stack.clone().with("a", Ridge::default())).contains("give a classifier"));
    assert!(
        message(&stack.clone().with("a", GaussianNb::default()).with("a", GaussianNb::default())).contains("two steps")
    );
    let error = message(&stack.clone().with("a", GaussianNb::default()).final_estimator(Box::new(Ridge::default())));
    assert!(error.contains("final_estimator") && error.contains("give a classifier"), "{error}");
    let error = message(&stack.clone().with("a", Perceptron::default()).stack_method(StackMethod::PredictProba));
    assert!(error.contains("does not implement `predict_proba`"), "{error}");
    let regressor = StackingRegressor::default().with("a", SgdRegressor::default()).cv(151);
    let error = regressor.fit(&x, &x.narrow(1, 0, 1).squeeze(1)).err().unwrap().to_string();
    assert!(error.contains("at most 150 folds"), "{error}");

    let error = message(&CalibratedClassifier::new(Ridge::default()));
    assert!(error.contains("neither `decision_function` nor `predict_proba`"), "{error}");
    let error = message(&CalibratedClassifier::new(GaussianNb::default()).cv(51));
    assert!(error.contains("class 0 has only 50 samples") && error.contains("lower `cv`"), "{error}");
    let mut named = CalibratedClassifier::default();
    assert!(named.set("method", "warmth".into()).is_err());
    named.set("estimator", "GaussianNB".into()).unwrap();
    named.set("estimator.var_smoothing", 1e-6.into()).unwrap();
    assert_eq!(named.value("estimator.var_smoothing"), Some(Value::Real(1e-6)));
    assert!(named.fit(&x, &y).is_ok());
}

#[test]
fn out_of_fold_predictions_do_not_leak() {
    // Labels are noise: a classifier that memorizes them would look perfect to a final estimator that saw its own rows.
    let x = Key::new(3).normal([80, 40], DType::F64);
    let y = Tensor::from((0..80).map(|i| i64::from((i * 37 + 11) % 80 < 40)).collect::<Vec<i64>>());
    let stack = StackingClassifier::default()
        .with("sharp", LogisticRegression::default().c(1e6))
        .with("flat", DummyClassifier::default());
    let model = stack.fit(&x, &y).unwrap();
    let weight = model.final_estimator().coefficients().unwrap().to_f64_vec()[0];
    assert!(weight.abs() < 1.0, "{weight}");
}

/// A composite of this test program, as another crate would have one: the inner estimator's numbers, negated.
#[derive(Clone, Debug, PartialEq, tove_optim::settings::Hyperparameters)]
struct Negated {
    /// The regressor inside.
    #[hyper(default = Box::new(LinearRegression::default()))]
    pub estimator: Box<dyn Estimator>,
}

struct FittedNegated {
    about: About,
    inner: Box<dyn Model>,
}

impl Algorithm for Negated {
    type Fitted = FittedNegated;
    const CAPABILITIES: Capabilities = Capabilities::REGRESSOR;

    fn train(&self, samples: &Samples) -> Result<FittedNegated> {
        Ok(FittedNegated { about: About::of(self, samples), inner: self.estimator.fit_samples(samples)? })
    }
}

impl Model for FittedNegated {
    fn about(&self) -> &About {
        &self.about
    }
    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        Ok(-self.inner.predict(x)?)
    }
    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.about.write_shape(&mut record);
        record.put_part("inner", self.inner.record());
        record
    }
}

impl Restore for FittedNegated {
    fn restore(record: &Record) -> Result<FittedNegated> {
        let settings: Negated = record.settings("Negated", 1)?;
        let about = About::read(&settings, record, record.count("width")?, record.precision()?)?;
        Ok(FittedNegated { about, inner: restore(&record.part("inner")?)? })
    }
}

#[test]
fn another_crate_registers_a_composite() {
    registry::register::<Negated>();
    registry::register::<Negated>();
    let found: Vec<_> = registry::all().into_iter().filter(|entry| entry.name == "Negated").collect();
    assert!(found.len() == 1 && found[0].composite);
    for entry in registry::OWN {
        let schema = (entry.schema)();
        let kinds = schema.hyperparameters.iter().map(|own| format!("{:?}", own.kind));
        let holds = kinds.into_iter().any(|kind| kind.contains("Object(\"estimator\")"));
        assert_eq!(holds, entry.composite, "{}", entry.name);
    }
    // Inside another composite, by name, and through a file.
    let (x, y) = data("diabetes");
    let mut stack = StackingRegressor::default().with("plain", LinearRegression::default());
    stack.set("estimators", Value::Map(vec![("negated".into(), "Negated".into())])).unwrap();
    let model = stack.fit(&x, &y).unwrap();
    let line = LinearRegression::default().fit(&x, &y).unwrap();
    assert_close(&model.transform(&x).unwrap().to_f64_vec(), &(-line.predict(&x).unwrap()).to_f64_vec(), 1e-12);
    let copy = restore(&model.record()).unwrap();
    assert_eq!(copy.predict(&x).unwrap().to_f64_vec(), model.predict(&x).unwrap().to_f64_vec());
}
