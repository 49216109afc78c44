//! Fits to data that come in batches: the same as in memory, for any batch size, in memory that does not grow with the rows.
#![allow(clippy::unwrap_used)]

use tove_learn::mixture::{CovarianceType, GaussianMixture};
use tove_learn::{Estimator, Fit, KMeans, LearnError, Learner, Model, PartialFit, Pca, Predict, Samples, fit_passes};
use tove_tensor::{DType, Key, Tensor, num_threads, set_num_threads};

/// Groups around the corners of a rectangle, with one feature far from 0.
fn groups(n: usize) -> Tensor {
    let noise = Key::new(5).normal([n, 3], DType::F64).to_f64_vec();
    let row = |i: usize| {
        let (a, b) = (f64::from(i.is_multiple_of(2)), f64::from(i % 4 < 2));
        [9.0 * a + noise[3 * i], 6.0 * b + noise[3 * i + 1], 1e3 + noise[3 * i + 2]]
    };
    Tensor::try_from_vec((0..n).flat_map(row).collect::<Vec<f64>>(), [n, 3]).unwrap()
}

/// Fits in batches of so many rows.
fn in_batches<L: Learner<Fitted: Model> + Send + 'static>(
    mut learner: L,
    x: &Tensor,
    size: usize,
) -> (L::Fitted, usize) {
    let n = x.dims()[0];
    let passes = fit_passes(&mut learner, |learn| {
        (0..n).step_by(size).try_for_each(|first| learn(&Samples::unlabeled(x.narrow(0, first, size.min(n - first)))?))
    });
    (learner.model().unwrap(), passes.unwrap())
}

fn bits(tensor: &Tensor) -> Vec<u64> {
    tensor.to_f64_vec().into_iter().map(f64::to_bits).collect()
}

#[test]
fn kmeans_in_batches_has_the_bits_of_kmeans_in_memory() {
    let x = groups(9000);
    let start = vec![vec![0.0, 1.0, 1000.0], vec![1.0, 0.0, 1001.0], vec![3.0, 3.0, 1000.0], vec![4.0, 4.0, 990.0]];
    let settings = KMeans::default().n_clusters(4).initial_centers(Some(start));
    let whole = settings.fit(&x, None).unwrap();
    let threads = num_threads();
    for (size, workers) in [(1, 1), (97, 2), (2048, 3), (9000, 8)] {
        set_num_threads(workers);
        let (model, passes) = in_batches(settings.learner(&[]).unwrap(), &x, size);
        assert_eq!(bits(model.cluster_centers()), bits(whole.cluster_centers()), "batches of {size}");
        assert_eq!(model.inertia().to_bits(), whole.inertia().to_bits(), "batches of {size}");
        let (own, other) = (model.summary(), whole.summary());
        assert_eq!((own.iterations, own.converged, own.stop), (other.iterations, other.converged, other.stop));
        assert!(passes > own.iterations && passes <= own.iterations + 3, "{passes} passes");
        for (a, b) in own.curve.iter().zip(&other.curve) {
            assert!((a - b).abs() <= 1e-9 * b, "{a} {b}");
        }
    }
    set_num_threads(threads);
    // Without given centers the first ones come from all rows, as long as they fit into the sample.
    let free = KMeans::default().n_clusters(4).n_init(3);
    let (model, _) = in_batches(free.learner(&[]).unwrap(), &x, 500);
    let other = free.fit(&x, None).unwrap();
    assert!((model.inertia() - other.inertia()).abs() <= 1e-3 * other.inertia());
}

#[test]
fn empty_clusters_are_filled_in_batches_as_in_memory() {
    // Two of the first centers are far from all rows, and one row is far from the rest.
    let mut rows: Vec<f64> = (0..200).map(|i| f64::from(i % 7)).collect();
    rows[13] = 500.0;
    let x = Tensor::try_from_vec(rows, [200, 1]).unwrap();
    let start = vec![vec![0.0], vec![1e4], vec![2e4], vec![3.0]];
    let settings = KMeans::default().n_clusters(4).initial_centers(Some(start));
    let whole = settings.fit(&x, None).unwrap();
    for size in [1, 64, 200] {
        let (model, _) = in_batches(settings.learner(&[]).unwrap(), &x, size);
        assert_eq!(bits(model.cluster_centers()), bits(whole.cluster_centers()), "batches of {size}");
    }
}

#[test]
fn repeated_rows_end_in_batches_as_in_memory() {
    let x = Tensor::try_from_vec((0..90).map(|i| f64::from(i % 3)).collect::<Vec<f64>>(), [90, 1]).unwrap();
    let start = [0.0, 1.0, 2.0, 10.0, 20.0].map(|x| vec![x]).to_vec();
    let settings = KMeans::default().n_clusters(5).initial_centers(Some(start));
    let whole = settings.fit(&x, None).unwrap();
    assert_eq!(whole.summary().warnings.len(), 1);
    for size in [1, 40, 90] {
        let (model, _) = in_batches(settings.learner(&[]).unwrap(), &x, size);
        let (own, other) = (model.summary(), whole.summary());
        assert_eq!((own.iterations, own.stop, &own.warnings), (other.iterations, other.stop, &other.warnings));
        assert_eq!(bits(model.cluster_centers()), bits(whole.cluster_centers()), "batches of {size}");
    }
}

#[test]
fn weighted_kmeans_in_batches_equals_kmeans_in_memory() {
    let x = groups(600);
    let weights = Tensor::try_from_vec((0..600).map(|i| f64::from(i % 3)).collect::<Vec<f64>>(), [600]).unwrap();
    let samples = Samples::unlabeled(x.clone()).unwrap().weighted(&weights).unwrap();
    let start = vec![vec![0.0, 0.0, 1000.0], vec![6.0, 6.0, 1000.0]];
    let settings = KMeans::default().n_clusters(2).initial_centers(Some(start));
    let whole = settings.fit_samples(&samples).unwrap();
    let mut learner = settings.learner(&[]).unwrap();
    let rows: Vec<usize> = (0..600).collect();
    fit_passes(&mut learner, |learn| rows.chunks(70).try_for_each(|part| learn(&samples.take(part)?))).unwrap();
    let model = learner.model().unwrap();
    assert_eq!(bits(model.cluster_centers()), bits(whole.cluster_centers()));
}

#[test]
fn principal_components_of_batches_are_those_of_all_rows() {
    let x = groups(5000);
    let whole = Pca::default().fit(&x, None).unwrap();
    let mut first: Option<Vec<u64>> = None;
    for size in [1, 333, 1024, 5000] {
        let mut learner = Pca::default().learner(&[]).unwrap();
        for start in (0..5000).step_by(size) {
            let batch = x.narrow(0, start, size.min(5000 - start));
            learner.learn(&Samples::unlabeled(batch).unwrap()).unwrap();
        }
        let model = learner.model().unwrap();
        for (own, other) in [
            (model.components(), whole.components()),
            (model.explained_variance(), whole.explained_variance()),
            (model.mean(), whole.mean()),
        ] {
            for (a, b) in own.to_f64_vec().iter().zip(other.to_f64_vec()) {
                assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} {b}");
            }
        }
        let own = bits(model.components());
        assert_eq!(*first.get_or_insert_with(|| own.clone()), own, "batches of {size}");
    }
    // Shares of the variance and whitening work on batches too; solvers that need all rows do not.
    let mut learner = Pca::default().n_components(0.5.into()).whiten(true).learner(&[]).unwrap();
    learner.learn(&Samples::unlabeled(x.clone()).unwrap()).unwrap();
    assert_eq!(learner.model().unwrap().outputs(), 1);
    let full = Pca::default().svd_solver(tove_learn::decomposition::SvdSolver::Full);
    assert!(matches!(full.learner(&[]), Err(LearnError::Unsupported { .. })));
}

#[test]
fn mixtures_of_batches_reach_the_likelihood_of_all_rows() {
    // More rows than the sample that the first parameters come from.
    let x = groups(20_000);
    for kind in [CovarianceType::Full, CovarianceType::Tied, CovarianceType::Diag, CovarianceType::Spherical] {
        let settings = GaussianMixture::default().n_components(4).covariance_type(kind).tol(1e-6).max_iter(300);
        let whole = settings.fit(&x, None).unwrap();
        let (model, _) = in_batches(settings.learner(&[]).unwrap(), &x, 700);
        assert!(model.summary().converged && model.summary().stop.is_some());
        let gap = (model.lower_bound() - whole.lower_bound()).abs();
        assert!(gap < 1e-3, "{kind:?}: {} and {}", model.lower_bound(), whole.lower_bound());
        let labels = [model.predict(&x).unwrap(), whole.predict(&x).unwrap()].map(|l| l.to_vec::<i64>());
        let score = agreement(&labels[0], &labels[1]);
        assert!(score > 0.99, "{kind:?}: {score}");
        let (other, _) = in_batches(settings.learner(&[]).unwrap(), &x, 5000);
        assert_eq!(bits(&model.means().unwrap()), bits(&other.means().unwrap()), "{kind:?}: batches of 700 and 5000");
        // The likelihood of a pass never falls.
        assert!(model.summary().curve.windows(2).all(|pair| pair[1] >= pair[0] - 1e-9), "{kind:?}");
    }
}

/// The share of rows on which two clusterings agree, after clusters are matched by their largest overlap.
fn agreement(a: &[i64], b: &[i64]) -> f64 {
    let mut counts = std::collections::HashMap::<(i64, i64), usize>::new();
    a.iter().zip(b).for_each(|(a, b)| *counts.entry((*a, *b)).or_default() += 1);
    let best = |label: i64| counts.iter().filter(|((own, _), _)| *own == label).map(|(_, count)| *count).max();
    (0..4).filter_map(best).sum::<usize>() as f64 / a.len() as f64
}

#[test]
fn batches_that_change_between_passes_are_an_error() {
    let x = groups(100);
    for estimator in [
        Box::new(KMeans::default().n_clusters(2)) as Box<dyn Estimator>,
        Box::new(GaussianMixture::default().n_components(2)),
    ] {
        let mut learner = estimator.any_learner(&[]).unwrap();
        let mut rows = 101;
        let error = fit_passes(&mut *learner, |learn| {
            rows -= 1;
            learn(&Samples::unlabeled(x.narrow(0, 0, rows))?)
        });
        assert!(error.unwrap_err().to_string().contains("99 rows and the first one 100"));
        let mut learner = estimator.any_learner(&[]).unwrap();
        learner.learn_any(&Samples::unlabeled(x.clone()).unwrap()).unwrap();
        let narrow = Samples::unlabeled(x.narrow(1, 0, 2)).unwrap();
        assert!(matches!(learner.learn_any(&narrow), Err(LearnError::Width { .. })));
        assert!(matches!(learner.model_any(), Err(LearnError::TooFew { .. })));
        let mut empty = estimator.any_learner(&[]).unwrap();
        assert!(matches!(empty.end_pass_any(), Err(LearnError::TooFew { .. })));
    }
    let mut few = KMeans::default().n_clusters(5).any_learner(&[]).unwrap();
    few.learn_any(&Samples::unlabeled(x.narrow(0, 0, 4)).unwrap()).unwrap();
    assert!(matches!(few.end_pass_any(), Err(LearnError::TooFew { needed: 5, found: 4, .. })));
}

#[test]
fn warm_starts_go_on_where_a_fit_ended() {
    let x = groups(400);
    let samples = Samples::unlabeled(x).unwrap();
    // One iteration and the rest are all iterations.
    let settings = KMeans::default().n_clusters(7).tol(0.0);
    let whole = settings.fit_samples(&samples).unwrap();
    let short = tove_learn::quietly(|| settings.clone().max_iter(1).fit_samples(&samples)).unwrap();
    let rest = settings.fit_from(&short, &samples).unwrap();
    // Sums are brought up to date or taken anew in other iterations, so that the centers are equal up to rounding.
    assert_eq!(rest.labels(), whole.labels());
    for (a, b) in rest.cluster_centers().to_f64_vec().iter().zip(whole.cluster_centers().to_f64_vec()) {
        assert!((a - b).abs() <= 1e-10 * b.abs().max(1.0), "{a} {b}");
    }
    assert_eq!(rest.summary().iterations + 1, whole.summary().iterations);
    assert_eq!(rest.settings()["initial_centers"], serde_json::Value::Null);
    let error = KMeans::default().n_clusters(3).fit_from(&whole, &samples).unwrap_err();
    assert!(error.to_string().contains("3 clusters or components asked for"), "{error}");
    let mixture = GaussianMixture::default().n_components(2).fit_samples(&samples).unwrap();
    let other = GaussianMixture::default().n_components(2).covariance_type(CovarianceType::Diag);
    assert!(other.fit_from(&mixture, &samples).unwrap_err().to_string().contains("covariance type"));
}
