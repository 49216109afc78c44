//! Norms of matrices, over the last two axes.

use super::kernel::matrices;
use super::svd::singular_values;
use crate::ops::{reduce, shape, unary};
use crate::{Result, Tensor};

/// Which norm of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// Largest singular value, `max ‖A x‖₂ / ‖x‖₂`; numpy's 2.
    Spectral,
    /// Sum of the singular values; numpy's "nuc".
    Nuclear,
    /// Root of the sum of squares; numpy's "fro". Its derivative at the zero matrix is taken to be 0.
    Frobenius,
    /// Largest sum of absolute values in a column; numpy's 1.
    One,
    /// Largest sum of absolute values in a row; numpy's inf.
    Infinity,
}

/// A norm of each matrix; 0 for matrices without elements.
pub(crate) fn matrix_norm(a: &Tensor, norm: Norm) -> Result<Tensor> {
    let (leading, m, n) = matrices("matrix_norm", a)?;
    if m == 0 || n == 0 {
        return Ok(Tensor::zeros(leading, a.dtype()));
    }
    match norm {
        Norm::Spectral => shape::select(&singular_values(a)?, -1, 0),
        Norm::Nuclear => reduce::sum(&singular_values(a)?, &[-1], false),
        Norm::Frobenius => reduce::norm(a, 2.0, &[-2, -1], false),
        Norm::One => reduce::max(&reduce::sum(&unary::abs(a)?, &[-2], false)?, &[-1], false),
        Norm::Infinity => reduce::max(&reduce::sum(&unary::abs(a)?, &[-1], false)?, &[-1], false),
    }
}
