//! Naive Bayes of counts and of present features, beside scikit-learn.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, fixture, matrix, numbers};
use serde_json::Value;
use tove_learn::*;
use tove_optim::settings::Hyperparameters;
use tove_tensor::{DType, Tensor};

/// The estimator of a case of the fixture.
fn estimator(case: &Value) -> Box<dyn Estimator> {
    let mut estimator = (registry::find(case["name"].as_str().unwrap()).unwrap().new)();
    for (name, value) in case["settings"].as_object().unwrap() {
        let value = value.as_f64().map_or_else(|| value.as_bool().unwrap().into(), Into::into);
        estimator.set(name, value).unwrap();
    }
    estimator
}

fn attribute(model: &dyn Model, name: &str) -> Vec<f64> {
    model.attributes().into_iter().find(|(own, _)| *own == name).unwrap().1.to_f64_vec()
}

#[test]
fn counts_and_present_features_are_those_of_scikit_learn() {
    let file = fixture("naive_bayes.json");
    let x = matrix(&file["x"]);
    let y = Tensor::from_slice(&numbers(&file["y"]).iter().map(|&y| y as i64).collect::<Vec<i64>>());
    let weights = Tensor::from_slice(&numbers(&file["weights"]));
    for case in file["cases"].as_array().unwrap() {
        let fit = |x: Rows| {
            let samples = Samples::new(x, &y).unwrap();
            let weighted = case["weighted"].as_bool().unwrap();
            let samples = if weighted { samples.weighted(&weights).unwrap() } else { samples };
            estimator(case).fit_samples(&samples).unwrap()
        };
        let sparse = Csr::from_dense(&x).unwrap();
        for (model, rows) in [(fit((&x).into()), Rows::from(&x)), (fit((&sparse).into()), Rows::from(&sparse))] {
            for name in ["feature_log_prob", "class_log_prior", "feature_count", "class_count"] {
                if case["name"] == "ComplementNB" && name == "class_log_prior" {
                    continue; // it plays no part
                }
                let expected = match name {
                    "class_log_prior" | "class_count" => numbers(&case[name]),
                    _ => matrix(&case[name]).to_f64_vec(),
                };
                assert_close(&attribute(&*model, name), &expected, 1e-10);
            }
            let labels = model.predict(&rows).unwrap().to_f64_vec();
            assert_eq!(labels, numbers(&case["predict"]));
            let every = model.predict_proba(rows.take(&(0..60).step_by(5).collect::<Vec<_>>()).unwrap()).unwrap();
            assert_close(&every.to_f64_vec(), &matrix(&case["proba"]).to_f64_vec(), 1e-10);
        }
    }
}

#[test]
fn batches_give_the_model_of_all_samples_and_that_of_scikit_learn() {
    let file = fixture("naive_bayes.json");
    let x = matrix(&file["x"]);
    let y = Tensor::from_slice(&numbers(&file["y"]).iter().map(|&y| y as i64).collect::<Vec<i64>>());
    let weights = Tensor::from_slice(&numbers(&file["weights"]));
    let samples = Samples::new(&x, &y).unwrap().weighted(&weights).unwrap();
    let batches: Vec<Vec<usize>> = file["batches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rows| numbers(rows).iter().map(|&row| row as usize).collect())
        .collect();
    let cases = file["partial"].as_array().unwrap();
    assert_eq!(cases.len(), 4);
    for case in cases {
        let estimator = (registry::find(case["name"].as_str().unwrap()).unwrap().new)();
        let mut learner = estimator.any_learner(&[11, 3, 5]).unwrap();
        assert!(learner.model_any().is_err());
        for rows in &batches {
            learner.learn_any(&samples.take(rows).unwrap()).unwrap();
        }
        let (model, whole) = (learner.model_any().unwrap(), estimator.fit_samples(&samples).unwrap());
        for (name, expected) in case["attributes"].as_object().unwrap() {
            assert_close(&attribute(&*model, name), &numbers(expected), 1e-10);
            assert_close(&attribute(&*model, name), &attribute(&*whole, name), 1e-12);
        }
        let some = Rows::from(&x).take(&(0..60).step_by(5).collect::<Vec<_>>()).unwrap();
        // scikit-learn's GaussianNB smooths by the variance of the last batch, here by another 1e-9 of it.
        let tolerance = if case["name"] == "GaussianNB" { 1e-3 } else { 1e-10 };
        assert_close(&model.predict_proba(&some).unwrap().to_f64_vec(), &numbers(&case["proba"]), tolerance);
        assert_close(
            &model.predict_proba(&some).unwrap().to_f64_vec(),
            &whole.predict_proba(&some).unwrap().to_f64_vec(),
            1e-6,
        );
    }
    // What batches cannot have.
    let mut learner = MultinomialNb::default().learner(&[3, 5]).unwrap();
    let error = learner.learn(&samples).unwrap_err().to_string();
    assert!(error.contains("class 11 is not in the list"), "{error}");
    learner.learn(&samples.take(&[0, 3]).unwrap()).unwrap();
    let error = learner.model().unwrap_err().to_string();
    assert!(error.contains("class 5 has no samples"), "{error}");
    let narrow = Samples::new(Tensor::from([[1.0]]), &Tensor::from([3i64])).unwrap();
    assert!(learner.learn(&narrow).is_err());
    assert!(MultinomialNb::default().learner(&[3]).is_err());
}

#[test]
fn negative_counts_and_thresholds_of_sparse_rows_are_refused() {
    let (x, y) = (Tensor::from([[0.0, 1.0], [2.0, -1.0]]), Tensor::from([0i64, 1]));
    for rows in [Rows::from(&x), Rows::from(Csr::from_dense(&x).unwrap())] {
        let error = MultinomialNb::default().fit(rows, &y).unwrap_err().to_string();
        assert!(error.contains("row 1, column 1") && error.contains("negative"), "{error}");
    }
    let sparse = Csr::from_dense(&x.abs()).unwrap();
    let error = BernoulliNb::default().binarize(-1.0).fit(&sparse, &y).unwrap_err().to_string();
    assert!(error.contains("binarize"), "{error}");
    // Dense rows take any threshold; a row of either precision gets the same class.
    let model = BernoulliNb::default().binarize(-1.5).fit(&x, &y).unwrap();
    assert!(model.predict_proba(&x).unwrap().to_f64_vec().iter().all(|p| p.is_finite()));
    let single = BernoulliNb::default().fit(x.to_dtype(DType::F32), &y).unwrap();
    assert_eq!(single.predict(x.to_dtype(DType::F32)).unwrap().to_vec::<i64>(), [0, 1]);
    assert!(MultinomialNb::default().alpha(0.0).validate().is_err());
}
