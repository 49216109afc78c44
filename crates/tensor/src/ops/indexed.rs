//! Maps that are linear in their first input and told by their second, whole numbers, where to read or to write.
//!
//! The tangent is the map itself at the same places, the adjoint its transpose there; the places are kept, and have no
//! derivative. Reading (`gather`, rows, the largest pixels of windows) and adding up at places are each other's
//! transposes, so the set is closed under differentiation.

use smallvec::smallvec;

use super::{Op, shape};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::{Result, Shape, Tensor};

/// A map steered by places, with its transpose.
pub(crate) trait Indexed: Copy + Send + Sync + 'static {
    const NAME: &'static str;
    /// The transposed map.
    type Transpose: Indexed;
    /// The value on plain data, of which both are row-major.
    fn forward(&self, x: &Tensor, places: &Tensor) -> Result<Tensor>;
    /// The transposed map; `shape` is that of the first input.
    fn transpose(&self, shape: &Shape) -> Self::Transpose;
    /// The map on physical tensors, which carry a further axis of length `size` in front where `batched` says so. By
    /// default the same map on both with that axis, which is right when attributes count axes from the end and leading
    /// axes are common.
    fn batch(&self, x: &Tensor, places: &Tensor, batched: &[bool], size: usize) -> Result<Tensor> {
        indexed(*self, &stretched(x, batched[0], size)?, &stretched(places, batched[1], size)?)
    }
    fn flops(&self, _x: &Tensor, _output: &Tensor) -> u64 {
        0
    }
    fn attributes(&self) -> String {
        String::new()
    }
}

/// A physical tensor with the batch axis in front, repeated along it if it does not depend on the batch.
pub(crate) fn stretched(x: &Tensor, is_batched: bool, size: usize) -> Result<Tensor> {
    if is_batched { Ok(x.clone()) } else { shape::broadcast_to(x, x.shape().inserted(0, size)) }
}

/// An [`Indexed`] map as an operation.
#[derive(Clone, Copy)]
struct AtPlaces<F>(F);

/// Applies a map at places.
#[inline]
pub(crate) fn indexed<F: Indexed>(f: F, x: &Tensor, places: &Tensor) -> Result<Tensor> {
    apply(AtPlaces(f), &[x, places])
}

impl<F: Indexed> Op for AtPlaces<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (x, places) = (inputs[0].contiguous_data()?, inputs[1].contiguous_data()?);
        self.0.forward(&x, &places)
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::nothing().input(1)
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        tangents[0].map(|t| indexed(self.0, t, at.input(1))).transpose()
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let pulled = || indexed(self.0.transpose(at.shape(0)), grad, at.input(1));
        let grad = if needs[0] { Some(pulled()?) } else { None };
        Ok(smallvec![grad, None])
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], size: usize) -> Result<Option<Tensor>> {
        self.0.batch(inputs[0], inputs[1], batched, size).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], output: &Tensor) -> u64 {
        self.0.flops(inputs[0], output)
    }

    fn attributes(&self) -> String {
        self.0.attributes()
    }
}
