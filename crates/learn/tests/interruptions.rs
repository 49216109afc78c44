//! Fits that are asked to end before their first neighbors or distances are found.
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use tove_learn::cluster::{AgglomerativeClustering, Hdbscan};
use tove_learn::{Estimator, Fit, LearnError, Model, Predict, Samples, Umap};
use tove_optim::until;
use tove_tensor::{DType, Key, meter};

#[test]
fn neighbors_and_distances_of_a_fit_are_not_all_found_first() {
    let (n, d) = (6000, 20);
    let x = Key::new(1).normal([n, d], DType::F32);
    let samples = Samples::unlabeled(&x).unwrap();
    let estimators: [Box<dyn Estimator>; 3] =
        [Box::new(Hdbscan::default()), Box::new(Umap::default()), Box::new(AgglomerativeClustering::default())];
    for estimator in estimators {
        let (ended, cost) = meter::measure(|| until(Some(Instant::now()), || estimator.fit_samples(&samples)));
        assert!(matches!(ended, Err(LearnError::Interrupted { .. })), "{}", estimator.name());
        // The products of all pairs take 2 n² d operations.
        assert!(cost.flops() < (n * n * d / 10) as u64, "{}: {} operations", estimator.name(), cost.flops());
    }
    // Answers of a model that was fitted are not cut short.
    let some = x.narrow(0, 0, 500);
    let model = Hdbscan::default().fit(&some, None).unwrap();
    let labels = until(Some(Instant::now()), || model.predict(&some)).unwrap();
    assert_eq!(labels.to_vec::<i64>(), model.labels());
    assert_eq!(model.width(), d);
}
