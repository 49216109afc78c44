//! The tensor: a shared buffer seen through a shape and strides.
//!
//! Cloning copies no data. Views (transposes, slices, broadcasts, most reshapes) share the buffer of their origin.
//! Writing is copy-on-write: it happens in place exactly when nobody else holds the buffer, so that no value that
//! somebody else can see, such as one saved for a backward pass, ever changes.

mod access;
mod create;
mod display;
mod fresh;
#[cfg(feature = "ndarray")]
mod ndarray;
mod view;

use std::sync::Arc;

use crate::autodiff::Track;
use crate::shape::Strides;
use crate::storage::Storage;
use crate::{DType, Shape};

pub(crate) use create::checked_numel;
pub(crate) use fresh::{Fresh, try_vec};

/// An n-dimensional array of one element type, with optional derivative tracking.
///
/// ```
/// use tove_tensor::{DType, Tensor};
/// let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
/// assert_eq!((x.rank(), x.numel(), x.dtype()), (2, 6, DType::F64));
/// assert_eq!(x.shape(), &[2, 3]);
/// assert_eq!(x.t().to_vec::<f64>(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// ```
#[derive(Clone)]
pub struct Tensor {
    array: Arc<Array>,
    track: Option<Arc<Track>>,
}

/// A view of memory. Two words to pass around, so that tensors move for free.
#[derive(Clone)]
struct Array {
    storage: Storage,
    /// First element, in elements from the start of the memory.
    offset: usize,
    shape: Shape,
    strides: Strides,
    dtype: DType,
    /// Whether the elements lie in row-major order without gaps.
    contiguous: bool,
}

impl Tensor {
    #[inline]
    fn from_array(array: Array) -> Tensor {
        Tensor { array: Arc::new(array), track: None }
    }

    /// Row-major over the whole of `storage`.
    #[inline]
    fn row_major(storage: Storage, shape: Shape, dtype: DType) -> Tensor {
        let strides = shape.row_major();
        Tensor::from_array(Array { storage, offset: 0, shape, strides, dtype, contiguous: true })
    }

    /// The sizes of the axes.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.array.shape
    }

    /// The sizes of the axes as a slice, for matching: `let &[rows, columns] = x.dims() else { … }`.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.array.shape
    }

    /// Number of axes.
    #[inline]
    pub fn rank(&self) -> usize {
        self.array.shape.rank()
    }

    /// Number of elements.
    #[inline]
    pub fn numel(&self) -> usize {
        self.array.shape.numel()
    }

    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.array.dtype
    }

    /// Steps between neighbours along each axis, in elements.
    #[inline]
    pub fn strides(&self) -> &[isize] {
        &self.array.strides
    }

    /// Whether the elements lie in row-major order without gaps.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.array.contiguous
    }

    #[inline]
    pub(crate) fn track(&self) -> Option<&Arc<Track>> {
        self.track.as_ref()
    }

    #[inline]
    pub(crate) fn set_track(&mut self, track: Option<Arc<Track>>) {
        self.track = track;
    }

    #[inline]
    pub(crate) fn take_track(&mut self) -> Option<Arc<Track>> {
        self.track.take()
    }

    #[inline]
    pub(crate) fn with_track(mut self, track: Option<Arc<Track>>) -> Tensor {
        self.track = track;
        self
    }

    /// The same values without tracking on any level.
    #[inline]
    pub(crate) fn untracked(&self) -> Tensor {
        Tensor { array: self.array.clone(), track: None }
    }
}

/// Whether these strides are those of a row-major tensor without gaps; axes of size 1 do not matter.
fn is_row_major(shape: &Shape, strides: &[isize]) -> bool {
    let mut expected = 1isize;
    for (&size, &stride) in shape.iter().zip(strides).rev() {
        if size != 1 && stride != expected {
            return shape.contains(&0);
        }
        expected *= size as isize;
    }
    true
}
