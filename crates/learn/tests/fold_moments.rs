//! Fits to moments: merged from parts, shared by folds and penalties, equal to fits to the samples.
#![allow(clippy::unwrap_used)]

use tove_learn::linear::{
    Combination, ElasticNet, Lasso, LinearMoments, LinearRegression, Ridge, RidgeCv, all_but_one, divided,
};
use tove_learn::selection::{Fold, Grid, GridSearch, KFold, Scorer, Splitter, cross_val_score};
use tove_learn::{Csr, Estimator, Fit, Samples};
use tove_tensor::{DType, Key, Tensor};

const N: usize = 300;

/// Two numbers, one far from zero, and one-hot columns of four categories; weights; two outputs or one.
fn samples(sparse: bool, outputs: usize) -> Samples {
    let noise = Key::new(5).normal([N, 3 + outputs], DType::F64).to_vec::<f64>();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for (row, noise) in noise.chunks_exact(3 + outputs).enumerate() {
        let category = (row * 7 + row / 11) % 4;
        x.extend([noise[0], 1000.0 + noise[1]]);
        x.extend((0..4).map(|at| f64::from(u8::from(at == category))));
        y.extend(
            (0..outputs).map(|k| 2.0 * noise[0] - noise[1] + category as f64 * (k as f64 + 0.5) + 0.3 * noise[3 + k]),
        );
    }
    let weights: Vec<f64> = (0..N).map(|row| 0.5 + (row % 3) as f64).collect();
    let x = Tensor::try_from_vec(x, [N, 6]).unwrap();
    let y = if outputs == 1 { Tensor::from(y) } else { Tensor::try_from_vec(y, [N, outputs]).unwrap() };
    let samples = match sparse {
        true => Samples::new(Csr::from_dense(&x).unwrap(), &y),
        false => Samples::new(x, &y),
    };
    samples.unwrap().weighted(&Tensor::from(weights)).unwrap()
}

fn close(a: &Tensor, b: &Tensor) -> bool {
    a.dims() == b.dims()
        && a.to_f64_vec().iter().zip(b.to_f64_vec()).all(|(a, b)| (a - b).abs() <= 1e-8 * (1.0 + b.abs()))
}

fn estimators() -> Vec<Box<dyn Estimator>> {
    let mut all: Vec<Box<dyn Estimator>> = Vec::new();
    for intercept in [true, false] {
        all.push(Box::new(Ridge::default().alpha(0.7).fit_intercept(intercept)));
        all.push(Box::new(LinearRegression::default().fit_intercept(intercept)));
        all.push(Box::new(Lasso::default().alpha(0.01).tol(1e-12).fit_intercept(intercept)));
        all.push(Box::new(ElasticNet::default().alpha(0.02).tol(1e-12).fit_intercept(intercept)));
    }
    all
}

#[test]
fn moments_of_folds_give_the_models_of_their_training_sets() {
    for (sparse, outputs) in [(false, 1), (true, 1), (false, 2)] {
        let samples = samples(sparse, outputs);
        let folds = KFold::new(5).shuffled(3).split(samples.y().unwrap()).unwrap();
        assert!(divided(N, &folds));
        let parts: Vec<LinearMoments> =
            folds.iter().map(|fold| LinearMoments::of(&samples.take(&fold.test).unwrap()).unwrap()).collect();
        let training = all_but_one(&parts).unwrap();
        for estimator in estimators() {
            for (fold, moments) in folds.iter().zip(&training) {
                let train = samples.take(&fold.train).unwrap();
                let whole = tove_learn::quietly(|| estimator.fit_samples(&train)).unwrap();
                let Some(merged) = estimator.fit_moments(moments).unwrap() else {
                    assert!(outputs == 2 && estimator.name().contains('a'), "{}", estimator.name());
                    continue;
                };
                let test = samples.take(&fold.test).unwrap();
                let (a, b) = (merged.predict_rows(test.x()).unwrap(), whole.predict_rows(test.x()).unwrap());
                assert!(close(&a, &b), "{} {sparse} {outputs}", estimator.name());
                assert!(close(merged.coefficients().unwrap(), whole.coefficients().unwrap()), "{}", estimator.name());
            }
        }
    }
}

#[test]
fn scores_of_folds_and_searches_are_those_of_refitting() {
    let samples = samples(false, 1);
    let (kfold, folds) = (KFold::new(5), KFold::new(5).split(samples.y().unwrap()).unwrap());
    let refitted = |estimator: &dyn Estimator| -> Vec<f64> {
        let score = |fold: &Fold| {
            let model = estimator.fit_samples(&samples.take(&fold.train).unwrap()).unwrap();
            Scorer::R2.score(&*model, &samples.take(&fold.test).unwrap()).unwrap().value
        };
        tove_learn::quietly(|| folds.iter().map(score).collect())
    };
    for estimator in estimators() {
        let scores = cross_val_score(&*estimator, &samples, kfold.clone(), Scorer::R2).unwrap();
        let expected = refitted(&*estimator);
        assert!(scores.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-8), "{}", estimator.name());
    }
    let alphas = [0.01, 1.0, 100.0];
    let search = GridSearch::new(Ridge::default(), Grid::new().over("alpha", alphas)).silent().fit_samples(&samples);
    let search = search.unwrap();
    let chosen = RidgeCv::default().with_alphas(&alphas).cv(Some(5)).fit_samples(&samples).unwrap();
    for (alpha, (trial, score)) in alphas.iter().zip(search.trials().iter().zip(chosen.leave_one_out_errors())) {
        let expected = refitted(&Ridge::default().alpha(*alpha));
        let mean = expected.iter().sum::<f64>() / 5.0;
        assert!((score - mean).abs() < 1e-8, "{score} {mean}");
        let found = trial.scores[0].iter().sum::<f64>() / 5.0;
        assert!((found - mean).abs() < 1e-8, "{found} {mean}");
    }
}

#[test]
fn moments_have_the_same_bits_for_any_number_of_threads() {
    let samples = samples(true, 1);
    let before = tove_tensor::pool::num_threads();
    let scores = |threads: usize| {
        tove_tensor::pool::set_num_threads(threads);
        let scores = cross_val_score(&Ridge::default(), &samples, KFold::new(5), Scorer::R2).unwrap();
        scores.into_iter().map(f64::to_bits).collect::<Vec<u64>>()
    };
    let all: Vec<Vec<u64>> = [1, 2, 3, 8].into_iter().map(scores).collect();
    tove_tensor::pool::set_num_threads(before);
    assert!(all.windows(2).all(|two| two[0] == two[1]));
}

#[test]
fn combinations_of_features_have_the_moments_of_their_values() {
    let samples = samples(false, 2);
    let x = samples.x().to_dense().unwrap().to_f64_vec();
    let combined = |row: &[f64]| [0.5 * row[0] - 3.0, row[1] + 2.0 * row[4] + 7.0, row[3]];
    let new: Vec<f64> = x.chunks_exact(6).flat_map(combined).collect();
    let features = [
        Combination { terms: vec![(0, 0.5)], shift: -3.0 },
        Combination { terms: vec![(1, 1.0), (4, 2.0)], shift: 7.0 },
        Combination { terms: vec![(3, 1.0)], shift: 0.0 },
    ];
    let made = LinearMoments::of(&samples).unwrap().combined(&features).unwrap();
    let direct = Samples::new(Tensor::try_from_vec(new, [N, 3]).unwrap(), samples.y().unwrap()).unwrap();
    let direct = direct.weighted(samples.weights().unwrap()).unwrap();
    for intercept in [true, false] {
        let ridge = Ridge::default().fit_intercept(intercept);
        let (a, b) = (ridge.fit_moments(&made).unwrap().unwrap(), ridge.fit_samples(&direct).unwrap());
        assert!(close(&a.predict_rows(direct.x()).unwrap(), &tove_learn::Model::predict_rows(&b, direct.x()).unwrap()));
    }
}

#[test]
fn moments_refuse_what_they_cannot_do() {
    let all = samples(false, 1);
    let mut moments = LinearMoments::of(&all).unwrap();
    assert!(moments.merge(&LinearMoments::of(&samples(false, 2)).unwrap()).is_err());
    assert!(moments.combined(&[Combination { terms: vec![(6, 1.0)], shift: 0.0 }]).is_err());
    assert!(LinearMoments::of(&Samples::unlabeled(Tensor::zeros([3, 1], DType::F64)).unwrap()).is_err());
    // Estimators that need the samples say so, and settings are checked.
    assert!(Ridge::default().positive(true).fit_moments(&moments).unwrap().is_none());
    assert!(!Ridge::default().positive(true).capabilities().moments);
    assert!(Ridge::default().alpha(-1.0).fit_moments(&moments).is_err());
    assert!(tove_learn::LogisticRegression::default().fit_moments(&moments).unwrap().is_none());
    // Columns that are nearly, not exactly, dependent need another pass over the samples.
    let x: Vec<f64> = (0..200).flat_map(|i| [f64::from(i), f64::from(i) + 1e-5 * f64::from(i % 7)]).collect();
    let y: Vec<f64> = (0..200).map(|i| f64::from(i % 5)).collect();
    let near = Samples::new(Tensor::try_from_vec(x, [200, 2]).unwrap(), &Tensor::from(y)).unwrap();
    assert!(LinearRegression::default().fit_moments(&LinearMoments::of(&near).unwrap()).unwrap().is_none());
    // Folds that do not divide the samples share nothing.
    let fold = |train: &[usize], test: &[usize]| Fold { train: train.to_vec(), test: test.to_vec() };
    assert!(divided(4, &[fold(&[2, 3], &[0, 1]), fold(&[0, 1], &[2, 3])]));
    assert!(!divided(4, &[fold(&[2, 3], &[0, 1]), fold(&[0], &[2, 3])]));
    assert!(!divided(4, &[fold(&[2, 2], &[0, 1]), fold(&[0, 1], &[2, 3])]));
    assert!(!divided(4, &[fold(&[2, 3], &[0, 1]), fold(&[2, 3], &[0, 1])]));
    assert!(!divided(4, &[fold(&[0], &[1]), fold(&[0, 1], &[2, 3])]));
}
