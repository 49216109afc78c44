//! Values written at the positions of an index, as functions: the tensor itself stays as it is.
//!
//! Indexing a tensor that holds its own positions gives the positions that the index names. From these follows, for
//! every element, which of the values lands there last; the result is a choice between the element and that value, so
//! that both are differentiable by the rules of `select` and `index_select`.

use super::checked::checked;
use super::gather::{Writing, gather, writing};
use super::masked::masked_fill;
use super::resolve::index;
use super::select::{add_at, select_checked};
use super::spec::Index;
use crate::autodiff::apply;
use crate::ops::constant::{Constant, constant_op};
use crate::ops::{axis_from_end, binary, shape, unary};
use crate::tensor::Fresh;
use crate::{DType, Error, Result, Shape, Tensor};

/// Along an axis counted from the end: for each of `size` places the number of the last entry of the input that names it,
/// -1 where none does.
#[derive(Clone, Copy)]
struct LastWriter {
    axis: usize,
    size: usize,
}

impl Constant for LastWriter {
    const NAME: &'static str = "last_writer";

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let places = inputs[0].contiguous_data()?;
        let position = places.rank() - self.axis;
        let inner: usize = places.dims()[position + 1..].iter().product();
        let entries = places.dims()[position] * inner;
        let mut out = Fresh::new(places.shape().with(position, self.size), DType::I64)?;
        let writers = out.slice::<i64>();
        writers.fill(-1);
        if places.numel() > 0 && self.size > 0 {
            let slabs = places.contiguous_slice::<i64>().chunks_exact(entries);
            for (slab, writers) in slabs.zip(writers.chunks_exact_mut(self.size * inner)) {
                for (number, row) in slab.chunks_exact(inner).enumerate() {
                    row.iter().enumerate().for_each(|(j, &place)| writers[place as usize * inner + j] = number as i64);
                }
            }
        }
        Ok(out.finish())
    }

    fn attributes(&self) -> String {
        format!("axis=-{}, size={}", self.axis, self.size)
    }
}

/// The positions that an index names in a tensor of this shape, and the values stretched to them, both flat.
fn places_and_values(op: &'static str, x: &Tensor, entries: Vec<Index>, value: &Tensor) -> Result<(Tensor, Tensor)> {
    if value.dtype() != x.dtype() {
        return Err(Error::DTypePair { op, left: x.dtype(), right: value.dtype() });
    }
    let own = Tensor::arange(0, x.numel() as i64);
    let places = index(&shape::reshape(&own, x.shape().clone())?, entries)?;
    if value.shape().broadcast(places.shape()).as_ref() != Some(places.shape()) {
        let problem = "the value must broadcast to the shape of what is indexed";
        return Err(Error::shapes(op, value.shape(), places.shape(), problem));
    }
    let flat = Shape::from(places.numel());
    let value = shape::reshape(&shape::broadcast_to(value, places.shape().clone())?, flat.clone())?;
    Ok((shape::reshape(&places, flat)?, value))
}

/// For one number behind a mask of the leading axes: the mask with the axes of `x`. The choice then takes a single pass.
fn whole_mask(x: &Tensor, mask: &Tensor, value: &Tensor) -> Result<Option<Tensor>> {
    let covers = mask.dtype() == DType::Bool && mask.rank() > 0 && x.dims().starts_with(mask.dims());
    if !covers || value.numel() != 1 || value.rank() > 1 || value.dtype() != x.dtype() {
        return Ok(None);
    }
    shape::reshape(mask, mask.shape().joined(&vec![1; x.rank() - mask.rank()])).map(Some)
}

/// `x` with `value` at the positions of an index; of several values for one position the last stays.
pub(crate) fn index_set(x: &Tensor, entries: Vec<Index>, value: &Tensor) -> Result<Tensor> {
    if let [Index::Tensor(mask)] = &entries[..]
        && let Some(stretched) = whole_mask(x, mask, value)?
    {
        return binary::select(&stretched, value, x);
    }
    let (places, values) = places_and_values("index_set", x, entries, value)?;
    if places.numel() == 0 {
        return Ok(x.clone());
    }
    let writers = apply(constant_op(LastWriter { axis: 1, size: x.numel() }), &[&places])?;
    let written = binary::ge_scalar(&writers, 0.0)?;
    let chosen = select_checked(&values, 0, &unary::maximum_scalar(&writers, 0.0)?)?;
    let reshaped = |y: &Tensor| shape::reshape(y, x.shape().clone());
    binary::select(&reshaped(&written)?, &reshaped(&chosen)?, x)
}

/// `x` with the elements of `source` at `index` along an axis; of several for one place the last stays.
pub(crate) fn scatter(x: &Tensor, axis: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    let Writing { axis: from_end, index, source } = writing("scatter", x, axis, index, source)?;
    if index.numel() == 0 {
        return Ok(x.clone());
    }
    let size = x.dims()[x.rank() - from_end];
    let writers = apply(constant_op(LastWriter { axis: from_end, size }), &[&index])?;
    let chosen = gather(&source, axis, &unary::maximum_scalar(&writers, 0.0)?)?;
    binary::select(&binary::ge_scalar(&writers, 0.0)?, &chosen, x)
}

/// `x` with one number at the positions `index` of an axis.
pub(crate) fn index_fill(x: &Tensor, axis: isize, index: &Tensor, value: f64) -> Result<Tensor> {
    let from_end = axis_from_end("index_fill", x, axis)?;
    let size = x.dims()[x.rank() - from_end];
    if index.rank() != 1 {
        return Err(Error::shape("index_fill", index.shape(), "the index must have rank 1"));
    }
    let index = checked("index_fill", index, size)?;
    let writers = apply(constant_op(LastWriter { axis: 1, size }), &[&index])?;
    let mask = Shape::from(size).joined(&vec![1; from_end - 1]);
    masked_fill(x, &shape::reshape(&binary::ge_scalar(&writers, 0.0)?, mask)?, value)
}

/// `x` with `value` added at the positions of an index; repeated positions add up.
pub(crate) fn index_accumulate(x: &Tensor, entries: Vec<Index>, value: &Tensor) -> Result<Tensor> {
    let (places, values) = places_and_values("index_accumulate", x, entries, value)?;
    let flat = shape::reshape(x, Shape::from(x.numel()))?;
    shape::reshape(&add_at("index_accumulate", &flat, &places, &values)?, x.shape().clone())
}
