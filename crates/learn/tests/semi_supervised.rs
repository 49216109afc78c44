//! Semi-supervised learning beside scikit-learn, and few labels on two moons.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, fixture, matrix, numbers};
use serde_json::Value;
use tove_learn::semi_supervised::{
    GraphKernel, LabelPropagation, LabelSpreading, SelectionCriterion, SelfTrainingClassifier,
};
use tove_learn::{Fit, LearnError, LinearSvc, LogisticRegression, Model, Predict, Ridge, Svc, quietly};
use tove_tensor::{DType, Key, Tensor};

fn integers(value: &Value) -> Vec<i64> {
    numbers(value).into_iter().map(|label| label as i64).collect()
}

fn graphs_are_those_of_scikit_learn() {
    let all = fixture("semi_supervised.json");
    let (x, y, new) = (matrix(&all["x"]), Tensor::from(integers(&all["y"])), matrix(&all["new"]));
    let propagation = LabelPropagation::default();
    let spreading = LabelSpreading::default();
    let models = [
        ("propagation", propagation.fit(&x, &y)),
        ("propagation_soft", propagation.clone().gamma(5.0).tol(1e-6).fit(&x, &y)),
        ("propagation_knn", propagation.clone().kernel(GraphKernel::Knn).n_neighbors(5).fit(&x, &y)),
        ("spreading", spreading.fit(&x, &y)),
        ("spreading_alpha", spreading.clone().alpha(0.8).gamma(10.0).max_iter(200).fit(&x, &y)),
    ];
    for (name, model) in models {
        let (model, expected) = (model.unwrap(), &all["graphs"][name]);
        assert_close(&model.label_distributions().to_f64_vec(), &numbers(&expected["distributions"]), 1e-9);
        assert_eq!(model.transduction().unwrap().to_vec::<i64>(), integers(&expected["transduction"]), "{name}");
        assert_close(&model.predict_proba(&new).unwrap().to_f64_vec(), &numbers(&expected["proba"]), 1e-9);
        assert_eq!(model.summary().iterations as u64, expected["n_iter"].as_u64().unwrap(), "{name}");
    }
}

/// A graph of neighbors is sparse: all pairs of these samples would take 12 GB.
#[test]
fn neighbor_graphs_of_many_samples() {
    let n = 40_000;
    let moons = tove_data::sets::two_moons(n, 0.05, Key::new(3)).unwrap();
    let truth = moons.y().to_dtype(DType::I64).to_vec::<i64>();
    let labels: Vec<i64> = truth.iter().enumerate().map(|(i, &label)| if i % 20 == 0 { label } else { -1 }).collect();
    let spreading = LabelSpreading::default().kernel(GraphKernel::Knn).alpha(0.9);
    let model = quietly(|| spreading.fit(moons.x(), &Tensor::from(labels))).unwrap();
    let found = model.transduction().unwrap().to_vec::<i64>();
    assert!(found.iter().zip(&truth).filter(|(a, b)| a == b).count() > n * 99 / 100);
    let back = tove_learn::restore(&model.record()).unwrap();
    let some = moons.x().narrow(0, 0, 100);
    assert_eq!(back.predict_proba(&some).unwrap().to_f64_vec(), model.predict_proba(&some).unwrap().to_f64_vec());
}

#[test]
fn self_training_is_that_of_scikit_learn() {
    let all = fixture("semi_supervised.json");
    let (x, y, new) = (matrix(&all["x"]), Tensor::from(integers(&all["y"])), matrix(&all["new"]));
    let base = SelfTrainingClassifier::new(LogisticRegression::default().tol(1e-10).max_iter(1000));
    let models = [
        ("threshold", base.fit(&x, &y)),
        ("low", base.clone().threshold(0.6).max_iter(3).fit(&x, &y)),
        ("k_best", base.clone().criterion(SelectionCriterion::KBest).k_best(7).fit(&x, &y)),
    ];
    for (name, model) in models {
        let (model, expected) = (model.unwrap(), &all["self_training"][name]);
        assert_eq!(model.transduction(), integers(&expected["transduction"]), "{name}");
        assert_eq!(model.labeled_iter(), integers(&expected["labeled_iter"]), "{name}");
        assert_close(&model.predict_proba(&new).unwrap().to_f64_vec(), &numbers(&expected["proba"]), 1e-5);
    }
}

/// L29: scikit-learn's label propagation, label spreading and self-training; on two moons with ten labels, spreading them beats the
/// model that sees the labeled samples alone.
#[test]
fn l29_unlabeled_samples_help_where_labels_are_few() {
    graphs_are_those_of_scikit_learn();
    self_training_is_that_of_scikit_learn();
    let moons = tove_data::sets::two_moons(400, 0.1, Key::new(8)).unwrap();
    let (x, truth) = (moons.x().clone(), moons.y().to_dtype(DType::I64).to_vec::<i64>());
    let mut gains = Vec::new();
    for seed in 0..5 {
        let order = Key::new(seed).permutation(400).to_vec::<i64>();
        let mut labels = vec![-1i64; 400];
        let mut rows = Vec::new();
        for class in [0, 1] {
            for &row in order.iter().filter(|&&row| truth[row as usize] == class).take(5) {
                labels[row as usize] = class;
                rows.push(row);
            }
        }
        let y = Tensor::from(labels);
        let known = Tensor::from(rows);
        let supervised = (x.index_select(0, &known), y.index_select(0, &known));
        let accuracy = |model: &dyn Model| {
            let found = model.predict(&x).unwrap().to_vec::<i64>();
            found.iter().zip(&truth).filter(|(a, b)| a == b).count() as f64 / 400.0
        };
        let svc = Svc::default().gamma(tove_learn::Gamma::Value(2.0)).probability(true);
        let alone = accuracy(&svc.fit(&supervised.0, &supervised.1).unwrap());
        let trained = accuracy(&SelfTrainingClassifier::new(svc).threshold(0.8).max_iter(30).fit(&x, &y).unwrap());
        let spread = accuracy(&quietly(|| LabelSpreading::default().max_iter(500).alpha(0.9).fit(&x, &y)).unwrap());
        println!("ten labels alone {alone:.4}, self-training {trained:.4}, label spreading {spread:.4}");
        gains.push((spread - alone, trained - alone));
    }
    assert!(gains.iter().all(|gain| gain.0 > 0.0), "{gains:?}");
    assert!(gains.iter().map(|gain| gain.0).sum::<f64>() / 5.0 > 0.03, "{gains:?}");
}

#[test]
fn unusable_labels_and_classifiers_are_refused() {
    let x = Key::new(1).normal([6, 2], DType::F64);
    let unlabeled = Tensor::from([-1i64; 6]);
    for error in [
        LabelPropagation::default().fit(&x, &unlabeled).unwrap_err(),
        LabelSpreading::default().fit(&x, &unlabeled).unwrap_err(),
        SelfTrainingClassifier::default().fit(&x, &unlabeled).err().unwrap(),
    ] {
        assert!(error.to_string().contains("no sample is labeled"), "{error}");
    }
    let one = Tensor::from([-1i64, 4, 4, -1, -1, -1]);
    assert!(matches!(LabelSpreading::default().fit(&x, &one), Err(LearnError::OneClass { class: 4, .. })));
    let y = Tensor::from([0i64, 1, -1, -1, -1, -1]);
    for wrong in [SelfTrainingClassifier::new(LinearSvc::default()), SelfTrainingClassifier::new(Ridge::default())] {
        let error = wrong.fit(&x, &y).err().unwrap().to_string();
        assert!(error.contains("give a classifier with probabilities"), "{error}");
    }
    // Identical samples with different labels, a sample far from all others, and more neighbors than samples.
    let odd = Tensor::from([[0.0, 0.0], [0.0, 0.0], [1e6, 1e6]]);
    let y = Tensor::from([0i64, 1, -1]);
    for kernel in [GraphKernel::Rbf, GraphKernel::Knn] {
        let model = quietly(|| LabelPropagation::default().kernel(kernel).fit(&odd, &y)).unwrap();
        let p = model.predict_proba(&odd).unwrap().to_f64_vec();
        assert!(
            p.iter().all(|p| p.is_finite()) && p.chunks(2).all(|row| (row[0] + row[1] - 1.0).abs() < 1e-12),
            "{p:?}"
        );
    }
}
