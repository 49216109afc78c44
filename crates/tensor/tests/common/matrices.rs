//! Matrices for tests, and what tests of linear algebra compare with.

#![allow(dead_code)]

use tove_tensor::{DType, Tensor, grad, jacfwd, jacrev, jvp, vmap};

use super::common::Array;

/// Numbers from a small generator (Marsaglia's xorshift), spread over -1..1; the same on every machine.
pub fn random(shape: &[usize], seed: u64) -> Tensor {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x2545_F491_4F6C_DD1D;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    for _ in 0..8 {
        next();
    }
    let count = shape.iter().product();
    Tensor::from_vec((0..count).map(|_| next()).collect::<Vec<f64>>(), tove_tensor::Shape::new(shape))
}

/// A square matrix (or a batch) far from singular.
pub fn regular(shape: &[usize], seed: u64) -> Tensor {
    let n = shape[shape.len() - 1];
    random(shape, seed) + Tensor::eye(n, DType::F64) * 2.0
}

/// A symmetric matrix (or a batch).
pub fn symmetric(shape: &[usize], seed: u64) -> Tensor {
    let x = random(shape, seed);
    (&x + x.t()) * 0.5
}

/// A symmetric positive definite matrix (or a batch).
pub fn positive_definite(shape: &[usize], seed: u64) -> Tensor {
    let x = random(shape, seed);
    x.matmul(&x.t()) + Tensor::eye(shape[shape.len() - 1], DType::F64) * 0.5
}

pub fn tensor(array: &Array) -> Tensor {
    Tensor::from_vec(array.data.clone(), tove_tensor::Shape::new(&array.shape))
}

/// Largest absolute difference; also checks the shapes.
pub fn distance(a: &Tensor, b: &Tensor) -> f64 {
    assert_eq!(a.shape(), b.shape());
    let (a, b) = (a.to_f64_vec(), b.to_f64_vec());
    a.iter().zip(&b).fold(0.0, |most: f64, (x, y)| if (x - y).is_nan() { f64::NAN } else { most.max((x - y).abs()) })
}

/// Largest absolute entry.
pub fn size(a: &Tensor) -> f64 {
    a.to_f64_vec().iter().fold(0.0, |most: f64, x| most.max(x.abs()))
}

/// Equality up to `tolerance`, relative to the larger of 1 and the second operand.
#[track_caller]
pub fn close(a: &Tensor, b: &Tensor, tolerance: f64) {
    let difference = distance(a, b);
    assert!(
        difference <= tolerance * size(b).max(1.0),
        "differ by {difference:e}:\n{:?}\n{:?}",
        a.to_f64_vec(),
        b.to_f64_vec()
    );
}

/// What rounding may cost: the element type's epsilon times the matrix size and a constant.
pub fn rounding(x: &Tensor, n: usize) -> f64 {
    x.dtype().epsilon() * 40.0 * n.max(1) as f64
}

/// The Jacobian by central differences, laid out as `jacobian` does.
pub fn numeric_jacobian(f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor, step: f64) -> Tensor {
    let outputs = f(x);
    let mut columns = Vec::new();
    for i in 0..x.numel() {
        let moved = |by: f64| {
            let mut data = x.to_vec::<f64>();
            data[i] += by;
            f(&Tensor::from_vec(data, x.shape().clone())).to_vec::<f64>()
        };
        let (up, down) = (moved(step), moved(-step));
        columns.push(up.iter().zip(&down).map(|(u, d)| (u - d) / (2.0 * step)).collect::<Vec<f64>>());
    }
    let (rows, inputs) = (outputs.numel(), x.numel());
    let data: Vec<f64> = (0..rows * inputs).map(|index| columns[index % inputs][index / inputs]).collect();
    let shape: Vec<usize> = outputs.dims().iter().chain(x.dims()).copied().collect();
    Tensor::from_vec(data, tove_tensor::Shape::new(&shape))
}

/// First and second derivatives of `f` at `x` in every combination of modes, against differences, and `f` under `vmap`
/// against a loop.
#[track_caller]
pub fn check(f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor) {
    let numeric = numeric_jacobian(f, x, 1e-5);
    close(&jacrev(f, x), &numeric, 1e-7);
    close(&jacfwd(f, x), &numeric, 1e-7);

    // A scalar that mixes all outputs, one unevenly curved.
    let weights = random(f(x).dims(), 77);
    let scalar = |x: &Tensor| {
        let y = f(x);
        (&y * &weights + &y * &y * 0.3f64).sum()
    };
    let gradient = |x: &Tensor| grad(scalar)(x);
    let numeric = numeric_jacobian(&gradient, x, 1e-5);
    close(&jacfwd(gradient, x), &numeric, 2e-6); // forward over reverse
    close(&jacrev(gradient, x), &numeric, 2e-6); // reverse over reverse
    let v = random(x.dims(), 78);
    let slope = |x: &Tensor| jvp(scalar, x, &v).1;
    let along = numeric_jacobian(&slope, x, 1e-5);
    close(&grad(slope)(x), &along, 2e-6); // reverse over forward
    close(&jacfwd(slope, x), &along, 2e-6); // forward over forward

    let other = x + &v * 1e-2;
    let both = Tensor::stack(&[x, &other], 0);
    let mapped = vmap(|x: &Tensor| f(x))(&both);
    close(&mapped, &Tensor::stack(&[&f(x), &f(&other)], 0), 1e-12);
    let mapped = vmap(|x: &Tensor| grad(scalar)(x))(&both);
    close(&mapped, &Tensor::stack(&[&gradient(x), &gradient(&other)], 0), 1e-10);
}
