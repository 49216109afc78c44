//! UMAP beside umap-learn, trustworthiness beside scikit-learn, and what UMAP does with odd data.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, fixture, matrix, numbers};
use tove_learn::manifold::{Umap, UmapInit, curve_parameters};
use tove_learn::neighbors::Metric;
use tove_learn::{Fit, KNeighborsClassifier, LearnError, Model, Pipeline, Predict, StandardScaler, Transform, restore};
use tove_metrics::trustworthiness;
use tove_optim::settings::Choice;
use tove_tensor::pool::{num_threads, set_num_threads};
use tove_tensor::{DType, Key, Tensor};

fn digits() -> (Tensor, Tensor) {
    let digits = tove_data::sets::digits().unwrap();
    (digits.x().to_dtype(DType::F32).reshape([1797, 64]), digits.y().clone())
}

/// Every other row, from the first or the second one on.
fn every_other(x: &Tensor, first: usize) -> Tensor {
    let rows: Vec<i64> = (first as i64..x.dims()[0] as i64).step_by(2).collect();
    x.index_select(0, &Tensor::from_slice(&rows))
}

fn noise(n: usize, d: usize, seed: u64) -> Tensor {
    Key::new(seed).normal([n, d], DType::F64)
}

fn join(parts: &[Tensor], axis: isize) -> Tensor {
    Tensor::concat(&parts.iter().collect::<Vec<_>>(), axis)
}

fn bits(x: &Tensor) -> Vec<u64> {
    x.to_f64_vec().into_iter().map(f64::to_bits).collect()
}

fn finite(x: &Tensor) -> bool {
    x.to_f64_vec().iter().all(|x| x.is_finite())
}

#[test]
fn curves_are_those_of_umap_learn() {
    for case in fixture("manifold.json")["ab"].as_array().unwrap() {
        let [spread, least, a, b] = numbers(case)[..] else { panic!("four numbers") };
        let found = curve_parameters(spread, least);
        assert_close(&[found.0, found.1], &[a, b], 1e-5);
    }
}

/// Membership strengths for several metrics, numbers of neighbors and ways to combine directions.
#[test]
fn graphs_are_those_of_umap_learn() {
    let all = fixture("manifold.json");
    let x = matrix(&all["x"]);
    for case in all["graphs"].as_array().unwrap() {
        let number = |name: &str| case[name].as_f64().unwrap();
        let umap = Umap::default()
            .n_neighbors(number("n_neighbors") as usize)
            .metric(Metric::from_name(case["metric"].as_str().unwrap()).unwrap())
            .local_connectivity(number("local_connectivity"))
            .set_op_mix_ratio(number("set_op_mix_ratio"));
        let found = umap.fuzzy_graph(&x).unwrap().to_dense().unwrap().to_f64_vec();
        let expected = numbers(&case["dense"]);
        let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-4, "{worst} of {case}", case = case["metric"]);
        let symmetric = (0..40).all(|i| (0..i).all(|j| found[i * 40 + j] == found[j * 40 + i]));
        assert!(symmetric && (0..40).all(|i| found[i * 41] == 0.0));
    }
}

#[test]
fn trustworthiness_is_that_of_scikit_learn() {
    for case in fixture("manifold.json")["trust"].as_array().unwrap() {
        let (x, embedded) = (matrix(&case["x"]), matrix(&case["embedded"]));
        let score = trustworthiness(&x, &embedded, case["n_neighbors"].as_u64().unwrap() as usize).unwrap();
        assert_close(&[score.value], &[case["score"].as_f64().unwrap()], 1e-12);
        assert_eq!(score.n, 40);
    }
    let x = noise(10, 3, 1);
    let refused = [
        trustworthiness(&x, &x, 0),
        trustworthiness(&x, &x, 5),
        trustworthiness(&x, &x.narrow(0, 0, 9), 2),
        trustworthiness(&x, &(&x * f64::NAN), 2),
        trustworthiness(&(&x * 1e300), &x, 2),
        trustworthiness(&Tensor::zeros([0, 3], DType::F64), &Tensor::zeros([0, 2], DType::F64), 1),
        trustworthiness(&Tensor::zeros([4], DType::F64), &x, 1),
    ];
    assert!(refused.iter().all(Result::is_err));
    // Equal samples: those given first are nearer, so that nothing is torn apart.
    let equal = Tensor::zeros([9, 2], DType::F64);
    assert_eq!(trustworthiness(&equal, &equal, 3).unwrap().value, 1.0);
}

/// Mean over seeds of trustworthiness, of the accuracy of 5 neighbors in the layout, and of the accuracy for new rows that were transformed.
#[test]
fn digits_are_laid_out_as_well_as_by_umap_learn() {
    let runs = fixture("manifold.json");
    let runs = runs["digits"].as_array().unwrap();
    let mean = |name: &str| runs.iter().map(|run| run[name].as_f64().unwrap()).sum::<f64>() / runs.len() as f64;
    let (x, y) = digits();
    let (even_y, odd_y) = (every_other(&y, 0), every_other(&y, 1));
    let (mut trust, mut accuracy, mut transformed) = (0.0, 0.0, 0.0);
    const SEEDS: u64 = 3;
    for seed in 0..SEEDS {
        let share = 1.0 / SEEDS as f64;
        let whole = Umap::default().seed(seed).fit(&x, None).unwrap();
        let at = whole.embedding();
        assert_eq!((at.dims(), at.dtype(), finite(at)), (&[1797, 2][..], DType::F32, true));
        trust += share * trustworthiness(&x, at, 15).unwrap().value;
        let votes = KNeighborsClassifier::default().fit(every_other(at, 0), &even_y).unwrap();
        accuracy += share * votes.score(every_other(at, 1), &odd_y).unwrap().value;
        let half = Umap::default().seed(seed).fit(every_other(&x, 0), None).unwrap();
        let votes = KNeighborsClassifier::default().fit(half.embedding(), &even_y).unwrap();
        transformed += share * votes.score(half.transform(every_other(&x, 1)).unwrap(), &odd_y).unwrap().value;
    }
    let expected = [mean("trustworthiness"), mean("accuracy"), mean("transformed")];
    println!(
        "trustworthiness, accuracy, accuracy of new rows: {trust:.4} {accuracy:.4} {transformed:.4}; umap-learn {expected:.4?}"
    );
    assert!(trust > expected[0] - 0.002, "trustworthiness {trust}, umap-learn {}", expected[0]);
    assert!(accuracy > expected[1] - 0.005, "accuracy {accuracy}, umap-learn {}", expected[1]);
    assert!(transformed > expected[2] - 0.01, "accuracy of new rows {transformed}, umap-learn {}", expected[2]);
}

/// Fit and transform, with every start, in one, two, three and five dimensions.
#[test]
fn the_number_of_threads_changes_no_bit() {
    let x = every_other(&every_other(&digits().0, 0), 0);
    let new = every_other(&x, 1) + 0.01;
    let threads = num_threads();
    for (init, dim) in [(UmapInit::Spectral, 2), (UmapInit::Random, 1), (UmapInit::Pca, 3), (UmapInit::Spectral, 5)] {
        let umap = Umap::default().init(init).n_components(dim).n_epochs(Some(30)).seed(7);
        let run = || {
            let model = umap.fit(&x, None).unwrap();
            (model.embedding().to_vec::<f32>(), model.transform(&new).unwrap().to_vec::<f32>())
        };
        let runs = [1, 2, 3, 8].map(|count| {
            set_num_threads(count);
            run()
        });
        set_num_threads(threads);
        assert!(runs.iter().all(|run| *run == runs[0]), "{init:?} {dim}");
        let other = umap.clone().seed(8).fit(&x, None).unwrap();
        assert!(other.embedding().to_vec::<f32>() != runs[0].0, "another seed gives another layout");
    }
}

#[test]
fn rows_are_placed_by_themselves_and_training_samples_where_they_are() {
    let x = every_other(&digits().0, 0);
    let model = Umap::default().n_epochs(Some(60)).fit(&x, None).unwrap();
    assert_eq!(bits(&model.transform(&x).unwrap()), bits(model.embedding()));
    let new = every_other(&digits().0, 1);
    let together = model.transform(&new).unwrap();
    for rows in [1, 3, 17, 300] {
        let some = model.transform(new.narrow(0, 5, rows)).unwrap();
        assert_eq!(bits(&some), bits(&together.narrow(0, 5, rows)), "{rows} rows");
    }
    // Rows that are nearly a training sample are placed near it, so nearer than the median of 100 samples.
    let near = model.transform(&(&x.narrow(0, 0, 100) + 1e-4)).unwrap();
    let (near, at) = (near.to_f64_vec(), model.embedding().to_f64_vec());
    let apart = |i: usize, j: usize| (near[2 * i] - at[2 * j]).hypot(near[2 * i + 1] - at[2 * j + 1]);
    for i in 0..100 {
        let mut others: Vec<f64> = (0..898).map(|j| apart(i, j)).collect();
        others.sort_by(f64::total_cmp);
        assert!(apart(i, i) <= others[100], "row {i} is {} away", apart(i, i));
    }
    let copy = restore(&model.record()).unwrap();
    assert_eq!(bits(&copy.transform(&new).unwrap()), bits(&together));
    let embedding = copy.attributes().into_iter().find(|(name, _)| *name == "embedding").unwrap().1;
    assert_eq!(bits(&embedding), bits(model.embedding()));
}

#[test]
fn odd_data_have_finite_layouts() {
    let quick = Umap::default().n_epochs(Some(25));
    let lay_out = |umap: &Umap, x: &Tensor| {
        let model = tove_learn::quietly(|| umap.fit(x, None)).unwrap();
        assert!(finite(model.embedding()) && model.embedding().dims() == [x.dims()[0], umap.n_components]);
        let new = model.transform(&(x + 0.5)).unwrap();
        assert!(finite(&new));
        assert_eq!(model.transform(x).unwrap().dims(), model.embedding().dims());
        model
    };
    // One sample.
    let one = lay_out(&quick, &Tensor::from([[3.0, 4.0]]));
    assert_eq!(one.embedding().to_vec::<f64>(), [0.0, 0.0]);
    assert_eq!(one.transform(Tensor::from([[9.0, 9.0]])).unwrap().to_vec::<f64>(), [0.0, 0.0]);
    for init in [UmapInit::Spectral, UmapInit::Random, UmapInit::Pca] {
        for dim in [1, 2, 4, 9] {
            let quick = quick.clone().init(init).n_components(dim);
            // Up to as many samples as neighbors.
            for n in [2, 3, 4, 5, 14, 15, 16] {
                let model = lay_out(&quick, &noise(n, 3, n as u64));
                assert_eq!(model.summary().warnings.len(), usize::from(n <= 15), "{n}");
            }
            // All equal, and constant columns.
            lay_out(&quick, &Tensor::full([30, 3], 7.0, DType::F64));
            let constant = join(&[noise(30, 2, 1), Tensor::zeros([30, 2], DType::F64)], 1);
            lay_out(&quick, &constant);
            // More duplicates than neighbors, beside others; and pairs.
            let many = join(&[Tensor::zeros([40, 3], DType::F64), noise(30, 3, 2)], 0);
            lay_out(&quick, &many);
            lay_out(&quick, &join(&[noise(20, 3, 3), noise(20, 3, 3)], 0));
            // Many parts without an edge between them, of all sizes.
            let apart: Vec<f64> = (0..90).flat_map(|i| [1e3 * (i as f64).sqrt().floor(), (i % 7) as f64]).collect();
            lay_out(&quick.clone().n_neighbors(2), &Tensor::from_vec(apart, [90, 2]));
        }
    }
    for settings in [
        quick.clone().set_op_mix_ratio(0.0),
        quick.clone().local_connectivity(0.0),
        quick.clone().local_connectivity(1e300),
        quick.clone().negative_sample_rate(0),
        quick.clone().negative_sample_rate(33),
        quick.clone().learning_rate(1000.0).repulsion_strength(1e6),
        quick.clone().n_epochs(Some(1)),
        quick.clone().min_dist(0.0),
        quick.clone().spread(1000.0).min_dist(1000.0),
        quick.clone().spread(0.001).min_dist(0.001),
        quick.clone().n_neighbors(usize::MAX),
    ] {
        lay_out(&settings, &noise(60, 3, 4));
    }
    for &metric in Metric::ALL {
        lay_out(&quick.clone().metric(metric), &noise(60, 3, 5));
    }
    // Neither huge nor tiny numbers change the layout: distances are relative.
    let x = noise(60, 3, 6);
    let (plain, huge) = (lay_out(&quick, &x), lay_out(&quick, &(&x * 2f64.powi(400))));
    assert_eq!(bits(plain.embedding()), bits(huge.embedding()));
    assert_eq!(bits(plain.embedding()), bits(lay_out(&quick, &(&x * 2f64.powi(-400))).embedding()));
}

/// Copies of a sample end up nearer to each other than most other pairs.
#[test]
fn duplicates_stay_together() {
    let x = noise(100, 5, 1);
    let doubled = join(&[x.clone(), x], 0);
    let at = Umap::default().fit(&doubled, None).unwrap().embedding().to_f64_vec();
    let apart = |i: usize, j: usize| (at[2 * i] - at[2 * j]).hypot(at[2 * i + 1] - at[2 * j + 1]);
    let copies = (0..100).map(|i| apart(i, i + 100)).sum::<f64>() / 100.0;
    let others = (0..100).map(|i| apart(i, (i + 37) % 100)).sum::<f64>() / 100.0;
    assert!(copies < 0.3 * others, "{copies} beside {others}");
}

/// Three distant groups: their neighbors are within them.
#[test]
fn parts_keep_apart() {
    let groups: Vec<Tensor> = (0..3).map(|i| noise(60, 4, i) + 1000.0 * i as f64).collect();
    let at = Umap::default().fit(join(&groups, 0), None).unwrap().embedding().clone();
    let labels: Vec<i64> = (0..180).map(|i| i / 60).collect();
    let score = tove_metrics::silhouette_score(&at, &Tensor::from_slice(&labels)).unwrap().value;
    assert!(score > 0.5, "silhouette {score}");
}

#[test]
fn mistakes_are_refused() {
    let x = noise(20, 3, 1);
    let problem = |umap: Umap| umap.fit(&x, None).unwrap_err().to_string();
    assert!(problem(Umap::default().min_dist(2.0)).contains("`min_dist` is 2 and `spread` 1"));
    for wrong in [
        Umap::default().n_neighbors(1),
        Umap::default().n_components(0),
        Umap::default().n_epochs(Some(0)),
        Umap::default().learning_rate(0.0),
        Umap::default().learning_rate(f64::NAN),
        Umap::default().min_dist(-1.0),
        Umap::default().spread(0.0),
        Umap::default().set_op_mix_ratio(1.5),
        Umap::default().repulsion_strength(-1.0),
        Umap::default().local_connectivity(-1.0),
    ] {
        assert!(wrong.fit(&x, None).is_err() && wrong.fuzzy_graph(&x).is_err(), "{wrong:?}");
    }
    let fitted = Umap::default().n_epochs(Some(5)).fit(&x, None).unwrap();
    assert!(matches!(fitted.transform(noise(2, 4, 1)), Err(LearnError::Width { expected: 3, found: 4, .. })));
    assert!(fitted.transform(&(&x * f64::NAN)).is_err());
    assert_eq!(fitted.transform(Tensor::zeros([0, 3], DType::F64)).unwrap().dims(), [0, 2]);
    assert!(Umap::default().fit(Tensor::zeros([0, 3], DType::F64), None).is_err());
    let huge = Umap::default().n_components(1 << 50).fit(&x, None);
    assert!(matches!(huge, Err(LearnError::Memory { .. })), "{:?}", huge.err());
}

/// A time limit ends the layout early, with coordinates that can be used.
#[test]
fn a_time_limit_ends_the_layout() {
    let x = noise(300, 5, 1);
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(1);
    let umap = Umap::default().n_epochs(Some(1_000_000));
    let model = tove_learn::quietly(|| tove_optim::until(Some(limit), || umap.fit(&x, None))).unwrap();
    assert!(!model.summary().converged && model.summary().iterations < 1_000_000);
    assert!(finite(model.embedding()));
}

#[test]
fn a_pipeline_transforms_new_rows() {
    let x = noise(80, 6, 1);
    let pipeline = Pipeline::of(StandardScaler::default()).then(Umap::default().n_epochs(Some(20)));
    let model = pipeline.fit(&x, None).unwrap();
    assert_eq!(model.transform(noise(7, 6, 2)).unwrap().dims(), [7, 2]);
    assert_eq!(model.output_names(&[]), ["umap0", "umap1"]);
}
