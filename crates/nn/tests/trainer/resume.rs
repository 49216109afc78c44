//! Runs that are interrupted and go on.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tove_data::TensorDataset;
use tove_nn::*;
use tove_optim::{Adam, AdamW, Group, Optimizer, ReduceOnPlateau, ReduceOnPlateauSettings, Sgd, bias_or_norm};
use tove_tensor::Tensor;

use crate::support::{After, Scratch, bits, moons, net, smooth, trainer};

#[test]
fn a_resumed_run_has_the_bits_of_an_uninterrupted_one() {
    let (train, valid, scratch) = (moons(150, 1), moons(60, 9), Scratch::new("resume"));
    let mut whole = net();
    let report = trainer().fit(&mut whole, &Classification::new(), &train, Some(&valid)).unwrap();
    assert_eq!((report.ending, report.steps), (Ending::Complete, 40));

    // Interrupted in the middle of an epoch, twice, with a net and a trainer made anew each time.
    let path = scratch.file("run.safetensors");
    for (stop, ending) in [(7, Ending::Interrupted), (23, Ending::Interrupted), (1000, Ending::Complete)] {
        let flag = Arc::new(AtomicBool::new(false));
        let mut again = net();
        let mut trainer = trainer().checkpoint(&path).stop_when(flag.clone()).callback(After(stop, flag));
        let resumed = trainer.fit(&mut again, &Classification::new(), &train, Some(&valid)).unwrap();
        assert_eq!(resumed.ending, ending);
        assert_eq!(resumed.losses[..], report.losses[..resumed.losses.len()]);
        if ending == Ending::Complete {
            assert_eq!(bits(&again), bits(&whole));
            let scores =
                |report: &TrainingReport| report.history.iter().map(|e| e.validation.clone()).collect::<Vec<_>>();
            assert_eq!((scores(&resumed), resumed.best), (scores(&report), report.best));
        }
    }
    // A checkpoint of other settings is refused.
    let error = trainer().seed(4).checkpoint(&path).fit(&mut net(), &Classification::new(), &train, Some(&valid));
    assert!(error.unwrap_err().to_string().contains("another run"));
    // A file that is no checkpoint is refused, too.
    net().save(scratch.file("weights.safetensors")).unwrap();
    let mut other = trainer().checkpoint(scratch.file("weights.safetensors"));
    let error = other.fit(&mut net(), &Classification::new(), &train, Some(&valid)).unwrap_err();
    assert!(error.to_string().contains("no checkpoint"), "{error}");
}

/// The last layer learns three times as fast, biases and norms do not decay; the checkpoint says so, not the program.
#[test]
fn a_resumed_run_keeps_its_parameter_groups() {
    let (train, scratch) = (moons(150, 1), Scratch::new("groups"));
    let names: Vec<String> = net().named_parameters().into_iter().map(|(name, _)| name).collect();
    let plain = Group::matching(&names, |name| bias_or_norm(name) && !name.starts_with("4."));
    let groups =
        [plain.weight_decay(0.0), Group::matching(&names, |name| name.starts_with("4.")).learning_rate_factor(3.0)];
    assert!(groups.iter().all(|group| !group.positions.is_empty()), "{names:?}");
    let rule = || AdamW::new(0.01).with(|settings| settings.weight_decay(0.3));
    let trainer = |rule: AdamW| Trainer::new(rule).epochs(4).batch_size(16).seed(3).progress(Progress::Silent);
    let mut whole = net();
    let task = Classification::new();
    trainer(rule().groups(&groups).unwrap()).fit(&mut whole, &task, &train, None).unwrap();

    let path = scratch.file("run.safetensors");
    let flag = Arc::new(AtomicBool::new(false));
    let first = trainer(rule().groups(&groups).unwrap()).checkpoint(&path);
    let mut first = first.stop_when(flag.clone()).callback(After(17, flag));
    assert_eq!(first.fit(&mut net(), &task, &train, None).unwrap().ending, Ending::Interrupted);
    let mut again = net();
    let mut second = trainer(rule()).checkpoint(&path);
    assert_eq!(second.fit(&mut again, &task, &train, None).unwrap().ending, Ending::Complete);
    assert_eq!(bits(&again), bits(&whole));
    assert_eq!(second.optimizer().state().groups.as_deref(), Some(&groups[..]));
    let mut without = net();
    trainer(rule()).fit(&mut without, &task, &train, None).unwrap();
    assert_ne!(bits(&without), bits(&whole));
}

/// JSON has no NaN; a validation loss that is one must not make the checkpoint unreadable.
#[test]
fn a_run_whose_validation_is_not_finite_goes_on() {
    let (train, scratch) = (moons(64, 1), Scratch::new("not-finite"));
    let mut x = moons(32, 2).x().to_vec::<f32>();
    x[7] = f32::NAN;
    let valid = TensorDataset::new(Tensor::from_vec(x, [32, 2]), moons(32, 2).y().clone()).unwrap();
    let task = Classification::new();
    let mut whole = net();
    let report = trainer().fit(&mut whole, &task, &train, Some(&valid)).unwrap();
    assert!(report.history.iter().all(|evaluation| evaluation.validation[0].1.is_nan()));
    assert_eq!(report.best, None, "NaN is not the best of anything");
    let path = scratch.file("run.safetensors");
    trainer().epochs(2).checkpoint(&path).fit(&mut net(), &task, &train, Some(&valid)).unwrap();
    let mut again = net();
    let resumed = trainer().checkpoint(&path).fit(&mut again, &task, &train, Some(&valid)).unwrap();
    assert_eq!((resumed.losses, resumed.best, bits(&again)), (report.losses, None, bits(&whole)));
    // A finite score after it is the best one, and patience counts what is not finite.
    let stopped = trainer().early_stopping(2, 0.0).fit(&mut net(), &task, &train, Some(&valid)).unwrap();
    assert_eq!((stopped.ending, stopped.history.len()), (Ending::EarlyStop, 2));
}

#[test]
fn a_checkpoint_of_another_net_or_rule_is_refused_and_changes_nothing() {
    let (train, task, scratch) = (moons(64, 1), Classification::new(), Scratch::new("other-net"));
    let path = scratch.file("run.safetensors");
    trainer_of(Adam::new(0.01)).checkpoint(&path).fit(&mut smooth(1), &task, &train, None).unwrap();
    let wider = || Mlp::new(&[2, 9, 2], &mut Rng::new(1));
    let deeper = || Mlp::new(&[2, 8, 8, 2], &mut Rng::new(1));
    for (mut net, words) in
        [(wider(), ["layers.0.weight", "(9, 2)"]), (deeper(), ["missing layers.2.weight", "layers.2.bias"])]
    {
        let before = bits(&net);
        let mut trainer = trainer_of(Adam::new(0.5)).checkpoint(&path);
        let error = trainer.fit(&mut net, &task, &train, None).unwrap_err().to_string();
        let file = path.display().to_string();
        assert!(words.iter().chain([&file.as_str()]).all(|word| error.contains(word)), "{error}");
        assert_eq!(bits(&net), before);
        assert!(trainer.optimizer().state().counters.is_empty(), "the optimiser is as fresh as before");
    }
    let (mut net, before) = (smooth(2), bits(&smooth(2)));
    let error = trainer_of(Sgd::new(0.1)).checkpoint(&path).fit(&mut net, &task, &train, None).unwrap_err();
    assert!(error.to_string().contains("is one of Adam") && bits(&net) == before, "{error}");
    // A file that is cut off names itself, wherever it is cut.
    let bytes = std::fs::read(&path).unwrap();
    let cut = scratch.file("cut.safetensors");
    for length in [0, 4, 100, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&cut, &bytes[..length]).unwrap();
        let error = trainer_of(Adam::new(0.01)).checkpoint(&cut).fit(&mut net, &task, &train, None).unwrap_err();
        assert!(error.to_string().contains("cut.safetensors") && bits(&net) == before, "{length}: {error}");
    }
}

fn trainer_of<'c>(rule: impl Optimizer + 'static) -> Trainer<'c> {
    Trainer::new(rule).epochs(2).batch_size(16).progress(Progress::Silent)
}

/// Run again, a run that had stopped early is over; with more patience it goes on.
#[test]
fn a_run_that_stopped_early_is_over_when_run_again() {
    let (train, task, scratch) = (moons(64, 1), Classification::new(), Scratch::new("over"));
    let path = scratch.file("run.safetensors");
    let run = |patience| {
        let mut net = smooth(1);
        // A step size of 0: nothing ever improves.
        let mut trainer = trainer_of(Sgd::new(0.0)).epochs(20).early_stopping(patience, 0.0).checkpoint(&path);
        let report = trainer.fit(&mut net, &task, &train, Some(&train)).unwrap();
        (report.ending, report.steps)
    };
    assert_eq!([run(3), run(3), run(5), run(5)], [16, 16, 24, 24].map(|steps| (Ending::EarlyStop, steps)));
}

/// The plateau of a trainer that is used again has seen nothing twice.
#[test]
fn a_trainer_used_again_replays_its_plateau_once() {
    let (train, task, scratch) = (moons(64, 1), Classification::new(), Scratch::new("plateau"));
    let settings = ReduceOnPlateauSettings::default().patience(2).factor(0.5).threshold(0.999);
    let plateau = || ReduceOnPlateau::build(settings.clone()).unwrap();
    // Nothing improves by a factor of 1000: from the fourth evaluation on every third one halves the step size.
    let run = |epochs| trainer_of(Sgd::new(0.1)).epochs(epochs).plateau(plateau());
    let mut fresh = run(5);
    fresh.fit(&mut smooth(1), &task, &train, Some(&train)).unwrap();
    let mut used = run(3).checkpoint(scratch.file("run"));
    used.fit(&mut smooth(1), &task, &train, Some(&train)).unwrap();
    let mut used = used.epochs(5);
    used.fit(&mut smooth(1), &task, &train, Some(&train)).unwrap();
    assert_eq!((used.optimizer().learning_rate(), fresh.optimizer().learning_rate()), (0.05, 0.05));
}
