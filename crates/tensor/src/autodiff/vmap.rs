//! Vectorisation over an axis: a function of one sample becomes one of a whole batch, in one sweep of tensor operations.
//!
//! Jacobians and Hessians are `vmap` over basis directions, per-sample gradients `vmap` over `grad`.

use smallvec::SmallVec;

use super::apply::{apply_dyn, refs};
use super::{Kind, Level, Tree, new_level};
use crate::error::OrPanic;
use crate::ops::{self, Op};
use crate::{Error, Result, Tensor};

/// Maps `f` over the first axis of every tensor of the argument; results are stacked along a new first axis.
///
/// ```
/// use tove_tensor::{Tensor, vmap};
/// let rows = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// let lengths = vmap(|row: &Tensor| (row * row).sum())(&rows);
/// assert_eq!(lengths.to_vec::<f64>(), [5.0, 25.0]);
/// ```
pub fn vmap<P: Tree, Q: Tree>(f: impl Fn(&P) -> Q) -> impl Fn(&P) -> Q {
    move |argument| {
        let size = common_size(&argument.leaves()).or_panic();
        let level = new_level();
        let result = f(&argument.map(|x| batched(&x, level)));
        result.map(|y| physical(&y, level, size).or_panic())
    }
}

fn common_size(leaves: &[Tensor]) -> Result<usize> {
    let mut size = None;
    for leaf in leaves {
        let Some(&own) = leaf.dims().first() else {
            return Err(Error::shape("vmap", leaf.shape(), "has no axis to map over"));
        };
        if *size.get_or_insert(own) != own {
            return Err(Error::shapes("vmap", leaves[0].shape(), leaf.shape(), "first axes differ"));
        }
    }
    size.ok_or_else(|| Error::parameter("vmap", "argument", "has no tensors"))
}

/// A tensor whose first axis becomes the batch axis of `level`.
pub(crate) fn batched(x: &Tensor, level: Level) -> Tensor {
    let (size, stride) = (x.dims()[0], x.strides()[0]);
    x.without_leading_axis().with_track(x.track().cloned()).marked(level, Kind::Batched { size, stride })
}

/// The tensor with its batch axis in front; one that did not depend on the batch is repeated.
pub(crate) fn physical(y: &Tensor, level: Level, size: usize) -> Result<Tensor> {
    match y.track_at(level) {
        Some(_) => Ok(y.lower()),
        None => ops::shape::broadcast_to(y, y.shape().inserted(0, size)),
    }
}

/// Applies an operation whose highest level is a `vmap`.
pub(crate) fn apply_batched(op: &dyn Op, inputs: &[&Tensor], level: Level, size: usize) -> Result<Tensor> {
    let flags: SmallVec<[bool; 3]> = inputs.iter().map(|x| x.track_at(level).is_some()).collect();
    let lowered: SmallVec<[Tensor; 3]> = inputs.iter().map(|x| x.below(level)).collect();
    if let Some(output) = op.batch(&refs(&lowered), &flags, size)? {
        return Ok(batched(&output, level));
    }
    if let Some(output) = op.definition(inputs) {
        return output;
    }
    if size == 0 {
        return no_slices(op, &lowered, &flags).map(|output| batched(&output, level));
    }
    let mut slices = Vec::with_capacity(size);
    for i in 0..size {
        let slice = |(x, &flag): (&Tensor, &bool)| if flag { ops::shape::select(x, 0, i) } else { Ok(x.clone()) };
        let inputs: Vec<Tensor> = lowered.iter().zip(&flags).map(slice).collect::<Result<_>>()?;
        slices.push(apply_dyn(op, &refs(&inputs))?);
    }
    let stacked = ops::shape::stack(&slices.iter().collect::<Vec<_>>(), 0)?;
    Ok(batched(&stacked, level))
}

/// The result over a batch without slices: its shape and type are those of the operation on zeros.
fn no_slices(op: &dyn Op, lowered: &[Tensor], flags: &[bool]) -> Result<Tensor> {
    let slice = |(x, &flag): (&Tensor, &bool)| match flag {
        true => Tensor::try_zeros(x.shape().without(0), x.dtype()),
        false => Ok(x.clone()),
    };
    let inputs: Vec<Tensor> = lowered.iter().zip(flags).map(slice).collect::<Result<_>>()?;
    let output = apply_dyn(op, &refs(&inputs))?;
    Tensor::try_zeros(output.shape().inserted(0, 0), output.dtype())
}
