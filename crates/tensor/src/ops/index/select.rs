//! Whole rows of an axis at given positions, and the transpose: rows added up at their positions.
//!
//! The gradient of a lookup (an embedding) is a sum of rows into zeros. It is cut into ranges of output rows, so that
//! every row is summed by one task in the order of the indices: deterministic without atomic operations.

use smallvec::smallvec;

use super::checked::checked;
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_number;
use crate::kernels::index as kernel;
use crate::ops::indexed::{Indexed, indexed, stretched};
use crate::ops::{Op, axis_from_end, binary, shape, sum_terms};
use crate::tensor::Fresh;
use crate::{Error, Result, Shape, Tensor};

/// Inputs `x` and an `index` of rank 1; the axis is counted from the end (1 is the last).
#[derive(Clone, Copy)]
struct Rows {
    axis: usize,
}

/// The transpose of [`Rows`]: inputs `source` and `index`; the axis gets length `size`.
#[derive(Clone, Copy)]
struct AddRows {
    axis: usize,
    size: usize,
}

/// The batch axis of a physical tensor merged into the axis at `position`, in front of it.
fn merge_batch(x: &Tensor, position: usize) -> Result<Tensor> {
    let order: Vec<usize> = (1..position).chain([0]).chain(position..x.rank()).collect();
    let merged = x.shape().without(0).with(position - 1, x.dims()[0] * x.dims()[position]);
    shape::reshape(&shape::permute(x, &order)?, merged)
}

/// Undoes [`merge_batch`] for a batch of `size`.
fn split_batch(y: &Tensor, position: usize, size: usize) -> Result<Tensor> {
    let axis = position - 1;
    let length = y.dims()[axis].checked_div(size).unwrap_or(0);
    let split = y.shape().with(axis, length).inserted(axis, size);
    let order: Vec<usize> = [axis].into_iter().chain(0..axis).chain(axis + 1..=y.rank()).collect();
    shape::permute(&shape::reshape(y, split)?, &order)
}

/// Indices (batch, n) into separate axes of length `size` as indices into those axes one after the other.
fn offset_batch(index: &Tensor, size: usize) -> Result<Tensor> {
    let batch = index.dims()[0];
    let starts = (0..batch).map(|b| (b * size) as i64).collect::<Vec<i64>>();
    let shifted = binary::add(index, &Tensor::try_from_vec(starts, [batch, 1])?)?;
    shape::reshape(&shifted, Shape::from(index.numel()))
}

impl Indexed for Rows {
    const NAME: &'static str = "index_select";
    type Transpose = AddRows;

    fn forward(&self, x: &Tensor, index: &Tensor) -> Result<Tensor> {
        let position = x.rank() - self.axis;
        let inner = x.dims()[position + 1..].iter().product();
        let mut out = Fresh::new(x.shape().with(position, index.numel()), x.dtype())?;
        kernel::match_bits!(x.dtype(), U => {
            let places = index.contiguous_slice::<i64>();
            kernel::take_rows::<U>(kernel::bits(x), places, x.dims()[position], inner, kernel::bits_mut(&mut out));
        });
        Ok(out.finish())
    }

    fn transpose(&self, shape: &Shape) -> AddRows {
        AddRows { axis: self.axis, size: shape[shape.rank() - self.axis] }
    }

    fn batch(&self, x: &Tensor, index: &Tensor, batched: &[bool], size: usize) -> Result<Tensor> {
        if !batched[1] {
            return indexed(*self, x, index);
        }
        // Position of the axis in a physical result, whose batch axis is in front.
        let position = x.rank() - self.axis + usize::from(!batched[0]);
        let rows = if batched[0] {
            let index = offset_batch(index, x.dims()[position])?;
            indexed(*self, &merge_batch(x, position)?, &index)?
        } else {
            indexed(*self, x, &shape::reshape(index, Shape::from(index.numel()))?)?
        };
        split_batch(&rows, position, size)
    }

    fn attributes(&self) -> String {
        format!("axis=-{}", self.axis)
    }
}

impl Indexed for AddRows {
    const NAME: &'static str = "index_add";
    type Transpose = Rows;

    fn forward(&self, source: &Tensor, index: &Tensor) -> Result<Tensor> {
        let position = source.rank() - self.axis;
        let inner = source.dims()[position + 1..].iter().product();
        let mut out = Fresh::new(source.shape().with(position, self.size), source.dtype())?;
        match_number!("index_add", source.dtype(), T => {
            let (from, places) = (source.contiguous_slice::<T>(), index.contiguous_slice::<i64>());
            kernel::add_rows::<T>(None, from, places, self.size, inner, out.slice::<T>());
        });
        Ok(out.finish())
    }

    fn transpose(&self, _shape: &Shape) -> Rows {
        Rows { axis: self.axis }
    }

    fn batch(&self, source: &Tensor, index: &Tensor, batched: &[bool], size: usize) -> Result<Tensor> {
        if !batched[1] {
            return indexed(*self, source, index);
        }
        let source = stretched(source, batched[0], size)?;
        let position = source.rank() - self.axis;
        let merged = AddRows { axis: self.axis, size: size * self.size };
        let index = offset_batch(index, self.size)?;
        split_batch(&indexed(merged, &merge_batch(&source, position)?, &index)?, position, size)
    }

    fn flops(&self, source: &Tensor, _output: &Tensor) -> u64 {
        source.numel() as u64
    }

    fn attributes(&self) -> String {
        format!("axis=-{}, size={}", self.axis, self.size)
    }
}

/// Rows added to those of a tensor: inputs `x`, `source` and `index`, linear in the first two. One pass copies `x` and adds
/// to it.
#[derive(Clone, Copy)]
struct AddTo {
    axis: usize,
}

impl AddTo {
    fn rows(&self, x: &Shape) -> AddRows {
        AddRows { axis: self.axis, size: x[x.rank() - self.axis] }
    }
}

impl Op for AddTo {
    fn name(&self) -> &'static str {
        "index_add"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (x, source, index) =
            (inputs[0].contiguous_data()?, inputs[1].contiguous_data()?, inputs[2].contiguous_data()?);
        let AddRows { size, .. } = self.rows(x.shape());
        let inner = x.dims()[x.rank() - self.axis + 1..].iter().product();
        let mut out = Fresh::new(x.shape().clone(), x.dtype())?;
        match_number!("index_add", x.dtype(), T => {
            let (before, from) = (x.contiguous_slice::<T>(), source.contiguous_slice::<T>());
            let places = index.contiguous_slice::<i64>();
            kernel::add_rows::<T>(Some(before), from, places, size, inner, out.slice::<T>());
        });
        Ok(out.finish())
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::nothing().input(2)
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let rows = self.rows(at.shape(0));
        let added = tangents[1].map(|t| indexed(rows, t, at.input(2))).transpose();
        sum_terms([Ok(tangents[0].cloned()), added])
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let rows = Rows { axis: self.axis };
        let by_source = if needs[1] { Some(indexed(rows, grad, at.input(2))?) } else { None };
        Ok(smallvec![needs[0].then(|| grad.clone()), by_source, None])
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], size: usize) -> Result<Option<Tensor>> {
        let whole = |i: usize| stretched(inputs[i], batched[i], size);
        let (x, source, index) = (whole(0)?, whole(1)?, inputs[2]);
        if !batched[2] {
            return apply(*self, &[&x, &source, index]).map(Some);
        }
        let position = x.rank() - self.axis;
        let (rows, source) = (merge_batch(&x, position)?, merge_batch(&source, position)?);
        let index = offset_batch(index, x.dims()[position])?;
        split_batch(&apply(*self, &[&rows, &source, &index])?, position, size).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], _output: &Tensor) -> u64 {
        inputs[1].numel() as u64
    }

    fn attributes(&self) -> String {
        format!("axis=-{}", self.axis)
    }
}

/// Rows at `index`, whose axes take the place of the one indexed.
pub(crate) fn index_select(x: &Tensor, axis: isize, index: &Tensor) -> Result<Tensor> {
    select_named("index_select", x, axis, index)
}

pub(super) fn select_named(op: &'static str, x: &Tensor, axis: isize, index: &Tensor) -> Result<Tensor> {
    let from_end = axis_from_end(op, x, axis)?;
    select_checked(x, x.rank() - from_end, &checked(op, index, x.dims()[x.rank() - from_end])?)
}

/// Rows at positions of the axis that are known to be there.
pub(super) fn select_checked(x: &Tensor, position: usize, index: &Tensor) -> Result<Tensor> {
    let rows = Rows { axis: x.rank() - position };
    if index.rank() == 1 {
        return indexed(rows, x, index);
    }
    let flat = shape::reshape(index, Shape::from(index.numel()))?;
    let rows = indexed(rows, x, &flat)?;
    let sizes = x.dims()[..position].iter().chain(index.dims()).chain(&x.dims()[position + 1..]);
    shape::reshape(&rows, sizes.copied().collect())
}

/// `x` with the rows of `source` added at `index`; repeated positions add up.
pub(crate) fn index_add(x: &Tensor, axis: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    let from_end = axis_from_end("index_add", x, axis)?;
    let position = x.rank() - from_end;
    if source.dtype() != x.dtype() {
        return Err(Error::DTypePair { op: "index_add", left: x.dtype(), right: source.dtype() });
    }
    if index.rank() != 1 {
        return Err(Error::shape("index_add", index.shape(), "the index must have rank 1"));
    }
    let expected = x.shape().with(position, index.numel());
    if source.shape() != &expected {
        return Err(Error::shapes(
            "index_add",
            source.shape(),
            &expected,
            "the rows to add must have the second shape",
        ));
    }
    let index = checked("index_add", index, x.dims()[position])?;
    apply(AddTo { axis: from_end }, &[x, source, &index])
}

/// A vector with `values` added at positions of it.
pub(super) fn add_at(op: &'static str, x: &Tensor, places: &Tensor, values: &Tensor) -> Result<Tensor> {
    apply(AddTo { axis: 1 }, &[x, values, &checked(op, places, x.numel())?])
}

/// Rows of `source` added up at `index` along an axis of length `size`, counted from the end.
pub(super) fn sum_rows(op: &'static str, source: &Tensor, axis: usize, index: &Tensor, size: usize) -> Result<Tensor> {
    indexed(AddRows { axis, size }, source, &checked(op, index, size)?)
}

/// The rows of a table (count, features) at `index` of any shape.
pub(crate) fn embedding(table: &Tensor, index: &Tensor) -> Result<Tensor> {
    if table.rank() != 2 {
        return Err(Error::shape("embedding", table.shape(), "the table must be a matrix (count, features)"));
    }
    select_named("embedding", table, 0, index)
}
