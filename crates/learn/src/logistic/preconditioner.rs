//! A fixed approximation of the Hessian: c XᵀX/n + λI, the same for every output.
//!
//! At the start the Hessian of the softmax likelihood is (1/m)(I − 11ᵀ/m) ⊗ XᵀX/n, and later it is bounded by half of
//! that (Böhning 1992). The Gram matrix therefore captures the correlations of the columns, which make plain L-BFGS
//! slow. It is inverted once. A few thousand evenly spaced rows are sufficient; for wide or sparse rows only the
//! diagonal is used.

use tove_tensor::kernels::math::Float;
use tove_tensor::{Element, Tensor, TryLinalg, TryOps};

use super::kernels::Wide;
use super::objective::overflow;
use super::problem::{Data, Problem};
use crate::Result;

/// Largest number of columns for which the full matrix is used.
const MAX_FULL_COLUMNS: usize = 1600;
/// Rows sampled per column.
const ROWS_PER_COLUMN: usize = 8;
/// Relative ridge on the diagonal, so that the rank of the sample does not matter.
const RIDGE: f64 = 1e-3;

/// An approximate inverse Hessian for each output.
pub(super) enum Preconditioner {
    /// The inverse (p, p).
    Full(Tensor),
    /// The inverse diagonal (p).
    Diagonal(Vec<f64>),
}

impl Preconditioner {
    /// Creates the preconditioner of a problem with the penalty λ/2 ‖w‖² on everything but intercepts.
    pub(super) fn new<T: Float + Element>(
        problem: &Problem<'_, T>,
        lambda: f64,
        diagonal_only: bool,
    ) -> Result<Preconditioner> {
        let p = problem.width();
        let full = match problem.data {
            // In single precision squares may overflow that are finite in double precision.
            Data::Dense(x) if p <= MAX_FULL_COLUMNS && !diagonal_only => {
                Some(gram(problem, x)?).filter(|gram| gram.iter().all(|value| value.is_finite()))
            }
            _ => None,
        };
        let diagonal = match &full {
            Some(gram) => (0..p).map(|i| gram[i * p + i]).collect(),
            None => squares(problem),
        };
        if !diagonal.iter().all(|value: &f64| value.is_finite()) {
            return Err(overflow());
        }
        let classes = (problem.outputs.max(2)) as f64;
        let curvature = (1.0 - 1.0 / classes) / classes;
        let mean = diagonal.iter().sum::<f64>() / p as f64;
        // The ridge is relative to each column's scale; a zero column gets a small value, so that the matrix is
        // invertible.
        let floor = (1e-12 * mean).max(f64::MIN_POSITIVE);
        let penalty = |i: usize| if i < problem.d { lambda } else { 0.0 };
        let own = |i: usize| if diagonal[i] > 0.0 { (1.0 + RIDGE) * diagonal[i] } else { floor };
        let diagonal: Vec<f64> = (0..p).map(|i| curvature * own(i) + penalty(i)).collect();
        if let Some(gram) = full
            && let Some(inverse) = inverse(gram, curvature, &diagonal)?
        {
            return Ok(Preconditioner::Full(inverse));
        }
        Ok(Preconditioner::Diagonal(diagonal.iter().map(|value| 1.0 / value).collect()))
    }

    /// The inverse of a Hessian (p, p) of one output; `None` if it is singular.
    pub(super) fn of_hessian(hessian: Vec<f64>, p: usize) -> Result<Option<Preconditioner>> {
        let diagonal: Vec<f64> = (0..p).map(|i| (1.0 + RIDGE) * hessian[i * p + i]).collect();
        if !hessian.iter().all(|value| value.is_finite()) || diagonal.iter().any(|&value| value <= 0.0) {
            return Ok(None);
        }
        Ok(inverse(hessian, 1.0, &diagonal)?.map(Preconditioner::Full))
    }

    /// The approximate inverse Hessian times g (k, p).
    pub(super) fn apply(&self, g: &[f64]) -> Result<Vec<f64>> {
        match self {
            Preconditioner::Diagonal(inverse) => {
                Ok(g.chunks(inverse.len()).flat_map(|g| g.iter().zip(inverse).map(|(g, h)| g * h)).collect())
            }
            Preconditioner::Full(inverse) => {
                let p = inverse.dims()[0];
                let g = Tensor::try_from_vec(g.to_vec(), [g.len() / p, p])?;
                Ok(g.try_matmul(inverse)?.into_vec::<f64>()?)
            }
        }
    }
}

/// The inverse of c·G with its diagonal replaced, computed with a unit diagonal; `None` if it is singular.
#[allow(clippy::needless_range_loop)] // row and column indices
fn inverse(mut gram: Vec<f64>, curvature: f64, diagonal: &[f64]) -> Result<Option<Tensor>> {
    let p = diagonal.len();
    let scale: Vec<f64> = diagonal.iter().map(|value| 1.0 / value.sqrt()).collect();
    for i in 0..p {
        for j in 0..p {
            gram[i * p + j] *= curvature * scale[i] * scale[j];
        }
        gram[i * p + i] = 1.0;
    }
    let Ok(inverse) = Tensor::try_from_vec(gram, [p, p])?.try_inverse() else { return Ok(None) };
    let mut inverse = inverse.into_vec::<f64>()?;
    for i in 0..p {
        for j in 0..p {
            inverse[i * p + j] *= scale[i] * scale[j];
        }
    }
    let sound = inverse.iter().all(|value| value.is_finite()) && (0..p).all(|i| inverse[i * p + i] > 0.0);
    Ok(if sound { Some(Tensor::try_from_vec(inverse, [p, p])?) } else { None })
}

/// The mean of x xᵀ, including the constant feature of the intercept, from evenly spaced rows.
fn gram<T: Float + Element>(problem: &Problem<'_, T>, x: &[T]) -> Result<Vec<f64>> {
    let (n, d, p) = (problem.n, problem.d, problem.width());
    let count = n.min((ROWS_PER_COLUMN * d).max(512));
    let mut sum = Tensor::try_zeros([p, p], T::DTYPE)?;
    let mut weights = 0.0;
    for first in (0..count).step_by(1024) {
        let last = (first + 1024).min(count);
        let mut rows = Vec::with_capacity((last - first) * p);
        for index in first..last {
            let row = index * n / count;
            let weight = problem.weights.as_ref().map_or(1.0, |weights| weights[row].wide());
            weights += weight;
            let root = T::narrow(weight.sqrt());
            rows.extend(x[row * d..(row + 1) * d].iter().map(|&x| x * root));
            rows.extend(problem.intercept.then_some(root));
        }
        let rows = Tensor::try_from_vec(rows, [last - first, p])?;
        sum = sum.try_add(&rows.t().try_matmul(&rows)?)?;
    }
    let scale = 1.0 / weights.max(f64::MIN_POSITIVE);
    Ok(sum.to_f64_vec().into_iter().map(|value| value * scale).collect())
}

/// The mean square of each column; the intercept's 1 is last.
fn squares<T: Float + Element>(problem: &Problem<'_, T>) -> Vec<f64> {
    let (d, mut sums) = (problem.d, vec![0.0; problem.width()]);
    let weight = |row: usize| problem.weights.as_ref().map_or(1.0, |weights| weights[row].wide());
    for row in 0..problem.n {
        let weight = weight(row);
        match problem.data {
            Data::Dense(x) => {
                sums.iter_mut().zip(&x[row * d..(row + 1) * d]).for_each(|(sum, x)| *sum += weight * x.wide().powi(2));
            }
            Data::Sparse(starts, columns, values) => {
                for index in starts[row]..starts[row + 1] {
                    sums[columns[index] as usize] += weight * values[index].wide().powi(2);
                }
            }
        }
    }
    sums.iter_mut().for_each(|sum| *sum /= problem.total);
    if problem.intercept {
        sums[d] = 1.0;
    }
    sums
}
