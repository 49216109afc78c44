//! Memory of tensors: 64-byte aligned blocks that are recycled, or memory borrowed from a `Vec` or a mapped file.
#![allow(unsafe_code)]

mod recycle;

use std::any::Any;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crate::io::FileMap;
use crate::meter;
use recycle::Class;

/// The memory under one or more tensors.
struct Buffer {
    pointer: NonNull<u8>,
    bytes: usize,
    owner: Owner,
}

enum Owner {
    /// A block of this size class from [`recycle`].
    Recycled(Class),
    /// A `Vec` handed over by the user; kept so that it can be given back without copying.
    Vec(Box<dyn Any + Send + Sync>),
    /// A mapped file, which must not be written.
    Shared(#[allow(dead_code, reason = "keeps the memory alive")] Arc<FileMap>),
}

// SAFETY: the pointer is owned (or kept alive) by `owner`, which is itself Send and Sync; access through shared
// references only reads, and writers make sure that they hold the only reference.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Owner::Recycled(class) = self.owner {
            recycle::free(self.pointer, class);
        }
    }
}

/// A counted reference to memory. The last one to a recycled block returns it, counter and all, to the lists.
#[derive(Clone)]
pub(crate) struct Storage(ManuallyDrop<Arc<Buffer>>);

impl Storage {
    /// Memory for at least `bytes` bytes, whose content is whatever the block last held; `None` where the system has
    /// none to give.
    #[inline]
    pub(crate) fn uninit(bytes: usize) -> Option<Storage> {
        let buffer = recycle::take(bytes)?;
        meter::allocated(buffer.bytes);
        Some(Storage(ManuallyDrop::new(buffer)))
    }

    /// Takes over a vector without copying.
    pub(crate) fn from_vec<T: Send + Sync + 'static>(mut data: Vec<T>) -> Storage {
        let pointer = NonNull::new(data.as_mut_ptr().cast()).unwrap_or(NonNull::dangling());
        let bytes = std::mem::size_of_val(data.as_slice());
        meter::allocated(bytes);
        Storage(ManuallyDrop::new(Arc::new(Buffer { pointer, bytes, owner: Owner::Vec(Box::new(data)) })))
    }

    /// A range of a mapped file, for reading only; `None` if the file is shorter.
    pub(crate) fn from_map(map: Arc<FileMap>, range: Range<usize>) -> Option<Storage> {
        let bytes = map.get(range)?;
        let (pointer, bytes) = (NonNull::from(bytes).cast(), bytes.len());
        meter::allocated(bytes);
        // The map stays where it is for as long as the owner lives, and nobody writes to shared memory.
        Some(Storage(ManuallyDrop::new(Arc::new(Buffer { pointer, bytes, owner: Owner::Shared(map) }))))
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.0.pointer.as_ptr()
    }

    /// The memory for writing. Callers have checked [`Storage::is_alone`], or have just made it.
    #[inline]
    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.pointer.as_ptr()
    }

    /// Whether this is the only reference and the memory may be written.
    #[inline]
    pub(crate) fn is_alone(&mut self) -> bool {
        // There are no weak references, so a count of one cannot grow behind our back.
        let alone = Arc::strong_count(&self.0) == 1 && !matches!(self.0.owner, Owner::Shared(_));
        // What the last other holder did with the memory happened before we write to it.
        fence(Ordering::Acquire);
        alone
    }

    /// Whether both are the same memory.
    pub(crate) fn is_same(&self, other: &Storage) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Gives back the vector it was made from, if it was and nobody else holds it.
    pub(crate) fn into_vec<T: 'static>(mut self) -> Result<Vec<T>, Storage> {
        if let Some(buffer) = Arc::get_mut(&mut self.0)
            && let Owner::Vec(data) = &mut buffer.owner
            && let Some(data) = data.downcast_mut::<Vec<T>>()
        {
            // What stays behind is an empty vector that nobody reads.
            return Ok(std::mem::take(data));
        }
        Err(self)
    }
}

impl Drop for Storage {
    #[inline]
    fn drop(&mut self) {
        let last = Arc::strong_count(&self.0) == 1;
        if last {
            fence(Ordering::Acquire);
            meter::released(self.0.bytes);
        }
        // SAFETY: `self` is being dropped, so the reference is not used again.
        let buffer = unsafe { ManuallyDrop::take(&mut self.0) };
        match buffer.owner {
            Owner::Recycled(class) if last => recycle::give(buffer, class),
            _ => drop(buffer),
        }
    }
}
