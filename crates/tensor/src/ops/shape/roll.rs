//! An axis turned round: what falls off at the end comes back at the start. The transpose turns the other way.

use super::place::{Region, place};
use crate::ops::axis_from_end;
use crate::ops::linear_map::{LinearMap, linear_map};
use crate::tensor::Fresh;
use crate::{Result, Shape, Tensor};

/// The axis is counted from the end (1 is the last).
#[derive(Clone, Copy)]
struct Roll {
    axis: usize,
    shift: isize,
}

impl LinearMap for Roll {
    const NAME: &'static str = "roll";

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let axis = x.rank() - self.axis;
        let size = x.dims()[axis];
        let mut out = Fresh::new(x.shape().clone(), x.dtype())?;
        if x.numel() > 0 {
            let shift = self.shift.rem_euclid(size as isize) as usize;
            let whole = Region::whole(x.shape());
            let (kept, wrapped) = (size - shift, shift);
            place(x, &whole.narrowed(axis, 0, kept), &mut out, &whole.narrowed(axis, shift, kept));
            place(x, &whole.narrowed(axis, kept, wrapped), &mut out, &whole.narrowed(axis, 0, wrapped));
        }
        Ok(out.finish())
    }

    fn transpose(&self, grad: &Tensor, _shape: &Shape) -> Result<Tensor> {
        linear_map(Roll { axis: self.axis, shift: -self.shift }, grad)
    }

    fn attributes(&self) -> String {
        format!("axis=-{}, shift={}", self.axis, self.shift)
    }
}

/// Elements moved by `shift` places along an axis, cyclically.
pub(crate) fn roll(x: &Tensor, shift: isize, axis: isize) -> Result<Tensor> {
    let from_end = axis_from_end("roll", x, axis)?;
    // The one shift without an opposite, which the transpose needs.
    let size = x.dims()[x.rank() - from_end].max(1) as isize;
    let shift = if shift == isize::MIN { shift % size } else { shift };
    linear_map(Roll { axis: from_end, shift }, x)
}
