//! For authors of operations: samples of every differentiable operation, which the tests of the engine walk.
//!
//! A new operation adds one line to the file of its family (or a new file with a `samples` function, named in
//! [`registry`]) and, if it has kinks or ties, one to `kinks.rs`. From then on it is checked in both modes to second
//! order, under `vmap`, under tracking, on empty tensors and in f32. `tests/registry.rs` fails for a method without a
//! sample.
//!
//! ```
//! use tove_tensor::{gradcheck, testing};
//! let exp = testing::registry().into_iter().find(|sample| sample.name == "exp").unwrap();
//! gradcheck(exp.apply, &exp.inputs).unwrap();
//! ```

mod binary;
mod conv;
mod functions;
mod index;
mod kinks;
mod linalg;
mod matmul;
mod norm;
mod reduce;
mod shape;
mod unary;

use crate::{Shape, Tensor};

pub use kinks::{Kink, kinks};

/// The function a sample applies to its inputs.
pub type Apply = fn(&[Tensor]) -> Tensor;

/// An operation with inputs on its domain, away from kinks.
#[derive(Clone)]
pub struct Sample {
    /// The method's name.
    pub name: &'static str,
    /// What distinguishes this sample from others of the same method.
    pub case: &'static str,
    /// Inputs in f64; truth values and indices as they are.
    pub inputs: Vec<Tensor>,
    /// The operation.
    pub apply: Apply,
    /// Inputs without elements on which the operation is defined.
    pub empty: Option<Vec<Tensor>>,
}

/// A sample; `case` may be empty.
pub fn sample(name: &'static str, case: &'static str, inputs: Vec<Tensor>, apply: Apply) -> Sample {
    Sample { name, case, inputs, apply, empty: None }
}

impl Sample {
    /// The same, with f64 inputs of these shapes as the case without elements.
    pub fn empty<const N: usize>(mut self, shapes: [&[usize]; N]) -> Sample {
        self.empty = Some(shapes.iter().map(|&shape| values(shape, 1)).collect());
        self
    }
}

/// Numbers between -2 and 2 without symmetry, ties or zeros; different for each seed.
pub fn values(shape: impl Into<Shape>, seed: u64) -> Tensor {
    let shape = shape.into();
    // Steps of the golden ratio never meet, so that all numbers differ.
    let number = |i: usize| ((seed as f64 * 0.377 + i as f64 * 0.618_033_988_7).fract() - 0.5) * 4.0;
    let data: Vec<f64> = (0..shape.numel()).map(number).map(|x| x + 0.05 * x.signum()).collect();
    Tensor::from_vec(data, shape)
}

/// Numbers between 0.3 and 2.3.
pub fn positive(shape: impl Into<Shape>, seed: u64) -> Tensor {
    values(shape, seed).abs() + 0.3
}

/// Samples of all differentiable operations.
pub fn registry() -> Vec<Sample> {
    let families = [
        unary::samples(),
        binary::samples(),
        reduce::samples(),
        shape::samples(),
        matmul::samples(),
        functions::samples(),
        index::samples(),
        norm::samples(),
        linalg::samples(),
        conv::samples(),
    ];
    families.into_iter().flatten().collect()
}

/// Names of all tensor methods made by the lists of operations, and of the differentiable ones declared elsewhere.
pub fn method_names() -> Vec<&'static str> {
    let mut names = crate::ops::list::ALL_NAMES.concat();
    names.extend(["concat", "stack", "to_dtype", "meshgrid", "broadcast_all", "einsum", "custom", "checkpoint"]);
    names.extend(["svd", "eigh", "qr", "lstsq", "slogdet"]);
    names.extend(["neg", "add_scalar", "sub_scalar", "mul_scalar", "div_scalar", "scalar_sub", "scalar_div"]);
    names
}

/// Methods whose result has a shape that depends on values, so that `vmap` refuses them.
pub const WITHOUT_VMAP: &[&str] = &["unique", "unique_axis"];

/// Methods whose results carry no derivative: comparisons, truth values and positions.
pub const WITHOUT_DERIVATIVE: &[&str] = &[
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "eq_scalar",
    "ne_scalar",
    "lt_scalar",
    "le_scalar",
    "gt_scalar",
    "ge_scalar",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "is_nan",
    "is_finite",
    "is_inf",
    "isclose",
    "argmax",
    "argmin",
    "one_hot",
    "argsort",
    "nonzero",
    "searchsorted",
    "any",
    "any_axes",
    "all",
    "all_axes",
    "count_nonzero",
    "count_nonzero_axes",
    "argmax_all",
    "argmin_all",
    "matrix_rank",
    "bincount",
    "histogram",
];
