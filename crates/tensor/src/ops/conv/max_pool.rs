//! The largest element of every window.
//!
//! Among equals the first in row order takes the whole derivative, as in PyTorch. The definition picks the elements at the
//! winners' positions, which are constants to every derivative, and so follows the same rule.

use smallvec::smallvec;

use super::pick::pick;
use super::{PoolOptions, as_images};
use crate::autodiff::{Grads, apply};
use crate::dtype::match_float;
use crate::kernels::conv::pool::{Windows, max_pool, max_pool_transposed, winners};
use crate::ops::Aux;
use crate::ops::constant::{Constant, constant_op};
use crate::ops::fused::{Fused, Saved, fused};
use crate::tensor::Fresh;
use crate::{DType, Error, Result, Shape, Tensor};

/// Input (…, height, width).
#[derive(Clone, Copy)]
struct MaxPool {
    options: PoolOptions,
}

/// Positions of the winners of [`MaxPool`] in their planes.
#[derive(Clone, Copy)]
struct Winners {
    options: PoolOptions,
}

/// Sizes of the windows of (…, height, width), once they fit, and the number of planes.
pub(super) fn windows(op: &'static str, x: &Tensor, o: &PoolOptions) -> Result<(Windows, usize)> {
    if x.rank() < 2 {
        return Err(Error::shape(op, x.shape(), "needs (…, height, width)"));
    }
    if !x.dtype().is_float() {
        return Err(Error::DType { op, dtype: x.dtype(), expected: "f32 or f64 is needed" });
    }
    let image = super::bilinear::spatial(x.shape());
    let mut result = [0; 2];
    for axis in 0..2 {
        let (kernel, stride, padding) = (o.kernel[axis], o.stride[axis], o.padding[axis]);
        if kernel == 0 || stride == 0 {
            return Err(Error::parameter(op, "kernel", "and stride must be at least 1"));
        }
        // Positions are counted in signed numbers, with room for sums of a few of these.
        if kernel.max(stride) > isize::MAX as usize / 8 {
            return Err(Error::parameter(op, "kernel", "and stride must not be larger than any image"));
        }
        if padding > kernel / 2 {
            return Err(Error::parameter(op, "padding", format!("{padding} is more than half the window of {kernel}")));
        }
        match image[axis].saturating_add(padding.saturating_mul(2)).checked_sub(kernel) {
            Some(rest) if image[axis] > 0 => result[axis] = rest / stride + 1,
            _ => {
                let problem = format!("a window of {:?} does not fit into the padded image", o.kernel);
                return Err(Error::shape(op, x.shape(), problem));
            }
        }
    }
    let planes = x.dims()[..x.rank() - 2].iter().product();
    let include_pad = o.count_include_pad;
    Ok((Windows { image, result, kernel: o.kernel, stride: o.stride, padding: o.padding, include_pad }, planes))
}

/// The shape of the pooled images.
pub(super) fn pooled(x: &Tensor, w: &Windows) -> Shape {
    Shape::new(&x.dims()[..x.rank() - 2]).joined(&w.result)
}

impl Constant for Winners {
    const NAME: &'static str = "max_pool2d_positions";

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let x = inputs[0].contiguous_data()?;
        let (w, planes) = windows(Self::NAME, &x, &self.options)?;
        let mut out = Fresh::new(pooled(&x, &w), DType::I64)?;
        match_float!(Self::NAME, x.dtype(), T => {
            // SAFETY: `x` is row-major with these planes, and `out` was made for their windows.
            unsafe { winners::<T>(&w, planes, x.pointer(), out.pointer()) }
        });
        Ok(out.finish())
    }
}

impl Fused for MaxPool {
    const NAME: &'static str = "max_pool2d";

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        let x = inputs[0].contiguous_data()?;
        let (w, planes) = windows(Self::NAME, &x, &self.options)?;
        let mut out = Fresh::new(pooled(&x, &w), x.dtype())?;
        match_float!(Self::NAME, x.dtype(), T => {
            // SAFETY: `x` is row-major with these planes, and `out` was made for their windows.
            unsafe { max_pool::<T>(&w, planes, x.pointer(), out.pointer()) }
        });
        Ok((out.finish(), Aux::new()))
    }

    #[allow(unsafe_code)]
    fn backward(&self, at: &Saved<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let (x, g) = (at.inputs[0].contiguous_data()?, grad.contiguous_data()?);
        let (w, planes) = windows(Self::NAME, &x, &self.options)?;
        let mut out = Fresh::new(x.shape().clone(), x.dtype())?;
        match_float!(Self::NAME, x.dtype(), T => {
            // SAFETY: row-major tensors with these planes, and `out` is new.
            unsafe { max_pool_transposed::<T>(&w, planes, x.pointer(), g.pointer(), out.pointer()) }
        });
        Ok(smallvec![Some(out.finish())])
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let positions = apply(constant_op(Winners { options: self.options }), &[inputs[0]])?;
        pick(inputs[0], &positions)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        fused(*self, inputs).map(Some)
    }

    fn flops(&self, _inputs: &[&Tensor], output: &Tensor) -> u64 {
        output.numel().saturating_mul(self.options.kernel[0]).saturating_mul(self.options.kernel[1]) as u64
    }

    fn attributes(&self) -> String {
        attributes(&self.options)
    }
}

pub(super) fn attributes(o: &PoolOptions) -> String {
    format!("kernel={:?}, stride={:?}, padding={:?}", o.kernel, o.stride, o.padding)
}

/// The largest element of every window of (…, height, width).
pub(crate) fn max_pool2d(x: &Tensor, options: &PoolOptions) -> Result<Tensor> {
    fused(MaxPool { options: *options }, &[x])
}

/// The largest element of every window of (…, length).
pub(crate) fn max_pool1d(x: &Tensor, options: &PoolOptions) -> Result<Tensor> {
    as_images(x, |x| max_pool2d(x, &options.one_dimensional()))
}
