//! Tensors and comparisons.

use tove_tensor::{DType, Shape, Tensor, grad_of, testing::values};

/// Lengths around the widths of registers and blocks.
pub const LENGTHS: [usize; 18] = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 127, 129, 260];

pub const FLOATS: [DType; 2] = [DType::F32, DType::F64];

/// Numbers of this shape and type.
pub fn numbers(shape: impl Into<Shape>, seed: u64, dtype: DType) -> Tensor {
    values(shape, seed).to_dtype(dtype)
}

/// Precision of comparisons.
pub fn tolerance(dtype: DType) -> f64 {
    if dtype == DType::F32 { 2e-4 } else { 1e-10 }
}

/// Same shape, and equal numbers up to rounding; NaN and infinity only where both have them.
#[track_caller]
pub fn close(found: &Tensor, expected: &[f64], what: &str) {
    let tolerance = tolerance(found.dtype());
    let found = found.to_f64_vec();
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (&a, &b)) in found.iter().zip(expected).enumerate() {
        let near = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * (1.0 + b.abs());
        assert!(near, "{what}: element {i} is {a}, not {b}");
    }
}

#[track_caller]
pub fn same(found: &Tensor, expected: &Tensor, what: &str) {
    assert_eq!(found.shape(), expected.shape(), "{what}");
    close(found, &expected.to_f64_vec(), what);
}

/// A weighted sum, so that every element of a result has a gradient of its own.
pub fn weighed(y: &Tensor) -> Tensor {
    (y * &numbers(y.shape().clone(), 77, y.dtype())).sum()
}

/// The gradients of the weighted sum of `f` by all inputs.
pub fn gradients(f: impl Fn(&[Tensor]) -> Tensor, inputs: &[Tensor]) -> Vec<Tensor> {
    let leaves: Vec<Tensor> = inputs.iter().map(Tensor::requires_grad).collect();
    let loss = weighed(&f(&leaves));
    grad_of(&loss, &leaves.iter().collect::<Vec<_>>(), false).unwrap()
}

/// The slope of the weighted sum along a direction, from differences, in f64.
pub fn slope(f: impl Fn(&[Tensor]) -> Tensor, inputs: &[Tensor], which: usize) -> (f64, f64) {
    let direction = numbers(inputs[which].shape().clone(), 91, DType::F64);
    let at = |step: f64| {
        let mut moved = inputs.to_vec();
        moved[which] = &moved[which] + &(&direction * step);
        weighed(&f(&moved)).item::<f64>()
    };
    let numeric = (at(1e-6) - at(-1e-6)) / 2e-6;
    let found = (&gradients(&f, inputs)[which] * &direction).sum().item::<f64>();
    (found, numeric)
}

/// Asserts that gradients agree with differences.
#[track_caller]
pub fn slopes_agree(f: impl Fn(&[Tensor]) -> Tensor, inputs: &[Tensor], what: &str) {
    for which in 0..inputs.len() {
        let (found, numeric) = slope(&f, inputs, which);
        assert!((found - numeric).abs() <= 1e-5 * (1.0 + numeric.abs()), "{what}, input {which}: {found} {numeric}");
    }
}
