//! Comparison by norm, and the functions that the JAX fixtures were computed for.

use std::collections::BTreeMap;

use tove_tensor::Tensor;

use crate::common::{Array, Case};

/// `tol64` of the syllabus.
pub const TOL64: f64 = 1e-10;
/// `tol32` of the syllabus.
pub const TOL32: f64 = 1e-5;

/// A reference array as a tensor of its own type.
pub fn tensor(array: &Array) -> Tensor {
    match array.dtype.as_str() {
        "f32" => Tensor::from_vec(array.to_f32(), array.shape.as_slice()),
        "i64" => Tensor::from_vec(array.to_i64(), array.shape.as_slice()),
        _ => Tensor::from_vec(array.data.clone(), array.shape.as_slice()),
    }
}

pub fn input(case: &Case, name: &str) -> Tensor {
    tensor(case.input(name))
}

pub fn output(case: &Case, name: &str) -> Tensor {
    tensor(case.output(name))
}

pub fn norm(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Norm-wise relative error, judged absolutely below size 1.
pub fn error(a: &Tensor, b: &Tensor) -> f64 {
    assert_eq!(a.shape(), b.shape());
    let (a, b) = (a.to_f64_vec(), b.to_f64_vec());
    let gap: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
    norm(&gap) / norm(&b).max(1.0)
}

#[track_caller]
pub fn close(a: &Tensor, b: &Tensor, tolerance: f64) {
    let error = error(a, b);
    assert!(error <= tolerance, "error {error:e}: {a} and {b}");
}

/// Slope of the line through (log h, log error).
pub fn log_slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let logs: Vec<(f64, f64)> = points.iter().map(|(h, e)| (h.ln(), e.ln())).collect();
    let (mx, my) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    let (mut above, mut below) = (0.0, 0.0);
    for (x, y) in logs {
        above += (x - mx) * (y - my);
        below += (x - mx) * (x - mx);
    }
    above / below
}

/// The constants of a case: its inputs except the argument and the direction.
pub fn constants(case: &Case) -> BTreeMap<String, Tensor> {
    let is_constant = |name: &str| name != "x" && name != "v";
    case.inputs.iter().filter(|(name, _)| is_constant(name)).map(|(name, a)| (name.clone(), tensor(a))).collect()
}

fn at(x: &Tensor, i: usize) -> Tensor {
    x.get(i)
}

fn logsumexp(x: &Tensor) -> Tensor {
    let top = x.max().detach();
    (x - &top).exp().sum().ln() + &top
}

/// The determinant of a 3x3 matrix, written out.
fn determinant(m: &Tensor) -> Tensor {
    let e = |i: usize, j: usize| m.get(i).get(j);
    let minor = |a: usize, b: usize| e(1, a) * e(2, b) - e(1, b) * e(2, a);
    e(0, 0) * minor(1, 2) - e(0, 1) * minor(0, 2) + e(0, 2) * minor(0, 1)
}

/// The functions of `tests/reference/jax_derivatives.py`, by name.
pub fn function(name: &str, x: &Tensor, c: &BTreeMap<String, Tensor>) -> Tensor {
    match name {
        "rosenbrock" => {
            let n = x.numel();
            let (low, high) = (x.narrow(0, 0, n - 1), x.narrow(0, 1, n - 1));
            ((high - low.square()).square() * 100.0 + (1.0 - &low).square()).sum()
        }
        "logsumexp" => logsumexp(x),
        "wave" => (x.sin() * (-x.square()).exp()).sum(),
        "product" => (1..x.numel()).fold(at(x, 0), |product, i| product * at(x, i)),
        "quadratic" => x.matmul(&c["a"]).matmul(x),
        "norm" => (x * x).sum().sqrt(),
        "softplus" => x.softplus().mean(),
        "layer" => (c["w"].matmul(x) + &c["b"]).tanh().square().sum(),
        "mixed" => at(x, 0) * at(x, 1) / at(x, 2) + at(x, 3).sqrt() + at(x, 0).pow(&at(x, 1)),
        "logdet" => determinant(&(x.matmul(&x.t()) + Tensor::eye(3, x.dtype()))).ln(),
        "least squares" => {
            let target = &c["target"];
            (target - c["data"].matmul(x)).square().sum() / (2.0 * target.numel() as f64)
        }
        "logistic" => (-(&c["sign"] * c["data"].matmul(x))).softplus().mean(),
        other => panic!("no function {other:?}"),
    }
}
