//! Several processes that train one net.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use tove_nn::*;
use tove_optim::{Lbfgs, Sgd};
use tove_tensor::Tensor;

use crate::support::{bits, moons, smooth};

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

/// Where the batches of an epoch do not divide by the ranks, the rest is left out, and an epoch is as long as it is.
#[test]
fn an_epoch_of_two_ranks_has_half_the_batches() {
    let train = moons(56, 1); // seven batches of eight
    let ((to_b, from_a), (to_a, from_b)) = (channel(), channel());
    let run = |rank, send, receive, samples: usize| {
        let pair = Pair { rank, send, receive: Mutex::new(receive) };
        let trainer = Trainer::new(Sgd::new(0.1)).epochs(3).batch_size(samples).progress(Progress::Silent);
        trainer.collective(pair).fit(&mut smooth(1), &Classification::new(), &train, None)
    };
    let reports = std::thread::scope(|scope| {
        let b = scope.spawn(|| run(1, to_a, from_a, 8).unwrap());
        [run(0, to_b, from_b, 8).unwrap(), b.join().unwrap()]
    });
    for report in reports {
        assert_eq!((report.steps, report.history.len()), (3 * 3, 3));
    }
    let (send, receive) = channel();
    let error = run(0, send, receive, 56).unwrap_err().to_string();
    assert!(error.contains("2 ranks") && error.contains("1 batches"), "{error}");
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
