//! Running sums, products and logarithms of sums of exponentials along an axis.
//!
//! The running sum is linear; its transpose is the running sum from the other end. It keeps its digits over long axes. The
//! running product has ∂x_i = (x_0 ⋯ x_{i−1}) · S_i with S_i = g_i + x_{i+1} S_{i+1}: no division, hence right where
//! elements are zero. Its definition doubles the reach of each element in every step (Hillis and Steele 1986), in products
//! alone. So does ln Σ e^x, in ln(e^a + e^b), whose derivatives it takes over: nothing overflows, and −∞ counts as an empty
//! sum.

use smallvec::smallvec;

use super::prod::{Multiply, around};
use super::{require_float, widened};
use crate::autodiff::{Grads, apply};
use crate::dtype::{match_float, match_number};
use crate::kernels::running_sum::running_sum;
use crate::kernels::scan::{product_gradient, scan};
use crate::ops::fused::{Fused, FusedOp, Saved, fused};
use crate::ops::linear_map::{LinearMap, linear_map};
use crate::ops::{Aux, axis_from_end, binary, shape};
use crate::tensor::Fresh;
use crate::{Result, Shape, Tensor};

/// Running sum along an axis counted from the end.
#[derive(Clone, Copy)]
struct CumSum {
    axis: usize,
    reverse: bool,
}

impl LinearMap for CumSum {
    const NAME: &'static str = "cumsum";

    #[allow(unsafe_code)]
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let x = x.contiguous_data()?;
        let mut out = Fresh::new(x.shape().clone(), x.dtype())?;
        let sizes = around(x.shape(), self.axis);
        match_number!("cumsum", x.dtype(), T => {
            // SAFETY: `x` is row-major of this shape, and `out` is new.
            unsafe { running_sum::<T>(x.pointer(), sizes, self.reverse, out.pointer()) }
        });
        Ok(out.finish())
    }

    fn transpose(&self, grad: &Tensor, _shape: &Shape) -> Result<Tensor> {
        linear_map(CumSum { axis: self.axis, reverse: !self.reverse }, grad)
    }

    fn flops(&self, x: &Tensor) -> u64 {
        x.numel() as u64
    }

    fn attributes(&self) -> String {
        format!("axis=-{}, reverse={}", self.axis, self.reverse)
    }
}

/// Running product along an axis counted from the end.
#[derive(Clone, Copy)]
struct CumProd {
    axis: usize,
}

impl Fused for CumProd {
    const NAME: &'static str = "cumprod";

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        let x = inputs[0].contiguous_data()?;
        let mut out = Fresh::new(x.shape().clone(), x.dtype())?;
        let sizes = around(x.shape(), self.axis);
        match_number!("cumprod", x.dtype(), T => {
            // SAFETY: `x` is row-major of this shape, and `out` is new.
            unsafe { scan::<T, _>(Multiply, x.pointer(), sizes, false, out.pointer()) }
        });
        Ok((out.finish(), Aux::new()))
    }

    #[allow(unsafe_code)]
    fn backward(&self, at: &Saved<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let (x, grad) = (at.inputs[0].contiguous_data()?, grad.contiguous_data()?);
        let mut out = Fresh::new(x.shape().clone(), x.dtype())?;
        let sizes = around(x.shape(), self.axis);
        match_float!("cumprod", x.dtype(), T => {
            // SAFETY: all three are row-major of this shape, and `out` is new.
            unsafe { product_gradient::<T>(x.pointer(), grad.pointer(), sizes, false, out.pointer()) }
        });
        Ok(smallvec![Some(out.finish())])
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        doubling(inputs[0], self.axis, binary::mul)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(FusedOp(*self), inputs).map(Some)
    }

    fn attributes(&self) -> String {
        format!("axis=-{}", self.axis)
    }
}

/// Running folds along an axis counted from the end, by an associative function: in each step every element takes in
/// the fold of as many before it as it holds already.
fn doubling(x: &Tensor, from_end: usize, combine: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let axis = -(from_end as isize);
    let mut current = x.clone();
    let size = current.dims()[current.rank() - from_end];
    let mut reach = 1;
    while reach < size {
        let rest = size - reach;
        let earlier = shape::narrow(&current, axis, 0, rest)?;
        let longer = combine(&earlier, &shape::narrow(&current, axis, reach, rest)?)?;
        current = shape::concat(&[&shape::narrow(&current, axis, 0, reach)?, &longer], axis)?;
        reach *= 2;
    }
    Ok(current)
}

/// Running sum along an axis.
pub(crate) fn cumsum(x: &Tensor, axis: isize) -> Result<Tensor> {
    linear_map(CumSum { axis: axis_from_end("cumsum", x, axis)?, reverse: false }, &widened(x)?)
}

/// Running product along an axis.
pub(crate) fn cumprod(x: &Tensor, axis: isize) -> Result<Tensor> {
    fused(CumProd { axis: axis_from_end("cumprod", x, axis)? }, &[&widened(x)?])
}

/// ln of the running sum of exponentials along an axis.
pub(crate) fn logcumsumexp(x: &Tensor, axis: isize) -> Result<Tensor> {
    require_float("logcumsumexp", x)?;
    doubling(x, axis_from_end("logcumsumexp", x, axis)?, binary::logaddexp)
}
