//! Order along an axis: stable, with NaN after every number.
//!
//! Every element becomes a whole number whose order is that of the elements, with the position in the lower bits. These
//! keys are all different, so a sort that is free to be unstable gives the one stable order, and the selection of the
//! `k` best needs no more than a partition. Values are read back through `gather`, which makes them differentiable.

use super::gather::gather;
use crate::autodiff::apply;
use crate::dtype::match_any;
use crate::kernels::elementwise::GRAIN;
use crate::kernels::index::for_pieces;
use crate::ops::constant::{Constant, constant_op};
use crate::ops::{axis_from_end, shape};
use crate::tensor::Fresh;
use crate::{DType, Error, Result, Tensor};

/// An element type with its order as whole numbers.
pub(super) trait SortKey: Copy + Sync {
    /// Holds the order in its upper and the position in its lower 32 bits.
    type Packed: Ord + Copy;
    fn pack(self, position: usize, descending: bool) -> Self::Packed;
    fn position(packed: Self::Packed) -> i64;
}

macro_rules! sort_key {
    ($($t:ident as $key:ident in $packed:ident: |$x:ident| $order:expr;)*) => {$(
        impl SortKey for $t {
            type Packed = $packed;
            #[inline(always)]
            fn pack(self, position: usize, descending: bool) -> $packed {
                let $x = self;
                let order: $key = $order;
                let order = if descending { !order } else { order };
                $packed::from(order) << 32 | position as $packed
            }
            #[inline(always)]
            fn position(packed: $packed) -> i64 {
                i64::from(packed as u32)
            }
        }
    )*};
}
/// Bits of a float whose unsigned order is numpy's: both zeros are equal, and so are all NaN, which come last.
macro_rules! float_order {
    ($x:ident, $float:ident, $bits:ident, $sign:literal) => {{
        if $x.is_nan() {
            $bits::MAX
        } else {
            let bits = ($x + 0.0).to_bits();
            if bits >> $sign == 0 { bits | 1 << $sign } else { !bits }
        }
    }};
}

sort_key! {
    f32 as u32 in u64: |x| float_order!(x, f32, u32, 31);
    f64 as u64 in u128: |x| float_order!(x, f64, u64, 63);
    i64 as u64 in u128: |x| (x as u64) ^ (1 << 63);
    u8 as u32 in u64: |x| u32::from(x);
    bool as u32 in u64: |x| u32::from(x);
}

/// Positions of the first `count` elements in order, along an axis counted from the end (1 is the last).
#[derive(Clone, Copy)]
struct Order {
    axis: usize,
    count: usize,
    descending: bool,
}

impl Constant for Order {
    const NAME: &'static str = "argsort";

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        // With the axis last, every lane lies in one piece.
        let last = shape::swap_axes(&inputs[0].untracked(), -(self.axis as isize), -1)?;
        let x = last.contiguous_data()?;
        let rank = x.rank();
        let length = x.dims()[rank - 1];
        let mut out = Fresh::new(x.shape().with(rank - 1, self.count), DType::I64)?;
        match_any!(x.dtype(), T => {
            order_lanes(x.contiguous_slice::<T>(), length, self.count, self.descending, out.slice::<i64>());
        });
        shape::swap_axes(&out.finish(), -(self.axis as isize), -1)
    }

    fn attributes(&self) -> String {
        format!("axis=-{}, count={}, descending={}", self.axis, self.count, self.descending)
    }
}

fn order_lanes<T: SortKey>(x: &[T], length: usize, count: usize, descending: bool, out: &mut [i64]) {
    if count == 0 {
        return;
    }
    // A comparison costs more than a copy: an eighth of the usual work per task.
    let lanes = (GRAIN / 8).div_ceil(length);
    for_pieces(out, lanes * count, |task, piece| {
        let mut keys: Vec<T::Packed> = Vec::with_capacity(length);
        for (lane, places) in piece.chunks_exact_mut(count).enumerate() {
            let start = (task * lanes + lane) * length;
            keys.clear();
            keys.extend(x[start..start + length].iter().enumerate().map(|(i, value)| value.pack(i, descending)));
            if count < length {
                keys.select_nth_unstable(count - 1);
            }
            keys[..count].sort_unstable();
            places.iter_mut().zip(&keys).for_each(|(place, &key)| *place = T::position(key));
        }
    });
}

fn order(op: &'static str, x: &Tensor, axis: isize, count: Option<usize>, descending: bool) -> Result<Tensor> {
    let from_end = axis_from_end(op, x, axis)?;
    let size = x.dims()[x.rank() - from_end];
    if u32::try_from(size).is_err() {
        return Err(Error::shape(op, x.shape(), "an axis to sort must be shorter than 2^32"));
    }
    let count = count.unwrap_or(size);
    if count > size {
        let problem = format!("is {count}, but axis {axis} has only {size} elements");
        return Err(Error::parameter(op, "k", problem));
    }
    apply(constant_op(Order { axis: from_end, count, descending }), &[x])
}

/// Positions that put an axis in order.
pub(crate) fn argsort(x: &Tensor, axis: isize, descending: bool) -> Result<Tensor> {
    order("argsort", x, axis, None, descending)
}

/// The elements of an axis in order, and where they were.
pub(crate) fn sort(x: &Tensor, axis: isize, descending: bool) -> Result<(Tensor, Tensor)> {
    let places = order("sort", x, axis, None, descending)?;
    Ok((gather(x, axis, &places)?, places))
}

/// The `k` largest (or smallest) elements of an axis, best first, and where they were.
pub(crate) fn topk(x: &Tensor, k: usize, axis: isize, largest: bool) -> Result<(Tensor, Tensor)> {
    let places = order("topk", x, axis, Some(k), largest)?;
    Ok((gather(x, axis, &places)?, places))
}

/// The elements of an axis at one place each, and those places; with `keep` the axis stays with size 1.
pub(super) fn at_places(x: &Tensor, axis: isize, places: &Tensor, keep: bool) -> Result<(Tensor, Tensor)> {
    let values = gather(x, axis, places)?;
    if keep {
        Ok((values, places.clone()))
    } else {
        Ok((shape::squeeze(&values, axis)?, shape::squeeze(places, axis)?))
    }
}

/// The `k`-th smallest element of an axis, counted from 1, and where it was; the earlier among equals is the smaller.
pub(crate) fn kthvalue(x: &Tensor, k: usize, axis: isize, keep: bool) -> Result<(Tensor, Tensor)> {
    if k == 0 {
        return Err(Error::parameter("kthvalue", "k", "is 0; the smallest element has number 1"));
    }
    let first = order("kthvalue", x, axis, Some(k), false)?;
    at_places(x, axis, &shape::narrow(&first, axis, k - 1, 1)?, keep)
}
