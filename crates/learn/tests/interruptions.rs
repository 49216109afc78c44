//! Fits that are asked to end before their first neighbors or distances are found.
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use tove_learn::cluster::{AgglomerativeClustering, Hdbscan};
use tove_learn::{Estimator, Fit, LearnError, Model, Predict, Samples, Umap};
use tove_optim::until;
use tove_tensor::{DType, Key, meter, set_num_threads};

#[test]
fn neighbors_and_distances_of_a_fit_are_not_all_found_first() {
    let (n, d) = (6000, 20);
    let x = Key::new(1).normal([n, d], DType::F32);
    let samples = Samples::unlabeled(&x).unwrap();
    // The meter counts on this thread. A fit that nothing ends multiplies all pairs: 2 n² d operations.
    set_num_threads(1);
    let part = samples.take(&(0..1500).collect::<Vec<usize>>()).unwrap();
    let whole = meter::measure(|| Hdbscan::default().fit_samples(&part).unwrap()).1.flops();
    assert!(whole >= 2 * 1500 * 1500 * d as u64, "{whole}");
    let estimators: [Box<dyn Estimator>; 3] =
        [Box::new(Hdbscan::default()), Box::new(Umap::default()), Box::new(AgglomerativeClustering::default())];
    for estimator in estimators {
        let (ended, cost) = meter::measure(|| until(Some(Instant::now()), || estimator.fit_samples(&samples)));
        assert!(matches!(ended, Err(LearnError::Interrupted { .. })), "{}", estimator.name());
        assert!(cost.flops() < (n * n * d / 10) as u64, "{}: {} operations", estimator.name(), cost.flops());
    }
    // Answers of a model that was fitted are not cut short.
    let some = x.narrow(0, 0, 500);
    let model = Hdbscan::default().fit(&some, None).unwrap();
    let labels = until(Some(Instant::now()), || model.predict(&some)).unwrap();
    assert_eq!(labels.to_vec::<i64>(), model.labels());
    assert_eq!(model.width(), d);
}
