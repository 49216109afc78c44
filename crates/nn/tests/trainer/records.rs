//! Repetition, batches made ahead, and logs.

use tove_data::{Batch, DataError, Dataset, TensorDataset};
use tove_nn::*;
use tove_tensor::{Key, set_num_threads};

use crate::support::{Scratch, bits, moons, net, trainer};

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
fn numbers_that_are_not_finite_come_back_from_json() {
    let evaluation = |train_loss, value| TrainingPoint {
        epoch: 1,
        step: 2,
        train_loss,
        validation: vec![("loss".to_owned(), value), ("accuracy".to_owned(), 0.1 + 0.2)],
        learning_rate: 1e-3,
        seconds: 0.5,
    };
    for value in [f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324] {
        let text = serde_json::to_string(&evaluation(1.5, value)).unwrap();
        let back: TrainingPoint = serde_json::from_str(&text).unwrap();
        assert_eq!(back, evaluation(1.5, value), "{text}");
    }
    let text = serde_json::to_string(&evaluation(f64::NAN, f64::NAN)).unwrap();
    for text in [text.clone(), text.replace("\"NaN\"", "null")] {
        let back: TrainingPoint = serde_json::from_str(&text).unwrap();
        assert!(back.train_loss.is_nan() && back.validation[0].1.is_nan(), "{text}");
    }
    assert!(serde_json::from_str::<TrainingPoint>(&text.replace("NaN", "large")).is_err());
}
