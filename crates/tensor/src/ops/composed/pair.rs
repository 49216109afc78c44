//! Functions of two or three tensors, element by element, composed of others.

use crate::ops::reduce::{require_float, root};
use crate::ops::{binary, shape, unary};
use crate::{DType, Result, Tensor};

/// √(a² + b²). Both are divided by the larger |·| first, so that no square overflows or vanishes; the quotient is taken out
/// of the value alone, which does not depend on it. The derivative at (0, 0) is taken to be 0, on every order. Where one
/// operand is infinite the result is +∞, even beside NaN (as C, numpy and PyTorch have it), with slope ±1 for the first
/// infinite operand and 0 for the other, which is the limit.
pub(crate) fn hypot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary::common_shape("hypot", a, b)?;
    require_float("hypot", a)?;
    let (zero, one) = (Tensor::scalar_of(0.0, a.dtype()), Tensor::scalar_of(1.0, a.dtype()));
    let first = binary::is_inf(a)?;
    let infinite = binary::logical_or(&first, &binary::is_inf(b)?)?;
    let limit = binary::select(&first, &unary::abs(a)?, &unary::abs(b)?)?;
    // Infinite operands take no part in the squares, so that their slopes do not become NaN.
    let (a, b) = (binary::select(&infinite, &zero, a)?, binary::select(&infinite, &zero, b)?);
    let largest = binary::maximum(&unary::abs(&a.detach())?, &unary::abs(&b.detach())?)?;
    let usable = binary::logical_and(&binary::is_finite(&largest)?, &binary::ne_scalar(&largest, 0.0)?)?;
    let scale = binary::select(&usable, &largest, &one)?;
    let part = |x: &Tensor| unary::square(&binary::div(x, &scale)?);
    let finite = binary::mul(&root(&binary::add(&part(&a)?, &part(&b)?)?)?, &scale)?;
    binary::select(&infinite, &limit, &finite)
}

/// start + w (end − start), counted from the nearer end, so that weights 0 and 1 give both ends exactly.
pub(crate) fn lerp(start: &Tensor, end: &Tensor, weight: &Tensor) -> Result<Tensor> {
    binary::common_shape("lerp", start, end)?;
    binary::common_shape("lerp", start, weight)?;
    require_float("lerp", start)?;
    let gap = binary::sub(end, start)?;
    let from_start = binary::add(start, &binary::mul(weight, &gap)?)?;
    let from_end = binary::sub(end, &binary::mul(&unary::sub_from(weight, 1.0)?, &gap)?)?;
    binary::select(&binary::lt_scalar(weight, 0.5)?, &from_start, &from_end)
}

/// Whether |a − b| ≤ absolute + relative · |b|, in f64; equal infinities are close, NaN to nothing.
pub(crate) fn isclose(a: &Tensor, b: &Tensor, relative: f64, absolute: f64) -> Result<Tensor> {
    binary::common_shape("isclose", a, b)?;
    let equal = binary::eq(a, b)?;
    let (a, b) = (shape::to_dtype(a, DType::F64)?, shape::to_dtype(b, DType::F64)?);
    let allowed = unary::add_scalar(&unary::mul_scalar(&unary::abs(&b)?, relative)?, absolute)?;
    let near = binary::le(&unary::abs(&binary::sub(&a, &b)?)?, &allowed)?;
    binary::logical_or(&equal, &binary::logical_and(&near, &binary::is_finite(&b)?)?)
}
