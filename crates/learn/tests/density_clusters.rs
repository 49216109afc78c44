//! DBSCAN, HDBSCAN and agglomerative clustering beside those of scikit-learn and hdbscan, and odd data.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, fixture, matrix, numbers};
use tove_learn::cluster::{AgglomerativeClustering, Dbscan, Hdbscan, Linkage};
use tove_learn::{Fit, LearnError, Model, Predict, Samples, restore};
use tove_metrics::adjusted_rand_score;
use tove_optim::settings::Choice;
use tove_tensor::{DType, Key, Tensor};

fn labels(value: &serde_json::Value) -> Vec<i64> {
    numbers(value).iter().map(|&label| label as i64).collect()
}

fn same_groups(a: &[i64], b: &[i64]) -> bool {
    adjusted_rand_score(&Tensor::from_slice(a), &Tensor::from_slice(b)).unwrap().value == 1.0
}

#[test]
fn dense_regions_are_those_of_scikit_learn() {
    let all = fixture("clusters.json");
    for case in all["dbscan"].as_array().unwrap() {
        let x = matrix(&all[case["data"].as_str().unwrap()]);
        let settings = Dbscan::default().eps(case["eps"].as_f64().unwrap());
        let model = settings.min_samples(case["min_samples"].as_u64().unwrap() as usize).fit(&x, None).unwrap();
        assert_eq!(model.labels(), labels(&case["labels"]));
        assert_eq!(model.core_sample_indices(), labels(&case["core"]));
        // Core samples and outliers are predicted as they are; others may be near two clusters.
        let predicted = model.predict(&x).unwrap().to_vec::<i64>();
        for (place, &label) in model.labels().iter().enumerate() {
            let core = model.core_sample_indices().contains(&(place as i64));
            assert!(!(core || label == -1) || predicted[place] == label);
        }
        let back = restore(&model.record()).unwrap();
        assert_eq!(back.predict(&x).unwrap().to_vec::<i64>(), predicted);
    }
    // A weight of 5 makes a core sample of a lonely one.
    let lonely = Samples::unlabeled(Tensor::from([[0.0], [9.0]])).unwrap().weighted(&Tensor::from([5.0, 1.0])).unwrap();
    assert_eq!(Dbscan::default().fit_samples(&lonely).unwrap().labels(), [0, -1]);
    let same = Tensor::zeros([2000, 3], DType::F64);
    assert!(Dbscan::default().fit(&same, None).unwrap().labels().iter().all(|&label| label == 0));
    let one = Dbscan::default().fit(Tensor::from([[1.0]]), None).unwrap();
    assert_eq!((one.labels(), one.predict(Tensor::from([[1.0]])).unwrap().to_vec::<i64>()), (&[-1i64][..], vec![-1]));
    assert!(Dbscan::default().eps(0.0).fit(&same, None).is_err());
}

#[test]
fn trees_of_merges_are_those_of_scikit_learn() {
    let all = fixture("clusters.json");
    let x = matrix(&all["blobs"]);
    for case in all["agglomerative"].as_array().unwrap() {
        let linkage = Linkage::from_name(case["linkage"].as_str().unwrap()).unwrap();
        let k = case["k"].as_u64().unwrap() as usize;
        let model = AgglomerativeClustering::default().linkage(linkage).n_clusters(k).fit(&x, None).unwrap();
        assert_close(model.distances(), &numbers(&case["distances"]), 1e-10);
        assert!(same_groups(model.labels(), &labels(&case["labels"])), "{linkage:?} {k}");
        let sorted = |pairs: Vec<i64>| {
            let mut pairs: Vec<Vec<i64>> =
                pairs.chunks(2).map(|pair| vec![pair[0].min(pair[1]), pair[0].max(pair[1])]).collect();
            pairs.sort();
            pairs
        };
        assert_eq!(sorted(model.children().concat()), sorted(labels(&case["children"])), "{linkage:?}");
        assert_eq!(model.predict(&x).unwrap().to_vec::<i64>(), model.labels());
        // The distance of the cut gives the same clusters.
        let n = x.dims()[0];
        let limit = model.distances()[n - k];
        let again =
            AgglomerativeClustering::default().linkage(linkage).distance_threshold(Some(limit)).fit(&x, None).unwrap();
        assert_eq!(again.labels(), model.labels());
        assert_eq!(restore(&model.record()).unwrap().predict(&x).unwrap().to_vec::<i64>(), model.labels());
    }
    let few = AgglomerativeClustering::default().n_clusters(9).fit(x.narrow(0, 0, 4), None).unwrap_err();
    assert!(matches!(few, LearnError::TooFew { .. }), "{few}");
    assert!(AgglomerativeClustering::default().fit(x.narrow(0, 0, 1), None).is_err());
    let same = AgglomerativeClustering::default().n_clusters(3).fit(Tensor::ones([20, 2], DType::F64), None).unwrap();
    assert!(same.distances().iter().all(|&distance| distance == 0.0));
}

#[test]
fn regions_of_all_densities_are_those_of_scikit_learn() {
    let all = fixture("clusters.json");
    for case in all["hdbscan"].as_array().unwrap() {
        let x = matrix(&all[case["data"].as_str().unwrap()]);
        let settings = Hdbscan::default().min_cluster_size(case["min_cluster_size"].as_u64().unwrap() as usize);
        let model = settings.min_samples(case["min_samples"].as_u64().map(|k| k as usize)).fit(&x, None).unwrap();
        let wanted = labels(&case["labels"]);
        assert!(same_groups(model.labels(), &wanted), "{:?}\n{wanted:?}", model.labels());
        assert!(model.labels().iter().zip(&wanted).all(|(a, b)| (*a == -1) == (*b == -1)));
        assert_close(model.probabilities(), &numbers(&case["probabilities"]), 1e-8);
        assert_eq!(model.predict(&x).unwrap().to_vec::<i64>(), model.labels());
        assert_eq!(restore(&model.record()).unwrap().predict(&x).unwrap().to_vec::<i64>(), model.labels());
    }
    let copies = Tensor::ones([30, 2], DType::F64);
    let model = Hdbscan::default().allow_single_cluster(true).fit(&copies, None).unwrap();
    assert!(model.probabilities().iter().all(|p| p.is_finite()) && model.labels().iter().all(|&label| label >= -1));
    assert!(
        Hdbscan::default().fit(&copies, None).is_ok() && Hdbscan::default().fit(copies.narrow(0, 0, 3), None).is_err()
    );
    assert!(Hdbscan::default().min_samples(Some(2)).fit(Key::new(1).normal([9, 1], DType::F32), None).is_ok());
}

#[test]
fn regions_are_those_of_the_package_hdbscan() {
    let (all, package) = (fixture("clusters.json"), fixture("hdbscan.json"));
    for case in package["cases"].as_array().unwrap() {
        let x = matrix(&all[case["data"].as_str().unwrap()]);
        let size = |name: &str| case[name].as_u64().unwrap() as usize;
        let settings = Hdbscan::default().min_cluster_size(size("min_cluster_size"));
        let model = settings.min_samples(Some(size("min_samples"))).fit(&x, None).unwrap();
        let wanted = labels(&case["labels"]);
        assert!(same_groups(model.labels(), &wanted), "{:?}\n{wanted:?}", model.labels());
        assert!(model.labels().iter().zip(&wanted).all(|(a, b)| (*a == -1) == (*b == -1)));
        assert_close(model.probabilities(), &numbers(&case["probabilities"]), 1e-8);
    }
}
