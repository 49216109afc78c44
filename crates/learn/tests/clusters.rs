//! k-means: scikit-learn's results from the same start, its form as a factorization and as a probability model, odd data.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, data, fixture, matrix, numbers};
use tove_learn::cluster::{Init, KMeans, KMeansAlgorithm, MiniBatchKMeans, kmeans_plusplus};
use tove_learn::{Fit, Learner, Model, PartialFit, Samples, Stop, Transform};
use tove_metrics::{
    adjusted_mutual_info_score, adjusted_rand_score, calinski_harabasz_score, davies_bouldin_score,
    normalized_mutual_info_score, silhouette_samples, silhouette_score,
};
use tove_tensor::{DType, Key, Tensor};

fn labels(value: &serde_json::Value) -> Tensor {
    Tensor::from_slice(&numbers(value).iter().map(|&label| label as i64).collect::<Vec<_>>())
}

fn rows(value: &serde_json::Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

/// Σ ‖x − μ‖² over samples and their nearest centers.
fn cost(x: &[f64], centers: &[f64], d: usize) -> f64 {
    let square = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    x.chunks(d).map(|row| centers.chunks(d).map(|center| square(row, center)).fold(f64::INFINITY, f64::min)).sum()
}

/// The objective never rises and the iterations end; scikit-learn's centers, labels and inertia from the same start; empty clusters
/// are put on the farthest samples.
#[test]
fn l6_k_means_alternates_between_labels_and_means() {
    let all = fixture("clusters.json");
    for (name, cases) in [("x", "kmeans"), ("blobs", "kmeans_blobs")] {
        let x = matrix(&all[name]);
        for case in all[cases].as_array().unwrap() {
            let k = case["k"].as_u64().unwrap() as usize;
            for algorithm in [KMeansAlgorithm::Lloyd, KMeansAlgorithm::Hamerly, KMeansAlgorithm::Elkan] {
                let settings = KMeans::default().n_clusters(k).tol(0.0).algorithm(algorithm);
                let mut samples = Samples::unlabeled(&x).unwrap();
                if case["weighted"].as_bool().unwrap() {
                    samples = samples.weighted(&Tensor::from_slice(&numbers(&all["weights"]))).unwrap();
                }
                let model = settings.initial_centers(Some(rows(&case["start"]))).fit_samples(&samples).unwrap();
                assert_close(&model.cluster_centers().to_f64_vec(), &numbers(&case["centers"]), 1e-8);
                assert_close(&[model.inertia()], &[case["inertia"].as_f64().unwrap()], 1e-8);
                assert_eq!(model.labels(), labels(&case["labels"]).to_vec::<i64>());
                let curve = &model.summary().curve;
                assert!(curve.len() > 1 && curve.windows(2).all(|two| two[1] <= two[0] * (1.0 + 1e-12)), "{curve:?}");
                assert_eq!(model.summary().stop, Some(Stop::Unchanged));
            }
        }
    }
    // Two centers far from all samples lose all of theirs: they are put on the farthest samples.
    let x = Tensor::from([[0.0], [1.0], [2.0], [10.0], [11.0], [30.0]]);
    let start = vec![vec![1.0], vec![1000.0], vec![2000.0]];
    let model = KMeans::default().n_clusters(3).initial_centers(Some(start)).fit(&x, None).unwrap();
    let mut centers = model.cluster_centers().to_f64_vec();
    centers.sort_by(f64::total_cmp);
    assert_eq!(centers, [1.0, 10.5, 30.0]);
}

/// Bounds change nothing but the time: the same bits, in both precisions, whatever the number of threads.
#[test]
fn bounds_lead_to_the_same_bits() {
    for (n, d, k, spread) in [(3000, 2, 30, 0.0), (2000, 17, 9, 3.0), (1500, 60, 40, 1.0), (500, 1, 5, 0.0)] {
        let centers = Key::new(1).normal([k, d], DType::F64).to_f64_vec();
        let noise = Key::new(2).normal([n, d], DType::F64).to_f64_vec();
        let x: Vec<f64> =
            noise.iter().enumerate().map(|(i, x)| x + spread * centers[(i / d % k) * d + i % d] + 100.0).collect();
        for dtype in [DType::F64, DType::F32] {
            let x = Tensor::from_vec(x.clone(), [n, d]).to_dtype(dtype);
            let fit = |algorithm| KMeans::default().n_clusters(k).algorithm(algorithm).tol(0.0).fit(&x, None).unwrap();
            let plain = fit(KMeansAlgorithm::Lloyd);
            assert!(plain.summary().iterations > 2);
            for algorithm in [KMeansAlgorithm::Hamerly, KMeansAlgorithm::Elkan] {
                for threads in [1, 2, 3, 8] {
                    tove_tensor::set_num_threads(threads);
                    let bounded = fit(algorithm);
                    assert_eq!(plain.summary(), bounded.summary());
                    assert_eq!(plain.labels(), bounded.labels());
                    assert_eq!(plain.cluster_centers().to_f64_vec(), bounded.cluster_centers().to_f64_vec());
                }
                tove_tensor::set_num_threads(0);
            }
        }
    }
}

/// More clusters than different samples: the iterations end, centers that are used are samples, and a warning says why.
#[test]
fn repeated_samples_end_the_iterations() {
    for algorithm in [KMeansAlgorithm::Lloyd, KMeansAlgorithm::Hamerly, KMeansAlgorithm::Elkan] {
        for (distinct, k, d) in [(1, 3, 1), (3, 8, 2), (5, 20, 20)] {
            let values = Key::new(7).normal([distinct, d], DType::F64).to_f64_vec();
            let rows: Vec<f64> = (0..300).flat_map(|i| values[i % distinct * d..][..d].to_vec()).collect();
            let x = Tensor::from_vec(rows, [300, d]);
            for seed in 0..5 {
                let settings = KMeans::default().n_clusters(k).tol(0.0).algorithm(algorithm).seed(seed);
                let model = tove_learn::quietly(|| settings.fit(&x, None)).unwrap();
                let summary = model.summary();
                assert!(summary.iterations < 10 && summary.converged, "{algorithm:?} {distinct} {k}: {summary:?}");
                assert!(summary.warnings.iter().any(|text| text.contains("ask for fewer clusters")), "{summary:?}");
                assert!(model.inertia() < 1e-20);
            }
        }
    }
    let apart = KMeans::default().n_clusters(3).fit(Tensor::from([[0.0], [1.0], [5.0]]), None).unwrap();
    assert!(apart.summary().warnings.is_empty());
}

/// Centers are drawn in proportion to squared distances, and that pays.
#[test]
fn l7_seeding_by_squared_distances() {
    // From the first point the others are at squared distances 1, 4 and 9.
    let toy = Tensor::from([[0.0], [1.0], [2.0], [3.0]]);
    let (mut second, mut starts) = ([0.0; 4], 0.0);
    for seed in 0..6000 {
        let (_, chosen) = kmeans_plusplus(&toy, 2, Some(1), seed).unwrap();
        if chosen[0] == 0 {
            starts += 1.0;
            second[chosen[1]] += 1.0;
        }
    }
    assert!((starts / 6000.0f64 - 0.25).abs() < 0.03);
    for (found, expected) in second.iter().zip([0.0, 1.0 / 14.0, 4.0 / 14.0, 9.0 / 14.0]) {
        assert!((found / starts - expected).abs() < 0.04, "{second:?}");
    }
    // Ten groups: the mean final cost over many seeds.
    let groups = Key::new(3).normal([10, 2], DType::F64).to_f64_vec();
    let noise = Key::new(4).normal([300, 2], DType::F64).to_f64_vec();
    let x: Vec<f64> = noise.iter().enumerate().map(|(i, x)| 0.3 * x + 10.0 * groups[i / 2 % 10 * 2 + i % 2]).collect();
    let x = Tensor::from_vec(x, [300, 2]);
    let mean = |settings: KMeans| {
        let cost = |seed| settings.clone().seed(seed).n_clusters(10).fit(&x, None).unwrap().inertia();
        (0..60).map(cost).sum::<f64>() / 60.0
    };
    let (uniform, plain, greedy) = (
        mean(KMeans::default().init(Init::Random)),
        mean(KMeans::default().n_local_trials(Some(1))),
        mean(KMeans::default()),
    );
    assert!(greedy < plain && plain < 0.5 * uniform, "{greedy} {plain} {uniform}");
    let restarted = mean(KMeans::default().init(Init::Random).n_init(10));
    assert!(restarted < 0.5 * uniform, "{restarted} {uniform}");
}

/// ‖X − Z M‖² with one-hot rows of Z is the cost of k-means.
#[test]
fn l8_k_means_is_a_factorization() {
    let (x, _) = data("iris");
    let x = x.to_dtype(DType::F64);
    let model = KMeans::default().n_clusters(4).fit(&x, None).unwrap();
    let z: Vec<f64> =
        model.labels().iter().flat_map(|&label| (0..4).map(move |k| f64::from(u8::from(label == k)))).collect();
    let z = Tensor::from_vec(z, [150, 4]);
    let gap = &x - z.matmul(model.cluster_centers());
    let squares = (&gap * &gap).sum().item::<f64>();
    assert!((squares - model.inertia()).abs() <= 1e-12 * squares, "{squares} {}", model.inertia());
    assert!((cost(&x.to_f64_vec(), &model.cluster_centers().to_f64_vec(), 4) - squares).abs() <= 1e-12 * squares);
}

/// −ln Π N(x | μ, I) is half of the cost and a constant; long clusters are cut where round ones are not.
#[test]
fn l9_k_means_is_a_model_of_round_clusters() {
    let (x, _) = data("iris");
    let (x, d) = (x.to_dtype(DType::F64), 4.0);
    let constant = 150.0 * 0.5 * d * std::f64::consts::TAU.ln();
    for k in [2, 3, 6] {
        let model = KMeans::default().n_clusters(k).fit(&x, None).unwrap();
        let (rows, centers) = (x.to_f64_vec(), model.cluster_centers().to_f64_vec());
        let mut negative = 0.0;
        for (row, &label) in rows.chunks(4).zip(model.labels()) {
            let center = &centers[label as usize * 4..][..4];
            let density: f64 = row
                .iter()
                .zip(center)
                .map(|(x, mu)| -0.5 * (x - mu) * (x - mu) - 0.5 * std::f64::consts::TAU.ln())
                .sum();
            negative -= density;
        }
        assert!((negative - (0.5 * model.inertia() + constant)).abs() < 1e-9);
    }
    // Two groups, twenty times as long as wide, side by side; and the same groups made round.
    let noise = Key::new(5).normal([400, 2], DType::F64).to_f64_vec();
    let group = |stretch: f64| {
        let rows: Vec<f64> = noise
            .chunks(2)
            .enumerate()
            .flat_map(|(i, x)| [stretch * x[0], 0.5 * x[1] + if i % 2 == 0 { 3.0 } else { -3.0 }])
            .collect();
        Tensor::from_vec(rows, [400, 2])
    };
    let truth = Tensor::from_slice(&(0..400).map(|i| i % 2).collect::<Vec<i64>>());
    let agreement = |x: &Tensor| {
        let model = KMeans::default().n_clusters(2).n_init(10).fit(x, None).unwrap();
        adjusted_rand_score(&truth, &Tensor::from_slice(model.labels())).unwrap().value
    };
    let (long, round) = (agreement(&group(10.0)), agreement(&group(0.5)));
    assert!(long < 0.1 && round > 0.99, "{long} {round}");
}

#[test]
fn scores_of_clusterings_are_those_of_scikit_learn() {
    let all = fixture("clusters.json");
    let (x, truth) = (matrix(&all["x"]), labels(&all["y"]));
    for case in all["scores"].as_array().unwrap() {
        let found = labels(&case["labels"]);
        let close = |name: &str, value: f64| assert_close(&[value], &[case[name].as_f64().unwrap()], 1e-10);
        assert_close(&silhouette_samples(&x, &found).unwrap().to_f64_vec(), &numbers(&case["silhouettes"]), 1e-10);
        close("silhouette", silhouette_score(&x, &found).unwrap().value);
        close("davies_bouldin", davies_bouldin_score(&x, &found).unwrap().value);
        close("calinski_harabasz", calinski_harabasz_score(&x, &found).unwrap().value);
        close("adjusted_rand", adjusted_rand_score(&truth, &found).unwrap().value);
        close("normalized_mutual_info", normalized_mutual_info_score(&truth, &found).unwrap().value);
        close("adjusted_mutual_info", adjusted_mutual_info_score(&truth, &found).unwrap().value);
    }
    let one = Tensor::zeros([150], DType::I64);
    assert!(silhouette_score(&x, &one).unwrap_err().to_string().contains("at least 2 groups"));
    assert!(silhouette_score(&x, &Tensor::zeros([3], DType::I64)).is_err());
    assert!(
        silhouette_score(&(&x * f64::NAN), &truth).is_err() && davies_bouldin_score(&(&x * 1e300), &truth).is_err()
    );
    assert_eq!(adjusted_rand_score(&one, &one).unwrap().value, 1.0);
    assert_eq!(adjusted_mutual_info_score(&one, &one).unwrap().value, 1.0);
    assert_eq!(normalized_mutual_info_score(&one, &truth).unwrap().value, 0.0);
}

#[test]
fn small_batches_come_close_to_k_means() {
    let centers = Key::new(6).normal([5, 8], DType::F64).to_f64_vec();
    let noise = Key::new(7).normal([4000, 8], DType::F64).to_f64_vec();
    let x: Vec<f64> = noise.iter().enumerate().map(|(i, x)| x + 4.0 * centers[i / 8 % 5 * 8 + i % 8]).collect();
    let x = Tensor::from_vec(x, [4000, 8]);
    let full = KMeans::default().n_clusters(5).n_init(5).fit(&x, None).unwrap();
    let small = MiniBatchKMeans::default().n_clusters(5).batch_size(256).fit(&x, None).unwrap();
    assert!(small.inertia() < 1.02 * full.inertia(), "{} {}", small.inertia(), full.inertia());
    assert!(small.summary().stop.is_some() && small.transform(&x).unwrap().dims() == [4000, 5]);
    let mut learner = MiniBatchKMeans::default().n_clusters(5).learner(&[]).unwrap();
    assert!(learner.model().is_err());
    for part in 0..20 {
        learner.learn(&Samples::unlabeled(x.narrow(0, part * 200, 200)).unwrap()).unwrap();
    }
    let model = learner.model().unwrap();
    let found = cost(&x.to_f64_vec(), &model.cluster_centers().to_f64_vec(), 8);
    assert!(found < 1.1 * full.inertia(), "{found} {}", full.inertia());
    assert!(learner.learn(&Samples::unlabeled(x.narrow(1, 0, 3)).unwrap()).is_err());
    let mut few = MiniBatchKMeans::default().n_clusters(5).learner(&[]).unwrap();
    assert!(few.learn(&Samples::unlabeled(x.narrow(0, 0, 3)).unwrap()).unwrap_err().to_string().contains("at most 3"));
}

#[test]
fn starts_that_cannot_be_used_are_refused() {
    let x = Key::new(8).normal([20, 2], DType::F64);
    for bad in [vec![vec![0.0, 0.0]], vec![vec![0.0]; 2], vec![vec![f64::NAN, 0.0]; 2], vec![vec![1e300, 0.0]; 2]] {
        assert!(KMeans::default().n_clusters(2).initial_centers(Some(bad)).fit(&x, None).is_err());
    }
    assert!(kmeans_plusplus(&x, 21, None, 0).is_err() && kmeans_plusplus(&x, 0, None, 0).is_err());
    // Identical points: one cluster has them all, and nothing is NaN.
    let same = Tensor::full([50, 3], 4.2, DType::F32);
    let model = KMeans::default().n_clusters(5).n_init(3).fit(&same, None).unwrap();
    assert!(model.inertia() == 0.0 && model.labels().iter().all(|&label| label == 0));
    let weights = Samples::unlabeled(&x).unwrap().weighted(&Tensor::from_slice(&[0.0; 19])).is_err();
    assert!(weights);
}
