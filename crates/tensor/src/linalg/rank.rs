//! Numerical rank, and witnesses that it is not full: vectors u with `A u = 0`.
//!
//! The rank is the number of singular values above a cutoff. The right singular vectors that belong to the others span the
//! null space; for a matrix with more columns than rows there is always one, since `AᵀA` then has no inverse.

use super::kernel::matrices;
use super::pinv::{cutoff, reciprocals};
use super::svd::{Vectors, decompose, singular_values};
use crate::dtype::match_float;
use crate::ops::{binary, reduce, shape, unary};
use crate::{DType, Error, Result, Tensor};

/// The number of values above `cutoff` times the first, which is the largest.
pub(super) fn count(s: &Tensor, cutoff: f64) -> Result<Tensor> {
    let s = s.detach();
    if s.dims()[s.rank() - 1] == 0 {
        return Ok(Tensor::zeros(s.shape().without(s.rank() - 1), DType::I64));
    }
    let least = unary::unary_owned(unary::MulScalar(cutoff), shape::narrow(&s, -1, 0, 1)?)?;
    let above = shape::to_dtype(&binary::gt(&s, &least)?, DType::I64)?;
    reduce::sum(&above, &[-1], false)
}

/// The rank, with singular values up to `rcond` times the largest taken as zero.
pub(crate) fn matrix_rank(a: &Tensor, rcond: Option<f64>) -> Result<Tensor> {
    let cutoff = cutoff("matrix_rank", a, rcond)?;
    count(&singular_values(&a.detach())?, cutoff)
}

/// An orthonormal basis of the vectors that one matrix maps to zero, as columns: (n, n - rank). Carries no derivative.
///
/// ```
/// use tove_tensor::{Tensor, linalg};
/// let basis = linalg::null_space(&Tensor::from([[1.0, 1.0, 0.0]]), None).unwrap();
/// assert_eq!(basis.dims(), &[3, 2]);
/// ```
pub fn null_space(a: &Tensor, rcond: Option<f64>) -> Result<Tensor> {
    let (leading, m, n) = matrices("null_space", a)?;
    if leading.rank() > 0 {
        return Err(Error::shape(
            "null_space",
            a.shape(),
            "is a batch, whose null spaces may differ in size; go matrix by matrix",
        ));
    }
    let cutoff = cutoff("null_space", a, rcond)?;
    if m == 0 || n == 0 {
        return Ok(Tensor::eye(n, a.dtype()));
    }
    match_float!("null_space", a.dtype(), T => {
        let data = a.try_to_vec::<T>()?;
        let factors = decompose::<T>("null_space", &data, (m, n), Vectors::FullRight)?;
        let rank = reciprocals(&factors.s, cutoff).len();
        let width = n - rank;
        let basis: Vec<T> = (0..n * width).map(|index| factors.v[(index / width, rank + index % width)]).collect();
        Tensor::try_from_vec(basis, [n, width])
    })
}

/// A unit vector u with `A u = 0` up to rounding if the columns of `A` are dependent, `None` if they are not: the witness
/// that `AᵀA` has no inverse.
///
/// ```
/// use tove_tensor::{Tensor, linalg};
/// let x = Tensor::from([[1.0, 2.0], [3.0, 6.0]]);
/// let u = linalg::null_vector(&x, None).unwrap().expect("the second column is twice the first");
/// assert!(x.matmul(&u).abs().max().item::<f64>() < 1e-14);
/// ```
pub fn null_vector(a: &Tensor, rcond: Option<f64>) -> Result<Option<Tensor>> {
    let basis = null_space(a, rcond)?;
    let width = basis.dims()[1];
    if width == 0 {
        return Ok(None);
    }
    // The last vector belongs to the smallest singular value.
    shape::select(&basis, 1, width - 1).map(|u| Some(u.contiguous()))
}
