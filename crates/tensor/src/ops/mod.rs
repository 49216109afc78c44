//! Operations: one file each, holding the value, the tangent rule (jvp), the adjoint rule (vjp) and the docs.
//!
//! Rules are written in tensor operations, so that derivatives of derivatives come free. No rule sums over broadcast
//! axes: the engine does. Adding an operation is its file plus two registrations, its `mod` line and its line in
//! [`list`].

pub(crate) mod arith;
pub(crate) mod binary;
pub(crate) mod composed;
pub(crate) mod constant;
pub(crate) mod conv;
pub(crate) mod fused;
pub(crate) mod index;
pub(crate) mod indexed;
pub(crate) mod linear_map;
pub(crate) mod list;
pub(crate) mod matmul;
mod operators;
pub(crate) mod pointwise;
pub(crate) mod reduce;
pub(crate) mod shape;
pub(crate) mod unary;

use smallvec::SmallVec;

use crate::autodiff::{Grads, Point, Saves};
use crate::{Error, Result, Tensor};

pub use composed::Reduction;
pub use conv::{ConvMode, ConvOptions, Interpolation, PoolOptions};
pub use fused::{Activation, BatchStatistics, CrossEntropy};
pub use index::{Ellipsis, Index, IntoIndices, NewAxis, Steppable, Unique, stepped};

/// By-products of a forward kernel that its backward kernel can use.
pub(crate) type Aux = SmallVec<[Tensor; 2]>;

/// A differentiable operation.
pub(crate) trait Op: OpClone + Send + Sync + 'static {
    /// The name in messages, traces and the meter.
    fn name(&self) -> &'static str;

    /// The value; reads data only and ignores tracking.
    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor>;

    /// The value, with by-products worth keeping for [`Op::vjp`].
    fn forward_aux(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        Ok((self.forward(inputs)?, Aux::new()))
    }

    /// Whether there are rules at all; without them, an application to a tracked tensor is an error.
    fn is_differentiable(&self) -> bool {
        true
    }

    /// What the rules need, given which inputs derivatives are asked of.
    fn saves(&self, needs: &[bool]) -> Saves;

    /// The derivative in the direction of the tangents (`None` stands for zero). A result smaller than the output is
    /// stretched by the engine.
    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>>;

    /// The gradients for the inputs in `needs`, given that of the output. A result larger than the input is summed by
    /// the engine.
    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads>;

    /// The operation on physical tensors, which carry a further axis of length `size` in front where `batched` says so.
    /// `None` leaves it to [`Op::definition`] or to a loop over slices.
    fn batch(&self, _inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        Ok(None)
    }

    /// The same function composed of other operations, for fused ones.
    fn definition(&self, _inputs: &[&Tensor]) -> Option<Result<Tensor>> {
        None
    }

    /// Floating-point operations of one application.
    fn flops(&self, _inputs: &[&Tensor], output: &Tensor) -> u64 {
        output.numel() as u64
    }

    /// Attributes for traces, such as `axis=-1`.
    fn attributes(&self) -> String {
        String::new()
    }
}

/// Lets nodes of several levels hold the same operation.
pub(crate) trait OpClone {
    fn boxed(&self) -> Box<dyn Op>;
}

impl<T: Op + Clone> OpClone for T {
    fn boxed(&self) -> Box<dyn Op> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Op> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

/// A single gradient, for operations of one input.
pub(crate) fn one(grad: Tensor) -> Result<Grads> {
    Ok(smallvec::smallvec![Some(grad)])
}

/// The sum of the terms that are not zero.
pub(crate) fn sum_terms(terms: impl IntoIterator<Item = Result<Option<Tensor>>>) -> Result<Option<Tensor>> {
    let mut total: Option<Tensor> = None;
    for term in terms {
        total = match (total, term?) {
            (Some(total), Some(term)) => Some(binary::add(&total, &term)?),
            (total, term) => total.or(term),
        };
    }
    Ok(total)
}

/// An axis counted from the front or (negative) from the end, as its distance from the end: 1 is the last axis.
/// Attributes are kept this way, so that a further axis in front leaves them right.
pub(crate) fn axis_from_end(op: &'static str, x: &Tensor, axis: isize) -> Result<usize> {
    let rank = x.rank() as isize;
    if axis >= -rank && axis < rank {
        Ok(if axis < 0 { -axis } else { rank - axis } as usize)
    } else {
        Err(Error::axis(op, axis, x.shape()))
    }
}

/// Puts axes of size 1 behind the batch axis, so that tensors of lower logical rank align with those of higher.
pub(crate) fn align_batched(inputs: &[&Tensor], batched: &[bool]) -> Result<SmallVec<[Tensor; 3]>> {
    align_leading(inputs, batched, |_| 0)
}

/// As [`align_batched`] for inputs that end in items of different rank, such as a vector beside a matrix: input `i` has
/// `item_rank(i)` axes of its own at the end, and only the axes in front of them are aligned.
pub(crate) fn align_leading(
    inputs: &[&Tensor],
    batched: &[bool],
    item_rank: impl Fn(usize) -> usize,
) -> Result<SmallVec<[Tensor; 3]>> {
    let leading = |i: usize| (inputs[i].rank() - usize::from(batched[i])).saturating_sub(item_rank(i));
    let rank = (0..inputs.len()).map(leading).max().unwrap_or(0);
    let mut aligned = SmallVec::new();
    for (i, (x, &is_batched)) in inputs.iter().zip(batched).enumerate() {
        let missing = rank - leading(i);
        if is_batched && missing > 0 {
            let shape = std::iter::once(x.dims()[0])
                .chain(std::iter::repeat_n(1, missing))
                .chain(x.dims()[1..].iter().copied())
                .collect();
            aligned.push(shape::reshape(x, shape)?);
        } else {
            aligned.push((*x).clone());
        }
    }
    Ok(aligned)
}
