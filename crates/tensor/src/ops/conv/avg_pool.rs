//! The mean of every window: a linear map, with its transpose.

use super::max_pool::{attributes, pooled, windows};
use super::{PoolOptions, as_images};
use crate::dtype::match_float;
use crate::kernels::conv::pool::{mean_pool, mean_pool_transposed};
use crate::ops::linear_map::{LinearMap, linear_map};
use crate::ops::matmul::matmul;
use crate::ops::shape;
use crate::tensor::{Fresh, checked_numel, try_vec};
use crate::{DType, Error, Result, Shape, Tensor};

/// Input (…, height, width).
#[derive(Clone, Copy)]
struct AvgPool {
    options: PoolOptions,
}

/// The transpose of [`AvgPool`] on images of a given size.
#[derive(Clone, Copy)]
struct Spread {
    options: PoolOptions,
    image: [usize; 2],
}

impl LinearMap for AvgPool {
    const NAME: &'static str = "avg_pool2d";

    #[allow(unsafe_code)]
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let x = x.contiguous_data()?;
        let (w, planes) = windows(Self::NAME, &x, &self.options)?;
        let mut out = Fresh::new(pooled(&x, &w), x.dtype())?;
        match_float!(Self::NAME, x.dtype(), T => {
            // SAFETY: `x` is row-major with these planes, and `out` was made for their windows.
            unsafe { mean_pool::<T>(&w, planes, x.pointer(), out.pointer()) }
        });
        Ok(out.finish())
    }

    fn transpose(&self, grad: &Tensor, shape: &Shape) -> Result<Tensor> {
        linear_map(Spread { options: self.options, image: super::bilinear::spatial(shape) }, grad)
    }

    fn flops(&self, x: &Tensor) -> u64 {
        x.numel() as u64
    }

    fn attributes(&self) -> String {
        attributes(&self.options)
    }
}

impl LinearMap for Spread {
    const NAME: &'static str = "avg_pool2d_transpose";

    #[allow(unsafe_code)]
    fn forward(&self, g: &Tensor) -> Result<Tensor> {
        let g = g.contiguous_data()?;
        let shape = Shape::new(&g.dims()[..g.rank() - 2]).joined(&self.image);
        let mut out = Fresh::new(shape, g.dtype())?;
        let like = Tensor::scalar_of(0.0, g.dtype());
        let like = like.view(out.shape().clone(), crate::shape::Strides::filled(g.rank(), 0), 0);
        let (w, planes) = windows(Self::NAME, &like, &self.options)?;
        match_float!(Self::NAME, g.dtype(), T => {
            // SAFETY: `g` is row-major with the windows of these planes, and `out` was made for them.
            unsafe { mean_pool_transposed::<T>(&w, planes, g.pointer(), out.pointer()) }
        });
        Ok(out.finish())
    }

    fn transpose(&self, grad: &Tensor, _shape: &Shape) -> Result<Tensor> {
        linear_map(AvgPool { options: self.options }, grad)
    }

    fn flops(&self, x: &Tensor) -> u64 {
        x.numel() as u64
    }

    fn attributes(&self) -> String {
        attributes(&self.options)
    }
}

/// The mean of every window of (…, height, width).
pub(crate) fn avg_pool2d(x: &Tensor, options: &PoolOptions) -> Result<Tensor> {
    windows(AvgPool::NAME, x, options)?;
    linear_map(AvgPool { options: *options }, x)
}

/// The mean of every window of (…, length).
pub(crate) fn avg_pool1d(x: &Tensor, options: &PoolOptions) -> Result<Tensor> {
    as_images(x, |x| avg_pool2d(x, &options.one_dimensional()))
}

/// Means over windows chosen so that the result has the size asked for; window i of an axis is
/// ⌊i·size/count⌋ .. ⌈(i+1)·size/count⌉.
pub(crate) fn adaptive_avg_pool2d(x: &Tensor, size: [usize; 2]) -> Result<Tensor> {
    const OP: &str = "adaptive_avg_pool2d";
    if x.rank() < 2 || x.dims()[x.rank() - 2..].contains(&0) {
        return Err(Error::shape(OP, x.shape(), "needs (…, height, width), none of them zero"));
    }
    if size.contains(&0) {
        return Err(Error::parameter(OP, "size", "must be at least 1"));
    }
    let [height, width] = super::bilinear::spatial(x.shape());
    if height % size[0] == 0 && width % size[1] == 0 {
        let mut options = PoolOptions::new(1);
        options.kernel = [height / size[0], width / size[1]];
        options.stride = options.kernel;
        return avg_pool2d(x, &options);
    }
    let rows = matmul(&averages(height, size[0], x.dtype())?, x)?;
    matmul(&rows, &shape::transpose(&averages(width, size[1], x.dtype())?)?)
}

/// The matrix (count, size) whose rows average the adaptive windows.
fn averages(size: usize, count: usize, dtype: DType) -> Result<Tensor> {
    let shape = Shape::from([count, size]);
    // The products below are smaller than the number of elements, or one more row.
    let mut data = try_vec("adaptive_avg_pool2d", checked_numel("adaptive_avg_pool2d", &shape)?, 0.0)?;
    for i in 0..count {
        let (start, end) = (i * size / count, ((i + 1) * size).div_ceil(count));
        data[i * size + start..i * size + end].fill(1.0 / (end - start) as f64);
    }
    shape::to_dtype(&Tensor::try_from_vec(data, shape)?, dtype)
}
