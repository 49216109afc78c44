//! Repetition, as stretching along new axes that are then merged. The gradient sums over the copies.

use super::{broadcast_to, reshape};
use crate::ops::axis_from_end;
use crate::{Error, Result, Shape, Tensor};

/// The whole tensor repeated along each axis; missing axes in front are added, as in numpy.
pub(crate) fn tile(x: &Tensor, times: &[usize]) -> Result<Tensor> {
    let rank = x.rank().max(times.len());
    let size = |axis: usize| x.shape().size_from_end(rank - 1 - axis);
    let count = |axis: usize| (axis + times.len()).checked_sub(rank).map_or(1, |own| times[own]);
    let apart: Shape = (0..rank).flat_map(|axis| [1, size(axis)]).collect();
    let stretched: Shape = (0..rank).flat_map(|axis| [count(axis), size(axis)]).collect();
    if stretched.checked_numel().is_none() {
        return Err(Error::shape("tile", x.shape(), format!("{times:?} copies are too many to address")));
    }
    let merged: Shape = (0..rank).map(|axis| count(axis).saturating_mul(size(axis))).collect();
    reshape(&broadcast_to(&reshape(x, apart)?, stretched)?, merged)
}

/// Each position of an axis repeated in place; `repeat` in numpy.
pub(crate) fn repeat_interleave(x: &Tensor, repeats: usize, axis: isize) -> Result<Tensor> {
    let position = x.rank() - axis_from_end("repeat_interleave", x, axis)?;
    let size = x.dims()[position];
    let stretched = x.shape().inserted(position + 1, repeats);
    if stretched.checked_numel().is_none() {
        return Err(Error::shape("repeat_interleave", x.shape(), format!("{repeats} copies are too many to address")));
    }
    let apart = reshape(x, x.shape().inserted(position + 1, 1))?;
    reshape(&broadcast_to(&apart, stretched)?, x.shape().with(position, size.saturating_mul(repeats)))
}
