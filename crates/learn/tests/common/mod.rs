//! What several test files need: real data sets and fixtures.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use serde_json::Value;
use tove_learn::{Fit, Result, Rows, Samples};
use tove_tensor::io::read_npz;
use tove_tensor::{DType, Tensor};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Features and targets of iris, wine, breast_cancer (labels) or diabetes (numbers).
pub fn data(name: &str) -> (Tensor, Tensor) {
    let arrays = read_npz(fixtures().join("data.npz")).unwrap();
    let get = |part: &str| arrays.iter().find(|(key, _)| *key == format!("{name}_{part}")).unwrap().1.clone();
    (get("x"), get("y"))
}

/// Fits with weights, in one call.
pub trait FitWeighted: Fit {
    fn fit_weighted(&self, x: impl Into<Rows>, y: &Tensor, weights: &Tensor) -> Result<Self::Fitted> {
        self.fit_samples(&Samples::new(x, y)?.weighted(weights)?)
    }
}

impl<F: Fit + ?Sized> FitWeighted for F {}

/// Columns with mean 0 and standard deviation 1.
pub fn standardised(x: &Tensor) -> Tensor {
    let (n, d) = (x.dims()[0], x.dims()[1]);
    let mut numbers = x.to_f64_vec();
    for column in 0..d {
        let mean = (0..n).map(|row| numbers[row * d + column]).sum::<f64>() / n as f64;
        let spread = ((0..n).map(|row| (numbers[row * d + column] - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
        (0..n).for_each(|row| numbers[row * d + column] = (numbers[row * d + column] - mean) / spread);
    }
    Tensor::from_vec(numbers, [n, d])
}

/// A JSON fixture written by a script of tests/reference.
pub fn fixture(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(fixtures().join(name)).unwrap()).unwrap()
}

/// The numbers of a nested JSON list, flattened.
pub fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

/// ‖a − b‖ / (1 + ‖b‖), infinite for different lengths.
pub fn error(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::INFINITY;
    }
    let gap: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    gap / (1.0 + b.iter().map(|b| b * b).sum::<f64>().sqrt())
}

/// Asserts that two lists agree to `tolerance`, norm-wise and relative.
#[track_caller]
pub fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    let found = error(a, b);
    assert!(found <= tolerance, "error {found:e} > {tolerance:e}\n found {:?}\nwanted {:?}", head(a), head(b));
}

fn head(values: &[f64]) -> &[f64] {
    &values[..values.len().min(8)]
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

/// A tensor of doubles from rows of JSON.
pub fn matrix(value: &Value) -> Tensor {
    let rows = value.as_array().unwrap();
    let flat = numbers(value);
    let n = rows.len();
    Tensor::from_vec(flat.clone(), [n, flat.len() / n.max(1)]).to_dtype(DType::F64)
}

/// The columns of a file of numbers with a header: all but the last, and the last.
pub fn table(path: &Path) -> (Tensor, Tensor) {
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<Vec<f64>> =
        text.lines().skip(1).map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    let d = rows[0].len() - 1;
    let x: Vec<f64> = rows.iter().flat_map(|row| row[..d].iter().copied()).collect();
    let y: Vec<f64> = rows.iter().map(|row| row[d]).collect();
    (Tensor::from_vec(x, [rows.len(), d]), Tensor::from_slice(&y))
}
