//! What the transformer tests share: fixtures, distances, a small training loop.

// Each test program compiles this module for itself and uses a part of it.
#![allow(dead_code)]

use std::path::PathBuf;

use tove_nn::{Module, ModuleExt};
use tove_optim::Adam;
use tove_tensor::Tensor;
use tove_tensor::io::read_safetensors;

/// A fixture's tensors by name.
pub struct Values(pub Vec<(String, Tensor)>);

/// Where a fixture lies.
pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{name}.safetensors"))
}

/// Reads `tests/fixtures/NAME.safetensors`, written by `tests/reference/transformers.py`.
pub fn load(name: &str) -> Values {
    Values(read_safetensors(path(name)).unwrap_or_else(|error| panic!("{name}: {error}")))
}

impl Values {
    /// The tensor of this name.
    pub fn get(&self, name: &str) -> &Tensor {
        let found = self.0.iter().find(|(other, _)| other == name);
        &found.unwrap_or_else(|| panic!("the fixture has no {name}")).1
    }
}

/// ‖a − b‖ / ‖b‖.
pub fn distance(a: &Tensor, b: &Tensor) -> f64 {
    assert_eq!(a.shape(), b.shape());
    let (a, b) = (a.detach().to_f64_vec(), b.detach().to_f64_vec());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    norm(&mut a.iter().zip(&b).map(|(a, b)| a - b)) / norm(&mut b.iter().copied()).max(1e-300)
}

/// Asserts `tol32` of the syllabus.
#[track_caller]
pub fn close(a: &Tensor, b: &Tensor) {
    let distance = distance(a, b);
    assert!(distance <= 1e-5, "relative distance {distance:e}");
}

/// Largest absolute difference.
pub fn largest_gap(a: &Tensor, b: &Tensor) -> f64 {
    assert_eq!(a.shape(), b.shape());
    let pairs = a.detach().to_f64_vec().into_iter().zip(b.detach().to_f64_vec());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Steps of Adam on a loss of the net and the step's number; the last loss.
pub fn train<M: Module>(net: &mut M, rate: f64, steps: u64, loss: impl Fn(&M, u64) -> Tensor) -> f64 {
    let mut adam = Adam::new(rate);
    let mut last = f64::NAN;
    for step in 0..steps {
        let value = loss(net, step);
        value.backward();
        last = value.to_f64_vec()[0];
        adam.step(&mut net.parameters_mut()).unwrap();
    }
    last
}

/// Share of rows whose largest logit is at the target.
pub fn accuracy(logits: &Tensor, targets: &Tensor) -> f64 {
    let hits = logits.detach().argmax(-1).eq(targets).to_vec::<bool>();
    hits.iter().filter(|hit| **hit).count() as f64 / hits.len() as f64
}

/// The net in f64, for finite differences.
pub fn widen<M: Module>(net: &mut M) {
    for parameter in net.parameters_mut() {
        *parameter = parameter.detach().to_dtype(tove_tensor::DType::F64).requires_grad();
    }
}
