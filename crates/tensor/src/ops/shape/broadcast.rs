//! Stretching to a larger shape by numpy's rule; a view with steps of zero. Its transpose sums.

use crate::ops::linear_map::{LinearMap, linear_map};
use crate::ops::{align_batched, reduce};
use crate::tensor::checked_numel;
use crate::{Error, Result, Shape, Tensor};

#[derive(Clone)]
struct Broadcast {
    shape: Shape,
}

impl LinearMap for Broadcast {
    const NAME: &'static str = "broadcast_to";

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        if x.shape().broadcast(&self.shape).as_ref() != Some(&self.shape) {
            let problem = "only axes of size 1 or missing ones in front can be stretched";
            return Err(Error::shapes("broadcast_to", x.shape(), &self.shape, problem));
        }
        // A stretched axis takes no memory, but positions must be countable all the same.
        checked_numel("broadcast_to", &self.shape)?;
        Ok(x.view(self.shape.clone(), x.broadcast_strides(&self.shape), x.offset()))
    }

    fn transpose(&self, grad: &Tensor, shape: &Shape) -> Result<Tensor> {
        reduce::sum_to(grad.clone(), shape)
    }

    fn batch(&self, x: &Tensor, size: usize) -> Result<Tensor> {
        let template = Tensor::full(Shape::from(vec![1; self.shape.rank()]), 0.0, x.dtype());
        let aligned = align_batched(&[x, &template], &[true, false])?;
        broadcast_to(&aligned[0], self.shape.inserted(0, size))
    }

    fn attributes(&self) -> String {
        format!("shape={}", self.shape)
    }
}

pub(crate) fn broadcast_to(x: &Tensor, shape: Shape) -> Result<Tensor> {
    if x.shape() == &shape {
        return Ok(x.clone());
    }
    linear_map(Broadcast { shape }, x)
}

/// As [`broadcast_to`], for the engine.
pub(crate) fn expand(x: &Tensor, shape: &Shape) -> Result<Tensor> {
    if x.shape() == shape { Ok(x.clone()) } else { broadcast_to(x, shape.clone()) }
}
