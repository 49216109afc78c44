//! Elements chosen by truth values.

use super::checked::checked;
use super::select::select_checked;
use crate::autodiff::depends_on;
use crate::dtype::match_any;
use crate::ops::{binary, reduce, shape};
use crate::{DType, Element, Error, Result, Shape, Tensor};

/// `value` where the mask is true, `x` elsewhere.
pub(crate) fn masked_fill(x: &Tensor, mask: &Tensor, value: f64) -> Result<Tensor> {
    let filled = binary::select(mask, &Tensor::scalar_of(value, x.dtype()), x)?;
    if filled.shape() != x.shape() {
        return Err(Error::shapes("masked_fill", x.shape(), mask.shape(), "the mask must broadcast to the tensor"));
    }
    Ok(filled)
}

/// The elements where the mask is true, in row-major order; both are broadcast to each other.
pub(crate) fn masked_select(x: &Tensor, mask: &Tensor) -> Result<Tensor> {
    let common = x.shape().broadcast(mask.shape()).ok_or_else(|| {
        Error::shapes("masked_select", x.shape(), mask.shape(), "the mask must broadcast with the tensor")
    })?;
    let places = true_places("masked_select", &shape::broadcast_to(mask, common.clone())?)?;
    let flat = shape::reshape(&shape::broadcast_to(x, common.clone())?, Shape::from(common.numel()))?;
    select_checked(&flat, 0, &Tensor::from(places))
}

/// `x` with the elements of `source`, in row-major order, where the mask is true. The k-th true element takes the k-th of
/// the source; a zero in front of the source stands for those that are false, so that every place exists.
pub(crate) fn masked_scatter(x: &Tensor, mask: &Tensor, source: &Tensor) -> Result<Tensor> {
    const OP: &str = "masked_scatter";
    if source.dtype() != x.dtype() {
        return Err(Error::DTypePair { op: OP, left: x.dtype(), right: source.dtype() });
    }
    if mask.dtype() != DType::Bool {
        return Err(Error::DType { op: OP, dtype: mask.dtype(), expected: "the mask must hold truth values" });
    }
    if mask.shape().broadcast(x.shape()).as_ref() != Some(x.shape()) {
        return Err(Error::shapes(OP, x.shape(), mask.shape(), "the mask must broadcast to the tensor"));
    }
    let mask = shape::broadcast_to(mask, x.shape().clone())?;
    let flat = |y: &Tensor| shape::reshape(y, Shape::from(y.numel()));
    let numbers = binary::select(&flat(&mask)?, &reduce::cumsum(&flat(&mask)?, 0)?, &Tensor::scalar(0i64))?;
    let padded = shape::concat(&[&Tensor::try_zeros(1, x.dtype())?, &flat(source)?], 0)?;
    let places = checked(OP, &numbers, padded.numel()).map_err(|_| {
        Error::shapes(OP, mask.shape(), source.shape(), "the mask has more true elements than the source has elements")
    })?;
    let taken = select_checked(&padded, 0, &places)?;
    binary::select(&mask, &shape::reshape(&taken, x.shape().clone())?, x)
}

/// Row-major positions of the true elements of a mask.
fn true_places(op: &'static str, mask: &Tensor) -> Result<Vec<i64>> {
    if mask.dtype() != DType::Bool {
        return Err(Error::DType { op, dtype: mask.dtype(), expected: "the mask must hold truth values" });
    }
    nonzero_places(op, mask)
}

fn nonzero_places(op: &'static str, x: &Tensor) -> Result<Vec<i64>> {
    if x.is_batched() {
        let problem = "the shape of the result would differ from sample to sample inside `vmap`; use `select` instead";
        return Err(Error::derivative(op, problem));
    }
    depends_on(op, x)?;
    // Counted first, then written without a branch: every position is written and kept only if the next does not
    // overwrite it. A branch would be guessed wrong for every other element of a random mask.
    fn places<T: Element>(values: &[T]) -> Vec<i64> {
        let zero = T::default();
        let count = values.iter().filter(|&&value| value != zero).count();
        let (mut places, mut filled) = (vec![0; count + 1], 0);
        for (i, &value) in values.iter().enumerate() {
            places[filled] = i as i64;
            filled += usize::from(value != zero);
        }
        places.truncate(count);
        places
    }
    let data = x.contiguous_data()?;
    Ok(match_any!(x.dtype(), T => places(data.contiguous_slice::<T>())))
}

/// Positions of the elements that are not zero, one row (count, rank) each, in row-major order.
pub(crate) fn nonzero(x: &Tensor) -> Result<Tensor> {
    let places = nonzero_places("nonzero", x)?;
    let (rank, strides) = (x.rank(), x.shape().row_major());
    let mut rows = Vec::with_capacity(places.len() * rank);
    for &place in &places {
        rows.extend((0..rank).map(|axis| (place / strides[axis] as i64) % x.dims()[axis] as i64));
    }
    Tensor::try_from_vec(rows, [places.len(), rank])
}

/// Row-major positions of the true elements of a mask, as an index into its axes merged to one.
pub(super) fn mask_index(op: &'static str, mask: &Tensor) -> Result<Tensor> {
    true_places(op, mask).map(Tensor::from)
}
