//! Memory of tensors: 64-byte aligned blocks that are recycled, or memory borrowed from a `Vec` or a mapped file.
#![allow(unsafe_code)]

mod recycle;

use std::any::Any;
use std::ptr::NonNull;

use crate::meter;

/// The memory under one or more tensors.
pub(crate) struct Buffer {
    pointer: NonNull<u8>,
    bytes: usize,
    owner: Owner,
}

enum Owner {
    /// A block of this size class from [`recycle`].
    Recycled(recycle::Class),
    /// A `Vec` handed over by the user; kept so that it can be given back without copying.
    Vec(Box<dyn Any + Send + Sync>),
    /// Memory of somebody else that must not be written, such as a mapped file.
    Shared(#[allow(dead_code, reason = "keeps the memory alive")] Box<dyn Any + Send + Sync>),
}

// SAFETY: the pointer is owned (or kept alive) by `owner`, which is itself Send and Sync; access through shared
// references only reads, and writers need `&mut Buffer`.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Memory for `bytes` bytes, whose content is whatever the block last held.
    #[inline]
    pub(crate) fn uninit(bytes: usize) -> Buffer {
        let (pointer, class) = recycle::take(bytes);
        meter::allocated(bytes);
        Buffer { pointer, bytes, owner: Owner::Recycled(class) }
    }

    /// Takes over a vector without copying.
    pub(crate) fn from_vec<T: Send + Sync + 'static>(mut data: Vec<T>) -> Buffer {
        let pointer = NonNull::new(data.as_mut_ptr().cast()).unwrap_or(NonNull::dangling());
        let bytes = std::mem::size_of_val(data.as_slice());
        meter::allocated(bytes);
        Buffer { pointer, bytes, owner: Owner::Vec(Box::new(data)) }
    }

    /// Borrows `bytes`, which `keeper` keeps alive and in place, for reading only.
    ///
    /// # Safety
    /// `bytes` must stay valid and unchanged while `keeper` lives.
    pub(crate) unsafe fn from_shared(bytes: &[u8], keeper: Box<dyn Any + Send + Sync>) -> Buffer {
        let pointer = NonNull::from(bytes).cast();
        meter::allocated(bytes.len());
        Buffer { pointer, bytes: bytes.len(), owner: Owner::Shared(keeper) }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.pointer.as_ptr()
    }

    /// The memory for writing. Callers hold the only reference to the tensor's buffer and have checked
    /// [`Buffer::is_writable`].
    #[inline]
    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    #[inline]
    pub(crate) fn is_writable(&self) -> bool {
        !matches!(self.owner, Owner::Shared(_))
    }

    /// Gives back the vector it was made from.
    pub(crate) fn into_vec<T: 'static>(mut self) -> Result<Vec<T>, Buffer> {
        let owner = std::mem::replace(&mut self.owner, Owner::Shared(Box::new(())));
        match owner {
            Owner::Vec(any) => match any.downcast::<Vec<T>>() {
                Ok(data) => Ok(*data),
                Err(any) => {
                    self.owner = Owner::Vec(any);
                    Err(self)
                }
            },
            other => {
                self.owner = other;
                Err(self)
            }
        }
    }
}

impl Drop for Buffer {
    #[inline]
    fn drop(&mut self) {
        meter::released(self.bytes);
        if let Owner::Recycled(class) = self.owner {
            recycle::give(self.pointer, class);
        }
    }
}
