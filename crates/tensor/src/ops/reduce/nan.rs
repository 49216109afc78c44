//! Sums and means that leave NaN out: Σ x and Σ x / n over the n elements that are numbers. The derivative by a NaN is 0.

use super::{count_nonzero, require_float, sum};
use crate::ops::{binary, shape};
use crate::{Result, Tensor};

/// Sum over axes of the elements that are numbers; 0 where there are none.
pub(crate) fn nansum(x: &Tensor, axes: &[isize], keep: bool) -> Result<Tensor> {
    if !x.dtype().is_float() {
        return sum(x, axes, keep);
    }
    let numbers = binary::select(&binary::is_nan(x)?, &Tensor::scalar_of(0.0, x.dtype()), x)?;
    sum(&numbers, axes, keep)
}

/// Mean over axes of the elements that are numbers; NaN where there are none.
pub(crate) fn nanmean(x: &Tensor, axes: &[isize], keep: bool) -> Result<Tensor> {
    require_float("nanmean", x)?;
    let count = count_nonzero(&binary::logical_not(&binary::is_nan(x)?)?, axes, keep)?;
    binary::div(&nansum(x, axes, keep)?, &shape::to_dtype(&count, x.dtype())?)
}
