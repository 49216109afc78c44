//! The most frequent element along an axis: the axis is sorted, and the longest run of equal elements wins, the first of
//! equally long ones, which holds the smallest value.
//!
//! The value is read where it occurs last, which therefore takes the derivative. All NaN are one value, after every number.

use super::sort::{SortKey, argsort, at_places};
use crate::autodiff::apply;
use crate::dtype::match_any;
use crate::kernels::elementwise::GRAIN;
use crate::kernels::index::for_pieces;
use crate::ops::constant::{Constant, constant_op};
use crate::ops::{axis_from_end, shape};
use crate::tensor::Fresh;
use crate::{DType, Error, Result, Tensor};

/// Where the most frequent element lies along an axis counted from the end, which stays with size 1.
#[derive(Clone, Copy)]
struct MostFrequent {
    axis: usize,
}

impl Constant for MostFrequent {
    const NAME: &'static str = "mode";

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        // With the axis last, every lane lies in one piece.
        let last = shape::swap_axes(&inputs[0].untracked(), -(self.axis as isize), -1)?;
        let (x, order) = (last.contiguous_data()?, argsort(&last, -1, false)?);
        let order = order.contiguous_data()?;
        let length = x.dims()[x.rank() - 1];
        let mut out = Fresh::new(x.shape().with(x.rank() - 1, 1), DType::I64)?;
        if length == 0 && out.shape().numel() > 0 {
            return Err(Error::shape("mode", inputs[0].shape(), "has no elements to choose from"));
        }
        match_any!(x.dtype(), T => {
            let (x, order) = (x.contiguous_slice::<T>(), order.contiguous_slice::<i64>());
            let lanes = GRAIN.div_ceil(length.max(1));
            for_pieces(out.slice::<i64>(), lanes, |task, piece| {
                for (lane, slot) in piece.iter_mut().enumerate() {
                    let range = (task * lanes + lane) * length..(task * lanes + lane + 1) * length;
                    *slot = end_of_longest_run(&x[range.clone()], &order[range]);
                }
            });
        });
        shape::swap_axes(&out.finish(), -(self.axis as isize), -1)
    }

    fn attributes(&self) -> String {
        format!("axis=-{}", self.axis)
    }
}

/// The place of the last element of the longest run of equal ones; equal elements are in the order of their places.
fn end_of_longest_run<T: SortKey>(x: &[T], order: &[i64]) -> i64 {
    let key = |place: i64| x[place as usize].pack(0, false);
    let longest = order.chunk_by(|&a, &b| key(a) == key(b)).fold(&order[..0], |best, run| {
        // Only a longer one, so that the first stays.
        if run.len() > best.len() { run } else { best }
    });
    longest.last().copied().unwrap_or(0)
}

/// The most frequent element along an axis, the smallest among equally frequent ones, and where it occurs last.
pub(crate) fn mode(x: &Tensor, axis: isize, keep: bool) -> Result<(Tensor, Tensor)> {
    let places = apply(constant_op(MostFrequent { axis: axis_from_end("mode", x, axis)? }), &[x])?;
    at_places(x, axis, &places, keep)
}
