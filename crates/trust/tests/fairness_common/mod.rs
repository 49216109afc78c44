//! Fixtures and synthetic data of the fairness tests.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use serde_json::Value;
use tove_tensor::{DType, Key, Tensor};

/// The names of the fixtures.
pub const SETS: [&str; 3] = ["adult", "compas", "german"];

/// A fixture written by tests/reference/fairness.py.
pub fn fixture(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/fairness_{name}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The numbers of a nested JSON list, flattened.
pub fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

pub fn vector(value: &Value) -> Tensor {
    Tensor::from_slice(&numbers(value))
}

pub fn whole(value: &Value) -> Tensor {
    Tensor::from_slice(&numbers(value).iter().map(|&v| v as i64).collect::<Vec<i64>>())
}

pub fn matrix(value: &Value) -> Tensor {
    let flat = numbers(value);
    let n = value.as_array().unwrap().len();
    let d = flat.len() / n;
    Tensor::from_vec(flat, [n, d])
}

#[track_caller]
pub fn close(found: f64, wanted: f64, tolerance: f64) {
    let scale = 1.0 + wanted.abs();
    assert!((found - wanted).abs() <= tolerance * scale, "{found} is not {wanted} to {tolerance:e}");
}

/// Rows of which a condition holds.
pub fn rows(n: usize, inside: impl Fn(usize) -> bool) -> Tensor {
    Tensor::from_slice(&(0..n).filter(|&row| inside(row)).map(|row| row as i64).collect::<Vec<i64>>())
}

pub fn part(tensor: &Tensor, rows: &Tensor) -> Tensor {
    tensor.index_select(0, rows)
}

/// A folder of the larger data sets, or a printed word that the test is skipped.
pub fn large(set: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TOVE_DATA").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    let folder = root.join(set);
    if folder.exists() {
        return Some(folder);
    }
    println!("SKIPPED: data set absent: {}", folder.display());
    None
}

pub fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// Groups 0 and 1, calibrated scores whose distribution depends on the group, and labels drawn with them.
pub struct Calibrated {
    pub groups: Tensor,
    pub scores: Tensor,
    pub labels: Tensor,
}

/// Scores σ(u + shift · group) of normal u; labels are drawn with the scores as probabilities.
pub fn calibrated(n: usize, shift: f64, seed: u64) -> Calibrated {
    let key = Key::new(seed);
    let u = key.fold(1).normal([n], DType::F64).to_vec::<f64>();
    let draw = key.fold(2).uniform([n], DType::F64).to_vec::<f64>();
    let member = key.fold(3).uniform([n], DType::F64).to_vec::<f64>();
    let groups: Vec<i64> = member.iter().map(|&v| i64::from(v < 0.4)).collect();
    let scores: Vec<f64> = (0..n).map(|row| sigmoid(1.2 * u[row] - 0.6 + shift * groups[row] as f64)).collect();
    let labels: Vec<i64> = scores.iter().zip(&draw).map(|(&score, &u)| i64::from(u < score)).collect();
    Calibrated {
        groups: Tensor::from_slice(&groups),
        scores: Tensor::from_slice(&scores),
        labels: Tensor::from_slice(&labels),
    }
}
