//! Norms of vectors along axes: (Σ |x|^p)^(1/p), the largest |x| for p = ∞. Over all axes of a matrix, p = 2 is the
//! Frobenius norm.
//!
//! The derivative of the 2-norm is x / ‖x‖; at 0, where there is none, the subgradient 0 is taken (on every order), so
//! that penalties and clipping are harmless there. Sums of powers are scaled by the largest |x| where they would overflow
//! or vanish.

use smallvec::smallvec;

use super::variance::root;
use super::{
    Axes, axes_from_end, count, count_nonzero, describe, kept, max, min, negative, reduced, require_float, sum,
};
use crate::autodiff::{Grads, apply};
use crate::dtype::match_float;
use crate::ops::fused::{Fused, FusedOp, Saved, fused};
use crate::ops::{Aux, binary, shape, unary};
use crate::{Error, Result, Tensor};

/// The 2-norm.
#[derive(Clone)]
struct Norm2 {
    axes: Axes,
    keep: bool,
}

/// The largest |x| along axes, kept at size 1; 1 where that is zero or not finite, or there is nothing. A constant to
/// derivatives.
fn scale(x: &Tensor, axes: &Axes) -> Result<Tensor> {
    let one = Tensor::scalar_of(1.0, x.dtype());
    if count(x.shape(), axes) == 0 {
        return Ok(one);
    }
    let largest = max(&unary::abs(&x.detach())?, &negative(axes), true)?;
    let usable = binary::logical_and(&binary::is_finite(&largest)?, &binary::ne_scalar(&largest, 0.0)?)?;
    binary::select(&usable, &largest, &one)
}

impl Fused for Norm2 {
    const NAME: &'static str = "norm";
    const NEEDS_OUTPUT: bool = true;

    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        let x = inputs[0].untracked();
        let squares = sum(&unary::square(&x)?, &negative(&self.axes), self.keep)?;
        // Squares between these bounds have neither overflowed nor lost digits to the smallest numbers.
        let harmless = match_float!("norm", x.dtype(), T => {
            let (low, high) = (T::MIN_POSITIVE / T::EPSILON / T::EPSILON, T::MAX);
            squares.contiguous_slice::<T>().iter().all(|s| (low..high).contains(s))
        });
        if harmless {
            return Ok((unary::sqrt(&squares)?, Aux::new()));
        }
        Ok((self.definition(&[&x])?, Aux::new()))
    }

    fn backward(&self, at: &Saved<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let x = at.inputs[0];
        let shape = kept(x.shape(), &self.axes);
        let y = match at.output {
            Some(y) => y.untracked(),
            None => self.definition(&[x])?,
        };
        let y = shape::reshape(&y, shape.clone())?;
        let grad = shape::reshape(grad, shape)?;
        let zero = Tensor::scalar_of(0.0, x.dtype());
        let share = binary::select(&binary::eq_scalar(&y, 0.0)?, &zero, &binary::div(&grad, &y)?)?;
        Ok(smallvec![Some(binary::mul(x, &share)?)])
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let x = inputs[0];
        let scale = scale(x, &self.axes)?;
        let squares = sum(&unary::square(&binary::div(x, &scale)?)?, &negative(&self.axes), true)?;
        let value = binary::mul(&root(&squares)?, &scale)?;
        shape::reshape(&value, reduced(x.shape(), &self.axes, self.keep))
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(FusedOp(self.clone()), inputs).map(Some)
    }

    fn flops(&self, _inputs: &[&Tensor], _output: &Tensor) -> u64 {
        // Counted by the operations it is made of.
        0
    }

    fn attributes(&self) -> String {
        describe(&self.axes, self.keep)
    }
}

/// Any other power, scaled by the largest element. Zeros take part neither in the value nor in the derivative.
fn general(x: &Tensor, p: f64, axes: &Axes, keep: bool) -> Result<Tensor> {
    let (zero, one) = (Tensor::scalar_of(0.0, x.dtype()), Tensor::scalar_of(1.0, x.dtype()));
    let scale = scale(x, axes)?;
    let parts = binary::div(&unary::abs(x)?, &scale)?;
    let absent = binary::eq_scalar(&parts, 0.0)?;
    let powers = unary::powf(&binary::select(&absent, &one, &parts)?, p)?;
    let total = sum(&binary::select(&absent, &zero, &powers)?, &negative(axes), true)?;
    let absent = binary::eq_scalar(&total, 0.0)?;
    let value = unary::powf(&binary::select(&absent, &one, &total)?, 1.0 / p)?;
    let value = binary::mul(&binary::select(&absent, &zero, &value)?, &scale)?;
    shape::reshape(&value, reduced(x.shape(), axes, keep))
}

/// The p-norm over axes: p ≥ 0 (0 counts what is not zero), ∞ or −∞ (the smallest |x|).
pub(crate) fn norm(x: &Tensor, p: f64, axes: &[isize], keep: bool) -> Result<Tensor> {
    require_float("norm", x)?;
    let list = axes_from_end("norm", x, axes)?;
    if p == 2.0 {
        return fused(Norm2 { axes: list, keep }, &[x]);
    }
    if p == 1.0 {
        return sum(&unary::abs(x)?, axes, keep);
    }
    if p == f64::INFINITY {
        return max(&unary::abs(x)?, axes, keep);
    }
    if p == f64::NEG_INFINITY {
        return min(&unary::abs(x)?, axes, keep);
    }
    if p == 0.0 {
        return shape::to_dtype(&count_nonzero(x, axes, keep)?, x.dtype());
    }
    if p > 0.0 {
        return general(x, p, &list, keep);
    }
    Err(Error::parameter("norm", "p", format!("is {p}; give a number from 0 on, or an infinity")))
}
