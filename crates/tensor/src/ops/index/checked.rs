//! Indices made ready for kernels: of type i64, inside the axis, none negative.

use crate::autodiff::apply;
use crate::ops::constant::{Constant, constant_op};
use crate::tensor::Fresh;
use crate::{DType, Error, Result, Tensor};

#[derive(Clone, Copy)]
struct Checked {
    op: &'static str,
    size: usize,
}

impl Constant for Checked {
    const NAME: &'static str = "checked_index";

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        normalised(self.op, inputs[0], self.size)
    }

    fn attributes(&self) -> String {
        format!("size={}", self.size)
    }
}

/// The same positions, counted from the front; an error that names the first one outside an axis of this size.
pub(super) fn checked(op: &'static str, index: &Tensor, size: usize) -> Result<Tensor> {
    if index.dtype() != DType::I64 {
        return Err(Error::DType { op, dtype: index.dtype(), expected: "indices are i64" });
    }
    if index.track().is_none() {
        normalised(op, index, size)
    } else {
        apply(constant_op(Checked { op, size }), &[index])
    }
}

fn normalised(op: &'static str, index: &Tensor, size: usize) -> Result<Tensor> {
    let data = index.contiguous_data()?;
    let values = data.contiguous_slice::<i64>();
    let (low, high) = range(values);
    let bound = size as i64;
    if low >= 0 && high < bound {
        return Ok(index.untracked());
    }
    if low < -bound || high >= bound {
        let outside = values.iter().copied().find(|&i| i < -bound || i >= bound).unwrap_or(high);
        return Err(Error::Index { op, index: outside, size });
    }
    let mut out = Fresh::new(index.shape().clone(), DType::I64)?;
    for (slot, &i) in out.slice::<i64>().iter_mut().zip(values) {
        *slot = if i < 0 { i + bound } else { i };
    }
    Ok(out.finish())
}

/// Smallest and largest index; an empty list lies inside every axis.
fn range(values: &[i64]) -> (i64, i64) {
    // Without branches, so that the compiler vectorises the loop.
    let wider = |(low, high): (i64, i64), &i: &i64| (low.min(i), high.max(i));
    if values.is_empty() { (0, -1) } else { values.iter().fold((i64::MAX, i64::MIN), wider) }
}
