//! Folding an axis: a tensor seen as (outer, length, inner) becomes (outer, inner).
//!
//! The order of combination depends on the shape alone: lanes within a block, blocks within a chunk, chunks by halves.
//! Hence the same bits for any number of threads, and rounding errors that grow with the logarithm of the length.

use super::simd::{Kernel, dispatch};
use crate::pool::parallel_for;

/// An associative way to combine two elements, with its neutral element.
pub(crate) trait Fold<T>: Copy + Send + Sync {
    fn neutral(self) -> T;
    fn combine(self, a: T, b: T) -> T;
}

/// Independent accumulators, enough to hide the latency of an addition on the widest vectors.
const LANES: usize = 64;
/// Elements folded lane by lane before lanes are combined.
const BLOCK: usize = 4096;
/// Elements per task.
pub(crate) const CHUNK: usize = 32 * 1024;

/// A pointer that tasks may share; they touch disjoint outputs.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);
// SAFETY: see above.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: see above.
unsafe impl<T> Sync for Shared<T> {}
impl<T: Copy> Shared<T> {
    #[inline(always)]
    fn get(self) -> *mut T {
        self.0
    }
}

/// Folds the middle axis of row-major `x` into `out`.
///
/// # Safety
/// `x` has outer · length · inner elements and `out` outer · inner.
pub(crate) unsafe fn fold<T: Copy, F: Fold<T>>(
    f: F,
    x: *const T,
    outer: usize,
    length: usize,
    inner: usize,
    out: *mut T,
) {
    if outer * inner == 0 {
        return;
    }
    // SAFETY: by the caller's promise; every branch stays inside the sizes given.
    unsafe {
        if length == 0 {
            (0..outer * inner).for_each(|i| *out.add(i) = f.neutral());
        } else if inner == 1 {
            fold_rows(f, x, outer, length, out);
        } else {
            fold_columns(f, x, outer, length, inner, out);
        }
    }
}

unsafe fn fold_rows<T: Copy, F: Fold<T>>(f: F, x: *const T, rows: usize, length: usize, out: *mut T) {
    let (x, out) = (Shared(x.cast_mut()), Shared(out));
    if rows * length < 2 * CHUNK {
        dispatch(Rows { f, x: x.get(), rows, length, out: out.get() });
    } else if length <= CHUNK {
        let per_task = CHUNK.div_ceil(length);
        parallel_for(rows.div_ceil(per_task), &|task| {
            let first = task * per_task;
            let count = per_task.min(rows - first);
            // SAFETY: rows first .. first + count exist and belong to this task.
            let (x, out) = unsafe { (x.get().add(first * length), out.get().add(first)) };
            dispatch(Rows { f, x, rows: count, length, out });
        });
    } else {
        let chunks = length.div_ceil(CHUNK);
        let mut partials = vec![f.neutral(); chunks];
        for row in 0..rows {
            let target = Shared(partials.as_mut_ptr());
            parallel_for(chunks, &|chunk| {
                let first = chunk * CHUNK;
                let count = CHUNK.min(length - first);
                // SAFETY: the chunk lies inside the row; each task writes its own partial result.
                let (x, out) = unsafe { (x.get().add(row * length + first), target.get().add(chunk)) };
                dispatch(Rows { f, x, rows: 1, length: count, out });
            });
            // SAFETY: `out` has one element per row.
            unsafe { *out.get().add(row) = halves(f, &partials) };
        }
    }
}

/// Combines a list by halves.
pub(crate) fn halves<T: Copy, F: Fold<T>>(f: F, items: &[T]) -> T {
    match items {
        [] => f.neutral(),
        [item] => *item,
        items => {
            let (left, right) = items.split_at(items.len().next_power_of_two() / 2);
            f.combine(halves(f, left), halves(f, right))
        }
    }
}

/// Folds contiguous rows.
struct Rows<T, F> {
    f: F,
    x: *const T,
    rows: usize,
    length: usize,
    out: *mut T,
}

impl<T: Copy, F: Fold<T>> Kernel for Rows<T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for row in 0..self.rows {
            // SAFETY: the row exists.
            unsafe {
                let x = std::slice::from_raw_parts(self.x.add(row * self.length), self.length);
                *self.out.add(row) = fold_slice(self.f, x);
            }
        }
    }
}

#[inline(always)]
fn fold_slice<T: Copy, F: Fold<T>>(f: F, x: &[T]) -> T {
    if x.len() < LANES {
        return x.iter().fold(f.neutral(), |a, &b| f.combine(a, b));
    }
    let mut total = f.neutral();
    for block in x.chunks(BLOCK) {
        let mut lanes = [f.neutral(); LANES];
        let (body, tail) = block.as_chunks::<LANES>();
        for group in body {
            for lane in 0..LANES {
                lanes[lane] = f.combine(lanes[lane], group[lane]);
            }
        }
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                lanes[lane] = f.combine(lanes[lane], lanes[lane + width]);
            }
            width /= 2;
        }
        let rest = tail.iter().fold(f.neutral(), |a, &b| f.combine(a, b));
        total = f.combine(total, f.combine(lanes[0], rest));
    }
    total
}

unsafe fn fold_columns<T: Copy, F: Fold<T>>(f: F, x: *const T, outer: usize, length: usize, inner: usize, out: *mut T) {
    let (x, out) = (Shared(x.cast_mut()), Shared(out));
    // Rows that fill a chunk; at most 512, so that long columns are folded in two stages.
    let rows = (CHUNK / inner).clamp(16, 512).min(length);
    let chunks = length.div_ceil(rows);
    let piece = |o: usize, chunk: usize, target: *mut T| {
        let first = chunk * rows;
        let count = rows.min(length - first);
        // SAFETY: the rows exist; `target` is this task's own.
        let x = unsafe { x.get().add((o * length + first) * inner) };
        dispatch(Columns { f, x, length: count, inner, out: target });
    };
    let parallel = outer * length * inner >= 2 * CHUNK;
    let run = |tasks: usize, body: &(dyn Fn(usize) + Sync)| {
        if parallel { parallel_for(tasks, body) } else { (0..tasks).for_each(body) }
    };
    if chunks == 1 {
        // SAFETY: `out` has a row for each outer position.
        run(outer, &|o| piece(o, 0, unsafe { out.get().add(o * inner) }));
        return;
    }
    let mut partials = vec![f.neutral(); outer * chunks * inner];
    let target = Shared(partials.as_mut_ptr());
    // SAFETY: each task writes its own stretch of the partial results.
    run(outer * chunks, &|task| piece(task / chunks, task % chunks, unsafe { target.get().add(task * inner) }));
    for o in 0..outer {
        // SAFETY: `partials` holds `chunks` rows for each outer position, `out` one.
        unsafe {
            let x = partials.as_ptr().add(o * chunks * inner);
            dispatch(Columns { f, x, length: chunks, inner, out: out.get().add(o * inner) });
        }
    }
}

/// Folds rows of length `inner` onto each other.
struct Columns<T, F> {
    f: F,
    x: *const T,
    length: usize,
    inner: usize,
    out: *mut T,
}

impl<T: Copy, F: Fold<T>> Kernel for Columns<T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        const WIDTH: usize = 64;
        let mut first = 0;
        // Strips of columns whose accumulators stay in registers.
        while first + WIDTH <= self.inner {
            let mut sums = [self.f.neutral(); WIDTH];
            for row in 0..self.length {
                for (i, sum) in sums.iter_mut().enumerate() {
                    // SAFETY: the position lies inside the row.
                    *sum = self.f.combine(*sum, unsafe { *self.x.add(row * self.inner + first + i) });
                }
            }
            for (i, sum) in sums.iter().enumerate() {
                // SAFETY: as above.
                unsafe { *self.out.add(first + i) = *sum };
            }
            first += WIDTH;
        }
        for column in first..self.inner {
            // SAFETY: the column exists.
            unsafe { *self.out.add(column) = self.f.neutral() };
        }
        for row in 0..self.length {
            for column in first..self.inner {
                // SAFETY: the position lies inside the row.
                unsafe {
                    let value = self.f.combine(*self.out.add(column), *self.x.add(row * self.inner + column));
                    *self.out.add(column) = value;
                }
            }
        }
    }
}
