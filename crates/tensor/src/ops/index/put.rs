//! Values written at the positions of an index, as functions: the tensor itself stays as it is.
//!
//! Indexing a tensor that holds its own positions gives the positions that the index names. From these follows, for
//! every element, which of the values lands there last; the result is a choice between the element and that value, so
//! that both are differentiable by the rules of `select` and `index_select`.

use super::resolve::index;
use super::select::{add_at, select_checked};
use super::spec::Index;
use crate::autodiff::apply;
use crate::ops::constant::{Constant, constant_op};
use crate::ops::{binary, shape, unary};
use crate::tensor::Fresh;
use crate::{DType, Error, Result, Shape, Tensor};

/// For each of `size` places, the number of the last entry of the input that names it; -1 where none does.
#[derive(Clone, Copy)]
struct LastWriter {
    size: usize,
}

impl Constant for LastWriter {
    const NAME: &'static str = "last_writer";
    const LEADING_AXES_FREE: bool = false;

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let places = inputs[0].contiguous_data()?;
        let mut out = Fresh::new(Shape::from(self.size), DType::I64)?;
        let writers = out.slice::<i64>();
        writers.fill(-1);
        for (number, &place) in places.contiguous_slice::<i64>().iter().enumerate() {
            writers[place as usize] = number as i64;
        }
        Ok(out.finish())
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
    let writers = apply(constant_op(LastWriter { size: x.numel() }), &[&places])?;
    let written = binary::ge_scalar(&writers, 0.0)?;
    let chosen = select_checked(&values, 0, &unary::maximum_scalar(&writers, 0.0)?)?;
    let reshaped = |y: &Tensor| shape::reshape(y, x.shape().clone());
    binary::select(&reshaped(&written)?, &reshaped(&chosen)?, x)
}

/// `x` with `value` added at the positions of an index; repeated positions add up.
pub(crate) fn index_accumulate(x: &Tensor, entries: Vec<Index>, value: &Tensor) -> Result<Tensor> {
    let (places, values) = places_and_values("index_accumulate", x, entries, value)?;
    let flat = shape::reshape(x, Shape::from(x.numel()))?;
    shape::reshape(&add_at("index_accumulate", &flat, &places, &values)?, x.shape().clone())
}
