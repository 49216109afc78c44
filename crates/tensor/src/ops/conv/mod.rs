//! Convolutions, pooling and patches of images in the layout (images, channels, height, width).
//!
//! A convolution is bilinear in image and filters. The trilinear form ⟨g, x ∗ w⟩ has three partial maps, the convolution
//! itself, the transposed convolution and the gradient by filters, and each one's derivatives are the other two
//! (`bilinear`): derivatives of any order run on the same kernels. [`unfold`] and [`fold`] define them: x ∗ w is the matrix
//! of filters times the matrix of patches.

mod avg_pool;
mod bilinear;
mod conv2d;
mod conv_transpose2d;
mod interpolate;
mod max_pool;
mod options;
mod pick;
mod signal;
mod unfold;

pub(crate) use avg_pool::{adaptive_avg_pool2d, avg_pool1d, avg_pool2d};
pub(crate) use conv_transpose2d::{conv_transpose1d, conv_transpose2d};
pub(crate) use conv2d::{conv1d, conv2d};
pub use interpolate::Interpolation;
pub(crate) use interpolate::interpolate;
pub(crate) use max_pool::{max_pool1d, max_pool2d};
pub use options::{ConvOptions, PoolOptions};
pub use signal::ConvMode;
pub(crate) use signal::{convolve2d, correlate2d};
pub(crate) use unfold::{fold, unfold};

use crate::ops::shape;
use crate::{Result, Tensor};

/// Runs an operation on images on (…, length) by giving it a height of 1.
fn as_images(x: &Tensor, op: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    shape::squeeze(&op(&shape::unsqueeze(x, -2)?)?, -2)
}
