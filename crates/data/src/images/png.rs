//! Writing PNG files through the `image` crate (feature `images`).

use std::io::{Cursor, Write};
use std::path::Path;

use image::{DynamicImage, GrayImage, ImageFormat, RgbImage};
use tove_tensor::io::{WriteOptions, atomic};
use tove_tensor::{Tensor, TryOps};

use crate::{DataError, Result};

/// Writes an image (C, H, W) of type u8, with one channel or three, as a PNG file (feature `images`).
///
/// ```
/// use tove_data::images::{read_image, write_png};
/// use tove_tensor::{Tensor, io::WriteOptions};
/// let path = std::env::temp_dir().join(format!("tove-png-{}.png", std::process::id()));
/// let image = Tensor::from(vec![0u8, 100, 200, 255]).reshape([1, 2, 2]);
/// write_png(&path, &image, WriteOptions::default())?;
/// assert_eq!(read_image(&path)?.to_vec::<u8>(), [0, 100, 200, 255]);
/// std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the image has another shape, or the file cannot be written.
pub fn write_png(path: impl AsRef<Path>, image: &Tensor, options: WriteOptions) -> Result<()> {
    let wrong = || DataError::parameter("write_png", format!("shape {}, not (1 or 3, height, width)", image.shape()));
    let &[channels, height, width] = image.dims() else { return Err(wrong()) };
    let (Ok(wide), Ok(high)) = (u32::try_from(width), u32::try_from(height)) else { return Err(wrong()) };
    let picture = match channels {
        1 => GrayImage::from_raw(wide, high, image.try_to_vec::<u8>()?).map(DynamicImage::ImageLuma8),
        // One pixel after another.
        3 => RgbImage::from_raw(wide, high, image.try_permute(&[1, 2, 0])?.try_to_vec::<u8>()?)
            .map(DynamicImage::ImageRgb8),
        _ => None,
    };
    let mut bytes = Cursor::new(Vec::new());
    let picture = picture.ok_or_else(wrong)?;
    picture
        .write_to(&mut bytes, ImageFormat::Png)
        .map_err(|error| DataError::parameter("write_png", format!("the image cannot be written: {error}")))?;
    Ok(atomic::write_file(path.as_ref(), options, |out| out.write_all(bytes.get_ref()))?)
}
