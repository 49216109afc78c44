//! Resizing and center-cropping images to one size.
//!
//! An image is scaled, keeping its aspect ratio, until it covers the target size, and center-cropped. Pixels are weighted by a
//! triangle as wide as one pixel of the coarser of the two grids: linear interpolation where the image
//! grows, a weighted mean of everything a new pixel covers where it shrinks (what PyTorch calls bilinear with antialias).

use tove_tensor::{DType, Error, Tensor};

use crate::Result;

/// The first source pixel of a new one, and the weights from there on, which add up to 1.
struct Taps {
    first: usize,
    weights: Vec<f32>,
}

/// What each of `wanted` new pixels takes from `given` ones along an axis, when a pixel of the source becomes `scale` new
/// ones and the middle is kept.
fn taps(given: usize, wanted: usize, scale: f64) -> Vec<Taps> {
    let support = (1.0 / scale).max(1.0);
    let start = (given as f64 - wanted as f64 / scale) / 2.0;
    let of = |index: usize| {
        let centre = start + (index as f64 + 0.5) / scale;
        let first = ((centre - support - 0.5).floor().max(0.0) as usize).min(given - 1);
        let last = ((centre + support + 0.5).ceil() as usize).clamp(first + 1, given);
        let weight = |place: usize| (1.0 - (place as f64 + 0.5 - centre).abs() / support).max(0.0);
        let sum: f64 = (first..last).map(weight).sum();
        Taps { first, weights: (first..last).map(|place| (weight(place) / sum) as f32).collect() }
    };
    (0..wanted).map(of).collect()
}

/// A picture (C, H, W) of type u8 in this height and width: scaled until it covers them, the middle cut out.
///
/// ```
/// use tove_data::images::cover;
/// use tove_tensor::Tensor;
/// let wide = Tensor::from_vec(vec![9u8, 0, 200, 9], [1, 1, 4]);
/// assert_eq!(cover(&wide, 1, 2)?.to_vec::<u8>(), [0, 200]); // as high as before: the sides are cut off
/// assert_eq!(cover(&wide.narrow(2, 1, 2), 2, 4)?.to_vec::<u8>(), [0, 50, 150, 200, 0, 50, 150, 200]);
/// # Ok::<(), tove_data::DataError>(())
/// ```
///
/// # Errors
/// If the tensor is not an image, or a size is 0.
pub fn cover(image: &Tensor, height: usize, width: usize) -> Result<Tensor> {
    if image.dtype() != DType::U8 {
        return Err(Error::DType { op: "cover", dtype: image.dtype(), expected: "u8 is needed" }.into());
    }
    let &[channels, given_height, given_width] = image.dims() else {
        return Err(Error::shape("cover", image.shape(), "a picture (channels, height, width) is needed").into());
    };
    if channels == 0 || given_height == 0 || given_width == 0 || height == 0 || width == 0 {
        let problem = format!("cannot become {height} × {width} pixels; no size may be 0");
        return Err(Error::shape("cover", image.shape(), problem).into());
    }
    if (given_height, given_width) == (height, width) {
        return Ok(image.clone());
    }
    let scale = (height as f64 / given_height as f64).max(width as f64 / given_width as f64);
    let (down, across) = (taps(given_height, height, scale), taps(given_width, width, scale));
    let pixels = image.try_to_vec::<u8>()?;
    let mut out = Vec::with_capacity(channels * height * width);
    let mut rows = vec![0.0f32; given_height * width];
    for plane in pixels.chunks_exact(given_height * given_width) {
        for (row, new) in plane.chunks_exact(given_width).zip(rows.chunks_exact_mut(width)) {
            for (taps, new) in across.iter().zip(new) {
                *new = taps.weights.iter().zip(&row[taps.first..]).map(|(w, &x)| w * f32::from(x)).sum();
            }
        }
        for taps in &down {
            for column in 0..width {
                let value = |(place, w): (usize, &f32)| w * rows[(taps.first + place) * width + column];
                let sum: f32 = taps.weights.iter().enumerate().map(value).sum();
                out.push(sum.round().clamp(0.0, 255.0) as u8);
            }
        }
    }
    Ok(Tensor::try_from_vec(out, [channels, height, width])?)
}
