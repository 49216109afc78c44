//! Cross-correlation and convolution of one image with one filter, as in signal processing.

use super::{ConvOptions, conv2d};
use crate::ops::shape;
use crate::{Error, Result, Shape, Tensor};

/// How much of a convolution or cross-correlation is kept, with the names of SciPy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConvMode {
    /// All positions where filter and image overlap: height + rows − 1 by width + columns − 1.
    #[default]
    Full,
    /// Only positions where the filter lies inside the image, so no padding: height − rows + 1 by width − columns + 1.
    Valid,
    /// The center of the full result, with the size of the image.
    Same,
}

/// Σ_m f(m) x(n + m).
pub(crate) fn correlate2d(x: &Tensor, filter: &Tensor, mode: ConvMode) -> Result<Tensor> {
    check("correlate2d", x, filter, mode)?;
    // For an even number of taps, SciPy takes the tap after the middle as the center.
    slide(x, filter, mode, |taps| taps / 2)
}

/// Σ_k f(k) x(n − k): the cross-correlation with the filter flipped along both axes.
pub(crate) fn convolve2d(x: &Tensor, filter: &Tensor, mode: ConvMode) -> Result<Tensor> {
    check("convolve2d", x, filter, mode)?;
    slide(x, &shape::flip(filter, &[0, 1])?, mode, |taps| (taps - 1) / 2)
}

fn check(op: &'static str, x: &Tensor, filter: &Tensor, mode: ConvMode) -> Result<()> {
    let (&[height, width], &[rows, columns]) = (x.dims(), filter.dims()) else {
        let problem = "expected an image (height, width) and a filter (rows, columns)";
        return Err(Error::shapes(op, x.shape(), filter.shape(), problem));
    };
    if height * width == 0 || rows * columns == 0 {
        return Err(Error::shapes(op, x.shape(), filter.shape(), "image and filter must not be empty"));
    }
    if mode == ConvMode::Valid && (rows > height || columns > width) {
        let problem = "with ConvMode::Valid the filter must fit inside the image";
        return Err(Error::shapes(op, x.shape(), filter.shape(), problem));
    }
    Ok(())
}

/// Cross-correlation after [`check`]; `start` gives the first position of "same" within "full".
fn slide(x: &Tensor, filter: &Tensor, mode: ConvMode, start: fn(usize) -> usize) -> Result<Tensor> {
    let (height, width, rows, columns) = (x.dims()[0], x.dims()[1], filter.dims()[0], filter.dims()[1]);
    let mut options = ConvOptions::new();
    if mode != ConvMode::Valid {
        options.padding = [rows - 1, columns - 1];
    }
    let images = shape::reshape(x, Shape::from([1, 1, height, width]))?;
    let filters = shape::reshape(filter, Shape::from([1, 1, rows, columns]))?;
    let y = shape::squeeze(&shape::squeeze(&conv2d(&images, &filters, None, &options)?, 0)?, 0)?;
    match mode {
        ConvMode::Full | ConvMode::Valid => Ok(y),
        ConvMode::Same => shape::narrow(&shape::narrow(&y, 0, start(rows), height)?, 1, start(columns), width),
    }
}
