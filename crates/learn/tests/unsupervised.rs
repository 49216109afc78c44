//! k-means, principal components and naive Bayes beside scikit-learn, and what they do with data that nobody should give.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, fixture, matrix, numbers};
use serde_json::Value;
use tove_learn::cluster::Init;
use tove_learn::selection::{Grid, GridSearch, Scoring};
use tove_learn::{
    Components, Fit, GaussianNb, KMeans, LearnError, Model, Pca, Pipeline, Predict, Samples, StandardScaler, Transform,
    restore,
};
use tove_optim::settings::Hyperparameters;
use tove_tensor::{DType, Key, Tensor};

fn labels(value: &Value) -> Tensor {
    Tensor::from(numbers(value).into_iter().map(|label| label as i64).collect::<Vec<i64>>())
}

#[test]
fn principal_components_are_those_of_scikit_learn() {
    let all = fixture("unsupervised.json");
    let settings = [
        ("all", Pca::default()),
        ("two", Pca::default().n_components(2.into())),
        ("share", Pca::default().n_components(0.97.into())),
        ("whiten", Pca::default().n_components(3.into()).whiten(true)),
        ("wide", Pca::default()),
    ];
    for (name, pca) in settings {
        let (x, expected) = (matrix(if name == "wide" { &all["wide"] } else { &all["x"] }), &all["pca"][name]);
        let model = pca.fit(&x, None).unwrap();
        let projected = model.transform(&x).unwrap();
        // Six samples have five directions; the sixth is any vector that is orthogonal to them.
        let kept = if name == "wide" { 5 } else { model.outputs() };
        let close = |found: &Tensor, wanted: &str| {
            let found =
                if found.rank() == 2 && wanted == "components" { found.narrow(0, 0, kept) } else { found.clone() };
            let wanted = numbers(&expected[wanted]);
            assert_close(&found.to_f64_vec(), &wanted[..found.numel()], 1e-9);
        };
        close(model.components(), "components");
        close(model.explained_variance(), "explained_variance");
        close(model.explained_variance_ratio(), "explained_variance_ratio");
        close(model.singular_values(), "singular_values");
        assert!((model.noise_variance() - expected["noise_variance"].as_f64().unwrap()).abs() < 1e-9);
        if name != "wide" {
            close(&projected, "transform");
        }
        close(&model.inverse_transform(&projected).unwrap(), "inverse");
    }
}

#[test]
fn naive_bayes_is_that_of_scikit_learn() {
    let all = fixture("unsupervised.json");
    let (x, y, weights) = (matrix(&all["x"]), labels(&all["y"]), Tensor::from(numbers(&all["weights"])));
    let plain = Samples::new(&x, &y).unwrap();
    let cases = [
        ("plain", GaussianNb::default(), plain.clone()),
        ("weighted", GaussianNb::default(), plain.clone().weighted(&weights).unwrap()),
        ("smooth", GaussianNb::default().var_smoothing(0.1), plain),
    ];
    for (name, bayes, samples) in cases {
        let (model, expected) = (bayes.fit_samples(&samples).unwrap(), &all["bayes"][name]);
        let found = [
            ("theta", model.theta()),
            ("var", model.var()),
            ("class_prior", model.class_prior()),
            ("class_count", model.class_count()),
            ("proba", &model.predict_proba(&x).unwrap()),
        ];
        found.iter().for_each(|(name, tensor)| assert_close(&tensor.to_f64_vec(), &numbers(&expected[*name]), 1e-9));
        assert_eq!(model.predict(&x).unwrap().to_vec::<i64>(), labels(&expected["predict"]).to_vec::<i64>());
    }
}

#[test]
fn k_means_reaches_the_inertia_of_scikit_learn() {
    let all = fixture("unsupervised.json");
    let (x, weights) = (matrix(&all["x"]), Tensor::from(numbers(&all["weights"])));
    for case in all["kmeans"].as_array().unwrap() {
        let k = case["k"].as_u64().unwrap() as usize;
        let mut samples = Samples::unlabeled(&x).unwrap();
        if case["weighted"].as_bool().unwrap() {
            samples = samples.weighted(&weights).unwrap();
        }
        let model = KMeans::default().n_clusters(k).n_init(50).tol(0.0).fit_samples(&samples).unwrap();
        let best = case["best_inertia"].as_f64().unwrap();
        assert!((model.inertia() - best).abs() < 1e-9 * best, "{k} clusters: {} beside {best}", model.inertia());
        let mut centers: Vec<Vec<f64>> = model.cluster_centers().to_f64_vec().chunks(4).map(<[f64]>::to_vec).collect();
        centers.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_close(&centers.concat(), &numbers(&case["best_centers"]), 1e-9);
        // The label is the nearest center, and the transformed row its distances.
        let (labels, distances) = (model.predict(&x).unwrap().to_vec::<i64>(), model.transform(&x).unwrap());
        let nearest: Vec<i64> = distances.argmin(1).to_vec::<i64>();
        assert_eq!(labels, nearest);
    }
}

/// Every start of Lloyd's algorithm ends where no sample is nearer to another center and every center is the mean of its own.
#[test]
fn k_means_ends_at_a_fixed_point() {
    let x = Key::new(5).normal([300, 3], DType::F64);
    for init in [Init::PlusPlus, Init::Random] {
        let model = KMeans::default().n_clusters(7).init(init).tol(0.0).fit(&x, None).unwrap();
        assert!(model.summary().converged && model.summary().iterations > 1);
        let (labels, rows) = (model.predict(&x).unwrap().to_vec::<i64>(), x.to_f64_vec());
        for cluster in 0..7 {
            let own: Vec<&[f64]> =
                rows.chunks(3).zip(&labels).filter(|(_, l)| **l == cluster).map(|(r, _)| r).collect();
            let mean: Vec<f64> = (0..3).map(|c| own.iter().map(|r| r[c]).sum::<f64>() / own.len() as f64).collect();
            assert_close(&mean, &model.cluster_centers().get(cluster as usize).to_f64_vec(), 1e-12);
        }
    }
}

#[test]
fn k_means_takes_copies_few_points_and_says_what_it_cannot_do() {
    let same = Tensor::ones([6, 2], DType::F64);
    let model = KMeans::default().n_clusters(3).fit(&same, None).unwrap();
    assert_eq!((model.inertia(), model.predict(&same).unwrap().to_vec::<i64>()), (0.0, vec![0; 6]));
    let few = KMeans::default().n_clusters(7).fit(&same, None).unwrap_err();
    assert!(few.to_string().contains("at most 6 clusters"), "{few}");
    let nan = KMeans::default().n_clusters(1).fit(Tensor::from([[f64::NAN]]), None).unwrap_err();
    assert!(nan.to_string().contains("row 0"), "{nan}");
    let every = KMeans::default().n_clusters(6).n_init(5).fit(Key::new(1).normal([6, 2], DType::F64), None).unwrap();
    assert!(every.inertia() < 1e-20);
}

#[test]
fn components_are_asked_for_as_in_scikit_learn() {
    let x = Key::new(2).normal([5, 3], DType::F64);
    let many = Pca::default().n_components(4.into()).fit(&x, None).unwrap_err();
    assert!(many.to_string().contains("give at most 3"), "{many}");
    for bad in [Components::Count(0), Components::Share(1.5), Components::Share(f64::NAN)] {
        assert!(Pca::default().n_components(bad).fit(&x, None).is_err(), "{bad:?}");
    }
    let mut pca = Pca::default();
    for (text, expected) in [("all", Components::All), ("2", Components::Count(2)), ("0.9", Components::Share(0.9))] {
        pca.parse("n_components", text).unwrap();
        assert_eq!(pca.n_components, expected);
    }
    assert!(pca.parse("n_components", "many").unwrap_err().to_string().contains("share of the variance"));
    let constant = Pca::default().whiten(true).fit(Tensor::ones([4, 2], DType::F64), None).unwrap();
    assert!(constant.transform(Tensor::ones([4, 2], DType::F64)).unwrap().to_f64_vec().iter().all(|x| *x == 0.0));
    assert!(Pca::default().fit(Tensor::from([[1.0, 2.0]]), None).is_err());
}

/// Tall data go by the covariance matrix, others by singular values: both agree.
#[test]
fn both_ways_to_the_components_agree() {
    let x = Key::new(7).normal([60, 3], DType::F64) * Tensor::from([3.0, 1.0, 0.2]);
    let tall = Pca::default().fit(&x, None).unwrap();
    // Rows of zeros beside: the same directions from more features than a tenth of the samples.
    let wide = Tensor::concat(&[&x, &Tensor::zeros([60, 4], DType::F64)], 1);
    let wide = Pca::default().n_components(3.into()).fit(&wide, None).unwrap();
    assert_close(&wide.explained_variance().to_f64_vec(), &tall.explained_variance().to_f64_vec(), 1e-12);
    assert_close(&wide.components().narrow(1, 0, 3).to_f64_vec(), &tall.components().to_f64_vec(), 1e-10);
}

#[test]
fn naive_bayes_names_what_it_cannot_learn_from() {
    let (x, y) = (Tensor::from([[1.0], [1.0], [2.0], [3.0]]), Tensor::from([0i64, 0, 1, 1]));
    let flat = GaussianNb::default().var_smoothing(0.0).fit(&x, &y).unwrap_err();
    assert!(flat.to_string().contains("constant in class 0"), "{flat}");
    let silent = Samples::new(&x, &y).unwrap().weighted(&Tensor::from([0.0, 0.0, 1.0, 1.0])).unwrap();
    assert!(
        GaussianNb::default()
            .fit_samples(&silent)
            .unwrap_err()
            .to_string()
            .contains("class 0 has no samples with a positive weight")
    );
    let far = GaussianNb::default().fit(&x, &y).unwrap().predict_proba(Tensor::from([[1e200]])).unwrap_err();
    assert!(matches!(far, LearnError::Data { .. }), "{far}");
}

/// A model that transforms and predicts stands anywhere in a pipeline, and is saved with it.
#[test]
fn clusters_and_components_join_pipelines() {
    let all = fixture("unsupervised.json");
    let x = matrix(&all["x"]);
    let clusters = Pipeline::of(StandardScaler::default())
        .then(Pca::default().n_components(2.into()))
        .then(KMeans::default().n_clusters(3).n_init(5));
    let model = clusters.fit(&x, None).unwrap();
    assert!(model.capabilities().clusters() && model.capabilities().transform && model.outputs() == 3);
    let back = restore(&model.record()).unwrap();
    assert_eq!(back.predict(&x).unwrap().to_vec::<i64>(), model.predict(&x).unwrap().to_vec::<i64>());
    assert_eq!(back.transform(&x).unwrap().to_f64_vec(), model.transform(&x).unwrap().to_f64_vec());
    let classifier = Pipeline::of(KMeans::default().n_clusters(10)).then(GaussianNb::default());
    let score = classifier.fit(&x, &labels(&all["y"])).unwrap().score(&x, &labels(&all["y"])).unwrap();
    assert!(score.value > 0.85, "{}", score.value);
    let scored = model.score(&x, &labels(&all["y"])).unwrap_err();
    assert!(scored.to_string().contains("targets"), "{scored}");
}

/// Scores of the user's own need no targets, so that a search over clusterings needs none either.
#[test]
fn searches_choose_among_clusterings() {
    let x = matrix(&fixture("unsupervised.json")["x"]);
    let inertia = Scoring::new("inertia", |model, samples| {
        let nearest = model.transform(samples.x())?.to_f64_vec();
        let k = nearest.len() / samples.len();
        Ok(-nearest.chunks(k).map(|row| row.iter().fold(f64::INFINITY, |a, &b| a.min(b))).sum::<f64>())
    });
    let search =
        GridSearch::new(KMeans::default().n_init(3), Grid::new().over("n_clusters", [1, 2, 6])).scorer(inertia);
    let found = search.fit(&x, None).unwrap();
    assert_eq!(found.best().settings, [("n_clusters".to_owned(), 6.into())]);
    assert_eq!(found.predict(&x).unwrap().dims(), [150]);
    let named = GridSearch::new(KMeans::default(), Grid::new().over("n_clusters", [2])).fit(&x, None).unwrap_err();
    assert!(named.to_string().contains("without targets"), "{named}");
}

#[test]
fn hostile_rows_and_files_of_clusters_and_components_are_refused() {
    let x = Key::new(3).normal([20, 2], DType::F64);
    let model = KMeans::default().n_clusters(3).fit(&x, None).unwrap();
    assert!(model.predict(Tensor::from([[1e200, 0.0]])).unwrap_err().to_string().contains("row 0"));
    for width in [2, 0] {
        let mut record = model.record();
        record.put_tensor("cluster_centers", &Tensor::zeros([if width == 0 { 3 } else { 0 }, width], DType::F64));
        record.put("width", width);
        assert!(restore(&record).is_err(), "{width}");
    }
    // Rank two among three directions: the third is not scaled up to noise.
    let flat = Key::new(4).normal([3, 5], DType::F64);
    let white = Pca::default().whiten(true).fit(&flat, None).unwrap();
    let far = white.transform(&(&flat * 100.0)).unwrap().to_f64_vec();
    assert!(far.iter().all(|value| value.abs() < 1e6), "{far:?}");
    let single = Tensor::from([[1e20f32, 0.0], [0.0, 1.0], [1.0, 1.0]]);
    assert!(Pca::default().fit(&single, None).unwrap_err().to_string().contains("StandardScaler"));
}

/// What scales is allowed to meet numbers that need it; what judges sizes is the estimator behind.
#[test]
fn a_pipeline_takes_what_its_first_step_takes() {
    let x = &Key::new(8).normal([30, 2], DType::F64) * 1e160;
    let y = Key::new(9).normal([30], DType::F64);
    let pipeline = Pipeline::of(StandardScaler::default()).then(tove_learn::Ridge::default());
    assert!(pipeline.fit(&x, &y).unwrap().predict(&x).unwrap().to_f64_vec().iter().all(|value| value.is_finite()));
    assert!(tove_learn::Ridge::default().fit(&x, &y).is_err());
}
