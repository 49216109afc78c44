//! The training loop: repetition, resumption, stopping, records, errors.

// Helpers of tests end the test where they fail.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use tove_data::{Batch, DataError, Dataset, TensorDataset};
use tove_nn::*;
use tove_optim::{
    Adam, AdamW, Group, Lbfgs, LbfgsSettings, Optimizer, ReduceOnPlateau, ReduceOnPlateauSettings, Schedule, Sgd,
    bias_or_norm,
};
use tove_tensor::{DType, Key, Tensor, set_num_threads};

/// A folder that goes away.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("tove-trainer-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Two noisy classes in the plane.
fn moons(count: usize, seed: u64) -> TensorDataset {
    let noise = Key::new(seed).normal([count, 2], DType::F32).to_vec::<f32>();
    let angle = Key::new(seed + 1).uniform([count], DType::F32).to_vec::<f32>();
    let mut x = Vec::new();
    for i in 0..count {
        let (sin, cos) = (angle[i] * std::f32::consts::PI).sin_cos();
        let point = if i % 2 == 0 { [cos, sin] } else { [1.0 - cos, 0.5 - sin] };
        x.extend([point[0] + 0.1 * noise[2 * i], point[1] + 0.1 * noise[2 * i + 1]]);
    }
    let y: Vec<i64> = (0..count as i64).map(|i| i % 2).collect();
    TensorDataset::new(Tensor::from_vec(x, [count, 2]), Tensor::from(y)).unwrap()
}

fn net() -> Sequential {
    let mut rng = Rng::new(4);
    Sequential::new()
        .add(Linear::new(2, 16, &mut rng))
        .add(BatchNorm::new(16))
        .add(Nonlinearity::Relu)
        .add(Dropout::new(0.2))
        .add(Linear::new(16, 2, &mut rng))
}

fn trainer<'c>() -> Trainer<'c> {
    let plateau = ReduceOnPlateau::build(ReduceOnPlateauSettings::default()).unwrap();
    Trainer::new(Adam::new(0.01))
        .epochs(4)
        .batch_size(16)
        .seed(3)
        .schedule(Schedule::cosine(40))
        .plateau(plateau)
        .clip_norm(1.0)
        .keep_best()
        .progress(Progress::Silent)
}

fn bits(net: &impl Module) -> Vec<(String, Vec<u32>)> {
    let values = |tensor: Tensor| tensor.to_vec::<f32>().into_iter().map(f32::to_bits).collect();
    net.state().into_iter().map(|(name, tensor)| (name, values(tensor))).collect()
}

/// Ends the run after some steps, as Ctrl-C would.
struct After(u64, Arc<AtomicBool>);

impl Callback for After {
    fn step(&mut self, step: &Step) -> Flow {
        self.1.store(step.step >= self.0, Ordering::Relaxed);
        Flow::Continue
    }
}

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
            let scores = |report: &Report| report.history.iter().map(|e| e.validation.clone()).collect::<Vec<_>>();
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

fn smooth(seed: u64) -> Mlp {
    Mlp::new(&[2, 8, 2], &mut Rng::new(seed)).activation(Nonlinearity::Tanh)
}

/// The trainer's steps are those of L-BFGS called on the whole set, and end where it converges.
#[test]
fn l_bfgs_trains_on_the_whole_set() {
    let (train, task) = (moons(150, 1), Classification::new());
    let everything = train.all(Key::new(0)).unwrap();
    // Four iterations a step, so that five steps do not end in the minimum.
    let rule = || Lbfgs::build(LbfgsSettings::default().max_iterations(4)).unwrap();
    let (mut by_hand, mut lbfgs) = (smooth(7), rule());
    let mut values = Vec::new();
    for _ in 0..5 {
        let mut leaves: Vec<Tensor> = by_hand.parameters().into_iter().cloned().collect();
        let mut loss = |leaves: &[&mut Tensor]| {
            by_hand.parameters_mut().into_iter().zip(leaves).for_each(|(own, leaf)| *own = (**leaf).clone());
            let loss = task.loss(&by_hand, &everything, &Pass::eval()).unwrap();
            loss.backward();
            Ok(f64::from(loss.item::<f32>()))
        };
        values.push(lbfgs.step_with(&mut leaves.iter_mut().collect::<Vec<_>>(), &mut loss).unwrap());
        by_hand.parameters_mut().into_iter().zip(leaves).for_each(|(own, leaf)| *own = leaf);
    }
    let trainer = || Trainer::new(rule()).epochs(5).progress(Progress::Silent);
    let mut net = smooth(7);
    let report = trainer().batch_size(150).fit(&mut net, &task, &train, Some(&train)).unwrap();
    assert_eq!((report.steps, report.history.len(), &report.losses), (5, 5, &values));
    assert_eq!(bits(&net), bits(&by_hand), "one piece: the same bits");
    // In pieces of 32 and a rest the mean is the same up to rounding.
    let mut pieces = smooth(7);
    let report = trainer().epochs(2).fit(&mut pieces, &task, &train, None).unwrap();
    assert!((report.losses[0] - values[0]).abs() < 1e-6 && (report.losses[1] - values[1]).abs() < 1e-3, "{report:?}");
    // Adam with full batches and as many evaluations, five for four iterations, does not come as far.
    let mut adam = smooth(7);
    let mut other = Trainer::new(Adam::new(0.01)).steps(25).batch_size(150).progress(Progress::Silent);
    let adam = other.fit(&mut adam, &task, &train, None).unwrap();
    assert!(values[4] < adam.losses[24], "{values:?} {}", adam.losses[24]);

    // A frozen layer stays; training ends when nothing is left to gain, and says so.
    let mut frozen = smooth(7);
    frozen.layers[0].freeze("").unwrap();
    let before = bits(&frozen.layers[0]);
    let mut patient = Trainer::new(Lbfgs::default()).epochs(500).batch_size(150).progress(Progress::Silent);
    let report = patient.fit(&mut frozen, &task, &train, Some(&train)).unwrap();
    assert_eq!((report.ending, bits(&frozen.layers[0])), (Ending::Converged, before));
    assert!(report.steps < 500 && report.history.len() as u64 == report.steps, "{report}");
    assert!(report.losses.last() < report.losses.first());
}

#[test]
fn l_bfgs_is_resumed_interrupted_and_explained_like_the_others() {
    let (train, task, scratch) = (moons(150, 1), Classification::new(), Scratch::new("lbfgs"));
    let path = scratch.file("run.safetensors");
    // Dropout draws the same numbers in every evaluation, so that there is one function to minimise.
    let make = || {
        let mut rng = Rng::new(4);
        let first = Sequential::new().add(Linear::new(2, 16, &mut rng)).add(Nonlinearity::Tanh).add(Dropout::new(0.2));
        first.add(Linear::new(16, 2, &mut rng))
    };
    let trainer = || Trainer::new(Lbfgs::default()).epochs(6).batch_size(64).seed(3).progress(Progress::Silent);
    let mut whole = make();
    let report = trainer().fit(&mut whole, &task, &train, None).unwrap();
    assert!(report.losses.windows(2).all(|pair| pair[1] < pair[0]), "{:?}", report.losses);
    for (stop, ending) in [(2, Ending::Interrupted), (100, report.ending)] {
        let flag = Arc::new(AtomicBool::new(false));
        let mut again = make();
        let mut trainer = trainer().checkpoint(&path).stop_when(flag.clone()).callback(After(stop, flag));
        assert_eq!(trainer.fit(&mut again, &task, &train, None).unwrap().ending, ending);
        if ending != Ending::Interrupted {
            assert_eq!(bits(&again), bits(&whole));
        }
    }
    let x = Tensor::from([[1.0f32, f32::NAN], [0.0, 1.0]]);
    let dirty = TensorDataset::new(x, Tensor::from([0i64, 1])).unwrap();
    let mut net = smooth(1);
    let before = bits(&net);
    let error = trainer().fit(&mut net, &task, &dirty, None).unwrap_err();
    assert!(error.to_string().contains("NaN or infinite inputs"), "{error}");
    assert_eq!(bits(&net), before);
    let wrong = TensorDataset::new(Tensor::zeros([4, 2], DType::F32), Tensor::from([0i64, 1, 2, -1])).unwrap();
    let error = trainer().fit(&mut net, &task, &wrong, None).unwrap_err();
    assert!(error.to_string().contains("class 2 in row 2"), "{error}");
}

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
fn runs_repeat_for_any_number_of_threads() {
    let (train, valid) = (moons(120, 1), moons(40, 2));
    let run = |threads| {
        set_num_threads(threads);
        let mut net = net();
        let report = trainer().fit(&mut net, &Classification::new(), &train, Some(&valid)).unwrap();
        (report.losses, bits(&net))
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        assert_eq!(run(threads), one, "{threads} threads");
    }
    set_num_threads(2);
}

/// Takes long to make a batch, so that batches are made ahead on another thread.
struct Slow(TensorDataset);

impl Dataset for Slow {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn batch(&self, indices: &[usize], key: Key) -> Result<Batch, DataError> {
        std::thread::sleep(std::time::Duration::from_micros(300));
        self.0.batch(indices, key)
    }
}

#[test]
fn batches_made_ahead_change_nothing() {
    let (mut a, mut b) = (net(), net());
    let task = Classification::new();
    let quick = trainer().fit(&mut a, &task, &moons(100, 1), Some(&moons(30, 2))).unwrap();
    let slow = trainer().fit(&mut b, &task, &Slow(moons(100, 1)), Some(&Slow(moons(30, 2)))).unwrap();
    assert_eq!((quick.losses, bits(&a)), (slow.losses, bits(&b)));
}

#[test]
fn logs_hold_every_step_and_evaluation() {
    let (train, valid, scratch) = (moons(64, 1), moons(32, 2), Scratch::new("logs"));
    let (log, board) = (scratch.file("run.jsonl"), scratch.file("board"));
    let mut run = trainer().epochs(2).log(&log).tensorboard(&board);
    let report = run.fit(&mut net(), &Classification::new(), &train, Some(&valid)).unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |event: &str| lines.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
    assert_eq!((of("start").len(), of("step").len(), of("evaluation").len(), of("end").len()), (1, 8, 2, 1));
    let losses: Vec<f64> = of("step").iter().map(|line| line["loss"].as_f64().unwrap()).collect();
    assert_eq!(losses, report.losses);
    assert_eq!(of("start")[0]["optimizer"], "Adam");
    assert!(of("step")[0]["gradient_norm"].as_f64().unwrap() > 0.0);
    // Event files: length, checksum, content, checksum; the first is the version.
    let file = std::fs::read_dir(&board).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(file).unwrap();
    let (mut at, mut records) = (0, 0);
    while at < bytes.len() {
        let length = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        let content = &bytes[at + 12..at + 12 + length];
        assert!(records > 0 || content.ends_with(b"brain.Event:2"));
        (at, records) = (at + 16 + length, records + 1);
    }
    assert_eq!((at, records), (bytes.len(), 1 + 8 * 2 + 2 * 2));
}

#[test]
fn divergence_is_found_and_explained() {
    let train = moons(64, 1);
    let mut wild = Trainer::new(Sgd::new(1e30)).epochs(3).progress(Progress::Silent);
    let mut diverging = Mlp::new(&[2, 8, 2], &mut Rng::new(0));
    let error = wild.fit(&mut diverging, &Classification::new(), &train, None).unwrap_err();
    assert!(matches!(error, Error::Diverged { .. }) && error.to_string().contains("step"), "{error}");

    let x = Tensor::from([[1.0f32, f32::NAN], [0.0, 1.0]]);
    let dirty = TensorDataset::new(x, Tensor::from([0i64, 1])).unwrap();
    let mut clean = Mlp::new(&[2, 8, 2], &mut Rng::new(0));
    let before = bits(&clean);
    let error = trainer_without_validation().fit(&mut clean, &Classification::new(), &dirty, None).unwrap_err();
    assert!(error.to_string().contains("NaN or infinite inputs"), "{error}");
    assert_eq!(bits(&clean), before);
}

fn trainer_without_validation<'c>() -> Trainer<'c> {
    Trainer::new(Adam::new(0.01)).epochs(1).batch_size(2).progress(Progress::Silent)
}

#[test]
fn bad_settings_and_data_have_their_sentences() {
    let (train, task) = (moons(10, 1), Classification::new());
    let empty = TensorDataset::new(Tensor::zeros([0, 2], DType::F32), Tensor::zeros([0], DType::I64)).unwrap();
    let mut net = Mlp::new(&[2, 4, 2], &mut Rng::new(0));
    let mut fails = |mut trainer: Trainer<'_>, data: &TensorDataset, valid: Option<&dyn Dataset>, word: &str| {
        let text = trainer.fit(&mut net, &task, data, valid).unwrap_err().to_string();
        assert!(text.contains(word), "{text}");
    };
    let quiet = trainer_without_validation;
    fails(quiet(), &empty, None, "empty");
    fails(quiet(), &train, Some(&empty), "validation set is empty");
    fails(quiet().batch_size(0), &train, None, "at least one sample");
    fails(quiet().batch_size(11).drop_last(true), &train, None, "smaller");
    fails(quiet().early_stopping(2, 0.0), &train, None, "needs a validation set");
    let lbfgs = || Trainer::new(Lbfgs::default()).progress(Progress::Silent);
    fails(lbfgs().clip_norm(1.0), &train, None, "gradient as it is");
    fails(lbfgs().clip_value(1.0), &train, None, "gradient as it is");
    fails(quiet().schedule(Schedule::cosine(0)), &train, None, "Schedule::Cosine: steps is 0");
    fails(quiet().schedule(Schedule::Reciprocal { delay: f64::NAN }), &train, None, "delay is NaN");
    fails(quiet().early_stopping(2, f64::NAN), &train, Some(&train), "margin");
    let plateau = ReduceOnPlateau::build(ReduceOnPlateauSettings::default()).unwrap();
    fails(quiet().watch("accuracy").plateau(plateau), &train, Some(&train), "larger_is_better");
    fails(quiet().watch("f1"), &train, Some(&train), "loss, accuracy");
    fails(quiet().clip_norm(0.0), &train, None, "positive");
    let wrong = TensorDataset::new(Tensor::zeros([4, 2], DType::F32), Tensor::from([0i64, 1, 2, -1])).unwrap();
    fails(quiet().shuffle(false).batch_size(4), &wrong, None, "class 2 in row 2");
    let text = Tensor::zeros([4, 3], DType::F32);
    fails(quiet(), &TensorDataset::new(text, Tensor::zeros([4], DType::I64)).unwrap(), None, "shape");
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
    let error = |net: &Mlp| evaluate(net, &task, &test, 256).unwrap();
    let (stopped, final_epoch) = (error(&best), error(&last));
    assert!(stopped[0].value < final_epoch[0].value, "{stopped:?} {final_epoch:?}");
    assert!(1.0 - stopped[1].value <= 1.0 - final_epoch[1].value, "{stopped:?} {final_epoch:?}");
}

/// Two ranks in one process, which exchange tensors over channels. Sums are taken in the order of ranks.
struct Pair {
    rank: usize,
    send: Sender<Vec<Tensor>>,
    receive: Mutex<Receiver<Vec<Tensor>>>,
}

impl Collective for Pair {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        2
    }

    fn sum(&mut self, tensors: &mut [Tensor]) -> Result<()> {
        self.send.send(tensors.to_vec()).unwrap();
        let other = self.receive.lock().unwrap().recv().unwrap();
        for (own, other) in tensors.iter_mut().zip(&other) {
            *own = if self.rank == 0 { &*own + other } else { other + &*own };
        }
        Ok(())
    }
}

#[test]
fn two_ranks_train_one_net() {
    let train = moons(64, 1);
    let run = |rank, send, receive| {
        let mut net = Mlp::new(&[2, 8, 2], &mut Rng::new(0));
        let pair = Pair { rank, send, receive: Mutex::new(receive) };
        let mut trainer =
            Trainer::new(Sgd::new(0.1)).epochs(3).batch_size(8).progress(Progress::Silent).collective(pair);
        let report = trainer.fit(&mut net, &Classification::new(), &train, None).unwrap();
        assert_eq!(report.steps, 3 * 4);
        net
    };
    let ((to_b, from_a), (to_a, from_b)) = (channel(), channel());
    let (a, b) = std::thread::scope(|scope| {
        let b = scope.spawn(|| run(1, to_a, from_a));
        (run(0, to_b, from_b), b.join().unwrap())
    });
    assert_eq!(bits(&a), bits(&b));
    // L-BFGS: both ranks search along the same line, and arrive where one process does, up to rounding.
    let run = |rank, send, receive| {
        let pair = Pair { rank, send, receive: Mutex::new(receive) };
        let mut net = smooth(0);
        let trainer = Trainer::new(Lbfgs::default()).epochs(2).batch_size(12).progress(Progress::Silent);
        let report = trainer.collective(pair).fit(&mut net, &Classification::new(), &train, None).unwrap();
        (net, report.losses)
    };
    let ((to_b, from_a), (to_a, from_b)) = (channel(), channel());
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| run(1, to_a, from_a));
        (run(0, to_b, from_b), second.join().unwrap())
    });
    assert_eq!((bits(&first.0), &first.1), (bits(&second.0), &second.1));
    let mut alone = smooth(0);
    let mut trainer = Trainer::new(Lbfgs::default()).epochs(2).batch_size(12).progress(Progress::Silent);
    let alone = trainer.fit(&mut alone, &Classification::new(), &train, None).unwrap();
    assert!((alone.losses[0] - first.1[0]).abs() < 1e-6 && (alone.losses[1] - first.1[1]).abs() < 1e-3);

    // One process with batches of twice the size takes the same steps, up to rounding.
    let mut whole = Mlp::new(&[2, 8, 2], &mut Rng::new(0));
    let mut trainer = Trainer::new(Sgd::new(0.1)).epochs(3).batch_size(16).progress(Progress::Silent);
    trainer.fit(&mut whole, &Classification::new(), &train, None).unwrap();
    for ((name, x), (_, y)) in a.state().iter().zip(whole.state()) {
        assert!((x - &y).abs().max().item::<f32>() < 1e-5, "{name}");
    }
}
