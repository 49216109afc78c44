//! A run that is cut anywhere and goes on, or is made longer, is the run that was never cut.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tove_nn::*;
use tove_optim::{
    Adam, Lbfgs, LbfgsSettings, NesterovLookAhead, Optimizer, ReduceOnPlateau, ReduceOnPlateauSettings, Schedule,
};

use crate::support::{After, Scratch, bits, moons, net};

/// All that is random or remembered: dropout, batch norm, orders, a schedule, a plateau, averages, the best weights.
fn base<'c>(rule: impl Optimizer + 'static) -> Trainer<'c> {
    let settings = ReduceOnPlateauSettings::default().patience(0).factor(0.5).threshold(0.05);
    let trainer = Trainer::new(rule).batch_size(16).seed(3).progress(Progress::Silent);
    let trainer = trainer.plateau(ReduceOnPlateau::build(settings).unwrap()).schedule(Schedule::cosine(40));
    trainer.average_weights(0.9).keep_best()
}

/// What a caller sees of a run, but for the time it took.
type Seen = (Vec<f64>, Vec<(usize, u64, f64, Scores, f64)>, Option<(f64, u64)>, Scores, Vec<(String, Vec<u32>)>);

fn fit(trainer: &mut Trainer<'_>) -> (Ending, Seen) {
    let (train, valid, mut net) = (moons(72, 1), moons(40, 9), net());
    let report = trainer.fit(&mut net, &Classification::new(), &train, Some(&valid)).unwrap();
    let row = |e: &TrainingPoint| (e.epoch, e.step, e.train_loss, e.validation.clone(), e.learning_rate);
    let history = report.history.iter().map(row).collect();
    (report.ending, (report.losses, history, report.best, report.scores, bits(&net)))
}

/// Cuts of every kind after every number of steps: five steps an epoch (the last batch has eight samples).
fn cut_everywhere<'c>(name: &str, total: u64, make: impl Fn() -> Trainer<'c>) {
    let scratch = Scratch::new(name);
    let (ending, straight) = fit(&mut make().steps(total));
    assert_eq!((ending, straight.0.len() as u64), (Ending::Complete, total), "{name}");
    for cut in 1..total {
        // Finished, then made longer.
        let path = scratch.file(&format!("longer-{cut}"));
        let (ending, first) = fit(&mut make().steps(cut).checkpoint(&path));
        assert_eq!((ending, first.0.len() as u64), (Ending::Complete, cut));
        let (_, again) = fit(&mut make().steps(cut).checkpoint(&path));
        assert!(again == first, "{name}: a finished run of {cut} steps tells the same when it is run again");
        let (ending, longer) = fit(&mut make().steps(total).checkpoint(&path));
        assert_eq!(ending, Ending::Complete);
        assert!(longer == straight, "{name}: {cut} steps made longer\n{longer:?}\n{straight:?}");
    }
    // Interrupted, possibly right after the last step.
    for cut in 1..=total {
        let path = scratch.file(&format!("interrupted-{cut}"));
        let flag = Arc::new(AtomicBool::new(false));
        let mut trainer = make().steps(total).checkpoint(&path).stop_when(flag.clone()).callback(After(cut, flag));
        assert_eq!(fit(&mut trainer).0, Ending::Interrupted);
        let (_, resumed) = fit(&mut make().steps(total).checkpoint(&path));
        assert!(resumed == straight, "{name}: interrupted after {cut} steps\n{resumed:?}\n{straight:?}");
    }
}

#[test]
fn a_run_made_longer_is_the_straight_run_wherever_it_ended() {
    cut_everywhere("epochs", 12, || base(Adam::new(0.02)));
    cut_everywhere("every-3", 12, || base(Adam::new(0.02)).evaluate_every(3));
    cut_everywhere("accumulated", 8, || base(Adam::new(0.02)).accumulate(2).clip_norm(1.0));
    cut_everywhere("ahead", 7, || base(NesterovLookAhead::new(0.05)).evaluate_every(2));
    let lbfgs = || Lbfgs::build(LbfgsSettings::default().max_iterations(2)).unwrap();
    cut_everywhere("lbfgs", 4, || base(lbfgs()));
    cut_everywhere("lbfgs-every-2", 5, || base(lbfgs()).evaluate_every(2));
}

/// In three pieces, each ended by its length, with early stopping that ends the run.
#[test]
fn early_stopping_comes_where_it_comes_in_the_straight_run() {
    let scratch = Scratch::new("early");
    let make = || base(Adam::new(0.2)).early_stopping(2, 0.02);
    let (ending, straight) = fit(&mut make().steps(200));
    assert_eq!(ending, Ending::EarlyStop);
    let steps = straight.0.len() as u64;
    assert!((15..200).contains(&steps), "{steps}");
    for cut in [1, 4, 5, 6, steps - 1] {
        let path = scratch.file(&format!("{cut}"));
        fit(&mut make().steps(cut).checkpoint(&path));
        fit(&mut make().steps(cut + 3).checkpoint(&path));
        let (ending, pieces) = fit(&mut make().steps(200).checkpoint(&path));
        assert_eq!(ending, Ending::EarlyStop);
        assert!(pieces == straight, "cut after {cut}\n{pieces:?}\n{straight:?}");
    }
}

/// Run again, a run that has converged takes no step and evaluates nothing.
#[test]
fn a_converged_run_is_over_when_it_is_run_again() {
    let scratch = Scratch::new("converged");
    let path = scratch.file("run");
    let (train, valid, task) = (moons(60, 1), moons(40, 9), Classification::new());
    let run = |tolerance: f64, epochs: usize| {
        let settings = LbfgsSettings::default().max_iterations(20).gradient_tolerance(tolerance);
        let trainer = Trainer::new(Lbfgs::build(settings).unwrap()).epochs(epochs).progress(Progress::Silent);
        let mut net = Linear::new(2, 2, &mut Rng::new(1));
        let report = trainer.checkpoint(&path).fit(&mut net, &task, &train, Some(&valid)).unwrap();
        (report.ending, report.steps, report.history.len(), report.losses, bits(&net))
    };
    let first = run(1e-2, 50);
    assert_eq!(first.0, Ending::Converged);
    for epochs in [50, 50, 80] {
        assert_eq!(run(1e-2, epochs), first);
    }
    // Asked for more, it goes on.
    let further = run(1e-4, 50);
    assert!(further.0 == Ending::Converged && further.1 > first.1, "{} {}", further.1, first.1);
}
