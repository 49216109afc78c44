//! Reductions along axes; one file each.
//!
//! `axes` are given as in numpy, negative ones from the end. Inside, they are distances from the end, so that a further
//! axis in front of the tensor leaves them right.

mod cumulative;
mod extreme;
mod logical;
mod logsumexp;
mod nan;
mod norm;
mod prod;
mod quantile;
mod running;
mod sum;
mod variance;

use smallvec::SmallVec;

use crate::ops::{axis_from_end, shape};
use crate::tensor::Fresh;
use crate::{DType, Error, Result, Shape, Tensor};

pub(crate) use cumulative::{cumprod, cumsum, logcumsumexp};
pub(crate) use extreme::{argmax, argmax_all, argmin, argmin_all, max, max_all, min, min_all};
pub(crate) use logical::{all, any, count_nonzero};
pub(crate) use logsumexp::logsumexp;
pub(crate) use nan::{nanmean, nansum};
pub(crate) use norm::norm;
pub(crate) use prod::prod;
pub(crate) use quantile::{quantile, quantile_all};
pub(crate) use running::{cummax, cummin};
pub(crate) use sum::{mean, mean_all, sum, sum_all, sum_rows, sum_to};
pub(crate) use variance::{root, std, var};

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

/// All axes of a tensor, as callers name them.
pub(crate) fn every_axis(x: &Tensor) -> SmallVec<[isize; 6]> {
    (0..x.rank() as isize).collect()
}

/// Axes kept in attributes, as callers name them.
pub(crate) fn negative(axes: &[usize]) -> SmallVec<[isize; 6]> {
    axes.iter().map(|&axis| -(axis as isize)).collect()
}

/// Number of elements folded into one.
pub(crate) fn count(shape: &Shape, axes: &[usize]) -> usize {
    axes.iter().map(|&axis| shape[shape.rank() - axis]).product()
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

/// Refuses element types that have no fractions.
pub(crate) fn require_float(op: &'static str, x: &Tensor) -> Result<()> {
    if x.dtype().is_float() {
        return Ok(());
    }
    Err(Error::DType { op, dtype: x.dtype(), expected: "f32 or f64 is needed" })
}

/// Small whole numbers and truth values as i64, in which they are summed and multiplied, as in numpy.
pub(crate) fn widened(x: &Tensor) -> Result<Tensor> {
    match x.dtype() {
        DType::U8 | DType::Bool => shape::to_dtype(x, DType::I64),
        _ => Ok(x.clone()),
    }
}

/// Attributes for traces.
pub(crate) fn describe(axes: &[usize], keep: bool) -> String {
    format!("axes={:?}, keep={keep}", negative(axes).as_slice())
}

/// Folds axes by calling `pass(data, [outer, length, inner], target)` for each run of neighbouring axes; data and target
/// are row-major. A transposed tensor is folded in the order in which it lies in memory, so that only views with gaps
/// or repetitions are copied.
pub(crate) fn fold_axes(
    x: &Tensor,
    axes: &[usize],
    keep: bool,
    dtype: DType,
    pass: impl Fn(&Tensor, [usize; 3], &mut Fresh) -> Result<()>,
) -> Result<Tensor> {
    if let Some(order) = transposed_order(x) {
        let rank = x.rank();
        let shape: Shape = order.iter().map(|&axis| x.dims()[axis]).collect();
        let in_memory: Axes = (0..rank).filter(|&i| axes.contains(&(rank - order[i]))).map(|i| rank - i).collect();
        let dense = x.view(shape.clone(), shape.row_major(), x.offset());
        let folded = fold_contiguous(&dense, &in_memory, true, dtype, pass)?;
        // The result's axes back in their own order.
        let mut strides = x.shape().row_major();
        order.iter().zip(folded.strides()).for_each(|(&axis, &stride)| strides.as_mut()[axis] = stride);
        let folded = folded.view(kept(x.shape(), axes), strides, folded.offset());
        let shape = reduced(x.shape(), axes, keep);
        let folded = folded.contiguous_data()?;
        return Ok(folded.view(shape.clone(), shape.row_major(), folded.offset()));
    }
    let x = x.contiguous_data()?;
    fold_contiguous(&x, axes, keep, dtype, pass)
}

fn fold_contiguous(
    x: &Tensor,
    axes: &[usize],
    keep: bool,
    dtype: DType,
    pass: impl Fn(&Tensor, [usize; 3], &mut Fresh) -> Result<()>,
) -> Result<Tensor> {
    let mut current: Option<Tensor> = None;
    for sizes @ [outer, length, inner] in passes(x.shape(), axes) {
        // A single element is its own fold.
        if length == 1 {
            continue;
        }
        let mut out = Fresh::new(Shape::from([outer, inner]), dtype)?;
        pass(current.as_ref().unwrap_or(x), sizes, &mut out)?;
        current = Some(out.finish());
    }
    let folded = current.as_ref().unwrap_or(x);
    let shape = reduced(x.shape(), axes, keep);
    let strides = shape.row_major();
    Ok(folded.view(shape, strides, folded.offset()))
}

/// For a tensor whose axes fill memory without gaps, but not in row-major order: the axes, outermost first, as they lie.
fn transposed_order(x: &Tensor) -> Option<SmallVec<[usize; 6]>> {
    if x.is_contiguous() {
        return None;
    }
    let mut order: SmallVec<[usize; 6]> = (0..x.rank()).collect();
    let (dims, strides) = (x.dims(), x.strides());
    order.sort_by_key(|&axis| if dims[axis] == 1 { isize::MIN } else { -strides[axis] });
    let mut expected = 1;
    for &axis in order.iter().rev() {
        if dims[axis] != 1 && strides[axis] != expected {
            return None;
        }
        expected *= dims[axis] as isize;
    }
    Some(order)
}

/// Runs of neighbouring axes, each as [outer, length, inner] of the tensor that is left after the runs before it.
fn passes(shape: &Shape, axes: &[usize]) -> SmallVec<[[usize; 3]; 3]> {
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
            result.push([sizes[..start].iter().product(), length, sizes[end..].iter().product()]);
            sizes[start..end].fill(1);
            end = start;
        } else {
            end -= 1;
        }
    }
    result
}
