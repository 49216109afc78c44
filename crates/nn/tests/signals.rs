//! Ctrl-C and SIGTERM. In a program of its own: signals are for a whole process, so this is one test.
#![allow(clippy::unwrap_used)]
#![cfg(unix)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::raise;
use tove_data::TensorDataset;
use tove_nn::*;
use tove_optim::Sgd;
use tove_tensor::{DType, Key};

/// Sends the program a signal after some steps.
struct SignalAfter(u64, i32);

impl Callback for SignalAfter {
    fn step(&mut self, step: &Step) -> Flow {
        if step.step == self.0 {
            raise(self.1).unwrap();
        }
        Flow::Continue
    }
}

fn set() -> TensorDataset {
    let x = Key::new(1).normal([32, 2], DType::F32);
    TensorDataset::new(x.clone(), x.sum_axes(&[1], true)).unwrap()
}

fn trainer<'c>() -> Trainer<'c> {
    Trainer::new(Sgd::new(0.01)).steps(40).batch_size(8).progress(Progress::Silent)
}

fn fit(mut trainer: Trainer<'_>) -> (Ending, u64) {
    let report = trainer.fit(&mut Linear::new(2, 1, &mut Rng::new(0)), &Regression, &set(), None).unwrap();
    (report.ending, report.steps)
}

#[test]
fn an_interruption_belongs_to_the_fits_under_way() {
    for signal in [SIGINT, SIGTERM, SIGINT] {
        // The same trainer, and others, run to the end after an interruption.
        let mut used = trainer().interruptible().unwrap();
        assert_eq!(fit(trainer().interruptible().unwrap().callback(SignalAfter(7, signal))), (Ending::Interrupted, 7));
        assert_eq!(fit(trainer().interruptible().unwrap()), (Ending::Complete, 40));
        let report = used.fit(&mut Linear::new(2, 1, &mut Rng::new(0)), &Regression, &set(), None).unwrap();
        assert_eq!((report.ending, report.steps), (Ending::Complete, 40));
        assert!(!interrupt_flag().unwrap().load(Ordering::Relaxed));
    }
    // A fit that fails after the signal clears it, too.
    struct Failing;
    impl TrainingTask<Linear> for Failing {
        fn loss(&self, net: &Linear, batch: &tove_data::Batch, pass: &Pass) -> Result<tove_tensor::Tensor> {
            raise(SIGINT).unwrap();
            let _ = net.forward(&batch.x, pass)?;
            Err(Error::setting("Failing", "loss", "fails"))
        }
    }
    let mut failing = trainer().interruptible().unwrap();
    assert!(failing.fit(&mut Linear::new(2, 1, &mut Rng::new(0)), &Failing, &set(), None).is_err());
    assert_eq!(fit(trainer().interruptible().unwrap()), (Ending::Complete, 40));
    // A flag of one's own and signals go together.
    let flag = Arc::new(AtomicBool::new(false));
    let both = || trainer().stop_when(flag.clone()).interruptible().unwrap();
    assert_eq!(fit(both().callback(SignalAfter(3, SIGTERM))), (Ending::Interrupted, 3));
    assert_eq!(fit(both()), (Ending::Complete, 40));
    flag.store(true, Ordering::Relaxed);
    assert_eq!(fit(both()), (Ending::Interrupted, 1));
    assert!(flag.load(Ordering::Relaxed), "whoever raised it clears it");
    // Several fits at once all hear of it.
    let endings: Vec<(Ending, u64)> = std::thread::scope(|scope| {
        let ready = Arc::new(std::sync::Barrier::new(3));
        let run = |signals: bool| {
            let ready = ready.clone();
            move || {
                struct Wait(Arc<std::sync::Barrier>, bool);
                impl Callback for Wait {
                    fn step(&mut self, step: &Step) -> Flow {
                        if step.step == 1 {
                            self.0.wait(); // all are under way
                            if self.1 {
                                raise(SIGINT).unwrap();
                            }
                            self.0.wait(); // the signal was sent
                        }
                        Flow::Continue
                    }
                }
                fit(trainer().interruptible().unwrap().callback(Wait(ready, signals)))
            }
        };
        let threads: Vec<_> = [true, false, false].map(|signals| scope.spawn(run(signals))).into_iter().collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(endings, [(Ending::Interrupted, 1); 3]);
    assert_eq!(fit(trainer().interruptible().unwrap()), (Ending::Complete, 40));
}
