//! Running extremes along an axis, with where they lie: element k becomes the largest (smallest) of elements 0 … k.
//!
//! The positions are found first and carry no derivative; the values are read there, which makes the derivative flow to the
//! element named. Of equal elements the latest is named and a NaN wins, both as in PyTorch.

use crate::autodiff::apply;
use crate::dtype::match_number;
use crate::kernels::elementwise::GRAIN;
use crate::kernels::index::for_pieces;
use crate::ops::constant::{Constant, constant_op};
use crate::ops::{axis_from_end, index, shape};
use crate::tensor::Fresh;
use crate::{DType, Result, Tensor};

/// Positions of the running extremes along an axis counted from the end.
#[derive(Clone, Copy)]
struct Running<const LARGEST: bool> {
    axis: usize,
}

impl<const LARGEST: bool> Constant for Running<LARGEST> {
    const NAME: &'static str = if LARGEST { "cummax" } else { "cummin" };

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        // With the axis last, every lane lies in one piece.
        let last = shape::swap_axes(&inputs[0].untracked(), -(self.axis as isize), -1)?;
        let x = last.contiguous_data()?;
        let length = x.dims()[x.rank() - 1];
        let mut out = Fresh::new(x.shape().clone(), DType::I64)?;
        match_number!(Self::NAME, x.dtype(), T => {
            let x = x.contiguous_slice::<T>();
            let piece_length = GRAIN.div_ceil(length.max(1)) * length;
            for_pieces(out.slice::<i64>(), piece_length, |task, piece| {
                let lanes = x[task * piece_length..][..piece.len()].chunks_exact(length);
                lanes.zip(piece.chunks_exact_mut(length)).for_each(|(lane, places)| positions::<T, LARGEST>(lane, places));
            });
        });
        shape::swap_axes(&out.finish(), -(self.axis as isize), -1)
    }

    fn attributes(&self) -> String {
        format!("axis=-{}", self.axis)
    }
}

/// For each element of a lane, where the best up to it lies.
fn positions<T: PartialOrd + Copy, const LARGEST: bool>(lane: &[T], places: &mut [i64]) {
    let is_nan = |value: T| value.partial_cmp(&value).is_none();
    let mut best = 0;
    for (k, place) in places.iter_mut().enumerate() {
        let reaches = if LARGEST { lane[k] >= lane[best] } else { lane[k] <= lane[best] };
        if reaches || is_nan(lane[k]) {
            best = k;
        }
        *place = best as i64;
    }
}

fn running<const LARGEST: bool>(x: &Tensor, axis: isize) -> Result<(Tensor, Tensor)> {
    let op = Running::<LARGEST> { axis: axis_from_end(Running::<LARGEST>::NAME, x, axis)? };
    let places = apply(constant_op(op), &[x])?;
    Ok((index::gather(x, axis, &places)?, places))
}

/// The largest element up to each one of an axis, and where it lies.
pub(crate) fn cummax(x: &Tensor, axis: isize) -> Result<(Tensor, Tensor)> {
    running::<true>(x, axis)
}

/// The smallest element up to each one of an axis, and where it lies.
pub(crate) fn cummin(x: &Tensor, axis: isize) -> Result<(Tensor, Tensor)> {
    running::<false>(x, axis)
}
