//! The loss of classes with weights, smoothing and rows that do not count, against PyTorch.

// Helpers of tests end the test where they fail.
#![allow(clippy::unwrap_used)]

#[path = "../../tensor/tests/common/mod.rs"]
mod fixtures;

use tove_data::Batch;
use tove_nn::{Classification, Nonlinearity, Pass, TrainingTask};
use tove_tensor::{CrossEntropy, Tensor};

/// A reference array in f32.
fn tensor(array: &fixtures::Array) -> Tensor {
    Tensor::from_vec(array.to_f32(), array.shape.clone())
}

/// `tol32` of the syllabus.
#[track_caller]
fn close(found: &Tensor, expected: &Tensor) {
    let gap = (found.detach() - expected).square().sum().item::<f32>().sqrt();
    assert!(gap <= 1e-5, "{gap:e}");
}

#[test]
fn losses_of_classes_equal_pytorch() {
    let fixture = fixtures::load("layers");
    let all = fixture.cases_starting("classification");
    assert_eq!(all.len(), 8);
    for case in all {
        let ignore_index = case.name.contains("classification True").then_some(-100);
        let label_smoothing = if case.name.ends_with("0.2") { 0.2 } else { 0.0 };
        let mut task = Classification::with(CrossEntropy { ignore_index, label_smoothing, ..CrossEntropy::default() });
        if case.name.contains("True 0.") {
            task = task.class_weights(&tensor(case.input("weights")).to_f64_vec());
        }
        let (x, y) = (tensor(case.input("x")), Tensor::from(case.input("target").to_i64()));
        // Rows as they are, and as the positions of three texts.
        for shape in [&[9][..], &[3, 3]] {
            let logits = x.reshape([shape, &[4]].concat()).requires_grad();
            let batch = Batch { x: logits.clone(), y: y.reshape(shape.to_vec()) };
            let loss = task.loss(&Nonlinearity::Identity, &batch, &Pass::eval()).unwrap();
            close(&loss, &tensor(case.output("loss")));
            loss.backward();
            close(&logits.grad().unwrap().reshape([9, 4]), &tensor(case.grad("x")));
        }
    }
}
