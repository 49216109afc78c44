//! PNG and JPEG through the `image` crate (feature `images`).

use std::io::Cursor;
use std::path::Path;

use image::{DynamicImage, ImageReader};
use tove_tensor::Tensor;
use tove_tensor::io::{FaultKind, Place};

use crate::source::{Source, fault};
use crate::{DataError, Result};

/// Height and width of a PNG or JPEG picture (feature `images`), from the beginning of the file. What follows it may still be
/// damaged.
///
/// # Errors
/// If the file cannot be read or does not begin as a picture.
pub fn image_size(path: impl AsRef<Path>) -> Result<[usize; 2]> {
    let path = path.as_ref();
    let reader = ImageReader::open(path).and_then(ImageReader::with_guessed_format).map_err(image::ImageError::IoError);
    let (width, height) = reader.and_then(ImageReader::into_dimensions).map_err(|error| unsound(path, &error))?;
    Ok([height as usize, width as usize])
}

fn unsound(path: &Path, error: &image::ImageError) -> DataError {
    let advice = "give a PNG or JPEG file that other programs can show";
    fault(path, Place::default(), FaultKind::Malformed, error.to_string(), advice)
}

/// Reads a PNG or JPEG picture (feature `images`) as (C, H, W) of type u8: one channel when it is grey, three (red, green,
/// blue) otherwise. Transparency is dropped, and 16 bits become 8. What the picture is, its first bytes say, not its name.
///
/// The decoder refuses pictures that would take more than 512 MB.
///
/// # Errors
/// If the file cannot be read or is not a valid image.
pub fn read_image(path: impl AsRef<Path>) -> Result<Tensor> {
    let path = path.as_ref();
    let mut source = Source::open(path)?;
    let mut bytes = source.up_to(16)?;
    // What is no picture is not read to its end, which may never come.
    if image::guess_format(&bytes).is_err() {
        let advice = "give a PNG or JPEG file that other programs can show";
        let problem = "the first bytes are not those of a picture".to_owned();
        return Err(source.fault(FaultKind::Malformed, 0, problem, advice));
    }
    bytes.append(&mut source.rest()?);
    planes(path, bytes)
}

/// Pixels of an image whose bytes come from elsewhere, at most.
const MOST_PIXELS: u64 = 1 << 25;

/// The same for the bytes of a PNG or JPEG picture (feature `images`); `name` is what errors call it. Bytes may come from anywhere:
/// a few of them can unpack to many pixels, so that images of more than 33 million are refused before they are unpacked.
///
/// # Errors
/// If the bytes are not a valid image, or too large a one.
pub fn decode_image(name: &str, bytes: &[u8]) -> Result<Tensor> {
    let path = Path::new(name);
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(image::ImageError::IoError);
    let (width, height) = reader.and_then(ImageReader::into_dimensions).map_err(|error| unsound(path, &error))?;
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        let problem = format!("{height} × {width} pixels are more than {MOST_PIXELS}");
        return Err(fault(path, Place::default(), FaultKind::TooLarge, problem, "give a smaller image"));
    }
    planes(path, bytes)
}

fn planes(path: &Path, bytes: impl AsRef<[u8]>) -> Result<Tensor> {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let picture = reader
        .map_err(image::ImageError::IoError)
        .and_then(ImageReader::decode)
        .map_err(|error| unsound(path, &error))?;
    let (height, width) = (picture.height() as usize, picture.width() as usize);
    if matches!(
        picture,
        DynamicImage::ImageLuma8(_)
            | DynamicImage::ImageLumaA8(_)
            | DynamicImage::ImageLuma16(_)
            | DynamicImage::ImageLumaA16(_)
    ) {
        return Ok(Tensor::try_from_vec(picture.into_luma8().into_raw(), [1, height, width])?);
    }
    let interleaved = picture.into_rgb8().into_raw();
    let mut planes = Vec::<u8>::with_capacity(interleaved.len());
    for channel in 0..3 {
        planes.extend(interleaved.iter().skip(channel).step_by(3));
    }
    Ok(Tensor::try_from_vec(planes, [3, height, width])?)
}
