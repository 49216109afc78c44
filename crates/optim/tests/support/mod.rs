//! What the tests of the tools share: comparison, data, and fixtures.

// Each test program compiles this module for itself and uses a part of it.
#![allow(dead_code)]

#[path = "../../../tensor/tests/common/mod.rs"]
mod reader;

use std::path::PathBuf;

pub use reader::{Array, Case};
use tove_tensor::{DType, Key, Tensor, linalg};

/// Norm-wise relative error with an absolute term of the same size.
#[track_caller]
pub fn close(found: &Tensor, expected: &Tensor, tolerance: f64) {
    assert_eq!(found.shape(), expected.shape());
    let (a, b) = (found.to_f64_vec(), expected.to_f64_vec());
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    let error = norm(&mut a.iter().zip(&b).map(|(a, b)| a - b)) / norm(&mut b.iter().copied()).max(1.0);
    assert!(error <= tolerance, "error {error:e}: {a:?} against {b:?}");
}

/// The same for numbers.
#[track_caller]
pub fn near(found: f64, expected: f64, tolerance: f64) {
    let error = (found - expected).abs() / expected.abs().max(1.0);
    assert!(error <= tolerance, "error {error:e}: {found} against {expected}");
}

/// Inputs (n, d) and targets (n) with noise.
pub fn least_squares_data(n: usize, d: usize, seed: u64) -> (Tensor, Tensor) {
    let key = Key::new(seed);
    let x = key.fold(0).normal([n, d], DType::F64);
    let y = x.matmul(&key.fold(1).normal([d], DType::F64)) + key.fold(2).normal([n], DType::F64) * 0.5;
    (x, y)
}

/// The closed form.
pub fn least_squares_solution(x: &Tensor, y: &Tensor) -> Tensor {
    linalg::lstsq(x, y, None).expect("finite data").solution
}

/// The reference values of `tests/reference/tools.py`.
pub struct Fixture(reader::Fixture);

/// Reads them.
pub fn fixture() -> Fixture {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    // The reader looks below the crate that is being tested.
    let crates = folder.parent().expect("crates lie in a folder");
    let path = crates.join("optim/tests/fixtures/tools");
    Fixture(reader::load(path.to_str().expect("a path in UTF-8")))
}

impl Fixture {
    pub fn case(&self, name: &str) -> &Case {
        self.0.case(name)
    }

    pub fn cases_starting(&self, start: &str) -> Vec<&Case> {
        self.0.cases_starting(start)
    }
}

/// An array of the fixtures as a tensor of its own type.
pub fn tensor(array: &Array) -> Tensor {
    let shape = array.shape.as_slice();
    match array.dtype.as_str() {
        "f32" => Tensor::from_vec(array.to_f32(), shape),
        "i64" => Tensor::from_vec(array.to_i64(), shape),
        _ => Tensor::from_vec(array.data.clone(), shape),
    }
}

pub fn input(case: &Case, name: &str) -> Tensor {
    tensor(case.input(name))
}

pub fn output(case: &Case, name: &str) -> Tensor {
    tensor(case.output(name))
}
