//! Memory of tensors: 64-byte aligned blocks that are recycled, or memory borrowed from a `Vec` or a mapped file.
#![allow(unsafe_code)]

mod recycle;

use std::alloc::{Layout, alloc, dealloc};
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
    /// A block of exactly this size, which goes back to the system: what the memory checker needs.
    Exact(Layout),
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
        match self.owner {
            Owner::Recycled(class) => recycle::free(self.pointer, class),
            // SAFETY: the block was allocated in `Storage::exact` with this layout.
            Owner::Exact(layout) => unsafe { dealloc(self.pointer.as_ptr(), layout) },
            Owner::Vec(_) | Owner::Shared(_) => {}
        }
    }
}

/// A block of just `bytes` bytes, so that the memory checker sees every step beyond it. Recycled blocks are rounded up and
/// never freed, which would hide such steps. The content is not zero, so that nobody gets used to that.
fn exact(bytes: usize) -> Option<Arc<Buffer>> {
    let layout = Layout::from_size_align(bytes.max(1), recycle::ALIGN).ok()?;
    // SAFETY: the layout has a size of at least 1.
    let pointer = NonNull::new(unsafe { alloc(layout) })?;
    // SAFETY: the block has been allocated with this size and nobody else knows it.
    unsafe { pointer.write_bytes(0xFF, layout.size()) };
    Some(Arc::new(Buffer { pointer, bytes, owner: Owner::Exact(layout) }))
}

/// A counted reference to memory. The last one to a recycled block returns it, counter and all, to the lists.
#[derive(Clone)]
pub(crate) struct Storage(ManuallyDrop<Arc<Buffer>>);

impl Storage {
    /// Memory for at least `bytes` bytes, whose content is whatever the block last held; `None` where the system has
    /// none to give.
    #[inline]
    pub(crate) fn uninit(bytes: usize) -> Option<Storage> {
        let buffer = if cfg!(tove_asan) { exact(bytes)? } else { recycle::take(bytes)? };
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

    /// Bytes that may be used.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes
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

#[cfg(all(test, tove_asan))]
mod tests {
    use super::*;

    /// The memory stage of the check runs this first, and goes on only if the checker ends it.
    #[test]
    #[ignore = "reads beyond its memory on purpose"]
    fn a_step_beyond_a_block_is_seen() {
        let storage = Storage::uninit(12).expect("there is memory for 12 bytes");
        // SAFETY: there is none. The byte behind the block belongs to nobody, which is what the checker must say.
        let beyond = unsafe { storage.as_ptr().add(12).read_volatile() };
        println!("nobody minded reading {beyond}");
    }
}
