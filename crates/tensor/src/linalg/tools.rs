//! Small tensor expressions that several derivative rules share. `Aᵀ` is `t(a)`, `A B` is `mm(a, b)`.

use crate::ops::{binary, matmul, reduce, shape, unary};
use crate::{DType, Result, Tensor};

pub(crate) fn t(a: &Tensor) -> Result<Tensor> {
    shape::transpose(a)
}

pub(crate) fn mm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    matmul::matmul(a, b)
}

/// A constant n by n matrix from its entries.
fn constant(n: usize, dtype: DType, entry: impl Fn(usize, usize) -> f64) -> Result<Tensor> {
    let data: Vec<f64> = (0..n * n).map(|index| entry(index / n, index % n)).collect();
    shape::to_dtype(&Tensor::try_from_vec(data, [n, n])?, dtype)
}

pub(crate) fn identity(n: usize, dtype: DType) -> Result<Tensor> {
    constant(n, dtype, |i, j| f64::from(u8::from(i == j)))
}

/// Ones below the diagonal, `on` on it, zeros above.
pub(crate) fn lower_mask(n: usize, dtype: DType, on: f64) -> Result<Tensor> {
    constant(n, dtype, |i, j| {
        if i > j {
            1.0
        } else if i == j {
            on
        } else {
            0.0
        }
    })
}

/// Ones above the diagonal, `on` on it, zeros below.
pub(crate) fn upper_mask(n: usize, dtype: DType, on: f64) -> Result<Tensor> {
    t(&lower_mask(n, dtype, on)?)
}

/// The diagonal of square matrices as vectors.
pub(crate) fn diagonal(a: &Tensor) -> Result<Tensor> {
    let n = a.dims()[a.rank() - 1];
    reduce::sum(&binary::mul(a, &identity(n, a.dtype())?)?, &[-1], false)
}

/// Diagonal matrices from vectors.
pub(crate) fn diagonal_matrix(v: &Tensor) -> Result<Tensor> {
    let n = v.dims()[v.rank() - 1];
    binary::mul(&as_row(v)?, &identity(n, v.dtype())?)
}

/// Vectors as rows: A ∘ as_row(v) scales column j of A by v_j.
pub(crate) fn as_row(v: &Tensor) -> Result<Tensor> {
    shape::unsqueeze(v, -2)
}

/// Vectors as columns: A ∘ as_column(v) scales row i of A by v_i.
pub(crate) fn as_column(v: &Tensor) -> Result<Tensor> {
    shape::unsqueeze(v, -1)
}

/// ½ (A + Aᵀ).
pub(crate) fn symmetric_part(a: &Tensor) -> Result<Tensor> {
    unary::unary_owned(unary::MulScalar(0.5), binary::add(a, &t(a)?)?)
}

/// I - A.
pub(crate) fn identity_minus(a: &Tensor) -> Result<Tensor> {
    binary::sub(&identity(a.dims()[a.rank() - 1], a.dtype())?, a)
}

/// 1/x, and 0 where x is 0.
pub(crate) fn reciprocal_or_zero(x: &Tensor) -> Result<Tensor> {
    let zero = binary::eq_scalar(x, 0.0)?;
    let one = Tensor::scalar_of(1.0, x.dtype());
    let safe = binary::select(&zero, &one, x)?;
    binary::select(&zero, &Tensor::scalar_of(0.0, x.dtype()), &unary::recip(&safe)?)
}

/// F with F_ij = 1/(v_j - v_i), and 0 where the two are equal.
pub(crate) fn gap_reciprocals(v: &Tensor) -> Result<Tensor> {
    reciprocal_or_zero(&binary::sub(&as_row(v)?, &as_column(v)?)?)
}

/// Neighbouring pieces of the last axis, each under a matrix (or vector) shape of its own. How the parts of a packed
/// result are told apart.
pub(crate) fn unpack<const N: usize>(packed: &Tensor, parts: [&[usize]; N]) -> Result<[Tensor; N]> {
    let leading = packed.shape().without(packed.rank() - 1);
    let mut position = 0;
    let mut pieces: [Option<Tensor>; N] = [const { None }; N];
    for (piece, part) in pieces.iter_mut().zip(parts) {
        let size: usize = part.iter().product();
        let flat = shape::narrow(packed, -1, position, size)?;
        *piece = Some(shape::reshape(&flat, leading.joined(part))?);
        position += size;
    }
    Ok(pieces.map(|piece| piece.unwrap_or_else(|| packed.clone())))
}

/// The inverse of [`unpack`]; the parts have `ranks` axes behind the leading ones.
pub(crate) fn pack<const N: usize>(parts: [(&Tensor, usize); N]) -> Result<Tensor> {
    let mut flat = Vec::with_capacity(N);
    for (part, rank) in parts {
        let split = part.rank() - rank;
        let size = part.dims()[split..].iter().product();
        flat.push(shape::reshape(part, crate::Shape::new(&part.dims()[..split]).joined(&[size]))?);
    }
    shape::concat(&flat.iter().collect::<Vec<_>>(), -1)
}
