//! Another shape with the same elements in the same row-major order; a view whenever the strides allow it.

use crate::ops::axis_from_end;
use crate::ops::linear_map::{LinearMap, linear_map};
use crate::{Error, Result, Shape, Tensor};

#[derive(Clone)]
struct Reshape {
    shape: Shape,
}

impl LinearMap for Reshape {
    const NAME: &'static str = "reshape";

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        if self.shape.checked_numel() != Some(x.numel()) {
            let problem = format!("{} elements cannot be arranged in it", x.numel());
            return Err(Error::shapes("reshape", x.shape(), &self.shape, problem));
        }
        Ok(match x.reshaped_strides(&self.shape) {
            Some(strides) => x.view(self.shape.clone(), strides, x.offset()),
            None => x.copy()?.view(self.shape.clone(), self.shape.row_major(), 0),
        })
    }

    fn transpose(&self, grad: &Tensor, shape: &Shape) -> Result<Tensor> {
        reshape(grad, shape.clone())
    }

    fn batch(&self, x: &Tensor, size: usize) -> Result<Tensor> {
        reshape(x, self.shape.inserted(0, size))
    }

    fn attributes(&self) -> String {
        format!("shape={}", self.shape)
    }
}

pub(crate) fn reshape(x: &Tensor, shape: Shape) -> Result<Tensor> {
    if x.shape() == &shape {
        return Ok(x.clone());
    }
    linear_map(Reshape { shape }, x)
}

/// Puts an axis of size 1 at a position; -1 is after the last axis.
pub(crate) fn unsqueeze(x: &Tensor, axis: isize) -> Result<Tensor> {
    let rank = x.rank() as isize;
    let position = if axis < 0 { axis + rank + 1 } else { axis };
    if !(0..=rank).contains(&position) {
        return Err(Error::axis("unsqueeze", axis, x.shape()));
    }
    reshape(x, x.shape().inserted(position as usize, 1))
}

/// Removes an axis of size 1.
pub(crate) fn squeeze(x: &Tensor, axis: isize) -> Result<Tensor> {
    let position = x.rank() - axis_from_end("squeeze", x, axis)?;
    if x.dims()[position] != 1 {
        return Err(Error::shape("squeeze", x.shape(), format!("axis {axis} has not size 1")));
    }
    reshape(x, x.shape().without(position))
}

/// Merges all axes from `start` on into one.
pub(crate) fn flatten(x: &Tensor, start: usize) -> Result<Tensor> {
    if start >= x.rank().max(1) {
        return Err(Error::axis("flatten", start as isize, x.shape()));
    }
    let merged = x.dims()[start.min(x.rank())..].iter().product();
    reshape(x, Shape::new(&x.dims()[..start]).joined(&[merged]))
}
