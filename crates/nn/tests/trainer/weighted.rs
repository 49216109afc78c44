//! Batches that count differently: several of them make the step of one large batch.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use tove_data::{Dataset, TensorDataset};
use tove_nn::*;
use tove_optim::{Lbfgs, LbfgsSettings, Optimizer, Sgd};
use tove_tensor::{CrossEntropy, DType, Tensor};

use crate::support::{moons, smooth};

/// Classes of unequal size, with rows that do not count spread unevenly: whole batches of eight are ignored.
fn uneven() -> TensorDataset {
    let set = moons(96, 1);
    let label = |row: i64| match row {
        16..24 => -100, // a whole batch
        row if row % 5 == 0 && row > 40 => -100,
        row => i64::from(row % 7 == 0),
    };
    let y: Vec<i64> = (0..96).map(label).collect();
    TensorDataset::new(set.x().to_dtype(DType::F64), Tensor::from(y)).unwrap()
}

fn tasks() -> [(&'static str, Classification); 5] {
    let ignore = CrossEntropy { ignore_index: Some(-100), ..CrossEntropy::default() };
    let smooth = CrossEntropy { label_smoothing: 0.1, ..ignore };
    [
        ("ignored", Classification::with(ignore)),
        ("weighted", Classification::with(ignore).class_weights(&[1.0, 6.0])),
        ("one class weighs nothing", Classification::with(ignore).class_weights(&[0.0, 3.0])),
        ("smoothed", Classification::with(smooth)),
        ("weighted and smoothed", Classification::with(smooth).class_weights(&[0.5, 2.0])),
    ]
}

fn double() -> Mlp {
    let mut net = smooth(5);
    net.to_dtype(DType::F64).unwrap();
    net
}

fn gap(a: &Mlp, b: &Mlp) -> f64 {
    let pairs = a.state().into_iter().zip(b.state());
    pairs.map(|((_, a), (_, b))| (a - b).abs().max().item::<f64>()).fold(0.0, f64::max)
}

fn fit(
    rule: impl Optimizer + 'static,
    batch: usize,
    accumulate: usize,
    task: &Classification,
    set: &dyn Dataset,
) -> (Mlp, TrainingReport) {
    let trainer = Trainer::new(rule).epochs(3).batch_size(batch).shuffle(false).progress(Progress::Silent);
    let mut net = double();
    let trainer = if accumulate > 1 { trainer.accumulate(accumulate) } else { trainer };
    let mut trainer = trainer;
    let report = trainer.fit(&mut net, task, set, None).unwrap();
    (net, report)
}

#[test]
fn accumulated_batches_are_one_large_batch_with_weights_and_ignored_rows() {
    let set = uneven();
    for (name, task) in tasks() {
        for (small, together) in [(8, 12), (16, 3), (24, 2)] {
            let (large_net, large) = fit(Sgd::new(0.5), small * together, 1, &task, &set);
            let (small_net, small) = fit(Sgd::new(0.5), small, together, &task, &set);
            assert_eq!(large.steps, small.steps);
            let losses = large.losses.iter().zip(&small.losses).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(
                losses < 1e-12 && gap(&large_net, &small_net) < 1e-11,
                "{name}: {losses} {}",
                gap(&large_net, &small_net)
            );
        }
    }
}

#[test]
fn l_bfgs_in_pieces_minimizes_the_loss_of_the_whole_set() {
    let set = uneven();
    let rule = || Lbfgs::build(LbfgsSettings::default().max_iterations(4)).unwrap();
    for (name, task) in tasks() {
        let (whole, one) = fit(rule(), 96, 1, &task, &set);
        let (pieces, many) = fit(rule(), 8, 1, &task, &set);
        assert!((one.losses[0] - many.losses[0]).abs() < 1e-12, "{name}: {} {}", one.losses[0], many.losses[0]);
        assert!(gap(&whole, &pieces) < 1e-6, "{name}: {}", gap(&whole, &pieces));
    }
}

/// Nothing counts in any batch of a step: there is no mean to take.
#[test]
fn a_step_in_which_nothing_counts_is_an_error() {
    let x = moons(16, 1).x().to_dtype(DType::F64);
    let nothing = TensorDataset::new(x, Tensor::full([16], -100.0, DType::I64)).unwrap();
    let task = tasks()[0].1.clone();
    for accumulate in [1, 2] {
        let mut trainer =
            Trainer::new(Sgd::new(0.1)).epochs(1).batch_size(8).accumulate(accumulate).progress(Progress::Silent);
        let error = trainer.fit(&mut double(), &task, &nothing, None).unwrap_err().to_string();
        assert!(error.contains("no row that counts"), "{error}");
    }
    let mut lbfgs = Trainer::new(Lbfgs::default()).epochs(1).batch_size(8).progress(Progress::Silent);
    let error = lbfgs.fit(&mut double(), &task, &nothing, None).unwrap_err().to_string();
    assert!(error.contains("no row that counts"), "{error}");
}

/// Two ranks in one process.
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
fn ranks_with_unequal_weights_make_one_large_batch() {
    let (set, task) = (uneven(), tasks()[1].1.clone());
    let run = |rank, send, receive| {
        let pair = Pair { rank, send, receive: Mutex::new(receive) };
        let trainer = Trainer::new(Sgd::new(0.5)).epochs(3).batch_size(8).shuffle(false).progress(Progress::Silent);
        let mut net = double();
        let report = trainer.collective(pair).fit(&mut net, &task, &set, None).unwrap();
        (net, report.losses)
    };
    let ((to_b, from_a), (to_a, from_b)) = (channel(), channel());
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| run(1, to_a, from_a));
        (run(0, to_b, from_b), second.join().unwrap())
    });
    assert_eq!((gap(&first.0, &second.0), &first.1), (0.0, &second.1));
    let (alone, report) = fit(Sgd::new(0.5), 16, 1, &task, &set);
    let losses = report.losses.iter().zip(&first.1).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(gap(&alone, &first.0) < 1e-11 && losses < 1e-12, "{} {losses}", gap(&alone, &first.0));
}

/// A task of one's own says what its loss is a mean over.
#[test]
fn tasks_of_ones_own_weigh_their_batches() {
    struct Weighted;
    impl TrainingTask<Mlp> for Weighted {
        fn loss(&self, net: &Mlp, batch: &tove_data::Batch, pass: &Pass) -> Result<Tensor> {
            let w = batch.y.to_dtype(DType::F64);
            let each = net.forward(&batch.x, pass)?.square().sum_axes(&[1], false);
            Ok((each * &w).sum() / w.sum())
        }
        fn weight(&self, batch: &tove_data::Batch) -> Result<f64> {
            Ok(batch.y.sum().item::<i64>() as f64)
        }
    }
    let y: Vec<i64> = (0..48).map(|row| if row < 8 { 0 } else { row * row % 11 }).collect();
    let set = TensorDataset::new(moons(48, 1).x().to_dtype(DType::F64), Tensor::from(y)).unwrap();
    let run = |batch: usize, accumulate: usize| {
        let trainer = Trainer::new(Sgd::new(0.2)).epochs(3).batch_size(batch).shuffle(false).progress(Progress::Silent);
        let mut net = double();
        trainer.accumulate(accumulate).fit(&mut net, &Weighted, &set, None).unwrap();
        net
    };
    assert!(gap(&run(24, 1), &run(8, 3)) < 1e-11);
}
