//! Groups that come with the samples, and what scores are computed from.
#![allow(clippy::unwrap_used)]

mod common;

use common::data;
use tove_learn::selection::*;
use tove_learn::{
    DummyClassifier, Estimator, Fit, GaussianNb, LinearSvc, LogisticRegression, Perceptron, Ridge, Samples, Svc,
    registry,
};
use tove_optim::settings::Hyperparameters;
use tove_tensor::Tensor;

fn grouped() -> (Samples, Vec<i64>) {
    let (x, y) = data("iris");
    let groups: Vec<i64> = (0..150).map(|i| (i * 7 % 23) as i64 - 3).collect();
    let samples = Samples::new(&x, &y).unwrap().grouped(&Tensor::from_slice(&groups)).unwrap();
    (samples, groups)
}

#[test]
fn splitters_read_the_groups_of_the_samples() {
    let (samples, groups) = grouped();
    let pairs: [(Box<dyn Splitter>, Box<dyn Splitter>); 5] = [
        (Box::new(GroupKFold::new(4, &groups)), Box::new(GroupKFold::from_samples(4))),
        (Box::new(LeaveOneGroupOut::new(&groups)), Box::new(LeaveOneGroupOut::from_samples())),
        (Box::new(LeavePGroupsOut::new(2, &groups)), Box::new(LeavePGroupsOut::from_samples(2))),
        (Box::new(GroupShuffleSplit::new(3, 0.3, 5, &groups)), Box::new(GroupShuffleSplit::from_samples(3, 0.3, 5))),
        (
            Box::new(StratifiedGroupKFold::new(3, &groups).shuffled(2)),
            Box::new(StratifiedGroupKFold::from_samples(3).shuffled(2)),
        ),
    ];
    let plain = Samples::new(samples.x(), samples.y().unwrap()).unwrap();
    for (given, read) in pairs {
        let wanted = given.split(samples.y().unwrap()).unwrap();
        assert_eq!(read.split_samples(&samples).unwrap(), wanted);
        assert_eq!(given.split_samples(&plain).unwrap(), wanted); // those of the splitter go first
        let error = read.split_samples(&plain).unwrap_err().to_string();
        assert!(error.contains("there are no groups") && error.contains("Samples::grouped"), "{error}");
        assert!(read.split(samples.y().unwrap()).is_err());
    }
}

#[test]
fn cross_validation_and_searches_use_the_groups() {
    let (samples, groups) = grouped();
    let model = GaussianNb::default();
    let given = cross_val_score(&model, &samples, GroupKFold::new(4, &groups), Scorer::Accuracy).unwrap();
    assert_eq!(cross_val_score(&model, &samples, GroupKFold::from_samples(4), Scorer::Accuracy).unwrap(), given);
    let report = cross_validate(&model, &samples, GroupKFold::from_samples(4), &["accuracy", "f1_macro"]).unwrap();
    assert_eq!(report.values("accuracy"), given);
    let grid = Grid::new().over("var_smoothing", [1e-9, 1e-2]);
    let search = GridSearch::new(model.clone(), grid).folds(GroupKFold::from_samples(4)).silent();
    let fitted = search.fit_samples(&samples).unwrap();
    assert_eq!(fitted.trials()[0].scores[0], given);
    // The groups go with the samples into the folds of a cross-validation around the search.
    assert_eq!(cross_val_score(&search, &samples, GroupKFold::from_samples(3), Scorer::Accuracy).unwrap().len(), 3);
    let predicted = cross_val_predict(&model, &samples, &GroupKFold::from_samples(4)).unwrap();
    assert_eq!(predicted.dims(), [150]);
    let error = cross_val_score(&model, &samples.take(&[]).unwrap(), GroupKFold::from_samples(4), Scorer::Accuracy);
    assert!(error.is_err());
}

#[test]
fn names_of_sklearn_are_understood_by_searches_and_ensembles() {
    let mut search = registry::find("RandomSearch").unwrap().new;
    let mut random = search();
    random.parse("n_iter", "3").unwrap();
    random.parse("random_state", "7").unwrap();
    assert_eq!(random.value("seed"), Some(7u64.into()));
    search = registry::find("GridSearch").unwrap().new;
    let mut grid = search();
    let values = Grid::new().over("alpha", [0.1, 1.0]);
    grid.set("param_grid", tove_optim::settings::Setting::value(&values)).unwrap();
    assert_eq!(grid.value("grid"), Some(tove_optim::settings::Setting::value(&values)));
    let mut bagging = (registry::find("BaggingRegressor").unwrap().new)();
    bagging.set("random_state", 5u64.into()).unwrap();
    assert_eq!(bagging.value("seed"), Some(5u64.into()));
}

#[test]
fn scores_apply_where_they_can_be_computed() {
    let classifiers: [Box<dyn Estimator>; 5] = [
        Box::new(LogisticRegression::default()),
        Box::new(GaussianNb::default()),
        Box::new(LinearSvc::default()),
        Box::new(Perceptron::default()),
        Box::new(DummyClassifier::default()),
    ];
    let (iris_x, iris_y) = data("iris");
    let two: Vec<usize> = (0..100).collect();
    let iris = Samples::new(&iris_x, &iris_y).unwrap();
    for (samples, classes) in [(iris.clone(), 3), (iris.take(&two).unwrap(), 2)] {
        for estimator in &classifiers {
            let model = estimator.fit_samples(&samples).unwrap();
            for scorer in Scorer::ALL {
                let works = scorer.score(&*model, &samples).is_ok();
                assert_eq!(works, scorer.applies(estimator.capabilities(), classes), "{scorer} {}", estimator.name());
            }
        }
    }
    let (x, y) = data("diabetes");
    let samples = Samples::new(&x, &y).unwrap();
    let model = Ridge::default().fit_samples(&samples).unwrap();
    for scorer in Scorer::applying(Ridge::default().capabilities(), 0) {
        assert!(scorer.judges(Ridge::default().capabilities()) && scorer.inputs() == Inputs::Predictions);
        let found = scorer.score(&model, &samples);
        assert!(found.is_ok() || scorer.name().contains("log") || scorer.name().contains("deviance"), "{scorer}");
    }
    let binary: Vec<&str> =
        Scorer::ALL.iter().filter(|scorer| scorer.is_binary()).map(|scorer| scorer.name()).collect();
    assert_eq!(binary, ["f1", "fbeta", "precision", "recall", "jaccard", "roc_auc", "average_precision"]);
    // What a model lacks is said before anything is fitted; a candidate of a search may bring it.
    let error =
        cross_val_score(&LinearSvc::default(), &iris, KFold::new(3), Scorer::NegLogLoss).unwrap_err().to_string();
    assert!(error.contains("LinearSVC has no probabilities") && error.contains("choose accuracy"), "{error}");
    let search = GridSearch::new(Svc::default(), Grid::new().over("probability", [true])).scorer(Scorer::NegLogLoss);
    assert!(search.silent().fit_samples(&iris).is_ok());
}
