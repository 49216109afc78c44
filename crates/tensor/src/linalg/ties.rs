//! Equal values of a decomposition, at which derivatives of the vectors do not exist.
//!
//! Between equal eigenvalues every basis of their space serves, so a derivative of the vectors has no meaning there. A
//! function that does not depend on the basis has one all the same, as the limit of 0/0 over the gap; it cannot be had
//! from the rule, which divides by the gap. Rather than a finite but wrong number, reverse mode reports the gap, and
//! forward mode, which computes the tangents of vectors that perhaps nobody reads, gives NaN for these alone.

use crate::autodiff::apply;
use crate::ops::constant::{Constant, constant_op};
use crate::ops::shape;
use crate::{DType, Error, Result, Shape, Tensor};

/// Values count as equal when they differ by less than this share of the largest.
fn nearness(dtype: DType) -> f64 {
    if dtype == DType::F64 { 1e-12 } else { 2e-6 }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, value| f64::max(largest, value.abs()))
}

/// Values (…, n) and matrices (…, m, n) with common leading axes, as plain f64 numbers.
fn common(values: &Tensor, matrices: &Tensor) -> Result<(Shape, Vec<f64>, Vec<f64>)> {
    let (n, tail) = (values.dims()[values.rank() - 1], &matrices.dims()[matrices.rank() - 2..]);
    let leading = Shape::new(&values.dims()[..values.rank() - 1])
        .broadcast(&Shape::new(&matrices.dims()[..matrices.rank() - 2]))
        .ok_or_else(|| Error::shapes("ties", values.shape(), matrices.shape(), "leading axes do not broadcast"))?;
    let numbers = |x: &Tensor, tail: &[usize]| -> Result<Vec<f64>> {
        shape::to_dtype(&shape::broadcast_to(&x.untracked(), leading.joined(tail))?, DType::F64)?.try_to_vec()
    };
    Ok((leading.clone(), numbers(values, &[n])?, numbers(matrices, tail)?))
}

/// Values are vectors, what is compared with them matrices; a batch axis goes in front of both.
fn item_rank(index: usize) -> usize {
    index + 1
}

/// Refuses a cotangent of vectors between equal values. Inputs are the values and the cotangent in the vectors' basis.
#[derive(Clone, Copy)]
struct Distinct {
    op: &'static str,
}

impl Constant for Distinct {
    const NAME: &'static str = "distinct_values";

    fn item_rank(index: usize) -> usize {
        item_rank(index)
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let near = nearness(inputs[0].dtype());
        let (leading, values, cotangents) = common(inputs[0], inputs[1])?;
        let n = inputs[0].dims()[inputs[0].rank() - 1];
        for (v, k) in values.chunks_exact(n.max(1)).zip(cotangents.chunks_exact((n * n).max(1))) {
            let (gap, noise) = (near * largest(v), near * largest(k));
            for (i, j) in (0..n).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let turned = k[i * n + j].abs().max(k[j * n + i].abs()) > noise;
                if turned && (v[i] - v[j]).abs() <= gap {
                    return Err(Error::derivative(self.op, tie_problem(v, i, j)));
                }
            }
        }
        Tensor::try_zeros(leading, DType::Bool)
    }
}

fn tie_problem(values: &[f64], i: usize, j: usize) -> String {
    format!(
        "values {j} and {i} are {} and {}, a gap of {:.1e}: vectors of equal values have no derivative; differentiate the \
         values alone, or write the function without the vectors (`expm`, `solve`, `pinv`, `norm`)",
        values[j],
        values[i],
        (values[i] - values[j]).abs()
    )
}

/// An error where a cotangent turns vectors of equal values into each other. `turned` is Vᵀ G for the vectors V.
pub(super) fn require_distinct(op: &'static str, values: &Tensor, turned: &Tensor) -> Result<()> {
    apply(constant_op(Distinct { op }), &[&values.detach(), &turned.detach()]).map(|_| ())
}

/// Refuses a cotangent that moves vectors of zero values out of their space. Inputs are the values and the part of the
/// cotangent outside the vectors' span.
#[derive(Clone, Copy)]
struct NotZero {
    op: &'static str,
}

impl Constant for NotZero {
    const NAME: &'static str = "nonzero_values";

    fn item_rank(index: usize) -> usize {
        item_rank(index)
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let near = nearness(inputs[0].dtype());
        let (leading, values, outside) = common(inputs[0], inputs[1])?;
        let (n, rows) = (inputs[0].dims()[inputs[0].rank() - 1], inputs[1].dims()[inputs[1].rank() - 2]);
        for (v, g) in values.chunks_exact(n.max(1)).zip(outside.chunks_exact((n * rows).max(1))) {
            let (zero, noise) = (near * largest(v), near * largest(g));
            for j in (0..n).filter(|&j| v[j].abs() <= zero) {
                if (0..rows).any(|i| g[i * n + j].abs() > noise) {
                    let problem = format!("value {j} is {}: the vectors of a zero value have no derivative", v[j]);
                    return Err(Error::derivative(self.op, problem));
                }
            }
        }
        Tensor::try_zeros(leading, DType::Bool)
    }
}

/// An error where a cotangent moves vectors of zero values.
pub(super) fn require_nonzero(op: &'static str, values: &Tensor, outside: &Tensor) -> Result<()> {
    apply(constant_op(NotZero { op }), &[&values.detach(), &outside.detach()]).map(|_| ())
}

/// NaN where a tangent turns vectors of equal values into each other, 0 elsewhere; to be added to the turn.
#[derive(Clone, Copy)]
struct Undefined;

impl Constant for Undefined {
    const NAME: &'static str = "undefined_turns";

    fn item_rank(index: usize) -> usize {
        item_rank(index)
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let near = nearness(inputs[0].dtype());
        let (leading, values, turns) = common(inputs[0], inputs[1])?;
        let n = inputs[0].dims()[inputs[0].rank() - 1];
        let mut marks = vec![0.0; turns.len()];
        let matrices = marks.chunks_exact_mut((n * n).max(1)).zip(turns.chunks_exact((n * n).max(1)));
        for ((marks, turn), v) in matrices.zip(values.chunks_exact(n.max(1))) {
            let (gap, noise) = (near * largest(v), near * largest(turn));
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| i != j) {
                if turn[i * n + j].abs() > noise && (v[i] - v[j]).abs() <= gap {
                    marks[i * n + j] = f64::NAN;
                }
            }
        }
        shape::to_dtype(&Tensor::try_from_vec(marks, leading.joined(&[n, n]))?, inputs[0].dtype())
    }
}

/// What to add to a turn P of the vectors so that it says where it has no meaning.
pub(super) fn undefined(values: &Tensor, turn: &Tensor) -> Result<Tensor> {
    apply(constant_op(Undefined), &[&values.detach(), &turn.detach()])
}
