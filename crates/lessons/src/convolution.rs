//! Cross-correlation, convolution, and convolution without shared weights.
//!
//! Nets compute the cross-correlation y(n) = Σ_m f(m) x(n + m) and call it a convolution. The convolution of mathematics
//! is y(n) = Σ_k f(k) x(n − k): the same with the filter flipped along every axis. "Valid" means that the filter stays
//! inside the image (no padding), "full" that it meets the image at all, "same" that the result has the image's size.
//!
//! A convolution uses one filter at all positions. Give every position a filter of its own and the same values come out;
//! the gradient of the shared filter is the sum of the gradients of these copies.
//!
//! ```
//! use tove_lessons::convolution::{Extent, convolve, correlate};
//! use tove_tensor::Tensor;
//! let (x, f) = (Tensor::from([[1.0, 2.0, 3.0]]), Tensor::from([[1.0, 10.0]]));
//! assert_eq!(correlate(&x, &f, Extent::Valid)?.to_vec::<f64>(), [21.0, 32.0]);
//! assert_eq!(convolve(&x, &f, Extent::Valid)?.to_vec::<f64>(), [12.0, 23.0]);
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use tove_tensor::{ConvOptions, Error, Result, Tensor, TryConv, TryIndex, TryOps};

/// How much of the result is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Where the filter lies inside the image.
    Valid,
    /// Where it meets the image.
    Full,
    /// The middle of the full result, of the image's size.
    Same,
}

/// Cross-correlation of an image (height, width) with a filter (rows, columns).
pub fn correlate(x: &Tensor, filter: &Tensor, extent: Extent) -> Result<Tensor> {
    // The middle of an even filter is the tap behind the centre, as in SciPy.
    slide(x, filter, extent, |taps| taps / 2)
}

/// Convolution of an image (height, width) with a filter (rows, columns).
pub fn convolve(x: &Tensor, filter: &Tensor, extent: Extent) -> Result<Tensor> {
    slide(x, &filter.try_flip(&[0, 1])?, extent, |taps| taps.saturating_sub(1) / 2)
}

/// Products at all places of the filter; `start` is where "same" begins within "full".
fn slide(x: &Tensor, filter: &Tensor, extent: Extent, start: fn(usize) -> usize) -> Result<Tensor> {
    let (&[height, width], &[rows, columns]) = (x.dims(), filter.dims()) else {
        return Err(Error::shapes("slide", x.shape(), filter.shape(), "an image and a filter have two axes each"));
    };
    let mut options = ConvOptions::new();
    if extent != Extent::Valid {
        options.padding = [rows.saturating_sub(1), columns.saturating_sub(1)];
    }
    let (images, filters) = (x.try_reshape([1, 1, height, width])?, filter.try_reshape([1, 1, rows, columns])?);
    let y = images.try_conv2d(&filters, None, &options)?.try_squeeze(0)?.try_squeeze(0)?;
    match extent {
        Extent::Same => y.try_narrow(0, start(rows), height)?.try_narrow(1, start(columns), width),
        _ => Ok(y),
    }
}

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
