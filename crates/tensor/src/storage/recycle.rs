//! Recycled blocks: freed memory waits in lists by size class, first in the thread's own, then in a common one.
//!
//! Allocation dominates mid-size training steps when every result is asked of the system and touched for the first
//! time, so a training loop in its steady state gets all its memory from here. Classes are a quarter of an octave
//! apart, so that at most a fifth of a block is unused. The lists are capped, so that a thread that only frees
//! (a consumer of prefetched batches, say) does not hoard.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Buffer, Owner};

/// Alignment of every block: a cache line, and the widest vector.
pub(super) const ALIGN: usize = 64;
/// Blocks of this size and more begin on a large page and ask the system for large pages: passes over many megabytes spend
/// a sixth of their time looking up small ones.
const LARGE_PAGE: usize = 2 << 20;
/// Blocks of this size and more are compared with the memory of the machine before they are asked for.
const LARGE: usize = 1 << 30;
/// Bytes a thread keeps for itself.
const LOCAL_CAP: usize = 64 << 20;
/// Bytes kept for all threads together.
const COMMON_CAP: usize = 1 << 30;
/// Four for every octave of an address.
const CLASSES: usize = 4 * usize::BITS as usize;

/// Index of a size class.
#[derive(Clone, Copy)]
pub(super) struct Class(u16);

impl Class {
    /// The smallest class that holds `bytes`: sizes (5 + q) · 2^e with q in 0..4.
    #[inline]
    fn of(bytes: usize) -> Class {
        let bytes = bytes.max(ALIGN) - 1;
        let octave = bytes.ilog2(); // at least 5, because 63 = 0b111111
        let quarter = (bytes >> (octave - 2)) & 3;
        Class((octave as usize * 4 + quarter) as u16)
    }

    #[inline]
    fn bytes(self) -> usize {
        let (octave, quarter) = (usize::from(self.0) / 4, usize::from(self.0) % 4);
        (5 + quarter) << (octave - 2)
    }

    /// `None` for sizes that no system gives.
    fn layout(self) -> Option<Layout> {
        let bytes = self.bytes().checked_next_multiple_of(ALIGN)?;
        Layout::from_size_align(bytes, if bytes >= LARGE_PAGE { LARGE_PAGE } else { ALIGN }).ok()
    }
}

struct Lists {
    held: usize,
    cap: usize,
    lists: [Vec<Arc<Buffer>>; CLASSES],
}

impl Lists {
    const fn new(cap: usize) -> Lists {
        Lists { held: 0, cap, lists: [const { Vec::new() }; CLASSES] }
    }

    #[inline]
    fn take(&mut self, class: Class) -> Option<Arc<Buffer>> {
        let buffer = self.lists[usize::from(class.0)].pop()?;
        self.held -= class.bytes();
        Some(buffer)
    }

    /// Keeps the block, or gives it back when the lists are full.
    #[inline]
    fn give(&mut self, buffer: Arc<Buffer>, class: Class) -> Option<Arc<Buffer>> {
        if self.held + class.bytes() > self.cap {
            return Some(buffer);
        }
        self.held += class.bytes();
        self.lists[usize::from(class.0)].push(buffer);
        None
    }
}

impl Drop for Lists {
    /// A thread that ends leaves its blocks to the others.
    fn drop(&mut self) {
        for (class, list) in self.lists.iter_mut().enumerate() {
            for buffer in list.drain(..) {
                give_common(buffer, Class(class as u16));
            }
        }
    }
}

thread_local! {
    static LOCAL: RefCell<Lists> = const { RefCell::new(Lists::new(LOCAL_CAP)) };
}
static COMMON: Mutex<Lists> = Mutex::new(Lists::new(COMMON_CAP));

/// A block of at least `bytes` bytes (at most `isize::MAX`) that nobody else holds; `None` where there is no memory.
#[inline]
pub(super) fn take(bytes: usize) -> Option<Arc<Buffer>> {
    let class = Class::of(bytes);
    match LOCAL.try_with(|lists| lists.borrow_mut().take(class)) {
        Ok(Some(buffer)) => Some(buffer),
        _ => take_common(class),
    }
}

/// Returns a block that nobody else holds.
#[inline]
pub(super) fn give(buffer: Arc<Buffer>, class: Class) {
    let mut left = Some(buffer);
    // Where the thread is ending, its lists are gone and the closure does not run.
    let _ = LOCAL.try_with(|lists| left = left.take().and_then(|buffer| lists.borrow_mut().give(buffer, class)));
    if let Some(buffer) = left {
        give_common(buffer, class);
    }
}

#[cold]
fn take_common(class: Class) -> Option<Arc<Buffer>> {
    let found = COMMON.lock().unwrap_or_else(PoisonError::into_inner).take(class);
    found.or_else(|| {
        let layout = class.layout().filter(|layout| layout.size() < LARGE || layout.size() <= machine_memory())?;
        // SAFETY: the layout has a size of at least 64.
        let pointer = NonNull::new(unsafe { alloc(layout) })?;
        if layout.align() == LARGE_PAGE {
            advise_large_pages(pointer, layout.size());
        }
        // Zeroed, so that the memory is initialised (if arbitrary) ever after.
        // SAFETY: the block has been allocated with this size and nobody else knows it.
        unsafe { pointer.write_bytes(0, layout.size()) };
        Some(Arc::new(Buffer { pointer, bytes: class.bytes(), owner: Owner::Recycled(class) }))
    })
}

/// Bytes of memory that the machine has, swap included. A system that promises more than it has (`vm.overcommit_memory` is 1)
/// would end the process when the memory is touched, instead of refusing it.
fn machine_memory() -> usize {
    #[cfg(target_os = "linux")]
    {
        let mut info = std::mem::MaybeUninit::<libc::sysinfo>::zeroed();
        // SAFETY: the call fills the structure, all of whose fields may be zero.
        let (code, info) = unsafe { (libc::sysinfo(info.as_mut_ptr()), info.assume_init()) };
        if code == 0 {
            let units = (info.totalram as usize).saturating_add(info.totalswap as usize);
            return units.saturating_mul(info.mem_unit as usize);
        }
    }
    usize::MAX
}

/// Asks for large pages; the system may refuse, and nothing but speed depends on it.
fn advise_large_pages(pointer: NonNull<u8>, bytes: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the range is one allocation of ours; the advice changes how it is backed, not what it holds.
    unsafe {
        libc::madvise(pointer.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (pointer, bytes);
}

#[cold]
fn give_common(buffer: Arc<Buffer>, class: Class) {
    // What the full list gives back is freed by its drop, after the lock is released.
    let left = COMMON.lock().unwrap_or_else(PoisonError::into_inner).give(buffer, class);
    drop(left);
}

/// Returns a block to the system.
pub(super) fn free(pointer: NonNull<u8>, class: Class) {
    if let Some(layout) = class.layout() {
        // SAFETY: the block was allocated in `take_common` with the layout of its class.
        unsafe { dealloc(pointer.as_ptr(), layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_they_promise_without_much_waste() {
        for bytes in (0..5000).chain([1 << 20, (1 << 20) + 1, 123_456_789, 1 << 62]) {
            let size = Class::of(bytes).bytes();
            assert!(size >= bytes, "{bytes} in {size}");
            assert!(size <= 64 || size as f64 <= 1.26 * bytes as f64, "{bytes} in {size}");
        }
    }

    #[test]
    fn a_freed_block_is_used_again() {
        let first = take(10_000).expect("there is memory for 10 kB");
        let place = first.pointer;
        give(first, Class::of(10_000));
        assert_eq!(take(10_000).map(|buffer| buffer.pointer), Some(place));
    }
}
