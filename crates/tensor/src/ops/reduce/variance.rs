//! Variance and standard deviation, in two passes: the mean first, then the squared distances from it,
//! Var = Σ (x − mean)² / (n − correction). The usual one-pass formula E x² − (E x)² loses all digits far from zero.

use super::{axes_from_end, count, mean, negative, require_float, sum};
use crate::ops::{binary, unary};
use crate::{Result, Tensor};

/// Variance over axes; `correction` is subtracted from the count, 1 for the unbiased estimate.
pub(crate) fn var(x: &Tensor, axes: &[isize], correction: usize, keep: bool) -> Result<Tensor> {
    require_float("var", x)?;
    let axes = axes_from_end("var", x, axes)?;
    let divisor = count(x.shape(), &axes).saturating_sub(correction);
    let axes = negative(&axes);
    let centred = binary::sub(x, &mean(x, &axes, true)?)?;
    let squares = sum(&unary::square(&centred)?, &axes, keep)?;
    unary::unary_owned(unary::DivScalar(divisor as f64), squares)
}

/// Standard deviation over axes. Its derivative where all elements are equal is taken to be 0, as in PyTorch.
pub(crate) fn std(x: &Tensor, axes: &[isize], correction: usize, keep: bool) -> Result<Tensor> {
    root(&var(x, axes, correction, keep)?)
}

/// √x with derivative 0 at 0, on every order: the root is taken of 1 there, and its result not used.
pub(crate) fn root(x: &Tensor) -> Result<Tensor> {
    let zero = binary::eq_scalar(x, 0.0)?;
    let safe = binary::select(&zero, &Tensor::scalar_of(1.0, x.dtype()), x)?;
    binary::select(&zero, &Tensor::scalar_of(0.0, x.dtype()), &unary::sqrt(&safe)?)
}
