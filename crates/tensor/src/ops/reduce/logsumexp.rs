//! ln Σ e^x over axes, stable: the largest element m is taken out, ln Σ e^x = m + ln Σ e^(x − m). The gradient is the
//! softmax. Rows of −∞ give −∞ with gradient 0, never NaN.

use smallvec::smallvec;

use super::{Axes, axes_from_end, count, describe, kept, max, negative, reduced, require_float, sum};
use crate::autodiff::{Grads, apply};
use crate::ops::fused::{Fused, FusedOp, Saved, fused};
use crate::ops::{Aux, binary, shape, unary};
use crate::{Result, Tensor};

#[derive(Clone)]
struct LogSumExp {
    axes: Axes,
    keep: bool,
}

/// `x` where finite, 0 elsewhere; a constant to derivatives.
fn finite(x: &Tensor) -> Result<Tensor> {
    let x = x.detach();
    binary::select(&binary::is_finite(&x)?, &x, &Tensor::scalar_of(0.0, x.dtype()))
}

impl LogSumExp {
    /// The largest element m where finite, else 0, and Σ e^(x − m), with the axes kept.
    fn parts(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let axes = negative(&self.axes);
        let largest = finite(&max(x, &axes, true)?)?;
        let total = sum(&unary::exp(&binary::sub(x, &largest)?)?, &axes, true)?;
        Ok((largest, total))
    }

    fn is_empty(&self, x: &Tensor) -> bool {
        count(x.shape(), &self.axes) == 0
    }

    /// ln(total) + m, or −∞ where the total is zero.
    fn value(&self, x: &Tensor, largest: &Tensor, total: &Tensor) -> Result<Tensor> {
        let (empty, safe) = nonzero(total)?;
        let value = binary::add(&unary::ln(&safe)?, largest)?;
        let value = binary::select(&empty, &Tensor::scalar_of(f64::NEG_INFINITY, x.dtype()), &value)?;
        shape::reshape(&value, reduced(x.shape(), &self.axes, self.keep))
    }
}

/// Where totals are zero, and the totals with 1 there: neither the logarithm nor the quotient of 0 is ever taken, so that
/// no infinite slope meets a zero.
fn nonzero(total: &Tensor) -> Result<(Tensor, Tensor)> {
    let empty = binary::eq_scalar(total, 0.0)?;
    let safe = binary::select(&empty, &Tensor::scalar_of(1.0, total.dtype()), total)?;
    Ok((empty, safe))
}

impl Fused for LogSumExp {
    const NAME: &'static str = "logsumexp";

    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        let x = inputs[0].untracked();
        if self.is_empty(&x) {
            return Ok((self.definition(&[&x])?, Aux::new()));
        }
        let (largest, total) = self.parts(&x)?;
        Ok((self.value(&x, &largest, &total)?, smallvec![largest, total]))
    }

    fn backward(&self, at: &Saved<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let x = at.inputs[0];
        if self.is_empty(x) {
            return Ok(smallvec![Some(x.zeros_like())]);
        }
        let (largest, total) = match at.aux {
            [largest, total] => (largest.clone(), total.clone()),
            _ => self.parts(x)?,
        };
        let grad = shape::reshape(grad, kept(x.shape(), &self.axes))?;
        let share = binary::div(&grad, &nonzero(&total)?.1)?;
        let powers = unary::exp(&binary::sub(x, &largest)?)?;
        Ok(smallvec![Some(binary::binary_owned(binary::Mul, powers, &share)?)])
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let x = inputs[0];
        if self.is_empty(x) {
            let nothing = Tensor::scalar_of(f64::NEG_INFINITY, x.dtype());
            return shape::broadcast_to(&nothing, reduced(x.shape(), &self.axes, self.keep));
        }
        let (largest, total) = self.parts(x)?;
        self.value(x, &largest, &total)
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

/// Logarithm of the sum of exponentials over axes.
pub(crate) fn logsumexp(x: &Tensor, axes: &[isize], keep: bool) -> Result<Tensor> {
    require_float("logsumexp", x)?;
    fused(LogSumExp { axes: axes_from_end("logsumexp", x, axes)?, keep }, &[x])
}
