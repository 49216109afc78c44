//! Recycled blocks: freed memory waits in lists by size class, first in the thread's own, then in a common one.
//!
//! Allocation dominates mid-size training steps when every result is asked of the system and touched for the first
//! time, so a training loop in its steady state gets all its memory from here. Classes are a quarter of an octave
//! apart, so that at most a fifth of a block is unused. The lists are capped, so that a thread that only frees
//! (a consumer of prefetched batches, say) does not hoard.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// Alignment of every block: a cache line, and the widest vector.
const ALIGN: usize = 64;
/// Bytes a thread keeps for itself.
const LOCAL_CAP: usize = 64 << 20;
/// Bytes kept for all threads together.
const COMMON_CAP: usize = 1 << 30;
const CLASSES: usize = 4 * 58;

/// Index of a size class.
#[derive(Clone, Copy)]
pub(super) struct Class(u16);

impl Class {
    /// The smallest class that holds `bytes`: sizes (4 + q) · 2^e with q in 0..4.
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

    fn layout(self) -> Layout {
        let bytes = self.bytes().next_multiple_of(ALIGN);
        // A size this large cannot be had; asking for it reports the failure in the ordinary way.
        Layout::from_size_align(bytes, ALIGN).unwrap_or(Layout::new::<[u8; 1 << 40]>())
    }
}

struct Block(NonNull<u8>);

// SAFETY: a block in a list belongs to nobody else; it is plain memory.
unsafe impl Send for Block {}

struct Lists {
    held: usize,
    cap: usize,
    lists: [Vec<Block>; CLASSES],
}

impl Lists {
    const fn new(cap: usize) -> Lists {
        Lists { held: 0, cap, lists: [const { Vec::new() }; CLASSES] }
    }

    #[inline]
    fn take(&mut self, class: Class) -> Option<Block> {
        let block = self.lists[usize::from(class.0)].pop()?;
        self.held -= class.bytes();
        Some(block)
    }

    /// Keeps the block, or gives it back when the lists are full.
    #[inline]
    fn give(&mut self, block: Block, class: Class) -> Result<(), Block> {
        if self.held + class.bytes() > self.cap {
            return Err(block);
        }
        self.held += class.bytes();
        self.lists[usize::from(class.0)].push(block);
        Ok(())
    }
}

impl Drop for Lists {
    /// A thread that ends leaves its blocks to the others.
    fn drop(&mut self) {
        for (class, list) in self.lists.iter_mut().enumerate() {
            for block in list.drain(..) {
                give_common(block, Class(class as u16));
            }
        }
    }
}

thread_local! {
    static LOCAL: RefCell<Lists> = const { RefCell::new(Lists::new(LOCAL_CAP)) };
}
static COMMON: Mutex<Lists> = Mutex::new(Lists::new(COMMON_CAP));

/// A block of at least `bytes` bytes.
#[inline]
pub(super) fn take(bytes: usize) -> (NonNull<u8>, Class) {
    let class = Class::of(bytes);
    let local = LOCAL.try_with(|lists| lists.borrow_mut().take(class)).ok().flatten();
    let block = match local {
        Some(block) => block,
        None => take_common(class),
    };
    (block.0, class)
}

/// Returns a block obtained from [`take`].
#[inline]
pub(super) fn give(pointer: NonNull<u8>, class: Class) {
    let block = Block(pointer);
    match LOCAL.try_with(|lists| lists.borrow_mut().give(block, class)) {
        Ok(Ok(())) => {}
        Ok(Err(block)) => give_common(block, class),
        // The thread is ending and its lists are gone.
        Err(_) => give_common(Block(pointer), class),
    }
}

#[cold]
fn take_common(class: Class) -> Block {
    let found = COMMON.lock().unwrap_or_else(PoisonError::into_inner).take(class);
    found.unwrap_or_else(|| {
        let layout = class.layout();
        // Zeroed, so that the memory is initialised (if arbitrary) ever after.
        // SAFETY: the layout has a size of at least 64.
        let pointer = unsafe { alloc_zeroed(layout) };
        Block(NonNull::new(pointer).unwrap_or_else(|| handle_alloc_error(layout)))
    })
}

#[cold]
fn give_common(block: Block, class: Class) {
    let kept = COMMON.lock().unwrap_or_else(PoisonError::into_inner).give(block, class);
    if let Err(block) = kept {
        // SAFETY: the block was allocated with the layout of its class.
        unsafe { dealloc(block.0.as_ptr(), class.layout()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_they_promise_without_much_waste() {
        for bytes in (0..5000).chain([1 << 20, (1 << 20) + 1, 123_456_789]) {
            let size = Class::of(bytes).bytes();
            assert!(size >= bytes, "{bytes} in {size}");
            assert!(size <= 64 || size as f64 <= 1.26 * bytes as f64, "{bytes} in {size}");
        }
    }

    #[test]
    fn a_freed_block_is_used_again() {
        let (first, class) = take(10_000);
        give(first, class);
        let (second, class) = take(10_000);
        assert_eq!(first, second);
        give(second, class);
    }
}
