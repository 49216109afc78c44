//! Data and settings at the edges: empty parts, constant columns, ties, badly scaled features, invalid values.
#![allow(clippy::unwrap_used)]

mod common;

use common::{FitWeighted, assert_close};
use tove_learn::ensemble::{BaggingClassifier, BaggingRegressor, VotingClassifier};
use tove_learn::features::{FeatureScore, Fill};
use tove_learn::linear::{BayesianRidge, HuberRegressor, LinearRegression};
use tove_learn::selection::{Fold, GroupKFold, KFold, PredefinedFolds, Splitter, TimeSeriesSplit, cross_val_score};
use tove_learn::{
    DummyClassifier, Estimator, Fit, Imputer, KernelKind, KernelRidge, LearnError, LogisticRegression, MinMaxScaler,
    Model, NuSvc, NuSvr, OneHotEncoder, Perceptron, Pipeline, Predict, Record, Ridge, Rows, Samples, SelectKBest,
    SgdClassifier, StandardScaler, Svc, Svr, Transform, quietly, restore,
};
use tove_lessons::regress_and_round::RegressAndRound;
use tove_optim::settings::Hyperparameters;
use tove_tensor::{DType, Key, Tensor};

fn two_classes(n: usize, seed: u64) -> (Tensor, Tensor) {
    let x = Key::new(seed).normal([n, 3], DType::F64);
    let y: Vec<i64> = x.to_f64_vec().chunks(3).map(|x| i64::from(x[0] + 0.5 * x[1] > 0.0)).collect();
    (x, Tensor::from(y))
}

/// A classifier with these weights and intercepts.
fn with_weights(model: &dyn Model, coef: Tensor, intercept: Tensor) -> Box<dyn Model> {
    let mut record = model.record();
    record.put("single", coef.dtype() == DType::F32);
    record.put_tensor("coef", &coef);
    record.put_tensor("intercept", &intercept);
    restore(&record).unwrap()
}

#[test]
fn empty_parts_of_folds_are_refused() {
    let y = Tensor::zeros([6], DType::F64);
    let fold = |train: &[usize], test: &[usize]| Fold { train: train.to_vec(), test: test.to_vec() };
    let error = PredefinedFolds::new(vec![fold(&[0, 1], &[2]), fold(&[], &[3])]).split(&y).unwrap_err().to_string();
    assert!(error.contains("training part of fold 1 is empty"), "{error}");
    assert!(PredefinedFolds::new(vec![fold(&[0, 1], &[])]).split(&y).is_err());
    assert!(PredefinedFolds::new(Vec::new()).split(&y).is_err());
    assert!(PredefinedFolds::new(vec![fold(&[0, 1], &[2])]).split(&y).is_ok());
    assert!(TimeSeriesSplit::new(2).max_train_size(0).split(&y).is_err());
    assert!(TimeSeriesSplit::new(2).max_train_size(1).split(&y).is_ok());
}

#[test]
fn empty_samples_are_refused_by_every_way_to_fit() {
    let (x, y) = two_classes(20, 1);
    let none = Samples::new(&x, &y).unwrap().take(&[]).unwrap();
    let empty = |error: Option<LearnError>| matches!(error, Some(LearnError::TooFew { found: 0, .. }));
    assert!(empty(BaggingClassifier::new(DummyClassifier::default()).fit_samples(&none).err()));
    assert!(empty(VotingClassifier::hard().with("a", DummyClassifier::default()).fit_samples(&none).err()));
    assert!(empty(
        Pipeline::default()
            .step("s", StandardScaler::default())
            .then(DummyClassifier::default())
            .fit_samples(&none)
            .err()
    ));
    assert!(empty(Svc::default().fit_with(&tove_learn::KernelFunction::Linear, &none).err()));
    assert!(empty(KernelRidge::default().fit_with(&tove_learn::KernelFunction::Linear, &none).err()));
    let mut learner = tove_learn::PartialFit::learner(&SgdClassifier::default(), &[0, 1]).unwrap();
    assert!(empty(tove_learn::Learner::learn(&mut learner, &none).err()));
    for estimator in [&LinearRegression::default() as &dyn Estimator, &Ridge::default()] {
        let mut learner = estimator.any_learner(&[]).unwrap();
        let none = Samples::new(&x, &y.to_dtype(DType::F64)).unwrap().take(&[]).unwrap();
        assert!(empty(learner.learn_any(&none).err()), "{}", estimator.name());
    }
    let rows = Rows::from(&x).take(&[]).unwrap();
    assert!(empty(StandardScaler::default().fit(&rows, None).err()));
}

#[test]
fn rows_that_overflow_are_an_error_and_no_panic() {
    let (x, y) = two_classes(60, 2);
    let far = Tensor::from([[1e308, -1e308, 1e308], [0.1, 0.2, 0.3]]) * 1.0;
    tove_learn::registry::register::<RegressAndRound>();
    let rounding = RegressAndRound::default().fit(&x, &y).unwrap();
    let steep = (&x * 1e-3, Tensor::from_slice(&x.to_f64_vec().chunks(3).map(|x| x[0] - x[1]).collect::<Vec<_>>()));
    let line = LinearRegression::default().fit(&steep.0, &steep.1).unwrap(); // coefficients of 1000 and −1000
    let error = line.predict(&far).unwrap_err().to_string();
    assert!(error.contains("row 0"), "{error}");
    let labels = Tensor::from_slice(&steep.1.to_f64_vec().iter().map(|y| i64::from(*y > 0.0)).collect::<Vec<_>>());
    let far_both = Tensor::from([[1e308, 1e308, 1e308]]);
    for model in [
        Box::new(RegressAndRound::default().fit(&steep.0, &labels).unwrap()) as Box<dyn Model>,
        Box::new(LogisticRegression::default().c(1e6).fit(&steep.0, &labels).unwrap()),
    ] {
        match model.predict(&far_both) {
            Ok(labels) => assert!([0, 1].contains(&labels.at::<i64>(&[0]))),
            Err(error) => assert!(matches!(error, LearnError::Data { .. }), "{error}"),
        }
    }
    // A record with a coefficient pair that cancels to NaN for certain.
    let mut record = rounding.record().into_container();
    let name = record.tensors.keys().find(|name| name.ends_with("coef")).unwrap().clone();
    record.insert(name, Tensor::from([1e10, -1e10, 0.0]));
    let broken = restore(&Record::from_container(record)).unwrap();
    let error = broken.predict(&far_both).unwrap_err().to_string();
    assert!(error.contains("row 0"), "{error}");
}

#[test]
fn kernel_machines_refuse_features_whose_kernel_overflows() {
    let (x, y) = two_classes(40, 3);
    let numbers = y.to_dtype(DType::F64);
    for factor in [1e30, 1e154, 1e200] {
        let x = &x * factor;
        let linear = [
            Svc::default().kernel(KernelKind::Linear).fit(&x, &y).err(),
            NuSvc::default().kernel(KernelKind::Linear).fit(&x, &y).err(),
            Svr::default().kernel(KernelKind::Linear).fit(&x, &numbers).err(),
            NuSvr::default().kernel(KernelKind::Linear).fit(&x, &numbers).err(),
        ];
        for error in linear {
            assert!(matches!(error, Some(LearnError::Data { .. })), "{factor:e}: {error:?}");
        }
    }
    // The default kernel does not depend on the unit of measurement.
    let (plain, large) = (Svc::default().fit(&x, &y).unwrap(), Svc::default().fit(&x * 1e100, &y).unwrap());
    assert_eq!(plain.predict(&x).unwrap().to_vec::<i64>(), large.predict(&x * 1e100).unwrap().to_vec::<i64>());
}

#[test]
fn constant_columns_are_never_selected() {
    for seed in 0..200 {
        let n = 20 + (seed % 30) as usize;
        let noise = Key::new(seed).normal([n, 3], DType::F64).to_f64_vec();
        let x: Vec<f64> = noise.chunks(3).flat_map(|noise| [noise[0], 0.1, noise[1]]).collect();
        let x = Rows::from(Tensor::from_vec(x, [n, 3]));
        let labels = Tensor::from_slice(&(0..n as i64).map(|i| i % 3).collect::<Vec<_>>());
        let targets = Tensor::from_slice(&noise.chunks(3).map(|noise| noise[2]).collect::<Vec<_>>());
        for (score, y) in [(FeatureScore::FClassif, &labels), (FeatureScore::FRegression, &targets)] {
            let select = SelectKBest::default().k(Some(2)).score_func(score);
            let fitted = select.fit(&x, y).unwrap();
            assert_eq!(fitted.columns(), [0, 2], "seed {seed}, {score:?}: {:?}", fitted.scores());
            assert!(fitted.scores()[1].is_nan());
            assert!(fitted.scores().iter().all(|score| score.is_nan() || *score >= 0.0));
        }
    }
}

#[test]
fn a_feature_that_determines_the_target_has_the_largest_score() {
    for seed in 0..50 {
        let values = Key::new(seed).normal([25, 2], DType::F64).to_f64_vec();
        let shift = 10f64.powi((seed % 9) as i32);
        let x: Vec<f64> = values.chunks(2).flat_map(|v| [v[0], v[1] + shift]).collect();
        let y: Vec<f64> = values.chunks(2).map(|v| 3.0 * (v[1] + shift) - 1.0).collect();
        let select = SelectKBest::default().k(Some(1)).score_func(FeatureScore::FRegression);
        let x = Rows::from(Tensor::from_vec(x, [25, 2]));
        let fitted = select.fit(&x, &Tensor::from_slice(&y)).unwrap();
        assert_eq!(fitted.columns(), [1], "{:?}", fitted.scores());
        assert!(fitted.scores()[1] > 1e8, "{:?}", fitted.scores());
        let broken = Tensor::from_slice(&[f64::NAN; 25]);
        assert!(matches!(select.fit(&x, &broken), Err(LearnError::NotFinite { .. })));
        assert!(select.fit(&x, &Tensor::ones([25], DType::F64)).is_err());
    }
}

#[test]
fn bootstrap_sets_that_miss_a_class_are_no_error() {
    let x = Key::new(5).normal([300, 2], DType::F64);
    let y = Tensor::from_slice(&(0..300).map(|i| i64::from(i % 100 == 7)).collect::<Vec<_>>()); // 3 of 300
    let samples = Samples::new(&x, &y).unwrap();
    let mut constant = 0;
    for seed in 0..20 {
        let model = BaggingClassifier::new(LogisticRegression::default()).seed(seed).fit_samples(&samples).unwrap();
        constant += model.models().iter().filter(|model| model.classes().len() == 1).count();
        let p = model.predict_proba(&x).unwrap().to_f64_vec();
        assert!(p.chunks(2).all(|row| (row[0] + row[1] - 1.0).abs() < 1e-12));
        let copy = restore(&model.record()).unwrap();
        assert_eq!(copy.predict_proba(&x).unwrap().to_f64_vec(), p);
    }
    assert!(constant > 0, "no set missed the rare class, so nothing was tested");
    // Folds that lack the rare class in training can be fitted and judged where another class is there.
    let y = Tensor::from_slice(&(0..300).map(|i| if i < 60 { 2 } else { i % 2 }).collect::<Vec<i64>>());
    let scores = cross_val_score(
        &LogisticRegression::default(),
        &Samples::new(&x, &y).unwrap(),
        KFold::new(5),
        tove_learn::selection::Scorer::Accuracy,
    );
    assert!(scores.unwrap().iter().all(|score| score.is_finite()));
}

#[test]
fn features_are_drawn_with_replacement_when_asked() {
    let x = Key::new(6).normal([50, 8], DType::F64);
    let y = Key::new(7).normal([50], DType::F64);
    let model =
        BaggingRegressor::new(Ridge::default()).bootstrap_features(true).fit_samples(&Samples::new(&x, &y).unwrap());
    let record = model.unwrap().record();
    let twice = (0..10).filter(|number| {
        let mut columns = record.integers(&format!("columns.{number}")).unwrap();
        columns.dedup();
        columns.len() < 8
    });
    assert!(twice.count() > 0, "no model has a feature twice");
}

#[test]
fn ties_go_to_the_first_class_and_all_answers_agree() {
    let (x, y) = two_classes(40, 10);
    let row = Tensor::from([[1.0, 0.0, 0.0]]);
    let models: Vec<Box<dyn Model>> = vec![
        Box::new(LogisticRegression::default().fit(&x, &y).unwrap()),
        Box::new(SgdClassifier::default().loss(tove_learn::sgd::ClassLoss::LogLoss).fit(&x, &y).unwrap()),
        Box::new(SgdClassifier::default().loss(tove_learn::sgd::ClassLoss::ModifiedHuber).fit(&x, &y).unwrap()),
        Box::new(Perceptron::default().fit(&x, &y).unwrap()),
        Box::new(tove_learn::LinearSvc::default().fit(&x, &y).unwrap()),
    ];
    for model in &models {
        for (score, class) in [(0.0, 0), (-0.0, 0), (1e-20, 1), (-1e-20, 0), (1e-300, 1), (-1e-300, 0), (3.0, 1)] {
            for dtype in [DType::F64, DType::F32] {
                let score = if dtype == DType::F32 && f64::abs(score) < 1e-30 { 0.0 } else { score };
                let class = if score == 0.0 { 0 } else { class };
                let (coef, intercept) = (Tensor::from([[score, 0.0, 0.0]]), Tensor::from([0.0]));
                let model = with_weights(&**model, coef.to_dtype(dtype), intercept.to_dtype(dtype));
                assert_eq!(model.predict(&row).unwrap().to_vec::<i64>(), [class], "{} at {score:e}", model.name());
                let decision = model.decision_function(&row).unwrap().to_f64_vec()[0];
                assert_eq!(decision > 0.0, class == 1);
                if let Ok(p) = model.predict_proba(&row) {
                    let p = p.to_f64_vec();
                    assert_eq!(p[1] > p[0], class == 1, "{} at {score:e}: {p:?}", model.name());
                    assert!((p[0] + p[1] - 1.0).abs() < 1e-6);
                }
            }
        }
    }
    // Several classes: scores that differ by less than rounding, and saturated ones.
    let labels = Tensor::from_slice(&(0..40).map(|i| i % 3).collect::<Vec<i64>>());
    let models: Vec<Box<dyn Model>> = vec![
        Box::new(LogisticRegression::default().fit(&x, &labels).unwrap()),
        Box::new(SgdClassifier::default().loss(tove_learn::sgd::ClassLoss::LogLoss).fit(&x, &labels).unwrap()),
        Box::new(SgdClassifier::default().loss(tove_learn::sgd::ClassLoss::ModifiedHuber).fit(&x, &labels).unwrap()),
    ];
    for model in &models {
        let cases = [([0.0, 0.0, 0.0], 0), ([0.0, 1e-20, 0.0], 1), ([50.0, 50.0, 60.0], 2), ([5.0, 5.0, -1.0], 0)];
        for (scores, class) in cases {
            let coef = Tensor::from([[scores[0], 0.0, 0.0], [scores[1], 0.0, 0.0], [scores[2], 0.0, 0.0]]);
            let model = with_weights(&**model, coef, Tensor::from([0.0, 0.0, 0.0]));
            let p = model.predict_proba(&row).unwrap();
            assert_eq!(model.predict(&row).unwrap().to_vec::<i64>(), [class], "{scores:?}");
            assert_eq!(p.argmax(1).to_vec::<i64>(), [class], "{} {scores:?}: {p:?}", model.name());
        }
    }
    // A machine whose decision value is exactly 0: halfway between two samples.
    let model = Svc::default().kernel(KernelKind::Linear).fit(Tensor::from([[-1.0], [1.0]]), &Tensor::from([4i64, 9]));
    let model = model.unwrap();
    let decision = model.decision_function(Tensor::from([[0.0]])).unwrap().to_f64_vec()[0];
    assert_eq!(decision, 0.0);
    assert_eq!(model.predict(Tensor::from([[0.0]])).unwrap().to_vec::<i64>(), [4]);
}

#[test]
fn the_perceptron_learns_in_pieces_behind_a_box() {
    let (x, y) = two_classes(60, 11);
    let samples = Samples::new(&x, &y).unwrap();
    let estimator: Box<dyn Estimator> = Box::new(Perceptron::default());
    let mut learner = estimator.any_learner(&[0, 1]).expect("it learns in pieces");
    for _ in 0..20 {
        for part in 0..3 {
            learner.learn_any(&samples.take(&(part * 20..part * 20 + 20).collect::<Vec<_>>()).unwrap()).unwrap();
        }
    }
    assert!(learner.model_any().unwrap().score(&x, &y).unwrap().value > 0.9);
}

#[test]
fn an_imputer_leaves_out_empty_columns_whatever_the_strategy() {
    let x = Tensor::from([[1.0, f64::NAN], [f64::NAN, f64::NAN], [3.0, f64::NAN]]);
    let imputer = Imputer::default().strategy(Fill::Constant).fill_value(9.0);
    let fitted = quietly(|| imputer.fit(&x, None)).unwrap();
    assert_eq!(fitted.transform(&x).unwrap().to_vec::<f64>(), [1.0, 9.0, 3.0]);
    let kept = imputer.clone().keep_empty_features(true).fit(&x, None).unwrap();
    assert_eq!(kept.transform(&x).unwrap().to_vec::<f64>(), [1.0, 9.0, 9.0, 9.0, 3.0, 9.0]);
    // Weights count for every strategy.
    let x = Rows::from(Tensor::from([[1.0], [2.0], [7.0], [f64::NAN]]));
    let weights = Tensor::from([1.0, 1.0, 5.0, 100.0]);
    let samples = Samples::from_parts(x, None, true).unwrap().weighted(&weights).unwrap();
    let filled = |strategy: Fill| Imputer::default().strategy(strategy).fit_samples(&samples).unwrap().statistics()[0];
    assert!((filled(Fill::Mean) - 38.0 / 7.0).abs() < 1e-12);
    assert_eq!((filled(Fill::Median), filled(Fill::MostFrequent)), (7.0, 7.0));
}

#[test]
fn a_vote_refuses_weights_and_names_that_cannot_be_used() {
    let (x, y) = two_classes(20, 14);
    let samples = Samples::new(&x, &y).unwrap();
    let two =
        || VotingClassifier::soft().with("a", DummyClassifier::default()).with("b", LogisticRegression::default());
    for weights in [[-1.0, 2.0], [0.0, 0.0], [f64::NAN, 1.0], [f64::INFINITY, 1.0]] {
        assert!(
            matches!(two().weights(Some(weights.to_vec())).fit_samples(&samples), Err(LearnError::Setting(_))),
            "{weights:?}"
        );
    }
    assert!(two().weights(Some(vec![0.0, 1.0])).fit_samples(&samples).is_ok());
    assert!(two().with("a", DummyClassifier::default()).fit_samples(&samples).is_err());
    assert!(two().with("a.b", DummyClassifier::default()).fit_samples(&samples).is_err());
}

#[test]
fn weights_go_to_the_steps_that_take_them() {
    let x = Key::new(15).normal([30, 2], DType::F64);
    let y = Key::new(16).normal([30], DType::F64);
    let weights = Tensor::from_slice(&(0..30).map(|i| (i % 4) as f64).collect::<Vec<_>>());
    let samples = Samples::new(&x, &y).unwrap().weighted(&weights).unwrap();
    let pipeline = Pipeline::default()
        .step("range", MinMaxScaler::default())
        .step("scale", StandardScaler::default())
        .then(Ridge::default());
    let found = pipeline.fit_samples(&samples).unwrap().predict(&x).unwrap();
    let range = MinMaxScaler::default().fit(&x, None).unwrap().transform(&x).unwrap();
    let scale = StandardScaler::default().fit_weighted(&range, &y, &weights).unwrap();
    let scaled = scale.transform(&range).unwrap();
    let ridge = Ridge::default().fit_weighted(&scaled, &y, &weights).unwrap();
    assert_close(&found.to_f64_vec(), &ridge.predict(&scaled).unwrap().to_f64_vec(), 1e-12);
    for transformer in [&MinMaxScaler::default() as &dyn Estimator, &OneHotEncoder::default()] {
        let error = transformer.fit_samples(&samples).err().unwrap();
        assert!(matches!(error, LearnError::Unsupported { .. }), "{error}");
    }
}

#[test]
fn extreme_columns_are_standardized() {
    for factor in [1e-300, 1e-160, 1e160, 1e300] {
        let x = Tensor::from([[1.0, 5.0], [2.0, 7.0], [6.0, 6.0]]);
        let plain = StandardScaler::default().fit(&x, None).unwrap().transform(&x).unwrap().to_f64_vec();
        let mixed = &x * &Tensor::from([factor, 1.0]);
        let scaler = StandardScaler::default().fit(&mixed, None).unwrap();
        assert_close(&scaler.transform(&mixed).unwrap().to_f64_vec(), &plain, 1e-12);
    }
}

#[test]
fn messages_name_what_is_meant() {
    let y = Tensor::zeros([6], DType::F64);
    let error = GroupKFold::new(4, &[0, 0, 1, 1, 2, 2]).split(&y).unwrap_err().to_string();
    assert!(error.contains("only 3 groups") && !error.contains("samples"), "{error}");
    let error = Svc::default().parse("gamma", "x").unwrap_err().to_string();
    assert!(error.contains("give scale, auto or a number"), "{error}");
    let error = LogisticRegression::default().parse("class_weight", "x").unwrap_err().to_string();
    assert!(error.contains("give none, balanced, or class weights"), "{error}");
    let huge = Samples::new(Tensor::from([[1e200], [-1e200], [2e200]]), &Tensor::from([1.0, 2.0, 4.0])).unwrap();
    for estimator in
        [&LinearRegression::default() as &dyn Estimator, &BayesianRidge::default(), &HuberRegressor::default()]
    {
        let error = estimator.fit_samples(&huge).err().unwrap().to_string();
        assert!(error.contains("scale the features") && !error.contains("NaN"), "{error}");
    }
    let error =
        LinearRegression::default().fit(Tensor::from([[1e200], [-1e200], [2e200]]), &Tensor::from([1.0, 2.0, 4.0]));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("scale the features"), "{error}");
}

#[test]
fn a_margin_of_zero_is_warned_of() {
    // The same points in both classes: no margin.
    let x = Tensor::from([[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]]);
    let y = Tensor::from([0i64, 0, 0, 1, 1, 1]);
    let model = quietly(|| NuSvc::default().kernel(KernelKind::Linear).fit(&x, &y)).unwrap();
    assert!(model.summary().warnings.iter().any(|text| text.contains("margin")), "{:?}", model.summary().warnings);
    let (x, y) = two_classes(40, 17);
    let model = quietly(|| NuSvc::default().nu(0.3).fit(&x, &y)).unwrap();
    assert!(!model.summary().warnings.iter().any(|text| text.contains("margin")));
}
