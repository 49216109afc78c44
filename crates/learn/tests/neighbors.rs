//! Nearest neighbors beside scikit-learn's and beside plain loops, and what they do with odd data.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, fixture, matrix, numbers};
use proptest::prelude::*;
use tove_learn::neighbors::{Metric, NeighborAlgorithm, NeighborWeights, Ties, cosine_top_k};
use tove_learn::selection::{Grid, GridSearch};
use tove_learn::{
    Fit, KNeighborsClassifier, KNeighborsRegressor, LearnError, Model, NearestNeighbors, Predict, restore,
};
use tove_optim::settings::Choice;
use tove_tensor::{DType, Key, Tensor};

fn labels(value: &serde_json::Value) -> Tensor {
    Tensor::from_slice(&numbers(value).iter().map(|&label| label as i64).collect::<Vec<_>>())
}

fn digits() -> (Tensor, Tensor) {
    let digits = tove_data::sets::digits().unwrap();
    (digits.x().to_dtype(DType::F64).reshape([1797, 64]) * 16.0, digits.y().clone())
}

/// All metrics, both algorithms, both precisions, both weights.
#[test]
fn neighbors_are_those_of_scikit_learn() {
    let all = fixture("neighbors.json");
    let (x, queries) = (matrix(&all["x"]), matrix(&all["queries"]));
    let (y, targets) = (labels(&all["labels"]), matrix(&all["targets"]));
    for &metric in Metric::ALL {
        let expected = &all["metrics"][metric.name()];
        for algorithm in [NeighborAlgorithm::Brute, NeighborAlgorithm::KdTree, NeighborAlgorithm::Auto] {
            if metric == Metric::Cosine && algorithm == NeighborAlgorithm::KdTree {
                continue;
            }
            let settings = NearestNeighbors::default().metric(metric).algorithm(algorithm);
            for dtype in [DType::F64, DType::F32] {
                let tolerance = if dtype == DType::F64 { 1e-12 } else { 1e-5 };
                let (x, queries) = (x.to_dtype(dtype), queries.to_dtype(dtype));
                let index = settings.fit(&x, None).unwrap();
                let found = index.kneighbors(&queries, 7).unwrap();
                assert_eq!(found.distances.dtype(), dtype);
                let indices: Vec<f64> = found.indices.to_f64_vec();
                assert_eq!(indices, numbers(&expected["indices"]), "{metric:?} {algorithm:?} {dtype}");
                assert_close(&found.distances.to_f64_vec(), &numbers(&expected["distances"]), tolerance);
            }
            let index = settings.fit(&x, None).unwrap();
            let around =
                index.radius_neighbors(&queries, expected["radius"].as_f64().unwrap() * (1.0 + 1e-12)).unwrap();
            for (row, wanted) in expected["around"].as_array().unwrap().iter().enumerate() {
                let found: Vec<f64> = around.indices(row).iter().map(|&i| i as f64).collect();
                assert_eq!(found, numbers(wanted), "{metric:?} {algorithm:?} row {row}");
            }
            for weights in [NeighborWeights::Uniform, NeighborWeights::Distance] {
                let (wanted, base) = (&expected[weights.name()], settings.search.clone());
                let classifier = KNeighborsClassifier { search: base.clone(), ..Default::default() };
                let classifier = classifier.n_neighbors(7).weights(weights).fit(&x, &y).unwrap();
                assert_close(
                    &classifier.predict_proba(&queries).unwrap().to_f64_vec(),
                    &numbers(&wanted["proba"]),
                    1e-12,
                );
                assert_eq!(classifier.predict(&queries).unwrap().to_f64_vec(), numbers(&wanted["predict"]));
                let regressor = KNeighborsRegressor { search: base, ..Default::default() };
                let regressor = regressor.n_neighbors(7).weights(weights).fit(&x, &targets).unwrap();
                assert_close(&regressor.predict(&queries).unwrap().to_f64_vec(), &numbers(&wanted["regress"]), 1e-12);
            }
        }
    }
}

/// Voting of nearest neighbors: scikit-learn's answers where no samples are equally near, seeded ties, no training error with one
/// neighbor, k chosen by cross-validation.
#[test]
fn l1_nearest_neighbors_vote() {
    let expected = &fixture("neighbors.json")["digits"];
    let (x, y) = digits();
    let half = 1797 / 2;
    let part =
        |from: usize, count: usize| (x.narrow(0, from, count).contiguous(), y.narrow(0, from, count).contiguous());
    let ((train, train_y), (test, test_y)) = (part(0, half), part(half, 1797 - half));
    let model = KNeighborsClassifier::default().n_neighbors(3).fit(&train, &train_y).unwrap();
    let predicted = model.predict(&test).unwrap().to_f64_vec();
    let clear = expected["clear"].as_array().unwrap();
    assert!(clear.iter().filter(|clear| clear.as_bool().unwrap()).count() > 700);
    for ((found, wanted), clear) in predicted.iter().zip(numbers(&expected["predict"])).zip(clear) {
        assert!(!clear.as_bool().unwrap() || *found == wanted);
    }
    let score = model.score(&test, &test_y).unwrap().value;
    assert!((score - expected["score"].as_f64().unwrap()).abs() < 0.005, "{score}");
    // One neighbor: every sample is its own nearest.
    let one = KNeighborsClassifier::default().n_neighbors(1).fit(&train, &train_y).unwrap();
    assert_eq!(one.score(&train, &train_y).unwrap().value, 1.0);
    // Two classes with one vote each, everywhere: the seed decides, row by row.
    let (pair, tied) = (Tensor::from([[-1.0, 0.0], [1.0, 0.0]]), Tensor::from([3i64, 8]));
    let queries = Tensor::from_vec((0..2000).flat_map(|i| [0.0, f64::from(i)]).collect::<Vec<_>>(), [2000, 2]);
    let ask = |seed: u64| {
        let model = KNeighborsClassifier::default().n_neighbors(2).ties(Ties::Random).seed(seed);
        model.fit(&pair, &tied).unwrap().predict(&queries).unwrap().to_vec::<i64>()
    };
    let (first, again, other) = (ask(1), ask(1), ask(2));
    let share = first.iter().filter(|&&label| label == 3).count();
    assert!(first == again && first != other && (900..1100).contains(&share), "{share}");
    let fixed = KNeighborsClassifier::default().n_neighbors(2).fit(&pair, &tied).unwrap().predict(&queries).unwrap();
    assert!(fixed.to_vec::<i64>().iter().all(|&label| label == 3));
    // k by cross-validation: noise in the labels makes few neighbors a bad choice.
    let noisy = Key::new(4).normal([300, 2], DType::F64);
    let flips = Key::new(5).uniform([300], DType::F64).to_f64_vec();
    let truth: Vec<i64> =
        noisy.to_f64_vec().chunks(2).zip(flips).map(|(row, flip)| i64::from((row[0] > 0.0) != (flip < 0.25))).collect();
    let grid = Grid::new().over("n_neighbors", [1, 15, 230]);
    let search =
        GridSearch::new(KNeighborsClassifier::default(), grid).fit(&noisy, &Tensor::from_slice(&truth)).unwrap();
    assert_eq!(search.best().settings, [("n_neighbors".to_owned(), 15.into())]);
}

/// Distances concentrate, and cubes that hold a share of the volume become wide.
#[test]
fn l3_distances_concentrate_in_many_dimensions() {
    let contrast = |d: usize| {
        let points = Key::new(d as u64).uniform([2000, d], DType::F64);
        let index = NearestNeighbors::default().fit(&points, None).unwrap();
        let queries = Key::new(1000 + d as u64).uniform([20, d], DType::F64);
        let found = index.kneighbors(&queries, 2000).unwrap().distances.to_f64_vec();
        found.chunks(2000).map(|row| (row[1999] - row[0]) / row[0]).sum::<f64>() / 20.0
    };
    let contrasts: Vec<f64> = [1, 2, 5, 20, 100, 500].into_iter().map(contrast).collect();
    assert!(contrasts.windows(2).all(|two| two[1] < two[0]), "{contrasts:?}");
    assert!(contrasts[5] < 0.5, "{contrasts:?}");
    // Counted, not only computed: 1 % of uniform points lie in a cube with edge 0.01^(1/d).
    for d in [1, 2, 10, 100] {
        let edge = 0.01f64.powf(1.0 / d as f64);
        let points = Key::new(7).fold(d as u64).uniform([40_000, d], DType::F64).to_f64_vec();
        let inside = points.chunks(d).filter(|point| point.iter().all(|&x| x < edge)).count();
        assert!((inside as f64 / 40_000.0 - 0.01).abs() < 0.003, "{d}: {inside}");
    }
    assert!((0.01f64.powf(0.01) - 0.955).abs() < 5e-4);
}

/// One neighbor errs at most twice as often as the best rule, with many samples.
#[test]
fn l4_one_neighbor_errs_at_most_twice_as_often_as_the_best_rule() {
    // P(1 | x) = x on [0, 1]: R* = E min(x, 1 − x) = 1/4, and one neighbor tends to E 2 x (1 − x) = 1/3.
    let draw = |key: Key, n: usize| {
        let x = key.fold(0).uniform([n, 1], DType::F64);
        let chance = key.fold(1).uniform([n], DType::F64).to_f64_vec();
        let y: Vec<i64> = x.to_f64_vec().iter().zip(chance).map(|(x, chance)| i64::from(chance < *x)).collect();
        (x, Tensor::from_slice(&y))
    };
    let best = 0.25;
    // The mean over training sets of this size.
    let error = |n: usize, sets: u64| {
        let one = |set: u64| {
            let ((x, y), (tests, truth)) = (draw(Key::new(21).fold(set), n), draw(Key::new(22).fold(set), 10_000));
            match KNeighborsClassifier::default().n_neighbors(1).fit(&x, &y) {
                Ok(model) => 1.0 - model.score(&tests, &truth).unwrap().value,
                // All neighbors are of one class.
                Err(LearnError::OneClass { class, .. }) => {
                    truth.to_vec::<i64>().iter().filter(|&&label| label != class).count() as f64 / 10_000.0
                }
                Err(error) => panic!("{error}"),
            }
        };
        (0..sets).map(one).sum::<f64>() / sets as f64
    };
    let errors = [error(2, 200), error(10, 100), error(30_000, 4)];
    println!("{errors:?}");
    // With two samples it errs more often than the bound; with more it is within, and at its limit.
    let bound = 2.0 * best * (1.0 - best);
    assert!(errors[0] > bound && errors[1..].iter().all(|error| (best..bound).contains(error)), "{errors:?}");
    assert!((errors[2] - 1.0 / 3.0).abs() < 0.01, "{errors:?}");
}

/// What plain loops find, ties by number.
fn plain(x: &Tensor, queries: &Tensor, k: usize, metric: Metric) -> Vec<i64> {
    let (d, rows) = (x.dims()[1], x.to_f64_vec());
    let mut all = Vec::new();
    for query in queries.to_f64_vec().chunks(d) {
        let key = |row: &[f64]| -> f64 {
            match metric {
                Metric::Manhattan => row.iter().zip(query).map(|(a, b)| (a - b).abs()).sum(),
                _ => row.iter().zip(query).map(|(a, b)| (a - b) * (a - b)).sum(),
            }
        };
        let mut found: Vec<(f64, i64)> = rows.chunks(d).enumerate().map(|(i, row)| (key(row), i as i64)).collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all.extend(found[..k].iter().map(|found| found.1));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whole numbers, so that sums are exact and ties are many; offsets so that products lose all digits.
    #[test]
    fn ties_and_offsets_do_not_matter(seed in 0u64..1000, d in 1usize..40, n in 1usize..400, offset in 0.0..1e6, spread in 1.0..5.0) {
        let whole = |key: Key, n: usize| &(&key.uniform([n, d], DType::F64) * f64::floor(spread)).floor() + f64::floor(offset);
        let (x, queries) = (whole(Key::new(seed), n), whole(Key::new(seed + 1), 9));
        let k = 1 + (seed as usize % n);
        for metric in [Metric::Euclidean, Metric::Manhattan] {
            let expected = plain(&x, &queries, k, metric);
            for algorithm in [NeighborAlgorithm::Brute, NeighborAlgorithm::KdTree] {
                for dtype in [DType::F64, DType::F32] {
                    let index = NearestNeighbors::default().metric(metric).algorithm(algorithm);
                    let index = index.fit(x.to_dtype(dtype), None).unwrap();
                    let found = index.kneighbors(queries.to_dtype(dtype), k).unwrap();
                    prop_assert_eq!(&found.indices.to_vec::<i64>(), &expected, "{:?} {:?} {}", metric, algorithm, dtype);
                }
            }
        }
    }
}

#[test]
fn identical_points_zero_rows_and_one_row_are_answered() {
    let same = Tensor::full([3000, 20], 1.7, DType::F32);
    let index = NearestNeighbors::default().fit(&same, None).unwrap();
    let found = index.kneighbors(same.narrow(0, 0, 2), 4).unwrap();
    assert_eq!(found.indices.to_vec::<i64>(), [0, 1, 2, 3, 0, 1, 2, 3]);
    assert!(found.distances.to_f64_vec().iter().all(|&distance| distance == 0.0));
    assert_eq!(index.radius_neighbors(same.narrow(0, 0, 1), 0.0).unwrap().indices(0).len(), 3000);
    let single = NearestNeighbors::default().fit(Tensor::from([[2.0]]), None).unwrap();
    assert_eq!(single.kneighbors(Tensor::from([[5.0]]), 1).unwrap().distances.to_vec::<f64>(), [3.0]);
    // A row of zeros has no direction.
    let stored = Tensor::from([[0.0, 0.0], [1.0, 1.0], [-2.0, 0.0]]);
    let cosine = NearestNeighbors::default().metric(Metric::Cosine).fit(&stored, None).unwrap();
    let found = cosine.kneighbors(Tensor::from([[3.0, 0.0], [0.0, 0.0]]), 3).unwrap();
    assert_eq!(found.indices.to_vec::<i64>(), [1, 0, 2, 0, 1, 2]);
    let half = 1.0 - 0.5f64.sqrt();
    assert_close(&found.distances.to_f64_vec(), &[half, 1.0, 2.0, 1.0, 1.0, 1.0], 1e-15);
}

#[test]
fn what_cannot_be_found_is_said() {
    let x = Key::new(1).normal([10, 3], DType::F64);
    let y = Tensor::from_slice(&(0..10).map(|i| i64::from(i % 2 == 0)).collect::<Vec<_>>());
    let few = KNeighborsClassifier::default().n_neighbors(11).fit(&x, &y).unwrap_err();
    assert!(matches!(few, LearnError::TooFew { needed: 11, found: 10, .. }), "{few}");
    let tree = NearestNeighbors::default().metric(Metric::Cosine).algorithm(NeighborAlgorithm::KdTree).fit(&x, None);
    assert!(tree.unwrap_err().to_string().contains("auto or brute"));
    // Two equal columns: no inverse of the covariance matrix.
    let doubled = Tensor::concat(&[&x, &x.narrow(1, 0, 1)], 1);
    let mahalanobis = NearestNeighbors::default().metric(Metric::Mahalanobis);
    let singular = mahalanobis.fit(&doubled, None).unwrap_err();
    assert!(singular.to_string().contains("singular"), "{singular}");
    assert!(mahalanobis.fit(x.narrow(0, 0, 1), None).is_err());
    let wrong = mahalanobis.clone().covariance(Some(vec![vec![1.0, 0.0], vec![0.0, 1.0]])).fit(&x, None).unwrap_err();
    assert!(wrong.to_string().contains("3 x 3"), "{wrong}");
    let eye: Vec<Vec<f64>> = (0..3).map(|i| (0..3).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let given = mahalanobis.covariance(Some(eye)).fit(&x, None).unwrap();
    let euclidean = NearestNeighbors::default().fit(&x, None).unwrap();
    let (a, b) = (given.kneighbors(&x, 4).unwrap(), euclidean.kneighbors(&x, 4).unwrap());
    assert_eq!(a.indices.to_vec::<i64>(), b.indices.to_vec::<i64>());
    // Far away in single precision: products overflow, differences do not.
    let single = x.to_dtype(DType::F32);
    let far = NearestNeighbors::default().fit(&single, None).unwrap().kneighbors(&(&single * 1e25), 1).unwrap();
    assert!(far.distances.to_f64_vec().iter().all(|distance| distance.is_finite()));
    let weights = tove_learn::Samples::new(&x, &y).unwrap().weighted(&Tensor::ones([10], DType::F64)).unwrap();
    assert!(KNeighborsClassifier::default().fit_samples(&weights).is_err());
    assert!(NearestNeighbors::default().fit(Tensor::zeros([0, 3], DType::F64), None).is_err());
    let empty = euclidean.kneighbors(Tensor::zeros([0, 3], DType::F64), 2).unwrap();
    assert_eq!(empty.indices.dims(), [0, 2]);
}

#[test]
fn neighbor_models_are_saved_with_all_metrics() {
    let (x, y) = (Key::new(2).normal([50, 3], DType::F32), Key::new(3).normal([50, 2], DType::F32));
    for &metric in Metric::ALL {
        let model =
            KNeighborsRegressor::default().metric(metric).weights(NeighborWeights::Distance).fit(&x, &y).unwrap();
        let back = restore(&model.record()).unwrap();
        assert_eq!(back.predict(&x).unwrap().to_f64_vec(), model.predict(&x).unwrap().to_f64_vec());
        assert_eq!(
            back.kneighbors(&x, 3).unwrap().indices.to_vec::<i64>(),
            model.kneighbors(&x, 3).unwrap().indices.to_vec::<i64>()
        );
    }
}

#[test]
fn cosine_retrieval_is_that_of_plain_loops() {
    let (stored, queries) = (Key::new(8).normal([500, 32], DType::F32), Key::new(9).normal([20, 32], DType::F32));
    let found = cosine_top_k(&stored, &queries, 10).unwrap();
    let (rows, asked) = (stored.to_f64_vec(), queries.to_f64_vec());
    for (q, query) in asked.chunks(32).enumerate() {
        let norm = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
        let similarity = |row: &[f64]| row.iter().zip(query).map(|(a, b)| a * b).sum::<f64>() / norm(row) / norm(query);
        let mut all: Vec<(f64, i64)> =
            rows.chunks(32).enumerate().map(|(i, row)| (similarity(row), i as i64)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let wanted: Vec<i64> = all[..10].iter().map(|pair| pair.1).collect();
        assert_eq!(found.indices.get(q).to_vec::<i64>(), wanted);
        assert!((found.distances.at::<f32>(&[q, 0]) as f64 - all[0].0).abs() < 1e-6);
    }
}
