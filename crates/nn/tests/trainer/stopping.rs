//! The best weights: early stopping and interruption.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tove_data::{Dataset, TensorDataset};
use tove_nn::*;
use tove_optim::{Adam, Sgd};
use tove_tensor::{DType, Key, Tensor};

use crate::support::{After, moons, smooth};

/// Interrupted with `keep_best`: the net holds the best weights seen, the present ones among them.
#[test]
fn an_interrupted_run_gives_the_best_weights_back() {
    let (train, valid, task) = (moons(64, 1), moons(64, 2), Classification::new());
    let run = |rate: f64, stop: u64| {
        let flag = Arc::new(AtomicBool::new(false));
        let trainer = Trainer::new(Sgd::new(rate)).epochs(100).batch_size(16).keep_best().progress(Progress::Silent);
        let mut trainer = trainer.stop_when(flag.clone()).callback(After(stop, flag));
        let mut net = smooth(3);
        let report = trainer.fit(&mut net, &task, &train, Some(&valid)).unwrap();
        assert_eq!((report.ending, report.steps), (Ending::Interrupted, stop));
        let present = evaluate(&net, &task, &valid, 256).unwrap();
        if !report.history.is_empty() {
            assert_eq!(
                (report.score("loss"), report.score("accuracy")),
                (Some(present[0].value), Some(present[1].value))
            );
        }
        (report, evaluate(&net, &task, &valid, 256).unwrap()[0].value)
    };
    // Steps this long lead astray: four steps an epoch, and the best evaluation is not the last.
    let (report, loss) = run(20.0, 18);
    let losses: Vec<f64> = report.history.iter().map(|evaluation| evaluation.validation[0].1).collect();
    let best = losses.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(losses.len() == 4 && loss <= best && report.best.unwrap().0 == loss, "{losses:?} {loss}");
    // With a good step size the present weights, two steps after the last evaluation, are the best.
    let (report, loss) = run(0.1, 18);
    assert_eq!(report.best, Some((loss, 18)));
    // Before the first evaluation there is nothing to go back to.
    let (report, loss) = run(0.1, 2);
    assert!(report.best.is_none() && loss.is_finite());
}

#[test]
fn h36_early_stopping_returns_the_best_weights() {
    // Few samples with a fifth of the labels wrong, a large net: it overfits.
    let noisy = |count, seed| {
        let clean = moons(count, seed);
        let batch = clean.all(Key::new(0)).unwrap();
        let flip = Key::new(seed + 7).bernoulli(0.2, [count]).to_dtype(DType::I64);
        TensorDataset::new(batch.x, (&batch.y + flip).rem(&Tensor::from(2i64))).unwrap()
    };
    let (train, valid, test) = (noisy(60, 1), noisy(200, 2), noisy(1000, 3));
    let task = Classification::new();
    let make = || Mlp::new(&[2, 64, 64, 2], &mut Rng::new(0));
    let base = || Trainer::new(Adam::new(0.01)).epochs(150).batch_size(20).progress(Progress::Silent);

    let mut last = make();
    base().fit(&mut last, &task, &train, Some(&valid)).unwrap();
    let mut best = make();
    let report = base().early_stopping(15, 0.0).fit(&mut best, &task, &train, Some(&valid)).unwrap();
    assert_eq!(report.ending, Ending::EarlyStop);
    let losses: Vec<f64> = report.history.iter().map(|evaluation| evaluation.validation[0].1).collect();
    let lowest = losses.iter().copied().fold(f64::INFINITY, f64::min);
    // Patience: exactly fifteen evaluations after the best one.
    assert_eq!(losses.iter().position(|&loss| loss == lowest), Some(losses.len() - 16));
    // The best weights are back: the net's own validation loss is the lowest seen.
    assert_eq!(evaluate(&best, &task, &valid, 256).unwrap()[0].value, lowest);
    assert_eq!(report.best.map(|(value, _)| value), Some(lowest));
    // And so are the scores that the report gives.
    let present = evaluate(&best, &task, &valid, 256).unwrap();
    assert_eq!((report.score("loss"), report.score("accuracy")), (Some(present[0].value), Some(present[1].value)));
    assert_ne!(report.score("loss"), losses.last().copied());
    let error = |net: &Mlp| evaluate(net, &task, &test, 256).unwrap();
    let (stopped, final_epoch) = (error(&best), error(&last));
    assert!(stopped[0].value < final_epoch[0].value, "{stopped:?} {final_epoch:?}");
    assert!(1.0 - stopped[1].value <= 1.0 - final_epoch[1].value, "{stopped:?} {final_epoch:?}");
}
