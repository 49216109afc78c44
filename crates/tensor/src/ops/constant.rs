//! Operations without a derivative: comparisons, indices, rounding to whole numbers. Their results are constants to every
//! derivative, and they keep nothing.

use smallvec::smallvec;

use super::{Op, align_leading};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::{Result, Tensor};

/// A function whose result carries no derivative.
pub(crate) trait Constant: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    /// Whether a further axis in front of all inputs gives a further axis in front of the result.
    const LEADING_AXES_FREE: bool = true;
    /// How many axes at the end of input `index` belong to one item, where inputs have items of different rank. Axes in
    /// front of the items broadcast.
    fn item_rank(_index: usize) -> usize {
        0
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor>;
    fn attributes(&self) -> String {
        String::new()
    }
}

/// A [`Constant`] function as an operation.
#[derive(Clone)]
pub(crate) struct ConstantOp<F>(F);

pub(crate) fn constant_op<F: Constant>(f: F) -> ConstantOp<F> {
    ConstantOp(f)
}

impl<F: Constant> Op for ConstantOp<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        self.0.forward(inputs)
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::nothing()
    }

    fn jvp(&self, _at: &Point<'_>, _tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        Ok(None)
    }

    fn vjp(&self, _at: &Point<'_>, _grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        Ok(smallvec![None; needs.len()])
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        if !F::LEADING_AXES_FREE {
            return Ok(None);
        }
        let aligned = align_leading(inputs, batched, F::item_rank)?;
        let inputs: smallvec::SmallVec<[&Tensor; 3]> = aligned.iter().collect();
        apply(self.clone(), &inputs).map(Some)
    }

    fn attributes(&self) -> String {
        self.0.attributes()
    }
}
