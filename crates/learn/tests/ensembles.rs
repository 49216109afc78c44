//! Models that answer together: what the formula says, and what simulation finds.
#![allow(clippy::unwrap_used)]

mod common;
mod toys;

use common::data;
use tove_learn::ensemble::*;
use tove_learn::selection::{KFold, Scorer, StratifiedKFold, cross_val_score};
use tove_learn::{DummyClassifier, DummyRegressor, Estimator, Fit, Model, Predict, Samples, contract, restore};
use tove_optim::settings::Hyperparameters;
use tove_tensor::{DType, Key, Tensor};
use toys::{Nearest, Polynomial};

/// Mean square of one model's error, mean product of two, and mean square of the average's error, over many draws.
fn simulate(k: usize, share: f64) -> (f64, f64, f64) {
    let draws = 40_000;
    let own = Key::new(1).normal([draws, k], DType::F64).to_f64_vec();
    let common = Key::new(2).normal([draws], DType::F64).to_f64_vec();
    let (mut square, mut product, mut joint) = (0.0, 0.0, 0.0);
    for (own, common) in own.chunks(k).zip(&common) {
        let errors: Vec<f64> = own.iter().map(|e| (1.0 - share).sqrt() * e + share.sqrt() * common).collect();
        let (sum, squares): (f64, f64) = (errors.iter().sum(), errors.iter().map(|e| e * e).sum());
        square += squares / k as f64;
        product += (sum * sum - squares) / (k * (k - 1)) as f64;
        joint += (sum / k as f64).powi(2);
    }
    let n = draws as f64;
    (square / n, product / n, joint / n)
}

#[test]
fn h33_the_average_of_models_errs_as_the_formula_says() {
    for k in [2, 5, 10] {
        for share in [0.0, 0.3, 1.0] {
            // Independent, correlated and identical errors of variance 1: E e² = 1, E eᵢeⱼ = share.
            let (square, product, joint) = simulate(k, share);
            let wanted = ensemble_error(k, 1.0, share);
            assert!((joint / wanted - 1.0).abs() < 0.02, "{joint} {wanted} at k = {k}, share {share}");
            assert!((joint - ensemble_error(k, square, product)).abs() < 1e-9); // an identity of the measured numbers
            assert!((1.0 / k as f64 - 1e-12..=1.0 + 1e-12).contains(&wanted)); // between E e²/k and E e²
        }
        assert!((ensemble_error(k, 1.0, 0.0) - 1.0 / k as f64).abs() < 1e-15);
        assert_eq!(ensemble_error(k, 1.0, 1.0), 1.0);
    }
    // Averages of probabilities and votes, with weights.
    let (a, b) = (Tensor::from([[0.9, 0.1], [0.5, 0.5]]), Tensor::from([[0.4, 0.6], [0.1, 0.9]]));
    let mean = average_probabilities(&[a.clone(), b.clone()], None).unwrap().to_f64_vec();
    common::assert_close(&mean, &[0.65, 0.35, 0.3, 0.7], 1e-15);
    let mean = average_probabilities(&[a.clone(), b.clone()], Some(&[3.0, 1.0])).unwrap().to_f64_vec();
    common::assert_close(&mean, &[0.775, 0.225, 0.4, 0.6], 1e-15);
    let votes = [Tensor::from([1i64, 2, 5]), Tensor::from([2i64, 2, 4]), Tensor::from([2i64, 1, 3])];
    assert_eq!(vote(&votes, None).unwrap().to_vec::<i64>(), [2, 2, 3]);
    assert_eq!(vote(&votes, Some(&[5.0, 1.0, 1.0])).unwrap().to_vec::<i64>(), [1, 2, 5]);
    assert_eq!(
        average(&[Tensor::from([1.0, 2.0]), Tensor::from([3.0, 6.0])], None).unwrap().to_vec::<f64>(),
        [2.0, 4.0]
    );
    assert!(average(&[], None).is_err() && average(&[a, b], Some(&[1.0, -1.0])).is_err());
    assert!(average(&[Tensor::from([1.0]), Tensor::from([1.0, 2.0])], None).is_err());
}

fn wave(n: usize, seed: u64) -> Samples {
    let key = Key::new(seed);
    let x: Vec<f64> = key.fold(0).uniform([n], DType::F64).to_f64_vec().iter().map(|u| 2.0 * u - 1.0).collect();
    let noise = key.fold(1).normal([n], DType::F64).to_f64_vec();
    let y: Vec<f64> = x.iter().zip(&noise).map(|(x, e)| (3.0 * x).sin() + 0.4 * e).collect();
    Samples::new(Tensor::from_vec(x, [n, 1]), &Tensor::from_slice(&y)).unwrap()
}

#[test]
fn h34_bagging_draws_63_percent_and_lowers_the_variance_of_deep_polynomials() {
    // Distinct samples of a bootstrap set, as the models themselves show: a neighbour errs on none of the samples it saw.
    let n = 2000;
    let x = Key::new(1).normal([n, 2], DType::F64);
    let y = Key::new(2).integers(0, 2, [n]);
    let bag = BaggingClassifier::new(Nearest::default()).n_estimators(20).seed(4);
    let shares: Vec<f64> = bag
        .draws(n, None)
        .unwrap()
        .iter()
        .map(|set| {
            assert_eq!(set.len(), n);
            set.iter().collect::<std::collections::BTreeSet<_>>().len() as f64 / n as f64
        })
        .collect();
    let mean = shares.iter().sum::<f64>() / 20.0;
    assert!((mean - 0.632).abs() < 0.005 && shares.iter().all(|share| (share - 0.632).abs() < 0.03), "{shares:?}");
    // On random labels a model knows what it saw and guesses the rest: right on 63.2 % + half of 36.8 % = 81.6 %.
    let samples = Samples::new(&x, &y).unwrap();
    let fitted = bag.clone().n_estimators(3).fit_samples(&samples).unwrap();
    for model in fitted.models() {
        let right = model.score(&x, &y).unwrap().value;
        assert!((right - 0.816).abs() < 0.03, "{right}");
    }
    // One bag of scikit-learn's, from the sets that it drew: one model each, then the average, is what it answers.
    let f = common::fixture("ensembles.json");
    let points = Tensor::from_slice(&common::numbers(&f["points"])).unsqueeze(1);
    let one = &f["one"];
    let (x, y) = (common::numbers(&one["x"]), common::numbers(&one["y"]));
    let samples = Samples::new(Tensor::from_slice(&x).unsqueeze(1), &Tensor::from_slice(&y)).unwrap();
    let deep = Polynomial::default().degree(15).alpha(0.01);
    let answers = one["sets"].as_array().unwrap().iter().map(|set| {
        let places: Vec<usize> = common::numbers(set).iter().map(|&place| place as usize).collect();
        deep.fit_samples(&samples.take(&places).unwrap()).unwrap().predict(&points).unwrap()
    });
    let joint = average(&answers.collect::<Vec<_>>(), None).unwrap().to_f64_vec();
    common::assert_close(&joint, &common::numbers(&one["answers"]), 1e-8);
    // And the bag made here is the same average over the sets that it says it drew.
    let bag = BaggingRegressor::new(deep.clone()).n_estimators(7).seed(2);
    let fit = |set: &Vec<usize>| deep.fit_samples(&samples.take(set).unwrap()).unwrap().predict(&points).unwrap();
    let by_hand = average(&bag.draws(samples.len(), None).unwrap().iter().map(fit).collect::<Vec<_>>(), None).unwrap();
    let joint = bag.fit_samples(&samples).unwrap().predict(&points).unwrap();
    common::assert_close(&joint.to_f64_vec(), &by_hand.to_f64_vec(), 1e-12);
    // Deep polynomials over a thousand training sets: the variance of the prediction and its squared error, bagged against alone,
    // as scikit-learn has them on the same distribution. The draws are its own, and the fits have heavy tails (a gap among the
    // samples lets a polynomial fly): ratios differ by a seventh from one thousand sets to the next, and a quarter is allowed.
    for case in f["bagging"].as_array().unwrap() {
        let number = |name: &str| case[name].as_u64().unwrap() as usize;
        let deep = Polynomial::default().degree(number("degree")).alpha(0.01);
        let bagged = BaggingRegressor::new(deep.clone()).n_estimators(number("models"));
        let measured = |estimator: &dyn Estimator| {
            let sets = number("sets") as u64;
            let fit = |seed| estimator.fit_samples(&wave(number("n"), seed)).unwrap().predict(&points).unwrap();
            let fits = Tensor::stack(&(0..sets).map(fit).collect::<Vec<_>>().iter().collect::<Vec<_>>(), 0);
            let mut each = fits.var_axes(&[0], 1, false).to_f64_vec();
            each.sort_by(f64::total_cmp);
            let truth = (points.squeeze(1) * 3.0).sin();
            (each[each.len() / 2], (fits - truth).square().mean().item::<f64>())
        };
        let ((bagged_variance, bagged_error), (variance, error)) = (measured(&bagged), measured(&deep));
        let (ratio, wanted) = (bagged_variance / variance, case["ratio"].as_f64().unwrap());
        assert!(ratio < 0.7 && (ratio / wanted - 1.0).abs() < 0.25, "variance {ratio} {wanted}");
        let (ratio, wanted) = (bagged_error / error, case["error_ratio"].as_f64().unwrap());
        assert!(ratio < 0.6 && (ratio / wanted - 1.0).abs() < 0.25, "error {ratio} {wanted}");
    }
}

#[test]
fn ensembles_fulfil_the_contract_and_are_saved_whole() {
    let estimators: Vec<Box<dyn Estimator>> = vec![
        Box::new(BaggingRegressor::new(DummyRegressor::default())),
        Box::new(BaggingClassifier::new(DummyClassifier::default()).max_features(0.5)),
        Box::new(VotingRegressor::default().with("a", DummyRegressor::default()).with("b", DummyRegressor::default())),
        Box::new(
            VotingClassifier::soft()
                .with("a", DummyClassifier::default())
                .with("b", DummyClassifier::default())
                .weights(Some(vec![1.0, 2.0])),
        ),
        Box::new(VotingClassifier::hard().with("a", DummyClassifier::default())),
    ];
    for estimator in &estimators {
        let report = contract::check(&**estimator);
        assert!(report.passed(), "{report}");
    }
    let (x, y) = data("iris");
    let samples = Samples::new(&x, &y).unwrap();
    let bag = BaggingClassifier::new(Nearest::default())
        .n_estimators(15)
        .max_features(0.75)
        .max_samples(0.8)
        .oob_score(true)
        .seed(3);
    let model = bag.fit_samples(&samples).unwrap();
    assert!(model.oob_score().unwrap() > 0.9 && model.classes() == [0, 1, 2]);
    let scores = cross_val_score(&bag, &samples, StratifiedKFold::new(5), Scorer::Accuracy).unwrap();
    assert!(scores.iter().sum::<f64>() / 5.0 > 0.9);
    let constant = BaggingRegressor::new(DummyRegressor::default()).oob_score(true).n_estimators(4);
    let regression = Samples::new(&x, &Key::new(1).normal([150], DType::F64)).unwrap();
    let fitted = constant.fit_samples(&regression).unwrap();
    let back = restore(&fitted.record()).unwrap();
    assert_eq!(back.predict(&x).unwrap().to_f64_vec(), fitted.predict(&x).unwrap().to_f64_vec());
    assert!(fitted.summary().warnings[0].contains("in every bootstrap sample")); // 0.632⁴ = 16 % are
    let mut tuned = constant.clone();
    tuned.parse("estimator.strategy", "median").unwrap();
    tuned.parse("n_estimators", "2").unwrap();
    assert_eq!(tuned.fit_samples(&regression).unwrap().models().len(), 2);
    assert!(tuned.parse("n_estimator", "2").is_err());
    let wrong = BaggingRegressor::new(DummyClassifier::default()).fit_samples(&regression).err().unwrap();
    assert!(wrong.to_string().contains("BaggingClassifier"), "{wrong}");
    assert!(VotingClassifier::soft().fit_samples(&samples).is_err());
    assert!(cross_val_score(&constant, &regression, KFold::new(3), Scorer::R2).is_ok());
}
