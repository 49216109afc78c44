//! The tensor: a shared buffer seen through a shape and strides.
//!
//! Cloning copies no data. Views (transposes, slices, broadcasts, most reshapes) share the buffer of their origin.
//! Writing is copy-on-write: it happens in place exactly when nobody else holds the buffer, so that no value that
//! somebody else can see, such as one saved for a backward pass, ever changes.

mod access;
mod create;
mod display;
mod fresh;
mod view;

use std::sync::Arc;

use crate::autodiff::Track;
use crate::shape::Strides;
use crate::storage::Buffer;
use crate::{DType, Shape};

pub(crate) use create::checked_numel;
pub(crate) use fresh::Fresh;

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
    buffer: Arc<Buffer>,
    /// First element, in elements from the start of the buffer.
    offset: usize,
    shape: Shape,
    strides: Strides,
    dtype: DType,
    track: Option<Arc<Track>>,
}

impl Tensor {
    /// The sizes of the axes.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The sizes of the axes as a slice, for matching: `let &[rows, columns] = x.dims() else { … }`.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.shape
    }

    /// Number of axes.
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// Number of elements.
    #[inline]
    pub fn numel(&self) -> usize {
        self.shape.numel()
    }

    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Steps between neighbours along each axis, in elements.
    #[inline]
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Whether the elements lie in row-major order without gaps.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1isize;
        for (&size, &stride) in self.shape.iter().zip(self.strides.iter()).rev() {
            if size != 1 && stride != expected {
                return size == 0 || self.shape.contains(&0);
            }
            expected *= size as isize;
        }
        true
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
    pub(crate) fn with_track(mut self, track: Option<Arc<Track>>) -> Tensor {
        self.track = track;
        self
    }

    /// The same values without tracking on any level.
    #[inline]
    pub(crate) fn untracked(&self) -> Tensor {
        Tensor {
            buffer: self.buffer.clone(),
            offset: self.offset,
            shape: self.shape.clone(),
            strides: self.strides.clone(),
            dtype: self.dtype,
            track: None,
        }
    }
}
