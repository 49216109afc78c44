//! The changes without chance: one and the same for every image of a batch.

use tove_tensor::Tensor;

use super::image::{Change, Image, Real, Size, run};
use super::{blur as blurring, geometry};
use crate::{DataError, Result};

/// A change as a value, because a closure cannot serve two element types.
enum Fixed {
    Horizontal,
    Vertical,
    Shift(isize, isize),
    Rotate(f64),
    Blur(f64),
}

impl Change for Fixed {
    fn change<T: Real>(&self, _: usize, image: &mut Image<T>) {
        match *self {
            Fixed::Horizontal => geometry::reflect_horizontal(image),
            Fixed::Vertical => geometry::reflect_vertical(image),
            Fixed::Shift(down, right) => geometry::shift(image, down, right),
            Fixed::Rotate(degrees) => geometry::rotate(image, degrees),
            Fixed::Blur(sigma) => blurring::blur(image, sigma),
        }
    }
}

fn all(what: &'static str, images: &Tensor, change: &Fixed) -> Result<Tensor> {
    run(images, Size::of(what, images)?, change)
}

/// Images (N, C, H, W) with left and right swapped.
///
/// ```
/// use tove_tensor::Tensor;
/// let x = Tensor::from([1.0, 2.0, 3.0]).reshape([1, 1, 1, 3]);
/// assert_eq!(tove_data::augment::reflect_horizontal(&x)?.to_vec::<f64>(), [3.0, 2.0, 1.0]);
/// # Ok::<(), tove_data::DataError>(())
/// ```
///
/// # Errors
/// If the tensor is not a batch of images.
pub fn reflect_horizontal(images: &Tensor) -> Result<Tensor> {
    all("reflect_horizontal", images, &Fixed::Horizontal)
}

/// Images (N, C, H, W) with top and bottom swapped.
///
/// # Errors
/// If the tensor is not a batch of images.
pub fn reflect_vertical(images: &Tensor) -> Result<Tensor> {
    all("reflect_vertical", images, &Fixed::Vertical)
}

/// Images moved down and to the right by whole pixels (up and left for negative numbers); zeros come in.
///
/// ```
/// use tove_tensor::Tensor;
/// let x = Tensor::from([1.0, 2.0, 3.0]).reshape([1, 1, 1, 3]);
/// assert_eq!(tove_data::augment::shift(&x, 0, 1)?.to_vec::<f64>(), [0.0, 1.0, 2.0]);
/// # Ok::<(), tove_data::DataError>(())
/// ```
///
/// # Errors
/// If the tensor is not a batch of images.
pub fn shift(images: &Tensor, down: isize, right: isize) -> Result<Tensor> {
    all("shift", images, &Fixed::Shift(down, right))
}

/// Images turned counter-clockwise about their center, bilinear, zeros from outside.
///
/// # Errors
/// If the tensor is not a batch of images or the angle is not finite.
pub fn rotate(images: &Tensor, degrees: f64) -> Result<Tensor> {
    if !degrees.is_finite() {
        return Err(DataError::parameter("rotate", format!("an angle of {degrees}; give a finite number of degrees")));
    }
    all("rotate", images, &Fixed::Rotate(degrees))
}

/// Images blurred by a Gaussian of standard deviation `sigma` pixels. The mean of every plane stays.
///
/// ```
/// use tove_tensor::{DType, Key};
/// let x = Key::new(1).uniform([2, 3, 8, 8], DType::F64);
/// let blurred = tove_data::augment::blur(&x, 1.5)?;
/// assert!((blurred.mean() - x.mean()).item::<f64>().abs() < 1e-15);
/// # Ok::<(), tove_data::DataError>(())
/// ```
///
/// # Errors
/// If the tensor is not a batch of images or `sigma` is not between 0 and 1000.
pub fn blur(images: &Tensor, sigma: f64) -> Result<Tensor> {
    if !(0.0..=blurring::WIDEST).contains(&sigma) {
        let accepted = format!("give a number of pixels from 0 to {}", blurring::WIDEST);
        return Err(DataError::parameter("blur", format!("a width of {sigma}; {accepted}")));
    }
    all("blur", images, &Fixed::Blur(sigma))
}
