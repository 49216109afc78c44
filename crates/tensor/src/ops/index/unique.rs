//! The different values of a tensor, in order, with where they came from and how often.
//!
//! Values are read at their first occurrence, which therefore takes their derivative. Both zeros are one value, and so are
//! all NaN, which come last.

use super::select::select_named;
use super::sort::argsort;
use crate::autodiff::depends_on;
use crate::dtype::match_any;
use crate::ops::shape;
use crate::{Element, Error, Result, Shape, Tensor};

/// What [`Tensor::unique`] finds.
#[derive(Clone)]
pub struct Unique {
    /// The different values, ascending, (count).
    pub values: Tensor,
    /// For every element its position among the values, i64, of the tensor's own shape.
    pub inverse: Tensor,
    /// How often each value occurs, i64, (count).
    pub counts: Tensor,
}

/// First occurrence and number of each value, and the value's number for every element; `order` sorts the elements.
fn groups<T: Element>(x: &[T], order: &[i64]) -> (Vec<i64>, Vec<i64>, Vec<i64>) {
    let is_nan = |value: &T| value != value;
    let same = |a: &T, b: &T| a == b || is_nan(a) && is_nan(b);
    let (mut firsts, mut counts, mut inverse) = (Vec::new(), Vec::new(), vec![0; x.len()]);
    let mut previous: Option<&T> = None;
    for &place in order {
        let value = &x[place as usize];
        match counts.last_mut() {
            Some(count) if previous.is_some_and(|previous| same(previous, value)) => *count += 1,
            _ => {
                firsts.push(place);
                counts.push(1);
            }
        }
        inverse[place as usize] = firsts.len() as i64 - 1;
        previous = Some(value);
    }
    (firsts, counts, inverse)
}

/// The different values of a tensor.
pub(crate) fn unique(x: &Tensor) -> Result<Unique> {
    if x.is_batched() {
        let problem = "the number of values would differ from sample to sample inside `vmap`; use `sort` instead";
        return Err(Error::derivative("unique", problem));
    }
    depends_on("unique", x)?;
    let flat = shape::reshape(x, Shape::from(x.numel()))?;
    let data = flat.untracked().contiguous_data()?.into_owned();
    let order = argsort(&data, 0, false)?;
    let order = order.contiguous_data()?;
    let (firsts, counts, inverse) =
        match_any!(x.dtype(), T => groups(data.contiguous_slice::<T>(), order.contiguous_slice::<i64>()));
    Ok(Unique {
        values: select_named("unique", &flat, 0, &Tensor::from(firsts))?,
        inverse: Tensor::try_from_vec(inverse, x.shape().clone())?,
        counts: Tensor::from(counts),
    })
}
