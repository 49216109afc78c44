//! Whole powers of square matrices by repeated squaring: `A^13 = A^8 A^4 A`. Negative ones are powers of the inverse.
//! Composed of products, hence differentiable.

use super::inverse::inverse;
use super::kernel::square;
use super::tools::{identity, mm};
use crate::ops::shape;
use crate::{Result, Tensor};

/// The matrix times itself, `power` times; not the power of each element.
pub(crate) fn matrix_power(a: &Tensor, power: i32) -> Result<Tensor> {
    let (_, n) = square("matrix_power", a)?;
    let mut base = if power < 0 { inverse(a)? } else { a.clone() };
    let mut rest = power.unsigned_abs();
    let mut result: Option<Tensor> = None;
    while rest > 0 {
        if rest % 2 == 1 {
            result = Some(match result {
                Some(result) => mm(&result, &base)?,
                None => base.clone(),
            });
        }
        rest /= 2;
        if rest > 0 {
            base = mm(&base, &base)?;
        }
    }
    match result {
        Some(result) => Ok(result),
        None => shape::broadcast_to(&identity(n, a.dtype())?, a.shape().clone()),
    }
}
