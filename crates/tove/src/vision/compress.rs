//! Images compressed to a few numbers each: their principal components.
//!
//! An image x becomes Uᵀ (x − mean), its coordinates along K directions of largest variance, and is rebuilt as U (codes) + mean. The
//! squared error is the variance along the directions that are left out, so it never rises with K. A file holds the mean, the
//! directions in single precision, and the codes in 16 bits each.
//!
//! ```
//! use tove::vision::{CompressedImages, ImageOptions, Images};
//! let (digits, _) = Images::pictures("digits", &ImageOptions::default())?;
//! let small = CompressedImages::fit(&digits, 10, 0)?;
//! let rebuilt = small.rebuild()?;
//! assert_eq!(rebuilt.dims(), digits.dims());
//! assert!(small.errors().windows(2).all(|pair| pair[1] <= pair[0]));
//! assert!(small.ratio() > 2.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::Path;

use serde_json::Value;
use tove_learn::{Fit, FittedPca, Model, Pca, Record, Restore, Transform};
use tove_optim::settings::Named;
use tove_tensor::io::WriteOptions;
use tove_tensor::{DType, Tensor, TryOps};

use crate::net_files::{ModelError, Result};

/// Steps of a code.
const STEPS: f64 = u16::MAX as f64;

/// Images as codes, with the directions that rebuild them.
pub struct CompressedImages {
    /// Channels, height, width.
    shape: [usize; 3],
    model: FittedPca,
    /// Two bytes for each code (n, K, 2), the lower one first.
    codes: Tensor,
    /// The least and the largest code of each component (K, 2).
    ranges: Tensor,
    errors: Vec<f64>,
    /// The root mean squared error of the rebuilt images.
    rmse: f64,
}

impl CompressedImages {
    /// The kind of its files.
    pub const KIND: &'static str = "CompressedImages";

    /// Compresses images (n, channels, height, width) with values in [0, 1] to so many components.
    ///
    /// # Errors
    /// If there are fewer than two images, or fewer images or pixels than components; if the fit is interrupted.
    pub fn fit(images: &Tensor, components: usize, seed: u64) -> Result<CompressedImages> {
        let &[n, channels, height, width] = images.dims() else {
            let problem = format!("images of shape {}; give (n, channels, height, width)", images.shape());
            return Err(ModelError::source(problem));
        };
        let pixels = channels * height * width;
        if n < 2 {
            let problem = format!("{n} image{}; components need at least two", if n == 1 { "" } else { "s" });
            return Err(ModelError::source(problem));
        }
        if components == 0 || components > n.min(pixels) {
            let problem = format!("{n} images of {pixels} pixels have 1 to {} components", n.min(pixels));
            return Err(ModelError::setting("components", components, problem));
        }
        let x = images.to_dtype(DType::F32).try_reshape([n, pixels])?;
        let model = Pca::default().n_components(components.into()).seed(seed).fit(&x, None)?;
        let codes = model.transform(&x)?.to_f64_vec();
        let errors = errors_over_components(&x, &model, &codes)?;
        let (codes, ranges) = quantized(&codes, n, components)?;
        let shape = [channels, height, width];
        let mut compressed = CompressedImages { shape, model, codes, ranges, errors, rmse: 0.0 };
        let gap = compressed.rebuild()?.try_reshape([n, pixels])?.try_sub(&x)?.to_dtype(DType::F64);
        compressed.rmse = gap.try_mul(&gap)?.try_mean()?.item::<f64>().sqrt();
        Ok(compressed)
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.codes.dims()[0]
    }

    /// Whether there are no images, which no fit gives.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Channels, height and width of the images.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Numbers per image.
    pub fn components(&self) -> usize {
        self.codes.dims()[1]
    }

    /// The root mean squared error of a pixel from 0 to K components, before rounding of the codes.
    pub fn errors(&self) -> &[f64] {
        &self.errors
    }

    /// The root mean squared error of a pixel of the rebuilt images.
    pub fn rmse(&self) -> f64 {
        self.rmse
    }

    /// The share of the variance along each component.
    pub fn explained(&self) -> Vec<f64> {
        self.model.explained_variance_ratio().to_f64_vec()
    }

    /// The principal components behind the codes.
    pub fn model(&self) -> &FittedPca {
        &self.model
    }

    /// Bytes of the pixels, one per channel.
    pub fn pixel_bytes(&self) -> usize {
        self.len() * self.shape.iter().product::<usize>()
    }

    /// Bytes of codes, directions and mean.
    pub fn bytes(&self) -> usize {
        let (k, pixels) = (self.components(), self.shape.iter().product::<usize>());
        2 * self.len() * k + 16 * k + 4 * pixels * (k + 1)
    }

    /// How many times smaller the codes with their directions are than the pixels.
    pub fn ratio(&self) -> f64 {
        self.pixel_bytes() as f64 / self.bytes() as f64
    }

    /// All images, rebuilt from their codes (n, channels, height, width), in [0, 1].
    ///
    /// # Errors
    /// If they do not fit in memory.
    pub fn rebuild(&self) -> Result<Tensor> {
        self.rebuild_range(0, self.len())
    }

    /// Some images in their order, from this one on.
    ///
    /// # Errors
    /// If there are not as many.
    pub fn rebuild_range(&self, first: usize, count: usize) -> Result<Tensor> {
        let k = self.components();
        let (bytes, ranges) = (self.codes.try_narrow(0, first, count)?.try_to_vec::<u8>()?, self.ranges.to_f64_vec());
        let code = |(place, pair): (usize, &[u8])| {
            let (least, most) = (ranges[place % k * 2], ranges[place % k * 2 + 1]);
            (least + (most - least) * f64::from(u16::from_le_bytes([pair[0], pair[1]])) / STEPS) as f32
        };
        let codes: Vec<f32> = bytes.chunks_exact(2).enumerate().map(code).collect();
        let x = self.model.inverse_transform(Tensor::try_from_vec(codes, [count, k])?)?;
        let [channels, height, width] = self.shape;
        Ok(x.to_dtype(DType::F32).try_clamp(0.0, 1.0)?.try_reshape([count, channels, height, width])?)
    }

    /// The model as a record.
    pub fn record(&self) -> Record {
        let mut record = Record::new(Self::KIND, 1);
        record.put("tove", env!("CARGO_PKG_VERSION"));
        record.put("shape", self.shape.to_vec());
        record.put("errors", self.errors.clone());
        record.put_real("rmse", self.rmse);
        record.put_tensor("codes", &self.codes);
        record.put_tensor("ranges", &self.ranges);
        record.put_part("model", self.model.record());
        record
    }

    /// Reads what [`CompressedImages::record`] wrote.
    ///
    /// # Errors
    /// If it is another kind of record, or its parts do not fit together.
    pub fn restore(record: &Record) -> Result<CompressedImages> {
        record.expect(Self::KIND, 1)?;
        let model = FittedPca::restore(&record.part("model")?)?;
        let numbers = |name: &str| record.get(name).map(|list| list.as_array().cloned().unwrap_or_default());
        let sizes: Vec<usize> =
            numbers("shape")?.iter().filter_map(|size| usize::try_from(size.as_u64()?).ok()).collect();
        let wrong = |name: &str| ModelError::from(record.wrong(name, "what it should be"));
        let &[channels, height, width] = &sizes[..] else { return Err(wrong("shape")) };
        let pixels = channels.checked_mul(height).and_then(|size| size.checked_mul(width));
        if pixels != Some(model.width()) || ![1, 3].contains(&channels) {
            return Err(wrong("shape"));
        }
        let (k, codes) = (model.outputs(), record.tensor("codes")?.clone());
        if codes.rank() != 3 || codes.dims()[1..] != [k, 2] || codes.dtype() != DType::U8 || codes.dims()[0] == 0 {
            return Err(wrong("codes"));
        }
        let ranges = record.shaped("ranges", &[k, 2])?.clone();
        if record.vector("ranges")?.iter().any(|bound| !bound.is_finite()) {
            return Err(wrong("ranges"));
        }
        let errors = numbers("errors")?.iter().filter_map(Value::as_f64).collect();
        let (shape, rmse) = ([channels, height, width], record.real("rmse")?);
        Ok(CompressedImages { shape, model, codes, ranges, errors, rmse })
    }

    /// Writes the file; complete or not at all, and never over an existing one unless asked.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        Ok(self.record().save(path, options)?)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read or holds something else.
    pub fn load(path: impl AsRef<Path>) -> Result<CompressedImages> {
        CompressedImages::restore(&Record::load(path)?)
    }

    /// The name of the estimator behind the codes.
    pub fn method(&self) -> &'static str {
        Pca::NAME
    }
}

/// √(mean squared error) of a pixel for 0 to K components: what is left of the squares after those of each code are taken away, since
/// the directions are orthonormal.
fn errors_over_components(x: &Tensor, model: &FittedPca, codes: &[f64]) -> Result<Vec<f64>> {
    let gap = x.to_dtype(DType::F64).try_sub(&model.mean().to_dtype(DType::F64))?;
    let (mut left, count, k) = (gap.try_mul(&gap)?.try_sum()?.item::<f64>(), x.numel() as f64, model.outputs());
    let mut errors = vec![(left / count).sqrt()];
    for component in 0..k {
        let squares: f64 = codes.iter().skip(component).step_by(k).map(|code| code * code).sum();
        left = (left - squares).max(0.0);
        errors.push((left / count).sqrt());
    }
    Ok(errors)
}

/// Codes (n, k) as 16-bit steps between the least and the largest of each component.
fn quantized(codes: &[f64], n: usize, k: usize) -> Result<(Tensor, Tensor)> {
    let mut ranges = Vec::with_capacity(2 * k);
    for component in 0..k {
        let own = codes.iter().skip(component).step_by(k);
        let (least, most) = own.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
        ranges.extend([least, most]);
    }
    let bytes = |(place, code): (usize, &f64)| {
        let (least, most) = (ranges[place % k * 2], ranges[place % k * 2 + 1]);
        let step = if most > least { ((code - least) / (most - least) * STEPS).round() } else { 0.0 };
        (step as u16).to_le_bytes()
    };
    let bytes: Vec<u8> = codes.iter().enumerate().flat_map(bytes).collect();
    Ok((Tensor::try_from_vec(bytes, [n, k, 2])?, Tensor::try_from_vec(ranges, [k, 2])?))
}
