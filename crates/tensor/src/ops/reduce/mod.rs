//! Reductions along axes; one file each.
//!
//! `axes` are given as in numpy, negative ones from the end. Inside, they are distances from the end, so that a further
//! axis in front of the tensor leaves them right.

mod extreme;
mod sum;

use smallvec::SmallVec;

use crate::ops::axis_from_end;
use crate::{Error, Result, Shape, Tensor};

pub(crate) use extreme::{argmax, argmin, max, max_all, min, min_all};
pub(crate) use sum::{mean, mean_all, sum, sum_all, sum_to};

/// Axes as distances from the end (1 is the last), largest first.
pub(crate) type Axes = SmallVec<[usize; 6]>;

/// Checks axes and brings them into the form kept in attributes.
pub(crate) fn axes_from_end(op: &'static str, x: &Tensor, axes: &[isize]) -> Result<Axes> {
    let mut result: Axes = axes.iter().map(|&axis| axis_from_end(op, x, axis)).collect::<Result<_>>()?;
    result.sort_unstable_by(|a, b| b.cmp(a));
    if result.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::shape(op, x.shape(), format!("axes {axes:?} name one axis twice")));
    }
    Ok(result)
}

/// All axes of a tensor.
pub(crate) fn all_axes(x: &Tensor) -> Axes {
    (1..=x.rank()).rev().collect()
}

/// The shape with the axes kept at size 1.
pub(crate) fn kept(shape: &Shape, axes: &[usize]) -> Shape {
    axes.iter().fold(shape.clone(), |shape, &axis| shape.with(shape.rank() - axis, 1))
}

/// The shape with the axes removed.
pub(crate) fn removed(shape: &Shape, axes: &[usize]) -> Shape {
    let rank = shape.rank();
    shape.iter().enumerate().filter(|&(i, _)| !axes.contains(&(rank - i))).map(|(_, &size)| size).collect()
}

/// The shape of the result.
pub(crate) fn reduced(shape: &Shape, axes: &[usize], keep: bool) -> Shape {
    if keep { kept(shape, axes) } else { removed(shape, axes) }
}

/// Runs of neighbouring axes, each as (outer, length, inner) of the tensor that is left after the runs before it.
pub(crate) fn passes(shape: &Shape, axes: &[usize]) -> SmallVec<[(usize, usize, usize); 3]> {
    let rank = shape.rank();
    let mut sizes: SmallVec<[usize; 8]> = shape.iter().copied().collect();
    let mut result = SmallVec::new();
    let mut end = rank;
    while end > 0 {
        let mut start = end;
        while start > 0 && axes.contains(&(rank - (start - 1))) {
            start -= 1;
        }
        if start < end {
            let length = sizes[start..end].iter().product();
            result.push((sizes[..start].iter().product(), length, sizes[end..].iter().product()));
            sizes[start..end].fill(1);
            end = start;
        } else {
            end -= 1;
        }
    }
    result
}
