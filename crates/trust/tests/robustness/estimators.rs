//! Fitted estimators: their scores and derivatives, alone and behind pipelines.

use tove_data::sets;
use tove_learn::features::{MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, VarianceThreshold};
use tove_learn::kernel::KernelFunction;
use tove_learn::svm::{LinearSvc, NuSvc, Svc, Svr};
use tove_learn::{
    Estimator, Fit, Gamma, GaussianNb, KernelKind, KernelRidge, LinearDiscriminantAnalysis, LogisticRegression, Model,
    Pca, Pipeline, Predict, Ridge, StandardScaler,
};
use tove_tensor::{DType, Tensor};
use tove_trust::robustness::{
    AttackNorm, DifferentiableModel, EstimatorScores, ModelQueries, Pgd, QueryModel, robustness_curve,
};

use crate::gradients::check_by_differences;

fn iris() -> (Tensor, Tensor) {
    let set = sets::iris().unwrap();
    (set.x().to_dtype(DType::F64), set.y().to_dtype(DType::I64))
}

/// Two of the three classes, with the labels 4 and 7.
fn two_classes() -> (Tensor, Tensor) {
    let (x, _) = iris();
    let y: Vec<i64> = (0..100).map(|row| if row < 50 { 4 } else { 7 }).collect();
    (x.narrow(0, 50, 100).contiguous(), Tensor::from_slice(&y))
}

/// Scores equal the model's decisions, and gradients differences; on a few rows.
fn check(model: &dyn Model, x: &Tensor, y: &Tensor) {
    let scores = EstimatorScores::of(model).unwrap();
    let codes = scores.codes(y).unwrap();
    assert_eq!(scores.query_labels(x).unwrap(), ModelQueries::new(model).query_labels(x).unwrap(), "{}", model.name());
    let truth: Vec<usize> = codes.to_vec::<i64>().into_iter().map(|code| code as usize).collect();
    let some: Vec<usize> = (0..truth.len()).step_by(17).collect();
    let part = x.index_select(0, &Tensor::from_slice(&some.iter().map(|&row| row as i64).collect::<Vec<_>>()));
    check_by_differences(&scores, &part, &some.iter().map(|&row| truth[row]).collect::<Vec<_>>());
    if model.classes().len() == 2 && model.capabilities().decision_function {
        let (own, theirs) = (scores.scores(x).unwrap().to_f64_vec(), model.decision_function(x).unwrap().to_f64_vec());
        assert!(own.iter().zip(theirs).all(|(a, b)| (a - b).abs() < 1e-6 * (1.0 + b.abs())), "{}", model.name());
    }
}

#[test]
fn linear_and_kernel_classifiers_have_exact_input_gradients() {
    for (x, y) in [iris(), two_classes()] {
        let kinds = [KernelKind::Rbf, KernelKind::Poly, KernelKind::Linear, KernelKind::Sigmoid];
        let mut models: Vec<Box<dyn Estimator>> = vec![
            Box::new(LogisticRegression::default()),
            Box::new(LinearSvc::default()),
            Box::new(LinearDiscriminantAnalysis::default()),
            Box::new(NuSvc::default().nu(0.2)),
        ];
        models.extend(
            kinds.map(|kind| Box::new(Svc::default().kernel(kind).gamma(Gamma::Value(0.1))) as Box<dyn Estimator>),
        );
        for estimator in models {
            check(&*estimator.fit(&x, &y).unwrap(), &x, &y);
        }
    }
}

#[test]
fn pipelines_are_differentiated_through_their_steps() {
    let (x, y) = iris();
    let logistic = LogisticRegression::default;
    let pipelines = [
        Pipeline::of(StandardScaler::default()).then(logistic()),
        Pipeline::of(MinMaxScaler::default()).then(Svc::default()),
        Pipeline::of(RobustScaler::default()).then(Pca::default()).then(logistic()),
        Pipeline::of(MaxAbsScaler::default()).then(VarianceThreshold::default()).then(logistic()),
        Pipeline::of(Normalizer::default()).then(StandardScaler::default()).then(Svc::default()),
        Pipeline::of(StandardScaler::default().with_mean(false)).then(logistic()),
    ];
    for pipeline in pipelines {
        check(&pipeline.fit(&x, &y).unwrap(), &x, &y);
    }
}

#[test]
fn regressions_decide_by_their_sign() {
    let (x, y) = two_classes();
    let sides: Vec<f64> = y.to_vec::<i64>().into_iter().map(|label| if label == 7 { 1.0 } else { -1.0 }).collect();
    let target = Tensor::from_slice(&sides);
    let truth: Vec<usize> = sides.iter().map(|&side| usize::from(side > 0.0)).collect();
    let models: Vec<Box<dyn Model>> = vec![
        Box::new(Ridge::default().fit(&x, &target).unwrap()),
        Box::new(KernelRidge::default().kernel(KernelKind::Rbf).alpha(0.1).fit(&x, &target).unwrap()),
        Box::new(Svr::default().fit(&x, &target).unwrap()),
    ];
    for model in models {
        let scores = EstimatorScores::of(&*model).unwrap();
        let (own, theirs) = (scores.scores(&x).unwrap().to_f64_vec(), model.predict(&x).unwrap().to_f64_vec());
        assert!(own.iter().zip(theirs).all(|(a, b)| (a - b).abs() < 1e-8), "{}", model.name());
        check_by_differences(&scores, &x.narrow(0, 45, 8).contiguous(), &truth[45..53]);
    }
}

#[test]
fn kernel_machines_are_attacked_and_their_accuracy_falls() {
    let (x, y) = iris();
    let model = Pipeline::of(StandardScaler::default()).then(Svc::default()).fit(&x, &y).unwrap();
    let scores = EstimatorScores::of(&model).unwrap();
    let pgd = Pgd::new(AttackNorm::L2).steps(15).restarts(2);
    let queries = ModelQueries::new(&model);
    let curve = robustness_curve(&queries, &x, &queries.codes(&y).unwrap(), &[0.1, 0.5, 1.0], |x, y, eps| {
        pgd.run(&scores, x, y, eps)
    });
    let curve = curve.unwrap();
    println!("{curve}");
    assert!(curve.standard.value > 0.95 && curve.points[2].accuracy.value < 0.5);
}

#[test]
fn models_without_a_known_derivative_are_refused_with_a_way_out() {
    let (x, y) = two_classes();
    let bayes = GaussianNb::default().fit(&x, &y).unwrap();
    let text = EstimatorScores::of(&bayes).err().unwrap().to_string();
    assert!(text.contains("GaussianNB") && text.contains("queries"), "{text}");
    let custom = Svc::default();
    let kernel = KernelFunction::custom(|a, b| a.iter().zip(b).map(|(a, b)| a * b).sum());
    let custom = custom.fit_with(&kernel, &tove_learn::Samples::new(&x, &y).unwrap()).unwrap();
    assert!(EstimatorScores::of(&custom).err().unwrap().to_string().contains("kernel"));
    let scores = EstimatorScores::of(&LogisticRegression::default().fit(&x, &y).unwrap()).unwrap();
    assert!(scores.codes(&Tensor::from([5i64])).unwrap_err().to_string().contains("label 5 in row 0"));
}
