//! Scratch memory of the calling thread: taken, used, given back, so that a steady state never allocates.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;

const ALIGNMENT: usize = 64;
/// Slots are as many as can be in use at once on one thread.
const SLOTS: usize = 12;

struct Buffer {
    start: *mut u8,
    bytes: usize,
}

impl Buffer {
    const EMPTY: Self = Self { start: std::ptr::null_mut(), bytes: 0 };

    fn layout(bytes: usize) -> Layout {
        // Bounded by the block sizes, hence never near the limit of `isize`.
        Layout::from_size_align(bytes, ALIGNMENT).unwrap_or(Layout::new::<u64>())
    }

    fn with_bytes(bytes: usize) -> Self {
        let layout = Self::layout(bytes);
        // SAFETY: callers ask for more than nothing.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Self { start, bytes }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: allocated by `with_bytes` with this layout.
            unsafe { dealloc(self.start, Self::layout(self.bytes)) };
        }
    }
}

thread_local! {
    static BUFFERS: [Cell<Buffer>; SLOTS] = const { [const { Cell::new(Buffer::EMPTY) }; SLOTS] };
}

/// What a piece of scratch memory is for; each purpose has its own buffer.
#[derive(Clone, Copy)]
pub(in crate::kernels) enum Slot {
    /// Packed panels of `a`.
    Left = 0,
    /// Packed panels of `b` shared by all tasks.
    Right = 1,
    /// One packed panel of `b` of a task.
    Panel = 2,
    /// Partial results.
    Partial = 3,
    /// Filters of a convolution in the order its tiles read them.
    Filters = 4,
    /// An image with its padding.
    Image = 5,
    /// Results or gradients of an image, pixel by pixel.
    Pixels = 6,
    /// Partial sums of a gradient by filters.
    Sums = 7,
    /// A gradient that has passed the rectifier.
    Gated = 8,
    /// Transformed tiles of images.
    Tiles = 9,
    /// Products or transformed gradients, position by position.
    Products = 10,
    /// A gradient by transformed filters.
    Positions = 11,
}

/// Calls `body` with uninitialised room for `count` numbers, aligned to a cache line.
pub(in crate::kernels) fn with_scratch<T, R>(slot: Slot, count: usize, body: impl FnOnce(*mut T) -> R) -> R {
    let bytes = count * size_of::<T>();
    if bytes == 0 {
        return body(std::ptr::null_mut());
    }
    // A use inside a use finds the slot empty and allocates: slower, still right.
    let mut buffer = BUFFERS.with(|buffers| buffers[slot as usize].replace(Buffer::EMPTY));
    if buffer.bytes < bytes {
        buffer = Buffer::with_bytes(bytes.next_power_of_two());
    }
    let result = body(buffer.start.cast());
    BUFFERS.with(|buffers| buffers[slot as usize].set(buffer));
    result
}
