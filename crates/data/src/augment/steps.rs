//! The steps of a pipeline: their parameters, the checks, the random numbers they draw.

use tove_tensor::Key;
use tove_tensor::random::{fill_normal, fill_uniform};

use super::image::{Image, Real, Size, real};
use super::{blur, geometry, pixels};
use crate::{DataError, Result};

#[derive(Clone, Debug)]
pub(super) enum Step {
    Crop { size: Option<(usize, usize)>, padding: usize },
    ReflectHorizontal { probability: f64 },
    ReflectVertical { probability: f64 },
    Shift { vertical: usize, horizontal: usize },
    Rotate { degrees: f64 },
    Blur { low: f64, high: f64 },
    Noise { std: f64 },
    Cutout { side: usize },
    Normalize { mean: Vec<f64>, std: Vec<f64> },
}

/// No step looks farther than this, so that sizes stay far from overflow.
const FARTHEST: usize = 1 << 20;

/// `N` uniform numbers of [0, 1).
fn uniform<const N: usize>(key: Key) -> [f64; N] {
    let mut draws = [0.0; N];
    fill_uniform(key, &mut draws);
    draws
}

/// A whole number of 0 … n, from a uniform one; the bias is below n/2⁵³.
fn whole(uniform: f64, n: usize) -> usize {
    ((uniform * (n as f64 + 1.0)) as usize).min(n)
}

impl Step {
    /// The size of the image behind this step; an error if a parameter is out of range or the image does not fit.
    pub(super) fn check(&self, size: Size) -> Result<Size> {
        let wrong = |what: &'static str, problem: String| Err(DataError::parameter(what, problem));
        match self {
            Step::Crop { padding: pixels, .. }
            | Step::Shift { vertical: pixels, .. }
            | Step::Cutout { side: pixels }
                if *pixels > FARTHEST =>
            {
                return wrong("augment", format!("a distance of {pixels} pixels; at most {FARTHEST} are accepted"));
            }
            Step::Shift { horizontal, .. } if *horizontal > FARTHEST => {
                return wrong("shift", format!("a distance of {horizontal} pixels; at most {FARTHEST} are accepted"));
            }
            Step::Crop { size: Some((0, _) | (_, 0)), .. } => {
                return wrong("random_crop", "a window without pixels; give it height and width from 1 on".to_owned());
            }
            Step::Crop { size: Some((height, width)), padding } => {
                if *height > size.height + 2 * padding || *width > size.width + 2 * padding {
                    let image = format!("{} × {} padded by {padding}", size.height, size.width);
                    return wrong(
                        "random_crop",
                        format!("a window of {height} × {width} does not fit an image of {image}"),
                    );
                }
                return Ok(Size { height: *height, width: *width, ..size });
            }
            Step::ReflectHorizontal { probability } | Step::ReflectVertical { probability }
                if !(0.0..=1.0).contains(probability) =>
            {
                return wrong("reflect", format!("{probability} is not a probability; give a number from 0 to 1"));
            }
            Step::Rotate { degrees } if !degrees.is_finite() => {
                return wrong("rotate", format!("an angle of {degrees}; give a finite number of degrees"));
            }
            Step::Blur { low, high } if !(*low >= 0.0 && low <= high && *high <= blur::WIDEST) => {
                let accepted = format!("give 0 ≤ low ≤ high ≤ {} in pixels", blur::WIDEST);
                return wrong("blur", format!("a width from {low} to {high}; {accepted}"));
            }
            Step::Noise { std } if !(*std >= 0.0 && std.is_finite()) => {
                return wrong("noise", format!("a standard deviation of {std}; give a finite number from 0 on"));
            }
            Step::Normalize { mean, std } => check_normalize(mean, std, size)?,
            _ => {}
        }
        Ok(size)
    }

    pub(super) fn apply<T: Real>(&self, image: &mut Image<T>, key: Key) {
        match self {
            Step::Crop { size, padding } => {
                let (height, width) = size.unwrap_or((image.size.height, image.size.width));
                let [u, v] = uniform(key);
                let top = whole(u, image.size.height + 2 * padding - height) as isize - *padding as isize;
                let left = whole(v, image.size.width + 2 * padding - width) as isize - *padding as isize;
                geometry::window(image, top, left, height, width);
            }
            Step::ReflectHorizontal { probability } => {
                if uniform::<1>(key)[0] < *probability {
                    geometry::reflect_horizontal(image);
                }
            }
            Step::ReflectVertical { probability } => {
                if uniform::<1>(key)[0] < *probability {
                    geometry::reflect_vertical(image);
                }
            }
            Step::Shift { vertical, horizontal } => {
                let [u, v] = uniform(key);
                let down = whole(u, 2 * vertical) as isize - *vertical as isize;
                let right = whole(v, 2 * horizontal) as isize - *horizontal as isize;
                geometry::shift(image, down, right);
            }
            Step::Rotate { degrees } => geometry::rotate(image, (2.0 * uniform::<1>(key)[0] - 1.0) * degrees),
            Step::Blur { low, high } => blur::blur(image, low + (high - low) * uniform::<1>(key)[0]),
            Step::Noise { std } => {
                image.spare.clear();
                image.spare.resize(image.data.len(), T::default());
                fill_normal(key, &mut image.spare);
                let std: T = real(*std);
                image.data.iter_mut().zip(&image.spare).for_each(|(x, &z)| *x += std * z);
            }
            Step::Cutout { side } => {
                let [u, v] = uniform(key);
                let centre = (whole(u, image.size.height - 1), whole(v, image.size.width - 1));
                pixels::cutout(image, centre, *side);
            }
            Step::Normalize { mean, std } => pixels::normalize(image, mean, std),
        }
    }
}

fn check_normalize(mean: &[f64], std: &[f64], size: Size) -> Result<()> {
    let fits = |list: &[f64]| list.len() == 1 || list.len() == size.channels;
    if !fits(mean) || !fits(std) {
        let given = format!("{} means and {} deviations for {} channels", mean.len(), std.len(), size.channels);
        return Err(DataError::parameter("normalize", format!("{given}; give one, or one per channel")));
    }
    if let Some(bad) = std.iter().find(|&&std| !(std > 0.0 && std.is_finite())) {
        return Err(DataError::parameter(
            "normalize",
            format!("a deviation of {bad}; all must be positive and finite"),
        ));
    }
    match mean.iter().find(|mean| !mean.is_finite()) {
        Some(bad) => Err(DataError::parameter("normalize", format!("a mean of {bad}; all must be finite"))),
        None => Ok(()),
    }
}
