//! Axes in another order; a view.

use smallvec::SmallVec;

use crate::ops::axis_from_end;
use crate::ops::linear_map::{LinearMap, linear_map};
use crate::{Error, Result, Shape, Tensor};

/// `order[i]` is the source, counted from the end (0 is the last axis), of the i-th axis from the end.
#[derive(Clone)]
struct Permute {
    order: SmallVec<[usize; 6]>,
}

impl LinearMap for Permute {
    const NAME: &'static str = "permute";

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let rank = x.rank();
        let source = |axis: usize| {
            let from_end = rank - 1 - axis;
            rank - 1 - self.order.get(from_end).copied().unwrap_or(from_end)
        };
        let shape = (0..rank).map(|axis| x.dims()[source(axis)]).collect();
        let strides = (0..rank).map(|axis| x.strides()[source(axis)]).collect();
        Ok(x.view(shape, strides, x.offset()))
    }

    fn transpose(&self, grad: &Tensor, _shape: &Shape) -> Result<Tensor> {
        let mut inverse: SmallVec<[usize; 6]> = self.order.clone();
        self.order.iter().enumerate().for_each(|(i, &source)| inverse[source] = i);
        linear_map(Permute { order: inverse }, grad)
    }

    fn attributes(&self) -> String {
        let rank = self.order.len();
        let axes: Vec<usize> = self.order.iter().rev().map(|&source| rank - 1 - source).collect();
        format!("axes={axes:?}")
    }
}

/// The axes in the order given, each named once.
pub(crate) fn permute(x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let rank = x.rank();
    let mut seen: SmallVec<[bool; 6]> = smallvec::smallvec![false; rank];
    let valid = axes.len() == rank && axes.iter().all(|&axis| axis < rank && !std::mem::replace(&mut seen[axis], true));
    if !valid {
        return Err(Error::shape("permute", x.shape(), format!("{axes:?} does not name each axis once")));
    }
    linear_map(Permute { order: axes.iter().rev().map(|&axis| rank - 1 - axis).collect() }, x)
}

/// Two axes exchanged.
pub(crate) fn swap_axes(x: &Tensor, first: isize, second: isize) -> Result<Tensor> {
    let first = axis_from_end("swap_axes", x, first)?;
    let second = axis_from_end("swap_axes", x, second)?;
    let mut order: SmallVec<[usize; 6]> = (0..first.max(second)).collect();
    order.swap(first - 1, second - 1);
    linear_map(Permute { order }, x)
}

/// The last two axes exchanged; tensors of lower rank are returned as they are.
pub(crate) fn transpose(x: &Tensor) -> Result<Tensor> {
    if x.rank() < 2 {
        return Ok(x.clone());
    }
    linear_map(Permute { order: smallvec::smallvec![1, 0] }, x)
}
