//! Axes read backwards; a view. Its own transpose.

use crate::ops::linear_map::{LinearMap, linear_map};
use crate::ops::reduce::{Axes, axes_from_end};
use crate::shape::Strides;
use crate::{Result, Shape, Tensor};

#[derive(Clone)]
struct Flip {
    axes: Axes,
}

impl LinearMap for Flip {
    const NAME: &'static str = "flip";

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let mut strides: Strides = x.strides().iter().copied().collect();
        let mut offset = x.offset() as isize;
        for &from_end in &self.axes {
            let axis = x.rank() - from_end;
            // An empty tensor keeps its offset, which would otherwise leave the buffer.
            if x.numel() > 0 {
                offset += (x.dims()[axis] as isize - 1) * strides[axis];
            }
            strides.as_mut()[axis] = -strides[axis];
        }
        Ok(x.view(x.shape().clone(), strides, offset as usize))
    }

    fn transpose(&self, grad: &Tensor, _shape: &Shape) -> Result<Tensor> {
        linear_map(self.clone(), grad)
    }

    fn attributes(&self) -> String {
        let axes: Vec<isize> = self.axes.iter().map(|&axis| -(axis as isize)).collect();
        format!("axes={axes:?}")
    }
}

/// The axes given in reverse order.
pub(crate) fn flip(x: &Tensor, axes: &[isize]) -> Result<Tensor> {
    linear_map(Flip { axes: axes_from_end("flip", x, axes)? }, x)
}
