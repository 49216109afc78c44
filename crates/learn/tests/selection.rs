//! Splits, folds, scores and searches against scikit-learn, and what they promise of themselves.
#![allow(clippy::unwrap_used)]

mod common;
mod toys;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use common::{assert_close, data, fixture, numbers};
use serde_json::Value;
use tove_learn::diagnostics::{Sets, duplicates};
use tove_learn::selection::*;
use tove_learn::{
    Algorithm, Capabilities, Centre, DummyClassifier, DummyRegressor, Estimator, Fit, FittedDummyRegressor, GaussianNb,
    LearnError, Pipeline, Predict, Ridge, Samples, SelectKBest, StandardScaler, Transform,
};
use tove_optim::settings::{Hyperparameters, Value as Setting};
use tove_tensor::{DType, Key, Tensor};
use toys::{Nearest, Polynomial, cubic};

fn whole(value: &Value) -> Vec<usize> {
    numbers(value).into_iter().map(|number| number as usize).collect()
}

fn nothing(n: usize) -> Tensor {
    Tensor::zeros([n], DType::F64)
}

#[track_caller]
fn same_folds(splitter: &dyn Splitter, y: &Tensor, wanted: &Value) {
    let found = splitter.split(y).unwrap();
    let wanted: Vec<Fold> = wanted["folds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fold| Fold { train: whole(&fold["train"]), test: whole(&fold["test"]) })
        .collect();
    assert_eq!(found, wanted);
}

#[test]
fn g6_k_folds_are_those_of_sklearn() {
    let f = fixture("selection.json");
    for case in f["kfold"].as_array().unwrap() {
        let (n, k) = (case["n"].as_u64().unwrap() as usize, case["k"].as_u64().unwrap() as usize);
        same_folds(&KFold::new(k), &nothing(n), case); // (7, 3) and (11, 4) do not divide
    }
    for (n, k) in [(11, 4), (100, 7), (9, 9)] {
        for folds in [KFold::new(k).split(&nothing(n)).unwrap(), KFold::new(k).shuffled(3).split(&nothing(n)).unwrap()]
        {
            let mut judged: Vec<usize> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
            judged.sort_unstable();
            assert_eq!(judged, (0..n).collect::<Vec<_>>()); // every sample exactly once
            for fold in &folds {
                let all: BTreeSet<usize> = fold.train.iter().chain(&fold.test).copied().collect();
                assert_eq!((all.len(), fold.train.len() + fold.test.len()), (n, n));
                assert!(fold.test.len() == n / k || fold.test.len() == n / k + 1);
            }
        }
    }
    same_folds(&LeaveOneOut, &nothing(5), &f["leave_one_out"]);
    assert_eq!(KFold::new(6).split(&nothing(6)).unwrap(), LeaveOneOut.split(&nothing(6)).unwrap());
    for k in [0, 1] {
        let error = KFold::new(k).split(&nothing(5)).unwrap_err().to_string();
        assert!(error.contains("at least 2"), "{error}");
    }
    assert!(matches!(KFold::new(6).split(&nothing(5)), Err(LearnError::TooFew { found: 5, needed: 6, .. })));
}

#[test]
fn other_folds_are_those_of_sklearn() {
    let f = fixture("selection.json");
    for case in f["stratified"].as_array().unwrap() {
        let y: Vec<i64> = numbers(&case["y"]).iter().map(|&y| y as i64).collect();
        same_folds(&StratifiedKFold::new(case["k"].as_u64().unwrap() as usize), &Tensor::from_slice(&y), case);
    }
    for case in f["group"].as_array().unwrap() {
        let groups: Vec<i64> = numbers(&case["groups"]).iter().map(|&g| g as i64).collect();
        let splitter = GroupKFold::new(case["k"].as_u64().unwrap() as usize, &groups);
        same_folds(&splitter, &nothing(groups.len()), case);
        for fold in splitter.split(&nothing(groups.len())).unwrap() {
            let of = |places: &[usize]| places.iter().map(|&place| groups[place]).collect::<BTreeSet<_>>();
            assert!(of(&fold.train).is_disjoint(&of(&fold.test)));
        }
    }
    for case in f["time"].as_array().unwrap() {
        let number = |name: &str| case[name].as_u64().map(|number| number as usize);
        let mut splitter = TimeSeriesSplit::new(number("k").unwrap()).gap(number("gap").unwrap());
        if let Some(most) = number("max_train_size") {
            splitter = splitter.max_train_size(most);
        }
        if let Some(size) = number("test_size") {
            splitter = splitter.test_size(size);
        }
        same_folds(&splitter, &nothing(number("n").unwrap()), case);
    }
    assert!(TimeSeriesSplit::new(5).gap(9).split(&nothing(12)).is_err());
}

fn labels(value: &Value) -> Vec<i64> {
    numbers(value).into_iter().map(|number| number as i64).collect()
}

#[test]
fn folds_by_groups_are_those_of_sklearn() {
    let f = fixture("selection.json");
    let case = &f["leave_one_group_out"];
    let groups = labels(&case["groups"]);
    same_folds(&LeaveOneGroupOut::new(&groups), &nothing(groups.len()), case);
    for case in f["leave_p_groups_out"].as_array().unwrap() {
        let splitter = LeavePGroupsOut::new(case["p"].as_u64().unwrap() as usize, &groups);
        same_folds(&splitter, &nothing(groups.len()), case);
    }
    for case in f["stratified_group"].as_array().unwrap() {
        let (y, groups) = (Tensor::from_slice(&labels(&case["y"])), labels(&case["groups"]));
        same_folds(&StratifiedGroupKFold::new(case["k"].as_u64().unwrap() as usize, &groups), &y, case);
    }
}

/// That no group is in both parts, that no part is empty, and that both parts together are the samples.
fn check_groups(fold: &Fold, groups: &[i64]) {
    let of = |places: &[usize]| places.iter().map(|&place| groups[place]).collect::<BTreeSet<_>>();
    assert!(of(&fold.train).is_disjoint(&of(&fold.test)));
    assert!(!fold.train.is_empty() && !fold.test.is_empty());
    let all: BTreeSet<usize> = fold.train.iter().chain(&fold.test).copied().collect();
    assert_eq!((all.len(), fold.train.len() + fold.test.len()), (groups.len(), groups.len()));
}

#[test]
fn random_folds_by_groups_keep_what_they_promise() {
    let n = 120;
    let groups: Vec<i64> = (0..n).map(|i| (i * i + i / 7) % 11 - 5).collect();
    let y = Tensor::from_slice(&(0..n).map(|i| i64::from(i % 4 == 0)).collect::<Vec<_>>());
    let splitter = GroupShuffleSplit::new(6, 0.3, 4, &groups);
    let folds = splitter.split(&y).unwrap();
    assert_eq!(folds.len(), 6);
    let of = |places: &[usize]| places.iter().map(|&place| groups[place]).collect::<BTreeSet<_>>();
    for fold in &folds {
        check_groups(fold, &groups);
        assert_eq!(of(&fold.test).len(), 4); // 0.3 of 11 groups, rounded up
    }
    assert!(folds.iter().any(|fold| fold != &folds[0]));
    assert_eq!(folds, splitter.split(&y).unwrap());
    assert_ne!(folds, GroupShuffleSplit::new(6, 0.3, 5, &groups).split(&y).unwrap());
    for fold in GroupShuffleSplit::new(2, 2usize, 0, &groups).split(&y).unwrap() {
        assert_eq!(of(&fold.test).len(), 2);
    }
    let shuffled = StratifiedGroupKFold::new(3, &groups).shuffled(1).split(&y).unwrap();
    let mut judged: Vec<usize> = shuffled.iter().flat_map(|fold| fold.test.clone()).collect();
    judged.sort_unstable();
    assert_eq!(judged, (0..n as usize).collect::<Vec<_>>());
    shuffled.iter().for_each(|fold| check_groups(fold, &groups));
    assert_eq!(shuffled, StratifiedGroupKFold::new(3, &groups).shuffled(1).split(&y).unwrap());
    let orders: Vec<_> = (0..5).map(|seed| StratifiedGroupKFold::new(3, &groups).shuffled(seed).split(&y)).collect();
    assert!(orders.iter().any(|folds| folds.as_ref().unwrap() != &shuffled));
}

#[test]
fn folds_by_groups_refuse_what_they_cannot_divide() {
    let y = Tensor::from([0i64, 1, 0, 1]);
    let says = |splitter: &dyn Splitter, part: &str| {
        let error = splitter.split(&y).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    says(&LeaveOneGroupOut::new(&[1, 1, 1, 1]), "at least 2");
    says(&LeaveOneGroupOut::new(&[1, 2]), "2 groups for 4 samples");
    says(&LeavePGroupsOut::new(0, &[1, 1, 2, 3]), "give 1 to 2");
    says(&LeavePGroupsOut::new(3, &[1, 1, 2, 3]), "give 1 to 2");
    says(&GroupShuffleSplit::new(0, 0.5, 0, &[1, 1, 2, 3]), "at least 1");
    says(&GroupShuffleSplit::new(2, 1.0, 0, &[1, 1, 2, 3]), "between 0 and 1");
    says(&GroupShuffleSplit::new(2, 3usize, 0, &[1, 1, 2, 3]), "give 1 to 2");
    says(&GroupShuffleSplit::new(2, 0.5, 0, &[1, 1, 1, 1]), "at least 2");
    says(&StratifiedGroupKFold::new(1, &[1, 1, 2, 3]), "at least 2");
    says(&StratifiedGroupKFold::new(3, &[1, 1, 2, 2]), "only 2 groups");
    says(&StratifiedGroupKFold::new(3, &[1, 4, 2, 3]), "no class has more than 2");
    let many: Vec<i64> = (0..400).collect();
    let error = LeavePGroupsOut::new(200, &many).split(&nothing(400)).unwrap_err().to_string();
    assert!(error.contains("too many"), "{error}");
    assert!(StratifiedGroupKFold::new(2, &[1, 1, 2, 3]).split(&Tensor::from([0.5, 1.5, 2.5, 3.5])).is_err());
}

#[test]
fn shuffled_folds_keep_what_they_promise() {
    let y: Vec<i64> = (0..90).map(|i| i64::from(i % 9 == 0)).collect();
    let y = Tensor::from_slice(&y);
    let repeated = RepeatedStratifiedKFold::new(5, 3, 1).split(&y).unwrap();
    assert_eq!(repeated.len(), 15);
    for fold in &repeated {
        assert_eq!(fold.test.iter().filter(|&&place| place % 9 == 0).count(), 2); // 10 of 90, five folds
    }
    assert_ne!(repeated[0], repeated[5]);
    assert_eq!(repeated, RepeatedStratifiedKFold::new(5, 3, 1).split(&y).unwrap());
    assert_eq!(RepeatedKFold::new(4, 2, 0).split(&y).unwrap().len(), 8);
    for fold in ShuffleSplit::new(4, 0.2, 5).stratified().split(&y).unwrap() {
        assert_eq!((fold.test.len(), fold.train.len()), (18, 72));
        assert_eq!(fold.test.iter().filter(|&&place| place % 9 == 0).count(), 2);
    }
    let rare = Tensor::from([0i64, 0, 0, 1, 1, 1]);
    assert!(StratifiedKFold::new(4).split(&rare).unwrap_err().to_string().contains("no class has more than 3"));
}

#[test]
fn g3_train_validation_and_test_are_disjoint_and_cover_the_data() {
    let n = 103;
    let x = Tensor::from_vec((0..2 * n).map(|i| i as f64).collect(), [n, 2]);
    let y = Tensor::from_slice(&(0..n as i64).map(|i| i64::from(i % 10 == 3)).collect::<Vec<_>>());
    let groups: Vec<i64> = (0..n as i64).map(|i| i / 4).collect();
    let splits = [
        Split::test(0.2).validation(0.1).seed(4),
        Split::test(21).validation(11).seed(5),
        Split::test(0.2).validation(0.1).in_order(),
        Split::test(0.2).validation(0.2).stratified(),
        Split::test(0.3).validation(0.2).grouped(&groups),
    ];
    for split in &splits {
        let parts = split.indices(&y).unwrap();
        let all: BTreeSet<usize> =
            [&parts.train, &parts.validation, &parts.test].into_iter().flatten().copied().collect();
        assert_eq!(all.len(), n); // covers
        assert_eq!(parts.train.len() + parts.validation.len() + parts.test.len(), n); // disjoint
        assert_eq!(parts, split.indices(&y).unwrap());
    }
    let parts = splits[1].indices(&y).unwrap();
    assert_eq!((parts.validation.len(), parts.test.len()), (11, 21));
    let stratified = splits[3].indices(&y).unwrap();
    let rare = |places: &[usize]| places.iter().filter(|&&place| place % 10 == 3).count();
    assert_eq!((rare(&stratified.test), rare(&stratified.validation), rare(&stratified.train)), (2, 2, 6));
    let grouped = splits[4].indices(&y).unwrap();
    let of = |places: &[usize]| places.iter().map(|&place| groups[place]).collect::<BTreeSet<_>>();
    assert!(
        of(&grouped.train).is_disjoint(&of(&grouped.test)) && of(&grouped.validation).is_disjoint(&of(&grouped.test))
    );
    // Pairs stay together: the target of row i belongs to the feature 2i.
    let samples = Samples::new(&x, &y).unwrap();
    let (train, validation, test) = train_validation_test(&samples, &splits[3]).unwrap();
    for part in [&*train, &*validation] {
        let (x, y) = (part.x().to_dense().unwrap().to_f64_vec(), part.y().unwrap().to_vec::<i64>());
        assert!(x.chunks(2).zip(&y).all(|(x, &y)| y == i64::from((x[0] as i64 / 2) % 10 == 3)));
    }
    // No row twice: nothing to report. Then with copies of a training row in the other sets.
    let sets = Sets::new().with("train", train.x()).with("validation", validation.x()).with("test", test.x());
    assert!(duplicates(&sets).unwrap().is_empty());
    let copy = train.x().take(&[3, 3]).unwrap();
    let sets = Sets::new().with("train", train.x()).with("validation", validation.x()).with("test", &copy);
    let report = duplicates(&sets).unwrap();
    assert_eq!((report.across("train", "test"), report.across("validation", "test"), report.within("test")), (2, 0, 1));
    assert!(report.to_string().contains("2 rows of test are also in train"), "{report}");
    for wrong in [Split::test(0.0), Split::test(1.0), Split::test(200), Split::test(0.6).validation(0.5)] {
        assert!(wrong.indices(&y).is_err());
    }
}

#[test]
fn scores_of_folds_are_those_of_sklearn() {
    let f = fixture("selection.json");
    let (x, y) = data("breast_cancer");
    let names = f["classifier"].as_object().unwrap();
    let scorers: Vec<Scorer> = names.keys().map(|name| Scorer::named(name).unwrap()).collect();
    let samples = Samples::new(&x, &y).unwrap();
    let report = cross_validate(&DummyClassifier::default(), &samples, StratifiedKFold::new(5), &scorers).unwrap();
    for (scorer, name) in scorers.iter().zip(names.keys()) {
        assert_close(&report.values(*scorer), &numbers(&names[name]["test"]), 1e-12);
        assert_close(&report.train_values(*scorer), &numbers(&names[name]["train"]), 1e-12);
    }
    let interval = report.folds[0].test[scorers.iter().position(|&s| s == Scorer::NegBrierScore).unwrap()];
    assert!(interval.low < interval.value && interval.value < interval.high && interval.high <= 0.0);
    let (x, y) = data("diabetes");
    let samples = Samples::new(&x, &y).unwrap();
    let names = f["regressor"].as_object().unwrap();
    let scorers: Vec<Scorer> = names.keys().map(|name| Scorer::named(name).unwrap()).collect();
    let report = cross_validate(&DummyRegressor::default(), &samples, KFold::new(4), &scorers).unwrap();
    for (scorer, name) in scorers.iter().zip(names.keys()) {
        assert_close(&report.values(*scorer), &numbers(&names[name]["test"]), 1e-12);
        assert_close(&report.train_values(*scorer), &numbers(&names[name]["train"]), 1e-12);
    }
    assert!(Scorer::RocAuc.score(&DummyRegressor::default().fit_samples(&samples).unwrap(), &samples).is_err());
    let (x, y) = data("iris");
    let late: Vec<usize> = (20..150).collect();
    let samples = Samples::new(&x, &y).unwrap().take(&late).unwrap();
    let found = cross_val_predict(&DummyClassifier::default(), &samples, &KFold::new(3)).unwrap();
    assert_eq!(found.to_f64_vec(), numbers(&f["predict"]));
    assert!(cross_val_predict(&DummyClassifier::default(), &samples, &ShuffleSplit::new(2, 0.5, 0)).is_err());
}

/// Any score is asked for by its name, in whatever judges models.
#[test]
fn scores_by_name_are_those_of_sklearn() {
    let f = fixture("selection.json");
    let check = |key: &str, estimator: &dyn Estimator, samples: &Samples, splitter: Box<dyn Splitter>| {
        let wanted = f[key].as_object().unwrap();
        let names: Vec<&str> = wanted.keys().map(String::as_str).collect();
        let report = CrossValidation::new(splitter).scorers(&names).run(estimator, samples).unwrap();
        for name in names {
            assert_close(&report.values(name), &numbers(&wanted[name]), 1e-10);
            assert_eq!(Scorer::named(name).unwrap().to_string(), name);
        }
    };
    let samples = |name: &str| data(name);
    let (x, y) = samples("breast_cancer");
    check("named_two", &GaussianNb::default(), &Samples::new(&x, &y).unwrap(), Box::new(StratifiedKFold::new(4)));
    let (x, y) = samples("iris");
    let iris = Samples::new(x.narrow(1, 0, 2), &y).unwrap();
    check("named_three", &GaussianNb::default(), &iris, Box::new(StratifiedKFold::new(5)));
    let (x, y) = samples("diabetes");
    let diabetes = Samples::new(&x, &y).unwrap();
    check("named_numbers", &Ridge::default().alpha(0.5), &diabetes, Box::new(KFold::new(4)));
}

#[test]
fn searches_and_curves_take_scores_by_name_and_refuse_those_of_other_tasks() {
    let (x, y) = data("diabetes");
    let samples = Samples::new(&x, &y).unwrap();
    let (train, ridge) = (Train::new(&samples), Ridge::default());
    let grid = || Grid::new().over("alpha", [0.1, 1.0]);
    let by_name = GridSearch::new(ridge.clone(), grid())
        .scoring(Some(Scorer::named("mape").unwrap()))
        .fit_samples(&samples)
        .unwrap();
    let by_scorer = GridSearch::new(ridge.clone(), grid()).scorer("neg_mean_absolute_percentage_error");
    assert_eq!(by_name.trials()[1].scores, by_scorer.fit_samples(&samples).unwrap().trials()[1].scores);
    let space = || Space::new().draw("alpha", ParamDistribution::LogUniform { low: 0.1, high: 10.0 });
    let random = RandomSearch::new(ridge.clone(), space())
        .iterations(2)
        .scoring(Some(Scorer::named("d2_tweedie_score(power=1)").unwrap()));
    assert_eq!(random.fit_samples(&samples).unwrap().scorers(), ["d2_tweedie_score(power=1)"]);
    let curve = learning_curve(&ridge, &train, &[50], &KFold::new(3), "neg_median_absolute_error").unwrap();
    assert!(curve[0].test_mean() < 0.0);
    let curve = validation_curve(&ridge, &train, "alpha", &[1.0.into()], &KFold::new(3), "max_error").unwrap();
    assert!(curve[0].test_mean() < 0.0);

    // Nothing is fitted before a score that does not exist, or judges something else, is refused.
    let says = |error: LearnError, parts: &[&str]| {
        let text = error.to_string();
        assert!(matches!(error, LearnError::Parameter { .. }), "{text}");
        parts.iter().for_each(|part| assert!(text.contains(part), "{text}"));
    };
    let wrong = ["is not defined for a regressor", "r2", "neg_median_absolute_error", "d2_tweedie_score"];
    says(cross_val_score(&ridge, &samples, KFold::new(3), "matthews_corrcoef").unwrap_err(), &wrong);
    says(GridSearch::new(ridge.clone(), grid()).scorer("jaccard").fit_samples(&samples).unwrap_err(), &wrong);
    says(
        GridSearch::new(ridge.clone(), grid())
            .scoring(Some(Scorer::named("jaccard").unwrap()))
            .fit_samples(&samples)
            .unwrap_err(),
        &wrong,
    );
    says(RandomSearch::new(ridge.clone(), space()).scorer("f1").fit_samples(&samples).unwrap_err(), &wrong);
    says(learning_curve(&ridge, &train, &[50], &KFold::new(3), "f1").unwrap_err(), &wrong);
    let curve = validation_curve(&ridge, &train, "alpha", &[1.0.into()], &KFold::new(3), "f1");
    says(curve.unwrap_err(), &wrong);
    says(
        cross_val_score(&ridge, &samples, KFold::new(3), "explaind_variance").unwrap_err(),
        &["did you mean explained_variance?"],
    );
    says(cross_val_score(&ridge, &samples, KFold::new(3), "r2(3)").unwrap_err(), &["has no parameter"]);
    for text in ["fbeta(", "fbeta(beta=)", "fbeta(alpha=2)", "fbeta(2", "fbeta(x)", "fbeta(-1)", "top_k_accuracy(1.5)"]
    {
        assert!(Scorer::named(text).is_err(), "{text}");
    }
    let (x, y) = data("iris");
    let samples = Samples::new(&x, &y).unwrap();
    let error = cross_val_score(&GaussianNb::default(), &samples, StratifiedKFold::new(3), "mse").unwrap_err();
    says(error, &["is not defined for a classifier", "matthews_corrcoef", "cohen_kappa_quadratic"]);
    let error = cross_val_score(&GaussianNb::default(), &samples, StratifiedKFold::new(3), "jaccard").unwrap_err();
    says(error, &["the score needs two classes", "_macro"]);
}

#[test]
fn g5_grid_search_returns_the_minimiser_and_the_whole_table() {
    // Like scikit-learn, where both have the estimator.
    let f = fixture("selection.json");
    let (x, y) = data("diabetes");
    let all = Train::new(&Samples::new(&x, &y).unwrap());
    let search = GridSearch::new(DummyRegressor::default(), Grid::new().over("strategy", ["mean", "median"]))
        .folds(KFold::new(4))
        .scorer(Scorer::NegMeanAbsoluteError)
        .fit_samples(&all)
        .unwrap();
    let table = search.trials();
    assert_close(&table.iter().map(|t| t.mean(0)).collect::<Vec<_>>(), &numbers(&f["grid"]["mean"]), 1e-12);
    assert_close(&table.iter().map(|t| t.std(0)).collect::<Vec<_>>(), &numbers(&f["grid"]["std"]), 1e-10);
    assert_eq!(table.iter().map(|t| t.rank.unwrap() as f64).collect::<Vec<_>>(), numbers(&f["grid"]["rank"]));
    // The minimiser of the validation error by hand, over degree and penalty, through a pipeline.
    let (train, test) = train_test_split(&cubic(120, 1), &Split::test(0.25)).unwrap();
    let pipeline = Pipeline::default().step("curve", Polynomial::default());
    let (degrees, alphas) = ([1, 2, 3, 4, 8], [0.0, 0.1]);
    let grid = Grid::new().over("curve.degree", degrees).over("curve.alpha", alphas);
    let search = GridSearch::new(pipeline, grid)
        .folds(KFold::new(5))
        .scorer(Scorer::NegMeanSquaredError)
        .fit_samples(&train)
        .unwrap();
    let mut best = (f64::INFINITY, 0);
    let mut place = 0;
    for degree in degrees {
        for alpha in alphas {
            let estimator = Polynomial::default().degree(degree).alpha(alpha);
            let scores = cross_val_score(&estimator, &train, KFold::new(5), Scorer::NegMeanSquaredError).unwrap();
            let error = -scores.iter().sum::<f64>() / 5.0;
            assert!((search.trials()[place].mean(0) + error).abs() < 1e-12);
            if error < best.0 {
                best = (error, place);
            }
            place += 1;
        }
    }
    assert_eq!((search.trials().len(), search.best_index(), search.best().rank), (10, best.1, Some(1)));
    let curve = &search.model().unwrap().settings()["steps"][0];
    assert_eq!(curve[0], "curve");
    assert_eq!(curve[1]["params"]["degree"], search.best().settings[0].1.to_json());
    // That the test part cannot be passed is shown by the compile_fail example of the module: `Test` gives out no samples.
    let score = test.judge(search.model().unwrap(), Scorer::NegMeanSquaredError).unwrap();
    assert!(score.value > -0.2);
}

#[test]
fn failures_are_written_down_and_do_not_end_the_search() {
    let train = Train::new(&cubic(60, 2));
    let grid = Grid::new().over("degree", [3.into(), 13.into(), Setting::from("x")]);
    let search = GridSearch::new(Polynomial::default(), grid).fit_samples(&train).unwrap();
    let failures: Vec<_> = search.trials().iter().map(|trial| trial.failure.clone()).collect();
    assert!(failures[0].is_none() && failures[1].as_ref().unwrap().contains("bad luck"));
    assert!(failures[2].as_ref().unwrap().contains("degree cannot be `x`"));
    assert_eq!((search.best_index(), search.trials()[1].rank), (0, None));
    assert!(search.to_string().contains("failed: Polynomial: degree 13 brings bad luck"), "{search}");
    let all = GridSearch::new(Polynomial::default(), Grid::new().over("degree", [13])).fit_samples(&train);
    assert!(all.unwrap_err().to_string().contains("every candidate failed"));
}

#[test]
fn a_raised_flag_stops_and_keeps_the_table() {
    let train = Train::new(&cubic(60, 2));
    let flag = Arc::new(AtomicBool::new(true));
    let grid = Grid::new().over("degree", [1, 2, 3]);
    let stopped = GridSearch::new(Polynomial::default(), grid.clone()).stop_when(flag).fit_samples(&train);
    assert!(matches!(stopped, Err(LearnError::Stopped { done: 0, total: 15 })));
    // An estimator that raises the flag itself while it is fitted the seventh time; fits under way on other threads (at
    // most as many as other tests allow) are finished.
    let flag = Arc::new(AtomicBool::new(false));
    let counting = toys_counting(flag.clone(), 7);
    let many = Grid::new().over("strategy", ["mean", "median"].repeat(20));
    let search = GridSearch::new(counting, many).stop_when(flag).fit_samples(&train).unwrap();
    assert!(search.stopped() && search.model().is_err());
    let done: Vec<usize> = search.trials().iter().map(|trial| trial.scores[0].len()).collect();
    assert_eq!((done[0], done[39], search.best().complete()), (5, 0, true));
    assert!((7..=7 + 8).contains(&done.iter().sum::<usize>()), "{done:?}");
    assert_eq!(search.trials()[39].rank, None);
}

/// A constant whose fit raises a flag after so many times.
fn toys_counting(flag: Arc<AtomicBool>, after: usize) -> Counting {
    Counting { flag, left: Arc::new(after.into()), ..Counting::default() }
}

#[derive(Clone, Debug, Hyperparameters)]
struct Counting {
    /// The constant: mean or median.
    #[hyper(default = Centre::Mean)]
    strategy: Centre,
    /// What is raised.
    #[hyper(skip)]
    flag: Arc<AtomicBool>,
    /// Fits until then.
    #[hyper(skip)]
    left: Arc<std::sync::atomic::AtomicUsize>,
}

impl Algorithm for Counting {
    type Fitted = FittedDummyRegressor;
    const CAPABILITIES: Capabilities = DummyRegressor::CAPABILITIES;

    fn train(&self, samples: &Samples) -> tove_learn::Result<FittedDummyRegressor> {
        use std::sync::atomic::Ordering::SeqCst;
        if self.left.fetch_sub(1, SeqCst) == 1 {
            self.flag.store(true, SeqCst);
        }
        DummyRegressor::default().strategy(self.strategy).fit_samples(samples)
    }
}

#[test]
fn searches_give_the_same_bits_for_any_number_of_threads() {
    let train = Train::new(&cubic(80, 3));
    let space = Space::new()
        .draw("degree", ParamDistribution::Whole { low: 1, high: 9 })
        .draw("alpha", ParamDistribution::LogUniform { low: 1e-6, high: 1.0 });
    let run = || {
        let search =
            RandomSearch::new(Polynomial::default(), space.clone()).iterations(6).seed(2).fit_samples(&train).unwrap();
        search.trials().iter().map(|trial| trial.mean(0).to_bits()).collect::<Vec<_>>()
    };
    let results: Vec<_> = [1, 2, 3, 8]
        .map(|threads| {
            tove_tensor::set_num_threads(threads);
            run()
        })
        .into();
    tove_tensor::set_num_threads(0);
    assert!(results.iter().all(|result| *result == results[0]));
    for candidate in space.candidates(200, 1).unwrap() {
        assert!(matches!(candidate[1].1, Setting::Real(alpha) if (1e-6..=1.0).contains(&alpha)), "{candidate:?}");
    }
    assert!(Space::new().draw("a", ParamDistribution::LogUniform { low: 0.0, high: 1.0 }).candidates(1, 0).is_err());
}

#[test]
fn a_pipeline_does_not_leak_what_selection_outside_the_folds_would() {
    // 2000 features of noise, labels by coin: nothing can be learnt, and only leaking looks like learning.
    let (n, d) = (60, 2000);
    let x = Key::new(5).normal([n, d], DType::F64);
    let y = Tensor::from_slice(&(0..n as i64).map(|i| i % 2).collect::<Vec<_>>());
    let samples = Samples::new(&x, &y).unwrap();
    let folds = || StratifiedKFold::new(5).shuffled(1);
    let select = SelectKBest::default().k(Some(20));
    let inside = Pipeline::default()
        .step("select", select.clone())
        .step("scale", StandardScaler::default())
        .then(Nearest::default());
    let honest = cross_val_score(&inside, &samples, folds(), Scorer::Accuracy).unwrap();
    let chosen = select.fit_samples(&samples).unwrap();
    let leaked = samples.with_x(chosen.apply(samples.x()).unwrap()).unwrap();
    let outside = cross_val_score(&Nearest::default(), &leaked, folds(), Scorer::Accuracy).unwrap();
    let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
    // Three standard deviations of 60 coins are 0.19.
    assert!((mean(&honest) - 0.5).abs() < 0.2, "{honest:?}");
    assert!(mean(&outside) > 0.8, "{outside:?}");
}

#[test]
fn a_grid_over_a_pipeline_is_that_of_sklearn() {
    let f = fixture("selection.json");
    let (x, y) = data("diabetes");
    let train = Train::new(&Samples::new(&x, &y).unwrap());
    let steps = Pipeline::default().step("scale", StandardScaler::default()).then(tove_learn::linear::Ridge::default());
    let grid = Grid::new().over("ridge.alpha", [0.1, 10.0, 1000.0]).over("scale.with_mean", [true, false]);
    let search = GridSearch::new(steps.clone(), grid).folds(KFold::new(5)).scorer(Scorer::NegMeanSquaredError);
    let search = search.fit_samples(&train).unwrap();
    let of = |number: fn(&Trial) -> f64| search.trials().iter().map(number).collect::<Vec<f64>>();
    assert_close(&of(|trial| trial.mean(0)), &numbers(&f["pipeline"]["mean"]), 1e-9);
    assert_close(&of(|trial| trial.std(0)), &numbers(&f["pipeline"]["std"]), 1e-9);
    let best = f["pipeline"]["best"].as_u64().unwrap() as usize;
    assert_eq!(search.best_index() / 2, best / 2); // centring makes no difference beyond rounding
    let ten = train.x().take(&(0..10).collect::<Vec<_>>()).unwrap();
    let found = search.model().unwrap().predict(ten).unwrap().to_f64_vec();
    assert_close(&found, &numbers(&f["pipeline"]["predict"]), 1e-9);
    let curve =
        validation_curve(&steps, &train, "ridge.alpha", &[0.1.into(), 1000.0.into()], &KFold::new(4), Scorer::R2)
            .unwrap();
    let scores = |of: fn(&CurvePoint) -> Vec<f64>| curve.iter().flat_map(of).collect::<Vec<f64>>();
    assert_close(&scores(|point| point.train.clone()), &numbers(&f["validation_curve"]["train"]), 1e-9);
    assert_close(&scores(|point| point.test.clone()), &numbers(&f["validation_curve"]["test"]), 1e-9);
}

#[test]
fn curves_show_what_more_samples_and_other_degrees_do() {
    let train = Train::new(&cubic(400, 4));
    let estimator = Polynomial::default().degree(15);
    let score = Scorer::NegMeanSquaredError;
    let curve = learning_curve(&estimator, &train, &[25, 60, 300], &KFold::new(5), score).unwrap();
    assert!(curve[0].gap() > 5.0 * curve[2].gap() && curve[2].gap() > 0.0);
    assert!(curve.windows(2).all(|two| two[0].test_mean() < two[1].test_mean()));
    let curve = validation_curve(&estimator, &train, "degree", &[0.into(), 3.into(), 40.into()], &KFold::new(5), score)
        .unwrap();
    assert!(curve[1].test_mean() > curve[0].test_mean() && curve[1].test_mean() > curve[2].test_mean());
    assert_eq!(curve[2].value, Some(40.into()));
    assert!(learning_curve(&estimator, &train, &[321], &KFold::new(5), score).is_err());
    assert!(cross_val_predict(&estimator, &train, &KFold::new(5)).unwrap().dims() == [400]);
    let model = estimator.fit_samples(&train).unwrap();
    assert_eq!(model.predict(train.x()).unwrap().dims(), [400]);
}
