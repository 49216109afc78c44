//! Softmax e^x / Σ e^x along an axis, and its logarithm. ∂softmax = y (g − Σ g y), ∂log_softmax = g − e^y Σ g.
//!
//! Stable for entries of any size. Where all entries along the axis are −∞ there is no distribution: the softmax is 0 and
//! the log-softmax −∞.

use super::{Fused, Saved, fused};
use crate::autodiff::{Grads, Point, check_like};
use crate::dtype::match_float;
use crate::kernels::softmax::{Kind, Layout, backward, forward};
use crate::ops::{Aux, axis_from_end, binary, one, reduce, unary};
use crate::tensor::Fresh;
use crate::{Result, Tensor};

/// The axis is counted from the end (1 is the last).
#[derive(Clone, Copy)]
struct Softmax {
    axis: usize,
}

#[derive(Clone, Copy)]
struct LogSoftmax {
    axis: usize,
}

/// The sizes around the axis, whose product is the number of elements.
fn layout(x: &Tensor, axis: usize) -> Layout {
    let axis = x.rank() - axis;
    let (before, after) = (&x.dims()[..axis], &x.dims()[axis + 1..]);
    Layout { outer: before.iter().product(), length: x.dims()[axis], inner: after.iter().product() }
}

#[allow(unsafe_code)]
fn value(op: &'static str, kind: Kind, x: &Tensor, axis: usize) -> Result<Tensor> {
    let x = x.contiguous_data()?;
    let mut out = Fresh::new(x.shape().clone(), x.dtype())?;
    match_float!(op, x.dtype(), T => {
        // SAFETY: both are row-major with the layout's size, and `out` is new.
        unsafe { forward::<T>(kind, x.pointer(), layout(&x, axis), out.pointer()) }
    });
    Ok(out.finish())
}

#[allow(unsafe_code)]
fn gradient(op: &'static str, kind: Kind, y: Option<&Tensor>, grad: &Tensor, axis: usize) -> Result<Tensor> {
    let (y, grad) = (y.unwrap_or(grad).contiguous_data()?, grad.contiguous_data()?);
    check_like(op, y.shape(), y.dtype(), &grad)?;
    let mut out = Fresh::new(y.shape().clone(), y.dtype())?;
    match_float!(op, y.dtype(), T => {
        // SAFETY: all are row-major with the layout's size, and `out` is new.
        unsafe { backward::<T>(kind, y.pointer(), grad.pointer(), layout(&y, axis), out.pointer()) }
    });
    Ok(out.finish())
}

/// x less its largest entry, and the sum of exponentials of that, which stands at 1 where there are only −∞.
fn shifted(x: &Tensor, axis: usize) -> Result<(Tensor, Tensor)> {
    let axes = [-(axis as isize)];
    let largest = reduce::max(&x.detach(), &axes, true)?;
    let none = binary::eq_scalar(&largest, f64::NEG_INFINITY)?;
    let largest = binary::select(&none, &Tensor::scalar_of(0.0, x.dtype()), &largest)?;
    let z = binary::sub(x, &largest)?;
    let sum = reduce::sum(&unary::exp(&z)?, &axes, true)?;
    let sum = binary::select(&none, &Tensor::scalar_of(1.0, x.dtype()), &sum)?;
    Ok((z, sum))
}

/// t ↦ y ∘ (t − Σ y t), the Jacobian of softmax at the value y; it is symmetric and serves both modes.
fn jacobian_of_softmax(y: &Tensor, t: &Tensor, axis: usize) -> Result<Tensor> {
    let weighted = binary::mul(y, t)?;
    let total = reduce::sum(&weighted, &[-(axis as isize)], true)?;
    binary::sub(&weighted, &binary::mul(y, &total)?)
}

impl Fused for Softmax {
    const NAME: &'static str = "softmax";
    const NEEDS_OUTPUT: bool = true;

    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        Ok((value(Self::NAME, Kind::Softmax, inputs[0], self.axis)?, Aux::new()))
    }

    fn backward(&self, at: &Saved<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        one(gradient(Self::NAME, Kind::Softmax, at.output, grad, self.axis)?)
    }

    fn tangent(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Option<Result<Option<Tensor>>> {
        Some(tangents[0].map(|t| jacobian_of_softmax(at.output(), t, self.axis)).transpose())
    }

    fn adjoint(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Option<Result<Grads>> {
        Some(jacobian_of_softmax(at.output(), grad, self.axis).and_then(one))
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        if inputs[0].shape().contains(&0) {
            return Ok(inputs[0].clone());
        }
        let (z, sum) = shifted(inputs[0], self.axis)?;
        binary::div(&unary::exp(&z)?, &sum)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        fused(*self, inputs).map(Some)
    }

    fn flops(&self, _inputs: &[&Tensor], output: &Tensor) -> u64 {
        4 * output.numel() as u64
    }

    fn attributes(&self) -> String {
        format!("axis=-{}", self.axis)
    }
}

impl Fused for LogSoftmax {
    const NAME: &'static str = "log_softmax";
    const NEEDS_OUTPUT: bool = true;

    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        Ok((value(Self::NAME, Kind::LogSoftmax, inputs[0], self.axis)?, Aux::new()))
    }

    fn backward(&self, at: &Saved<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        one(gradient(Self::NAME, Kind::LogSoftmax, at.output, grad, self.axis)?)
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        if inputs[0].shape().contains(&0) {
            return Ok(inputs[0].clone());
        }
        let (z, sum) = shifted(inputs[0], self.axis)?;
        binary::sub(&z, &unary::ln(&sum)?)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        fused(*self, inputs).map(Some)
    }

    fn flops(&self, _inputs: &[&Tensor], output: &Tensor) -> u64 {
        4 * output.numel() as u64
    }

    fn attributes(&self) -> String {
        format!("axis=-{}", self.axis)
    }
}

/// e^x / Σ e^x along an axis.
pub(crate) fn softmax(x: &Tensor, axis: isize) -> Result<Tensor> {
    fused(Softmax { axis: axis_from_end("softmax", x, axis)? }, &[x])
}

/// x − ln Σ e^x along an axis.
pub(crate) fn log_softmax(x: &Tensor, axis: isize) -> Result<Tensor> {
    fused(LogSoftmax { axis: axis_from_end("log_softmax", x, axis)? }, &[x])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn a_gradient_of_another_shape_or_type_is_refused() {
        let y = Tensor::ones([4, 8], DType::F64);
        for grad in [Tensor::ones([4, 7], DType::F64), Tensor::ones([4, 8], DType::F32)] {
            assert!(gradient("softmax", Kind::Softmax, Some(&y), &grad, 1).is_err());
        }
        assert!(gradient("softmax", Kind::Softmax, Some(&y), &y, 1).is_ok());
    }
}
