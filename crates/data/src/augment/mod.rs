//! Random augmentation of images that keeps their class, so that a model becomes invariant to it.
//!
//! An [`Augment`] is a list of steps, applied to every image of a batch (N, C, H, W) in their order:
//!
//! | step | what it does |
//! |---|---|
//! | [`random_crop`](Augment::random_crop) | pads with zeros and cuts a window of the old (or a given) size at a random place |
//! | [`reflect_horizontal`](Augment::reflect_horizontal), [`reflect_vertical`](Augment::reflect_vertical) | mirrors with a probability |
//! | [`shift`](Augment::shift) | moves by whole pixels, zeros come in |
//! | [`rotate`](Augment::rotate) | turns about the center by a random angle, bilinear |
//! | [`blur`](Augment::blur) | Gaussian blur of a random width; the mean of the image stays |
//! | [`noise`](Augment::noise) | adds Gaussian noise |
//! | [`cutout`](Augment::cutout) | zeros in a random square |
//! | [`normalize`](Augment::normalize) | (x − mean)/std by channel |
//!
//! Images of type f32 and f64 keep it; u8 images become f32 in [0, 1], x/255, before the first step.
//!
//! **Chance.** Image number i of a data set is changed by numbers drawn from `key.fold(i).fold(step)`, so the result
//! depends on the key and on i, not on the batch or the number of threads. Use another key in every epoch.
//!
//! ```
//! use tove_data::{Dataset, Key, augment::Augment, sets};
//! let data = sets::digits()?.augmented(Augment::new().shift(1, 1).noise(0.05));
//! let (epoch, other) = (Key::new(1), Key::new(2));
//! let alone = data.batch(&[5], epoch)?.x;
//! let among = data.batch(&[9, 5], epoch)?.x;
//! assert_eq!(alone.get(0).to_vec::<f32>(), among.get(1).to_vec::<f32>());
//! assert_ne!(alone.to_vec::<f32>(), data.batch(&[5], other)?.x.to_vec::<f32>());
//! # Ok::<(), tove_data::DataError>(())
//! ```
//!
//! The same changes without chance, for a whole batch: [`reflect_horizontal`], [`reflect_vertical`], [`shift`],
//! [`rotate`], [`blur`].

mod blur;
mod fixed;
mod geometry;
mod image;
mod pixels;
mod steps;

use tove_tensor::{DType, Key, Tensor};

use crate::{Batch, DataError, Dataset, Result};
use image::{Change, Image, Real, Size, run};
use steps::Step;

pub use fixed::{blur, reflect_horizontal, reflect_vertical, rotate, shift};

/// Steps that change images at random; see the [module](self).
///
/// ```
/// use tove_data::{Key, augment::Augment};
/// use tove_tensor::{DType, Tensor};
/// let steps = Augment::new().random_crop(4).reflect_horizontal(0.5).normalize(&[0.5], &[0.25]);
/// let images = Tensor::zeros([10, 3, 32, 32], DType::U8);
/// let changed = steps.apply(&images, Key::new(0))?;
/// assert_eq!((changed.dims(), changed.dtype()), (&[10, 3, 32, 32][..], DType::F32));
/// # Ok::<(), tove_data::DataError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Augment {
    steps: Vec<Step>,
}

impl Augment {
    /// No steps: floats stay as they are, bytes become f32 in [0, 1].
    pub fn new() -> Self {
        Self::default()
    }

    fn with(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Pads every side with `padding` zeros and cuts a window of the old size at a random place.
    #[must_use]
    pub fn random_crop(self, padding: usize) -> Self {
        self.with(Step::Crop { size: None, padding })
    }

    /// As [`Augment::random_crop`], with a window of `height` × `width`.
    #[must_use]
    pub fn random_crop_to(self, height: usize, width: usize, padding: usize) -> Self {
        self.with(Step::Crop { size: Some((height, width)), padding })
    }

    /// Swaps left and right with this probability.
    #[must_use]
    pub fn reflect_horizontal(self, probability: f64) -> Self {
        self.with(Step::ReflectHorizontal { probability })
    }

    /// Swaps top and bottom with this probability.
    #[must_use]
    pub fn reflect_vertical(self, probability: f64) -> Self {
        self.with(Step::ReflectVertical { probability })
    }

    /// Moves by up to `vertical` rows and `horizontal` columns either way, each distance equally likely.
    #[must_use]
    pub fn shift(self, vertical: usize, horizontal: usize) -> Self {
        self.with(Step::Shift { vertical, horizontal })
    }

    /// Turns by an angle from −`degrees` to `degrees`, uniformly drawn; what comes from outside is zero.
    #[must_use]
    pub fn rotate(self, degrees: f64) -> Self {
        self.with(Step::Rotate { degrees })
    }

    /// Blurs by a Gaussian whose standard deviation, in pixels, is drawn uniformly from the range `low` to `high`.
    #[must_use]
    pub fn blur(self, low: f64, high: f64) -> Self {
        self.with(Step::Blur { low, high })
    }

    /// Adds independent normal numbers of this standard deviation.
    #[must_use]
    pub fn noise(self, std: f64) -> Self {
        self.with(Step::Noise { std })
    }

    /// Zeros in a square of this side around a random pixel, cut off at the border (DeVries and Taylor 2017).
    #[must_use]
    pub fn cutout(self, side: usize) -> Self {
        self.with(Step::Cutout { side })
    }

    /// (x − mean)/std, with one number per channel or one for all.
    #[must_use]
    pub fn normalize(self, mean: &[f64], std: &[f64]) -> Self {
        self.with(Step::Normalize { mean: mean.to_vec(), std: std.to_vec() })
    }

    /// A batch of images changed, image i by `key.fold(i)`.
    ///
    /// # Errors
    /// If the tensor is not a batch of images, or a step has parameters out of range or does not fit the images.
    pub fn apply(&self, images: &Tensor, key: Key) -> Result<Tensor> {
        self.apply_numbered(images, &(0..images.dims().first().copied().unwrap_or(0)).collect::<Vec<_>>(), key)
    }

    /// A batch of images changed, image i by `key.fold(numbers[i])`: its number in the data set, so that the result does
    /// not depend on the batch.
    ///
    /// # Errors
    /// As [`Augment::apply`], or if there is not one number per image.
    pub fn apply_numbered(&self, images: &Tensor, numbers: &[usize], key: Key) -> Result<Tensor> {
        let mut size = Size::of("augment", images)?;
        if images.dims().first() != Some(&numbers.len()) {
            let problem = format!("{} sample numbers for shape {}", numbers.len(), images.shape());
            return Err(DataError::Images { what: "augment", problem });
        }
        for step in &self.steps {
            size = step.check(size)?;
        }
        if self.steps.is_empty() && images.dtype() != DType::U8 {
            return Ok(images.clone());
        }
        run(images, size, &Numbered { steps: &self.steps, numbers, key })
    }
}

/// The steps of a pipeline with what they need to know about a batch.
struct Numbered<'a> {
    steps: &'a [Step],
    numbers: &'a [usize],
    key: Key,
}

impl Change for Numbered<'_> {
    fn change<T: Real>(&self, i: usize, image: &mut Image<T>) {
        image.change(self.steps, self.key.fold(self.numbers[i] as u64));
    }
}

/// A data set whose images are changed by an [`Augment`]; made by [`Dataset::augmented`].
#[derive(Clone, Debug)]
pub struct Augmented<D> {
    data: D,
    augment: Augment,
}

impl<D: Dataset> Augmented<D> {
    pub(crate) fn new(data: D, augment: Augment) -> Self {
        Self { data, augment }
    }

    /// The set without the changes.
    pub fn original(&self) -> &D {
        &self.data
    }
}

impl<D: Dataset> Dataset for Augmented<D> {
    fn len(&self) -> usize {
        self.data.len()
    }

    fn batch(&self, indices: &[usize], key: Key) -> Result<Batch> {
        // What lies inside may draw numbers too: it gets a key that belongs to no sample.
        let Batch { x, y } = self.data.batch(indices, key.fold(u64::MAX))?;
        Ok(Batch { x: self.augment.apply_numbered(&x, indices, key)?, y })
    }
}
