//! Linear maps of one tensor. The tangent is the map itself, the adjoint its transpose, and nothing is kept. The set is
//! closed under transposition: sum and broadcast, slice and its scatter, permutation, reshape.

use super::{Op, one};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::{Result, Shape, Tensor};

/// A linear map with its transpose.
pub(crate) trait LinearMap: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    /// The value on plain data.
    fn forward(&self, x: &Tensor) -> Result<Tensor>;
    /// The transposed map, applied to a derivative of the result; `shape` is that of the input.
    fn transpose(&self, grad: &Tensor, shape: &Shape) -> Result<Tensor>;
    /// The map on a tensor with one more axis of length `size` in front. By default the same map, which is right when
    /// its attributes count axes from the end.
    fn batch(&self, x: &Tensor, _size: usize) -> Result<Tensor> {
        apply(Mapped(self.clone()), &[x])
    }
    fn flops(&self, _x: &Tensor) -> u64 {
        0
    }
    fn attributes(&self) -> String {
        String::new()
    }
}

/// A [`LinearMap`] as an operation.
#[derive(Clone)]
pub(crate) struct Mapped<F>(pub(crate) F);

/// Applies a linear map.
#[inline]
pub(crate) fn linear_map<F: LinearMap>(f: F, x: &Tensor) -> Result<Tensor> {
    apply(Mapped(f), &[x])
}

impl<F: LinearMap> Op for Mapped<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    #[inline]
    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        self.0.forward(inputs[0])
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::nothing()
    }

    fn jvp(&self, _at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        tangents[0].map(|t| linear_map(self.0.clone(), t)).transpose()
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        one(self.0.transpose(grad, at.shape(0))?)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], size: usize) -> Result<Option<Tensor>> {
        self.0.batch(inputs[0], size).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], _output: &Tensor) -> u64 {
        self.0.flops(inputs[0])
    }

    fn attributes(&self) -> String {
        self.0.attributes()
    }
}
