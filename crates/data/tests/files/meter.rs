//! Counts what a thread allocates, to see that sizes out of a file are not believed.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    /// Bytes held now, and the most since the last reset.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn change(bytes: isize) {
    // A thread at its end has no cell any more; nobody asks for its count then.
    let _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + bytes, most.max(now + bytes)));
    });
}

// SAFETY: memory comes from and goes to the system's allocator; only numbers are kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        change(layout.size() as isize);
        // SAFETY: the layout is the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        change(-(layout.size() as isize));
        // SAFETY: pointer and layout are the caller's, and the memory came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The result of `work` and the most bytes that it held at once.
pub fn most_held<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.with(|held| {
        let (now, _) = held.get();
        held.set((now, now));
        now
    });
    let result = work();
    (result, (HELD.get().1 - before).max(0) as usize)
}

#[test]
fn allocations_are_seen() {
    let (length, most) = most_held(|| vec![7u8; 100_000].len());
    assert!(length == 100_000 && (100_000..110_000).contains(&most), "{most}");
}
