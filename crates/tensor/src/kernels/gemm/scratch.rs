//! Scratch memory of the calling thread: taken, used, given back, so that a steady state never allocates.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::{Error, Result};

const ALIGNMENT: usize = 64;
/// Slots are as many as can be in use at once on one thread.
const SLOTS: usize = 12;

/// Allocated with exactly this layout, or null and of size 0.
struct Buffer {
    start: *mut u8,
    layout: Layout,
}

impl Buffer {
    const EMPTY: Self = Self { start: std::ptr::null_mut(), layout: Layout::new::<()>() };

    /// Room for at least `bytes` bytes; `None` where there is no memory.
    fn with_bytes(bytes: usize) -> Option<Self> {
        let size = if cfg!(tove_asan) { bytes } else { bytes.checked_next_power_of_two()? };
        let layout = Layout::from_size_align(size, ALIGNMENT).ok()?;
        // SAFETY: callers ask for more than nothing.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            return None;
        }
        Some(Self { start, layout })
    }
}

/// What unwinds from a kernel that did not get its scratch memory.
struct NoMemory(usize);

/// Ends a kernel for want of memory, with what [`guarded`] turns into an error: padded images may be large, and the inner
/// axis of a product may be a view that stretches one number.
#[cold]
fn no_memory(bytes: usize) -> ! {
    resume_unwind(Box::new(NoMemory(bytes)))
}

/// Calls a kernel; an error where there was no memory for its scratch areas.
pub(crate) fn guarded<R>(op: &'static str, kernel: impl FnOnce() -> R) -> Result<R> {
    catch_unwind(AssertUnwindSafe(kernel)).or_else(|reason| match reason.downcast::<NoMemory>() {
        Ok(missing) => {
            let problem = format!("needs {} bytes of scratch memory, which the system does not give", missing.0);
            Err(Error::data(op, problem))
        }
        Err(other) => resume_unwind(other),
    })
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: allocated by `with_bytes` with this layout.
            unsafe { dealloc(self.start, self.layout) };
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

/// Calls `body` with uninitialised room for `count` numbers, aligned to a cache line; null for none.
///
/// # Panics
/// If there is no memory for so many. Whoever calls a kernel that asks for an amount that depends on its operands does so
/// through [`guarded`].
pub(in crate::kernels) fn with_scratch<T, R>(slot: Slot, count: usize, body: impl FnOnce(*mut T) -> R) -> R {
    const { assert!(align_of::<T>() <= ALIGNMENT) };
    let Some(bytes) = count.checked_mul(size_of::<T>()) else { no_memory(usize::MAX) };
    if bytes == 0 {
        return body(std::ptr::null_mut());
    }
    // A use inside a use finds the slot empty and allocates: slower, still right.
    let mut buffer = BUFFERS.with(|buffers| buffers[slot as usize].replace(Buffer::EMPTY));
    // Under the sanitizer every use has a buffer of its own size, so that nothing behind it goes unnoticed.
    if buffer.layout.size() < bytes || cfg!(tove_asan) {
        drop(buffer);
        buffer = Buffer::with_bytes(bytes).unwrap_or_else(|| no_memory(bytes));
    }
    let result = body(buffer.start.cast());
    BUFFERS.with(|buffers| buffers[slot as usize].set(buffer));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_sizes_are_refused_and_leave_the_slot_usable() {
        for count in [usize::MAX, usize::MAX / 8, isize::MAX as usize, 1 << 62] {
            let asked = std::panic::catch_unwind(|| with_scratch(Slot::Sums, count, |_: *mut f64| ()));
            assert!(asked.is_err(), "{count} numbers were promised");
            let asked = guarded("conv2d", || with_scratch(Slot::Sums, count, |_: *mut f64| ()));
            assert!(asked.is_err_and(|error| error.is_data()), "{count} numbers were promised");
        }
        let sum = with_scratch(Slot::Sums, 3, |room: *mut f64| {
            // SAFETY: there is room for three numbers.
            unsafe {
                (0..3).for_each(|i| room.add(i).write(i as f64));
                (0..3).map(|i| room.add(i).read()).sum::<f64>()
            }
        });
        assert_eq!(sum, 3.0);
    }
}
