//! The Hessian of the mean loss: blocks Xᵀ diag(s) X / n with s = p_a (1{a = b} − p_b), or σ(1 − σ) for two classes.

use tove_tensor::kernels::math::Float;
use tove_tensor::{Element, Tensor, TryOps};

use super::kernels::Wide;
use super::problem::{Data, Problem};
use crate::Result;

/// The full matrix (k p, k p), row-major, in double precision.
pub(super) fn hessian<T: Float + Element>(problem: &Problem<'_, T>, w: &[f64]) -> Result<Vec<f64>> {
    let (k, p, size) = (problem.outputs, problem.width(), problem.size());
    let mut hessian = vec![0.0; size * size];
    let mut outcome = Ok(());
    problem.each_block(w, |rows, probabilities| {
        if outcome.is_ok() {
            outcome = add_block(problem, rows, probabilities, &mut hessian);
        }
    });
    outcome?;
    let scale = 1.0 / problem.total;
    for a in 0..k {
        for b in a..k {
            for i in 0..p {
                for j in 0..p {
                    let value = hessian[(a * p + i) * size + b * p + j] * scale;
                    hessian[(a * p + i) * size + b * p + j] = value;
                    if a != b {
                        hessian[(b * p + j) * size + a * p + i] = value;
                    }
                }
            }
        }
    }
    Ok(hessian)
}

/// Adds the products of one block of rows to the upper blocks.
fn add_block<T: Float + Element>(
    problem: &Problem<'_, T>,
    rows: std::ops::Range<usize>,
    probabilities: &[T],
    hessian: &mut [f64],
) -> Result<()> {
    let (k, p, size, count) = (problem.outputs, problem.width(), problem.size(), rows.len());
    let x = augmented(problem, rows.clone());
    let right = Tensor::try_from_vec(x.clone(), [count, p])?;
    for a in 0..k {
        for b in a..k {
            let mut left = x.clone();
            for (row, left) in left.chunks_mut(p).enumerate() {
                let weight = problem.weights.as_ref().map_or(1.0, |weights| weights[rows.start + row].wide());
                let (pa, pb) = (probabilities[a * count + row].wide(), probabilities[b * count + row].wide());
                let curvature = weight * pa * if a == b { 1.0 - pb } else { -pb };
                left.iter_mut().for_each(|value| *value *= curvature);
            }
            let product = Tensor::try_from_vec(left, [count, p])?.try_t()?.try_matmul(&right)?;
            for (i, row) in product.as_slice::<f64>()?.chunks(p).enumerate() {
                let index = (a * p + i) * size + b * p;
                hessian[index..index + p].iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
            }
        }
    }
    Ok(())
}

/// A block of rows in double precision, with a column of ones for the intercept.
fn augmented<T: Float + Element>(problem: &Problem<'_, T>, rows: std::ops::Range<usize>) -> Vec<f64> {
    let (d, p) = (problem.d, problem.width());
    let mut out = vec![0.0; rows.len() * p];
    for (row, out) in rows.zip(out.chunks_mut(p)) {
        match problem.data {
            Data::Dense(x) => out.iter_mut().zip(&x[row * d..(row + 1) * d]).for_each(|(out, x)| *out = x.wide()),
            Data::Sparse(starts, columns, values) => {
                for index in starts[row]..starts[row + 1] {
                    out[columns[index] as usize] = values[index].wide();
                }
            }
        }
        if problem.intercept {
            out[d] = 1.0;
        }
    }
    out
}
