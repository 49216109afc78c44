//! Positions in a sorted list, and counts of small whole numbers.

use super::select::sum_rows;
use crate::autodiff::{apply, depends_on};
use crate::dtype::match_number;
use crate::kernels::elementwise::GRAIN;
use crate::kernels::index::for_pieces;
use crate::ops::constant::{Constant, constant_op};
use crate::ops::shape;
use crate::tensor::{Fresh, checked_numel};
use crate::{DType, Error, Result, Shape, Tensor};

#[derive(Clone, Copy)]
struct SearchSorted {
    right: bool,
}

impl Constant for SearchSorted {
    const NAME: &'static str = "searchsorted";
    const LEADING_AXES_FREE: bool = false;

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (sorted, values) = (inputs[0].contiguous_data()?, inputs[1].contiguous_data()?);
        let mut out = Fresh::new(values.shape().clone(), DType::I64)?;
        match_number!("searchsorted", sorted.dtype(), T => {
            positions(sorted.contiguous_slice::<T>(), values.contiguous_slice::<T>(), self.right, out.slice::<i64>());
        });
        Ok(out.finish())
    }

    fn attributes(&self) -> String {
        format!("right={}", self.right)
    }
}

/// Whether `a` comes before `b` in numpy's order: NaN is after everything.
fn before<T: PartialOrd>(a: &T, b: &T) -> bool {
    let is_nan = |value: &T| value.partial_cmp(value).is_none();
    a < b || (is_nan(b) && !is_nan(a))
}

fn positions<T: PartialOrd + Sync>(sorted: &[T], values: &[T], right: bool, out: &mut [i64]) {
    // A bisection costs about as much as 64 copied elements.
    let length = GRAIN / 64;
    for_pieces(out, length, |task, piece| {
        for (slot, value) in piece.iter_mut().zip(&values[task * length..]) {
            let place = match right {
                true => sorted.partition_point(|element| !before(value, element)),
                false => sorted.partition_point(|element| before(element, value)),
            };
            *slot = place as i64;
        }
    });
}

/// Where values would go into a sorted vector: before equal elements, or behind them with `right`.
pub(crate) fn searchsorted(sorted: &Tensor, values: &Tensor, right: bool) -> Result<Tensor> {
    if sorted.rank() != 1 {
        return Err(Error::shape("searchsorted", sorted.shape(), "the sorted values must have rank 1"));
    }
    if sorted.dtype() != values.dtype() {
        return Err(Error::DTypePair { op: "searchsorted", left: sorted.dtype(), right: values.dtype() });
    }
    apply(constant_op(SearchSorted { right }), &[sorted, values])
}

/// How often each number `0, 1, …` occurs, or the sum of its weights; at least `least` entries.
pub(crate) fn bincount(x: &Tensor, weights: Option<&Tensor>, least: usize) -> Result<Tensor> {
    if x.dtype() != DType::I64 {
        return Err(Error::DType { op: "bincount", dtype: x.dtype(), expected: "whole numbers are i64" });
    }
    if x.is_batched() {
        let problem = "the length of the result would depend on the sample inside `vmap`; use `one_hot` and `sum`";
        return Err(Error::derivative("bincount", problem));
    }
    depends_on("bincount", x)?;
    let data = x.contiguous_data()?;
    let values = data.contiguous_slice::<i64>();
    if let Some(&index) = values.iter().find(|&&value| value < 0) {
        return Err(Error::parameter("bincount", "values", format!("must not be negative, but one is {index}")));
    }
    let bins = values.iter().map(|&value| value as usize + 1).max().unwrap_or(0).max(least);
    checked_numel("bincount", &Shape::from(bins))?;
    let flat = |y: &Tensor| shape::reshape(y, Shape::from(y.numel()));
    let weights = match weights {
        None => Tensor::try_ones(x.numel(), DType::I64)?,
        Some(weights) if weights.shape() == x.shape() => flat(weights)?,
        Some(weights) => {
            return Err(Error::shapes("bincount", x.shape(), weights.shape(), "there must be one weight per value"));
        }
    };
    sum_rows("bincount", &weights, 1, &flat(x)?, bins)
}
