//! Convolution without shared weights.
//!
//! A convolution uses one filter at all positions. Give every position a filter of its own and the same values come out;
//! the gradient of the shared filter is the sum of the gradients of these copies.

use tove_tensor::{ConvOptions, Result, Tensor, TryConv, TryOps};

/// A convolution whose filters (positions, out, in · rows · columns) differ from position to position, for images
/// (images, in, height, width); positions count row by row. The result is (images, out, positions).
///
/// ```
/// use tove_lessons::convolution::{copies, unshared};
/// use tove_tensor::{ConvOptions, DType, Tensor};
/// let (x, w) = (Tensor::ones([1, 2, 4, 4], DType::F64), Tensor::ones([3, 2, 3, 3], DType::F64));
/// let y = unshared(&x, &copies(&w, 4)?, [3, 3], &ConvOptions::new())?;
/// assert_eq!((y.shape(), y.mean().item::<f64>()), (&[1, 3, 4].into(), 18.0));
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn unshared(x: &Tensor, filters: &Tensor, kernel: [usize; 2], options: &ConvOptions) -> Result<Tensor> {
    let patches = x.try_unfold(kernel, options)?; // (images, in · rows · columns, positions)
    Tensor::try_einsum("pok,nkp->nop", &[filters, &patches])
}

/// One copy of the filters (out, in, rows, columns) per position, flattened as [`unshared`] wants them.
pub fn copies(weight: &Tensor, positions: usize) -> Result<Tensor> {
    let outputs = weight.dims().first().copied().unwrap_or(1);
    let flat = weight.try_flatten(1)?;
    Ok(flat.try_unsqueeze(0)?.try_broadcast_to([positions, outputs, flat.dims()[1]])?.contiguous())
}
