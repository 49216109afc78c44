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

impl Fused for LogSumExp {
    const NAME: &'static str = "logsumexp";
    const NEEDS_OUTPUT: bool = true;

    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        Ok((self.definition(&[&inputs[0].untracked()])?, Aux::new()))
    }

    fn backward(&self, at: &Saved<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let x = at.inputs[0];
        let shape = kept(x.shape(), &self.axes);
        let y = match at.output {
            Some(y) => y.untracked(),
            None => self.definition(&[x])?,
        };
        let y = finite(&shape::reshape(&y, shape.clone())?)?;
        let softmax = unary::exp(&binary::sub(x, &y)?)?;
        Ok(smallvec![Some(binary::mul(&softmax, &shape::reshape(grad, shape)?)?)])
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (x, axes) = (inputs[0], negative(&self.axes));
        let nothing = Tensor::scalar_of(f64::NEG_INFINITY, x.dtype());
        if count(x.shape(), &self.axes) == 0 {
            return shape::broadcast_to(&nothing, reduced(x.shape(), &self.axes, self.keep));
        }
        let largest = finite(&max(x, &axes, true)?)?;
        let total = sum(&unary::exp(&binary::sub(x, &largest)?)?, &axes, true)?;
        // The logarithm of 0 is never taken, so that no infinite slope meets a zero.
        let empty = binary::eq_scalar(&total, 0.0)?;
        let safe = binary::select(&empty, &Tensor::scalar_of(1.0, x.dtype()), &total)?;
        let value = binary::add(&unary::ln(&safe)?, &largest)?;
        let value = binary::select(&empty, &nothing, &value)?;
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

/// Logarithm of the sum of exponentials over axes.
pub(crate) fn logsumexp(x: &Tensor, axes: &[isize], keep: bool) -> Result<Tensor> {
    require_float("logsumexp", x)?;
    fused(LogSumExp { axes: axes_from_end("logsumexp", x, axes)?, keep }, &[x])
}
