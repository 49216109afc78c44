//! Operations whose result at a position depends on the inputs at that position only.
//!
//! Their Jacobian is diagonal, hence its own transpose: one rule, "multiply by the partial derivative", serves the
//! tangent and the adjoint.

use smallvec::smallvec;

use super::{Op, align_batched, sum_terms};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::{Result, Tensor};

/// A function applied position by position, with broadcasting.
pub(crate) trait Pointwise: Clone + Send + Sync + 'static {
    fn name(&self) -> &'static str;
    /// The value on plain data.
    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor>;
    /// What [`Pointwise::times_partial`] needs.
    fn saves(&self, needs: &[bool]) -> Saves;
    /// `t` times the partial derivative by input `index`; `None` where that is zero.
    fn times_partial(&self, at: &Point<'_>, index: usize, t: &Tensor) -> Result<Option<Tensor>>;
    /// Attributes for traces.
    fn attributes(&self) -> String {
        String::new()
    }
}

/// A [`Pointwise`] function as an operation.
#[derive(Clone)]
pub(crate) struct Elementwise<F>(pub(crate) F);

impl<F: Pointwise> Op for Elementwise<F> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    #[inline]
    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        self.0.forward(inputs)
    }

    fn saves(&self, needs: &[bool]) -> Saves {
        self.0.saves(needs)
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let terms = tangents.iter().enumerate().filter_map(|(i, t)| t.map(|t| self.0.times_partial(at, i, t)));
        sum_terms(terms)
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let mut grads: Grads = smallvec![None; needs.len()];
        for (index, slot) in grads.iter_mut().enumerate() {
            if needs[index] {
                *slot = self.0.times_partial(at, index, grad)?;
            }
        }
        Ok(grads)
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        let aligned = align_batched(inputs, batched)?;
        let inputs: smallvec::SmallVec<[&Tensor; 3]> = aligned.iter().collect();
        apply(self.clone(), &inputs).map(Some)
    }

    fn attributes(&self) -> String {
        self.0.attributes()
    }
}
