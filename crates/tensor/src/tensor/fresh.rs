//! New memory on its way to becoming a tensor.
#![allow(unsafe_code)]

use super::{Tensor, checked_numel};
use crate::storage::Storage;
use crate::{DType, Element, Error, Result, Shape};

/// A row-major block that a kernel fills before anybody else sees it. Its initial content is arbitrary.
pub(crate) struct Fresh {
    storage: Storage,
    shape: Shape,
    dtype: DType,
}

impl Fresh {
    /// Memory for a tensor of this shape. Every new tensor passes through here or through [`checked_numel`], so that
    /// no shape whose size overflows ever reaches a kernel. Errors carry no name; [`Error::named`] gives them one.
    // Into the caller: the result is large, and returning it through memory is a fifth of a small operation.
    #[inline(always)]
    pub(crate) fn new(shape: Shape, dtype: DType) -> Result<Fresh> {
        let bytes = checked_numel(Error::NAMELESS, &shape)? * dtype.size();
        match Storage::uninit(bytes) {
            Some(storage) => Ok(Fresh { storage, shape, dtype }),
            None => Err(no_memory(&shape, bytes)),
        }
    }

    /// Start of the memory, for kernels. `T` must have the size of the element type.
    #[inline]
    pub(crate) fn pointer<T>(&mut self) -> *mut T {
        assert!(size_of::<T>() == self.dtype.size());
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

    /// The tensor. Bytes other than 0 and 1 are no truth values, so that they must not leave here as such.
    #[inline]
    pub(crate) fn finish(mut self) -> Tensor {
        if self.dtype == DType::Bool {
            assert!(self.holds_truth(), "truth values are written as bytes 0 and 1");
        }
        Tensor::row_major(self.storage, self.shape, self.dtype)
    }

    /// As [`Fresh::finish`] without a look at every byte of truth values. Comparisons, logic, casts and copies
    /// write no others by construction, on all threads; beside them a pass on one thread would count the more, the more
    /// threads there are. Everything else, and bytes from elsewhere, goes through the check.
    ///
    /// # Safety
    /// If the type is `Bool`, every byte was written and is 0 or 1.
    #[inline]
    pub(crate) unsafe fn finish_written(mut self) -> Tensor {
        debug_assert!(self.dtype != DType::Bool || self.holds_truth(), "truth values are written as bytes 0 and 1");
        Tensor::row_major(self.storage, self.shape, self.dtype)
    }

    /// Whether all bytes are 0 or 1: all bits together rather than the first wrong byte, so that the loop has no branches
    /// and takes whole registers. Not part of its callers, which are many and small.
    #[inline(never)]
    fn holds_truth(&mut self) -> bool {
        self.bytes_mut().iter().fold(0, |bits, byte| bits | byte) < 2
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

    #[inline]
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }
}

#[cold]
fn no_memory(shape: &Shape, bytes: usize) -> Error {
    Error::data(Error::NAMELESS, format!("shape {shape} needs {bytes} bytes, which the system does not give"))
}

/// A vector of one value repeated, for results that are built in one; an error where there is no memory for it.
pub(crate) fn try_vec<T: Clone>(op: &'static str, len: usize, value: T) -> Result<Vec<T>> {
    let mut data = Vec::new();
    if data.try_reserve_exact(len).is_err() {
        return Err(Error::data(op, format!("{len} elements need more memory than the system gives")));
    }
    data.resize(len, value);
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "truth values are written as bytes 0 and 1")]
    fn other_bytes_do_not_become_truth_values() {
        let mut out = Fresh::new(Shape::from([3]), DType::Bool).expect("there is memory");
        out.bytes_mut().copy_from_slice(&[0, 1, 2]);
        out.finish();
    }
}
