//! Reading fixtures: JSON to tensors.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::Path;

use serde_json::Value;
use tove_tensor::Tensor;

/// A JSON fixture written by a script of tests/reference.
pub fn fixture(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The numbers of a nested list, flattened.
pub fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

/// A vector.
pub fn vector(value: &Value) -> Tensor {
    Tensor::from_slice(&flat(value))
}

/// A matrix.
pub fn matrix(value: &Value) -> Tensor {
    let rows = value.as_array().unwrap().len();
    let values = flat(value);
    let columns = values.len() / rows;
    Tensor::from_vec(values, [rows, columns])
}

/// The items of a list.
pub fn items(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// Asserts that two lists agree to `tolerance`, relative to their size.
#[track_caller]
pub fn assert_close(found: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(found.len(), wanted.len());
    for (place, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!((found - wanted).abs() <= tolerance * (1.0 + wanted.abs()), "{place}: {found} instead of {wanted}");
    }
}
