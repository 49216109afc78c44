//! Time limits that hold on every thread: problems side by side, ensembles, probabilities.
#![allow(clippy::unwrap_used)]

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use tove_learn::ensemble::{BaggingClassifier, VotingClassifier};
use tove_learn::svm::{HingeLoss, LinearSvc};
use tove_learn::{Estimator, KernelKind, LearnError, Samples, SgdClassifier, Svc, quietly};
use tove_tensor::{DType, Key, Tensor, set_num_threads};

/// Three classes that overlap in all of their features: margins of great cost need steps without end.
fn three_classes() -> Samples {
    let (n, d) = (1500, 12);
    let x = Key::new(3).normal([n, d], DType::F64);
    let y: Vec<i64> = (0..n as i64).map(|i| (i * i + i / 7) % 3).collect();
    Samples::new(&x, &Tensor::from(y)).unwrap()
}

fn svc() -> Svc {
    let mut svc = Svc::default().kernel(KernelKind::Rbf).c(1e9).tol(1e-15);
    svc.machine.max_iter = Some(usize::MAX >> 1);
    svc
}

/// The error of a fit with a limit of 0.2 seconds, or none if it goes on long after that.
fn limited(estimator: Box<dyn Estimator>) -> Option<LearnError> {
    let (told, hear) = channel();
    std::thread::spawn(move || {
        let samples = three_classes();
        let limit = Some(Instant::now() + Duration::from_millis(200));
        let fitted = tove_optim::until(limit, || quietly(|| estimator.fit_boxed(&samples)));
        let _ = told.send(fitted.err());
    });
    hear.recv_timeout(Duration::from_secs(100)).unwrap_or_else(|_| panic!("the fit does not end"))
}

/// Every fit has a problem for each thread; those on the threads of the pool end as well.
#[test]
fn fits_on_several_threads_end_in_time() {
    set_num_threads(3);
    let hinge = LinearSvc::default().loss(HingeLoss::Hinge).c(1e9).tol(1e-15).max_iter(usize::MAX >> 1);
    let sgd = SgdClassifier::default().max_iter(usize::MAX >> 1).tol(None);
    // What its epochs have found so far counts.
    assert!(limited(Box::new(sgd)).is_none());
    let all: [(&str, Box<dyn Estimator>); 5] = [
        ("SVC", Box::new(svc())),
        ("SVC with probabilities", Box::new(svc().probability(true))),
        ("LinearSVC", Box::new(hinge.clone())),
        ("bagging", Box::new(BaggingClassifier::new(hinge.clone()).n_estimators(3))),
        ("voting", Box::new(VotingClassifier::hard().with("a", svc()).with("b", hinge.clone()).with("c", hinge))),
    ];
    for (name, estimator) in all {
        let error = limited(estimator);
        assert!(matches!(error, Some(LearnError::Interrupted { .. })), "{name}: {error:?}");
    }
}
