//! Quantiles with linear interpolation, as numpy's default: at q the value at position q (n − 1) of the sorted axis,
//! between two elements in proportion.
//!
//! The value is Σ w x with weights that name the one or two elements it comes from. The weights are constant between
//! exchanges of order, so this is the derivative, too: it flows to those elements, the first ones in case of ties.

use std::cmp::Ordering;

use super::prod::around;
use super::{require_float, sum};
use crate::autodiff::apply;
use crate::dtype::match_float;
use crate::ops::constant::{Constant, constant_op};
use crate::ops::{axis_from_end, binary, shape};
use crate::tensor::Fresh;
use crate::{Element, Error, Result, Shape, Tensor};

/// The weights of the elements in the quantile along an axis counted from the end.
#[derive(Clone, Copy)]
struct Weights {
    axis: usize,
    q: f64,
}

impl Constant for Weights {
    const NAME: &'static str = "quantile";

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let x = inputs[0].contiguous_data()?;
        let sizes = around(x.shape(), self.axis);
        let mut out = Fresh::new(x.shape().clone(), x.dtype())?;
        match_float!("quantile", x.dtype(), T => {
            let (x, out) = (x.contiguous_slice::<T>(), out.slice::<T>());
            out.fill(0.0);
            let mut order = Vec::new();
            for row in 0..sizes.outer * sizes.inner {
                let start = row / sizes.inner * sizes.length * sizes.inner + row % sizes.inner;
                let place = |k: usize| start + k * sizes.inner;
                for (k, weight) in chosen(self.q, sizes.length, |k| x[place(k)].to_f64(), &mut order) {
                    out[place(k)] += weight as T;
                }
            }
        });
        Ok(out.finish())
    }

    fn attributes(&self) -> String {
        format!("axis=-{}, q={}", self.axis, self.q)
    }
}

/// The two elements between which the quantile lies, with their weights; a NaN alone, where there is one.
fn chosen(q: f64, length: usize, x: impl Fn(usize) -> f64, order: &mut Vec<usize>) -> [(usize, f64); 2] {
    if let Some(nan) = (0..length).find(|&k| x(k).is_nan()) {
        return [(nan, 1.0), (nan, 0.0)];
    }
    order.clear();
    order.extend(0..length);
    let by_value = |a: &usize, b: &usize| x(*a).partial_cmp(&x(*b)).unwrap_or(Ordering::Equal).then(a.cmp(b));
    let position = q * (length - 1) as f64;
    let (low, fraction) = (position.floor() as usize, position.fract());
    let (_, &mut first, above) = order.select_nth_unstable_by(low, by_value);
    let second = above.iter().copied().min_by(by_value).unwrap_or(first);
    [(first, 1.0 - fraction), (second, fraction)]
}

/// The quantile along one axis.
pub(crate) fn quantile(x: &Tensor, q: f64, axis: isize, keep: bool) -> Result<Tensor> {
    require_float("quantile", x)?;
    if !(0.0..=1.0).contains(&q) {
        return Err(Error::parameter("quantile", "q", format!("is {q}; give a number from 0 to 1")));
    }
    let from_end = axis_from_end("quantile", x, axis)?;
    let position = x.rank() - from_end;
    if x.dims()[position] == 0 {
        let shape = if keep { x.shape().with(position, 1) } else { x.shape().without(position) };
        return Tensor::try_full(shape, f64::NAN, x.dtype());
    }
    let weights = apply(constant_op(Weights { axis: from_end, q }), &[&x.detach()])?;
    // Elements of weight 0 are left out, or an infinite one would turn the sum into NaN.
    let absent = binary::eq_scalar(&weights, 0.0)?;
    let parts = binary::select(&absent, &Tensor::scalar_of(0.0, x.dtype()), &binary::mul(x, &weights)?)?;
    sum(&parts, &[axis], keep)
}

/// The quantile of all elements.
pub(crate) fn quantile_all(x: &Tensor, q: f64) -> Result<Tensor> {
    quantile(&shape::reshape(x, Shape::from(x.numel()))?, q, 0, false)
}
