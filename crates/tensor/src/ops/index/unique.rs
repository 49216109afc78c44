//! The different values of a tensor, in order, with where they came from and how often.
//!
//! Values are read at their first occurrence, which therefore takes their derivative. Both zeros are one value, and so are
//! all NaN, which come last.

use super::select::select_named;
use super::sort::{SortKey, argsort};
use crate::autodiff::depends_on;
use crate::dtype::match_any;
use crate::ops::{axis_from_end, shape};
use crate::tensor::try_vec;
use crate::{Element, Error, Result, Shape, Tensor};

/// What [`Tensor::unique`] and [`Tensor::unique_axis`] find.
#[derive(Clone)]
pub struct Unique {
    /// The different values, ascending, (count); of an axis, the tensor with that axis shortened to them.
    pub values: Tensor,
    /// For every element its position among the values, i64, of the tensor's own shape; of an axis, of its length.
    pub inverse: Tensor,
    /// How often each value occurs, i64, (count).
    pub counts: Tensor,
}

/// First occurrence and number of each value, and the value's number for every element. `order` sorts the elements, and
/// `same` compares two of them.
fn groups(order: &[i64], same: impl Fn(usize, usize) -> bool) -> Result<(Vec<i64>, Vec<i64>, Vec<i64>)> {
    let (mut firsts, mut counts, mut inverse) = (Vec::new(), Vec::new(), try_vec("unique", order.len(), 0)?);
    let mut previous = None;
    for &place in order {
        match counts.last_mut() {
            Some(count) if previous.is_some_and(|previous| same(previous, place as usize)) => *count += 1,
            _ => {
                firsts.push(place);
                counts.push(1);
            }
        }
        inverse[place as usize] = firsts.len() as i64 - 1;
        previous = Some(place as usize);
    }
    Ok((firsts, counts, inverse))
}

/// The groups of equal numbers among sorted ones.
fn equal_values<T: Element>(x: &[T], order: &[i64]) -> Result<(Vec<i64>, Vec<i64>, Vec<i64>)> {
    let is_nan = |value: &T| value.to_f64().is_nan();
    let same = |a: &T, b: &T| a == b || is_nan(a) && is_nan(b);
    groups(order, |i, j| same(&x[i], &x[j]))
}

/// The groups of equal rows, of which the first entries count most.
fn equal_rows<T: SortKey>(x: &[T], rows: usize, width: usize) -> Result<(Vec<i64>, Vec<i64>, Vec<i64>)> {
    let keys = |row: usize| x[row * width..(row + 1) * width].iter().map(|value| value.pack(0, false));
    // Without width there may be more rows than memory.
    let mut order: Vec<i64> = try_vec("unique_axis", rows, 0)?;
    order.iter_mut().enumerate().for_each(|(row, slot)| *slot = row as i64);
    order.sort_by(|&a, &b| keys(a as usize).cmp(keys(b as usize)));
    groups(&order, |i, j| keys(i).eq(keys(j)))
}

/// Refuses batches, whose samples would have results of different lengths.
fn check(op: &'static str, x: &Tensor) -> Result<()> {
    if x.is_batched() {
        let problem = "the number of values would differ from sample to sample inside `vmap`; use `sort` instead";
        return Err(Error::derivative(op, problem));
    }
    depends_on(op, x)
}

/// The different values of a tensor.
pub(crate) fn unique(x: &Tensor) -> Result<Unique> {
    check("unique", x)?;
    let flat = shape::reshape(x, Shape::from(x.numel()))?;
    let data = flat.untracked().contiguous_data()?.into_owned();
    let order = argsort(&data, 0, false)?;
    let order = order.contiguous_data()?;
    let (firsts, counts, inverse) =
        match_any!(x.dtype(), T => equal_values(data.contiguous_slice::<T>(), order.contiguous_slice::<i64>())?);
    Ok(Unique {
        values: select_named("unique", &flat, 0, &Tensor::from(firsts))?,
        inverse: Tensor::try_from_vec(inverse, x.shape().clone())?,
        counts: Tensor::from(counts),
    })
}

/// The different slices of an axis, in the order of their entries.
pub(crate) fn unique_axis(x: &Tensor, axis: isize) -> Result<Unique> {
    check("unique_axis", x)?;
    let rows = x.dims()[x.rank() - axis_from_end("unique_axis", x, axis)?];
    let front = shape::move_axis(&x.untracked(), axis, 0)?;
    let data = front.contiguous_data()?;
    let width = front.dims()[1..].iter().product();
    let (firsts, counts, inverse) = match_any!(x.dtype(), T => equal_rows(data.contiguous_slice::<T>(), rows, width)?);
    Ok(Unique {
        values: select_named("unique_axis", x, axis, &Tensor::from(firsts))?,
        inverse: Tensor::from(inverse),
        counts: Tensor::from(counts),
    })
}
