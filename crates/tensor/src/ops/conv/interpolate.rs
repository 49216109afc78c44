//! Images brought to another size, as PyTorch does it with `align_corners=False`: pixels are squares, and the middle of
//! pixel i of n lies at (i + ½) / n of the image.
//!
//! Nearest takes the pixel at ⌊i · old / new⌋. Bilinear goes to s = (i + ½) · old / new − ½, not below 0, and weighs the
//! pixels on both sides by their nearness, first along the height, then along the width. Both read whole rows at places
//! that follow from the sizes alone, so that the derivative adds the rows back up there.

use super::bilinear::spatial;
use crate::ops::index::index_select;
use crate::ops::reduce::require_float;
use crate::ops::{binary, shape, unary};
use crate::tensor::{checked_numel, try_vec};
use crate::{Element, Error, Result, Shape, Tensor};

/// How [`Tensor::interpolate`] finds the value between pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// The value of one pixel.
    #[default]
    Nearest,
    /// A mean of the four pixels around, weighted by nearness.
    Bilinear,
}

/// (…, height, width) at another height and width.
pub(crate) fn interpolate(x: &Tensor, size: [usize; 2], method: Interpolation) -> Result<Tensor> {
    if x.rank() < 2 {
        return Err(Error::shape("interpolate", x.shape(), "needs axes (…, height, width)"));
    }
    let [height, width] = spatial(x.shape());
    if size.contains(&0) || height == 0 || width == 0 {
        let problem = format!("an image without pixels cannot be brought to size {size:?}, nor any to size 0");
        return Err(Error::shape("interpolate", x.shape(), problem));
    }
    if method == Interpolation::Bilinear {
        require_float("interpolate", x)?;
    }
    let result = Shape::new(&x.dims()[..x.rank() - 2]).joined(&size);
    checked_numel("interpolate", &result)?;
    along(&along(x, -2, [height, size[0]], method)?, -1, [width, size[1]], method)
}

/// One number per position of the result.
fn positions<T: Element>(count: usize, number: impl Fn(usize) -> T) -> Result<Vec<T>> {
    let mut numbers = try_vec("interpolate", count, T::default())?;
    numbers.iter_mut().enumerate().for_each(|(i, slot)| *slot = number(i));
    Ok(numbers)
}

/// One axis from its old length to a new one.
fn along(x: &Tensor, axis: isize, [old, new]: [usize; 2], method: Interpolation) -> Result<Tensor> {
    if old == new {
        return Ok(x.clone());
    }
    if method == Interpolation::Nearest {
        let nearest = positions(new, |i| (i as u128 * old as u128 / new as u128) as i64)?;
        return index_select(x, axis, &Tensor::from(nearest));
    }
    let source = |i: usize| ((i as f64 + 0.5) * (old as f64 / new as f64) - 0.5).max(0.0);
    let low = |i: usize| (source(i) as usize).min(old - 1);
    let lows = positions(new, |i| low(i) as i64)?;
    let highs = positions(new, |i| (low(i) + 1).min(old - 1) as i64)?;
    let shares = positions(new, |i| source(i) - low(i) as f64)?;
    // Broadcast along the axes behind.
    let sizes = Shape::from(new).joined(&vec![1; axis.unsigned_abs() - 1]);
    let shares = shape::to_dtype(&Tensor::try_from_vec(shares, sizes)?, x.dtype())?;
    let before = binary::mul(&index_select(x, axis, &Tensor::from(lows))?, &unary::sub_from(&shares, 1.0)?)?;
    let behind = binary::mul(&index_select(x, axis, &Tensor::from(highs))?, &shares)?;
    binary::add(&before, &behind)
}
