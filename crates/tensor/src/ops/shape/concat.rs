//! Tensors one after the other along an axis. The adjoint cuts the derivative into the same pieces.

use smallvec::smallvec;

use super::{broadcast_to, narrow, reshape};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_any;
use crate::kernels::elementwise;
use crate::ops::{Op, align_batched, axis_from_end};
use crate::{Error, Result, Tensor};

/// Joins along an axis counted from the end (1 is the last).
#[derive(Clone)]
struct Concat {
    axis: usize,
}

impl Op for Concat {
    fn name(&self) -> &'static str {
        "concat"
    }

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let first = inputs[0];
        let axis = first.rank() - self.axis;
        let mut total = 0usize;
        for x in inputs {
            if x.dtype() != first.dtype() {
                return Err(Error::DTypePair { op: "concat", left: first.dtype(), right: x.dtype() });
            }
            if x.rank() != first.rank() || x.shape().without(axis) != first.shape().without(axis) {
                let problem = format!("all sizes but that of axis {axis} must agree");
                return Err(Error::shapes("concat", first.shape(), x.shape(), problem));
            }
            total = total.saturating_add(x.dims()[axis]);
        }
        let mut out = crate::tensor::Fresh::new(first.shape().with(axis, total), first.dtype())?;
        let strides = out.shape().row_major();
        let mut position = 0;
        for x in inputs {
            match_any!(first.dtype(), T => {
                // SAFETY: the piece lies inside `out`, at its own place along the axis.
                unsafe {
                    let start = out.pointer::<T>().offset(position as isize * strides[axis]);
                    elementwise::copy_into::<T>(x, start, &strides);
                }
            });
            position += x.dims()[axis];
        }
        Ok(out.finish())
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::nothing()
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let Some(dtype) = tangents.iter().flatten().next().map(|t| t.dtype()) else { return Ok(None) };
        let pieces: Vec<Tensor> = tangents
            .iter()
            .enumerate()
            .map(|(i, t)| t.cloned().unwrap_or_else(|| Tensor::zeros(at.shape(i).clone(), dtype)))
            .collect();
        concat(&pieces.iter().collect::<Vec<_>>(), -(self.axis as isize)).map(Some)
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let mut grads: Grads = smallvec![None; needs.len()];
        let mut position = 0;
        for (index, slot) in grads.iter_mut().enumerate() {
            let shape = at.shape(index);
            let len = shape[shape.rank() - self.axis];
            if needs[index] {
                *slot = Some(narrow(grad, -(self.axis as isize), position, len)?);
            }
            position += len;
        }
        Ok(grads)
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], size: usize) -> Result<Option<Tensor>> {
        let aligned = align_batched(inputs, batched)?;
        let stretched: Vec<Tensor> = aligned
            .iter()
            .zip(batched)
            .map(|(x, &b)| if b { Ok(x.clone()) } else { broadcast_to(x, x.shape().inserted(0, size)) })
            .collect::<Result<_>>()?;
        apply(self.clone(), &stretched.iter().collect::<Vec<_>>()).map(Some)
    }

    fn attributes(&self) -> String {
        format!("axis=-{}", self.axis)
    }
}

/// Joins tensors along an existing axis.
pub(crate) fn concat(tensors: &[&Tensor], axis: isize) -> Result<Tensor> {
    let Some(first) = tensors.first() else {
        return Err(Error::parameter("concat", "tensors", "must not be empty"));
    };
    apply(Concat { axis: axis_from_end("concat", first, axis)? }, tensors)
}

/// Joins tensors of one shape along a new axis.
pub(crate) fn stack(tensors: &[&Tensor], axis: isize) -> Result<Tensor> {
    let Some(first) = tensors.first() else {
        return Err(Error::parameter("stack", "tensors", "must not be empty"));
    };
    let rank = first.rank() as isize;
    let position = if axis < 0 { axis + rank + 1 } else { axis };
    if !(0..=rank).contains(&position) {
        return Err(Error::axis("stack", axis, first.shape()));
    }
    let raised: Vec<Tensor> = tensors
        .iter()
        .map(|x| reshape(x, x.shape().inserted((position as usize).min(x.rank()), 1)))
        .collect::<Result<_>>()?;
    concat(&raised.iter().collect::<Vec<_>>(), position)
}
