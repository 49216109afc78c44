//! One image in working memory, and the loop over a batch.

use std::sync::{Mutex, PoisonError};

use tove_tensor::kernels::math::Float;
use tove_tensor::random::RandomFloat;
use tove_tensor::{DType, Element, Key, Tensor, pool};

use super::steps::Step;
use crate::{DataError, Result};

/// Elements per task: small batches of small images stay on one thread.
const TASK: usize = 1 << 15;

/// The element types that images are worked on in.
pub(super) trait Real: RandomFloat + Element {}
impl Real for f32 {}
impl Real for f64 {}

/// A number in the image's own type.
pub(super) fn real<T: Real>(value: f64) -> T {
    <T as Float>::from_f64(value)
}

/// The size of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}

impl Size {
    pub(super) fn of(what: &'static str, images: &Tensor) -> Result<Self> {
        let refused = |problem: String| Err(DataError::Images { what, problem });
        let [_, channels, height, width] = *images.dims() else {
            return refused(format!("shape {} must have four axes", images.shape()));
        };
        match images.dtype() {
            DType::F32 | DType::F64 | DType::U8 => Ok(Self { channels, height, width }),
            other => refused(format!("element type {other}")),
        }
    }

    pub(super) fn numel(self) -> usize {
        self.channels * self.height * self.width
    }
}

/// One image (channels, height, width) and as much spare room; steps write into the spare and swap.
pub(super) struct Image<T> {
    pub data: Vec<T>,
    pub spare: Vec<T>,
    pub size: Size,
}

impl<T: Real> Image<T> {
    /// The planes of the image, one per channel.
    pub(super) fn planes_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        let area = self.size.height * self.size.width;
        self.data.chunks_exact_mut(area.max(1))
    }

    pub(super) fn change(&mut self, steps: &[Step], key: Key) {
        for (number, step) in steps.iter().enumerate() {
            step.apply(self, key.fold(number as u64));
        }
    }

    /// Makes every plane anew: `make(old plane, new plane)`; the new image has size `size`, filled with zeros.
    pub(super) fn remake(&mut self, size: Size, make: impl Fn(&[T], &mut [T])) {
        let (old, new) = (self.size.height * self.size.width, size.height * size.width);
        self.spare.clear();
        self.spare.resize(size.numel(), T::default());
        let planes = self.data.chunks_exact(old.max(1)).zip(self.spare.chunks_exact_mut(new.max(1)));
        planes.for_each(|(old, new)| make(old, new));
        std::mem::swap(&mut self.data, &mut self.spare);
        self.size = size;
    }
}

/// What is done to image number i of a batch.
pub(super) trait Change: Sync {
    fn change<T: Real>(&self, i: usize, image: &mut Image<T>);
}

/// Loads every image, changes it, and stores it as one of size `size`. Tasks are cut by shape alone.
pub(super) fn run(images: &Tensor, size: Size, change: &impl Change) -> Result<Tensor> {
    match images.dtype() {
        DType::F64 => run_typed::<f64, f64>(images, size, change, |x| x),
        DType::F32 => run_typed::<f32, f32>(images, size, change, |x| x),
        _ => run_typed::<u8, f32>(images, size, change, |x| f32::from(x) / 255.0),
    }
}

fn run_typed<S: Element, T: Real>(
    images: &Tensor,
    size: Size,
    change: &impl Change,
    convert: impl Fn(S) -> T + Sync,
) -> Result<Tensor> {
    let from = Size::of("augment", images)?;
    let count = images.dims().first().copied().unwrap_or(0);
    if count.checked_mul(size.numel()).is_none_or(|numel| numel > isize::MAX as usize / size_of::<T>()) {
        let problem =
            format!("{count} images of {} × {} pixels are more than memory can hold", size.height, size.width);
        return Err(DataError::Images { what: "augment", problem });
    }
    let mut out = Tensor::zeros([count, size.channels, size.height, size.width], T::DTYPE);
    let (old, new) = (from.numel(), size.numel());
    if count == 0 || old == 0 || new == 0 {
        return Ok(out);
    }
    let images = images.detach().contiguous();
    let source = images.as_slice::<S>()?;
    let per_task = (TASK / old.max(new)).clamp(1, count);
    let pieces: Vec<Mutex<&mut [T]>> = out.as_mut_slice::<T>()?.chunks_mut(per_task * new).map(Mutex::new).collect();
    pool::parallel_for(pieces.len(), &|task| {
        let mut piece = pieces[task].lock().unwrap_or_else(PoisonError::into_inner);
        let mut image = Image { data: Vec::with_capacity(old.max(new)), spare: Vec::new(), size: from };
        for (offset, target) in piece.chunks_exact_mut(new).enumerate() {
            let i = task * per_task + offset;
            image.size = from;
            image.data.clear();
            image.data.extend(source[i * old..(i + 1) * old].iter().map(|&x| convert(x)));
            change.change(i, &mut image);
            target.copy_from_slice(&image.data);
        }
    });
    drop(pieces);
    Ok(out)
}
