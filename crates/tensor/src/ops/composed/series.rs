//! Differences, covariances, histograms, and numbers in place of what is none.

use crate::ops::{axis_from_end, binary, index, matmul, reduce, shape, unary};
use crate::{Error, Result, Shape, Tensor};

/// x_{k+1} − x_k along an axis.
pub(crate) fn diff(x: &Tensor, axis: isize) -> Result<Tensor> {
    let size = x.dims()[x.rank() - axis_from_end("diff", x, axis)?];
    let rest = size.saturating_sub(1);
    binary::sub(&shape::narrow(x, axis, size - rest, rest)?, &shape::narrow(x, axis, 0, rest)?)
}

/// (X − mean)(X − mean)ᵀ / (n − correction) for X (variables, n). One variable, given as a row or as a vector, has a
/// variance instead of a matrix.
pub(crate) fn cov(x: &Tensor, correction: usize) -> Result<Tensor> {
    if x.rank() == 0 {
        return Err(Error::shape("cov", x.shape(), "needs a row for each variable and a column for each observation"));
    }
    let single = x.rank() == 1 || x.dims()[x.rank() - 2] == 1;
    let count = x.dims()[x.rank() - 1];
    if count <= correction {
        let problem = format!("is {correction}, but there are only {count} observations");
        return Err(Error::parameter("cov", "correction", problem));
    }
    if single {
        let row = if x.rank() == 1 { x.clone() } else { shape::squeeze(x, -2)? };
        return reduce::var(&row, &[-1], correction, false);
    }
    let centred = binary::sub(x, &reduce::mean(x, &[-1], true)?)?;
    let product = matmul::matmul(&centred, &shape::transpose(&centred)?)?;
    unary::div_scalar(&product, (count - correction) as f64)
}

/// `nan` for NaN, `high` for +∞, `low` for −∞; the derivative is 0 there.
pub(crate) fn nan_to_num(x: &Tensor, nan: f64, high: f64, low: f64) -> Result<Tensor> {
    let number = |value: f64| Tensor::scalar_of(value, x.dtype());
    let infinite = binary::select(&binary::gt_scalar(x, 0.0)?, &number(high), &number(low))?;
    let other = binary::select(&binary::is_nan(x)?, &number(nan), &infinite)?;
    binary::select(&binary::is_finite(x)?, x, &other)
}

/// How many values fall between neighbouring edges: edge k ≤ x < edge k+1, the last bin with its right edge.
pub(crate) fn histogram(x: &Tensor, edges: &Tensor) -> Result<Tensor> {
    if edges.rank() != 1 || edges.numel() < 2 {
        return Err(Error::shape("histogram", edges.shape(), "the edges must be a vector of at least two numbers"));
    }
    let bins = edges.numel() - 1;
    let flat = shape::reshape(x, Shape::from(x.numel()))?;
    let places = index::searchsorted(edges, &flat, true)?; // one more than the bin; 0 and bins + 1 lie outside
    let at_end = binary::eq(&flat, &shape::get(edges, bins)?)?;
    let places = binary::select(&at_end, &Tensor::scalar(bins as i64), &places)?;
    shape::narrow(&index::bincount(&places, None, bins + 2)?, 0, 1, bins)
}
