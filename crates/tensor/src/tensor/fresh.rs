//! New memory on its way to becoming a tensor.
#![allow(unsafe_code)]

use super::Tensor;
use crate::storage::Storage;
use crate::{DType, Element, Shape};

/// A row-major block that a kernel fills before anybody else sees it. Its initial content is arbitrary.
pub(crate) struct Fresh {
    storage: Storage,
    shape: Shape,
    dtype: DType,
}

impl Fresh {
    #[inline]
    pub(crate) fn new(shape: Shape, dtype: DType) -> Fresh {
        Fresh { storage: Storage::uninit(shape.numel() * dtype.size()), shape, dtype }
    }

    /// Start of the memory, for kernels.
    #[inline]
    pub(crate) fn pointer<T>(&mut self) -> *mut T {
        debug_assert_eq!(size_of::<T>(), self.dtype.size());
        self.storage.as_mut_ptr().cast()
    }

    /// The elements for writing. Truth values are written as bytes 0 and 1, so ask for `u8` there.
    #[inline]
    pub(crate) fn slice<T: Element>(&mut self) -> &mut [T] {
        assert_eq!(size_of::<T>(), self.dtype.size());
        assert!(T::DTYPE != DType::Bool, "arbitrary bytes are not truth values");
        let len = self.shape.numel();
        // SAFETY: the buffer holds `len` initialised elements of this size, every bit pattern is a value of the
        // number types, and `&mut self` is the only way to it.
        unsafe { std::slice::from_raw_parts_mut(self.storage.as_mut_ptr().cast(), len) }
    }

    #[inline]
    pub(crate) fn finish(self) -> Tensor {
        Tensor::row_major(self.storage, self.shape, self.dtype)
    }
}

impl Fresh {
    /// The memory as bytes; how truth values are written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let len = self.shape.numel() * self.dtype.size();
        // SAFETY: the buffer holds `len` initialised bytes and `&mut self` is the only way to them.
        unsafe { std::slice::from_raw_parts_mut(self.storage.as_mut_ptr(), len) }
    }

    /// Fills the memory with a copy of `data`.
    #[inline]
    pub(crate) fn copy_from<T: Element>(&mut self, data: &[T]) {
        assert!(T::DTYPE == self.dtype && data.len() == self.shape.numel());
        // SAFETY: type and length were just checked, and new memory cannot overlap `data`.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.pointer(), data.len()) }
    }
}

impl Fresh {
    #[inline]
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }
}
