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

/// Elements folded lane by lane before lanes are combined.
const BLOCK: usize = 4096;
/// Elements per task.
pub(crate) const CHUNK: usize = 32 * 1024;
/// Columns folded side by side; their running values stay in the first-level cache.
const STRIP: usize = 1024;
/// Rows shorter than this are joined to longer ones, of about twice this length, before they are folded.
const NARROW: usize = 128;

/// A pointer that tasks may share; they touch disjoint outputs.
#[derive(Clone, Copy)]
pub(super) struct Shared<T>(pub(super) *mut T);
// SAFETY: see above.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: see above.
unsafe impl<T> Sync for Shared<T> {}
impl<T: Copy> Shared<T> {
    #[inline(always)]
    pub(super) fn get(self) -> *mut T {
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
        let mut partials = vec![f.neutral(); rows * chunks];
        let target = Shared(partials.as_mut_ptr());
        parallel_for(rows * chunks, &|task| {
            let (row, chunk) = (task / chunks, task % chunks);
            let first = chunk * CHUNK;
            let count = CHUNK.min(length - first);
            // SAFETY: the chunk lies inside the row; each task writes its own partial result.
            let (x, out) = unsafe { (x.get().add(row * length + first), target.get().add(task)) };
            dispatch(Rows { f, x, rows: 1, length: count, out });
        });
        for (row, partials) in partials.chunks_exact(chunks).enumerate() {
            // SAFETY: `out` has one element per row.
            unsafe { *out.get().add(row) = halves(f, partials) };
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
                // Accumulators of one widest vector each.
                *self.out.add(row) = match size_of::<T>() {
                    1 => fold_slice::<T, F, 64>(self.f, x),
                    4 => fold_slice::<T, F, 16>(self.f, x),
                    _ => fold_slice::<T, F, 8>(self.f, x),
                };
            }
        }
    }
}

/// Folds a slice with four accumulators of `W` lanes, enough to hide the latency of an addition.
#[inline(always)]
fn fold_slice<T: Copy, F: Fold<T>, const W: usize>(f: F, x: &[T]) -> T {
    if x.len() < W {
        return x.iter().fold(f.neutral(), |a, &b| f.combine(a, b));
    }
    let mut total = f.neutral();
    for block in x.chunks(BLOCK) {
        let (vectors, tail) = block.as_chunks::<W>();
        let (quads, rest) = vectors.as_chunks::<4>();
        // Four arrays by name: an array of arrays would be kept in memory instead of registers.
        let neutral = [f.neutral(); W];
        let (mut a, mut b, mut c, mut d) = (neutral, neutral, neutral, neutral);
        for [p, q, r, s] in quads {
            a = lanes(f, &a, p);
            b = lanes(f, &b, q);
            c = lanes(f, &c, r);
            d = lanes(f, &d, s);
        }
        for vector in rest {
            a = lanes(f, &a, vector);
        }
        let mut sums = lanes(f, &lanes(f, &a, &b), &lanes(f, &c, &d));
        let mut width = W / 2;
        while width > 0 {
            for lane in 0..width {
                sums[lane] = f.combine(sums[lane], sums[lane + width]);
            }
            width /= 2;
        }
        let tail = tail.iter().fold(f.neutral(), |a, &b| f.combine(a, b));
        total = f.combine(total, f.combine(sums[0], tail));
    }
    total
}

/// Lane by lane.
#[inline(always)]
fn lanes<T: Copy, F: Fold<T>, const W: usize>(f: F, a: &[T; W], b: &[T; W]) -> [T; W] {
    std::array::from_fn(|i| f.combine(a[i], b[i]))
}

unsafe fn fold_columns<T: Copy, F: Fold<T>>(f: F, x: *const T, outer: usize, length: usize, inner: usize, out: *mut T) {
    // Rows that fill a chunk, but not so few that the second stage would be as long as the first.
    let rows = (CHUNK / inner).max(16).min(length);
    let chunks = length.div_ceil(rows);
    if chunks == 1 {
        // SAFETY: by the caller's promise.
        unsafe { fold_chunks(f, x, outer, length, length, inner, out) };
        return;
    }
    let mut partials = vec![f.neutral(); outer * chunks * inner];
    // SAFETY: `partials` has `chunks` rows for each outer position, which the second call folds like any other rows.
    unsafe {
        fold_chunks(f, x, outer, length, rows, inner, partials.as_mut_ptr());
        fold_columns(f, partials.as_ptr(), outer, chunks, inner, out);
    }
}

/// Folds every run of `rows` rows into one row of `out`.
unsafe fn fold_chunks<T: Copy, F: Fold<T>>(
    f: F,
    x: *const T,
    outer: usize,
    length: usize,
    rows: usize,
    inner: usize,
    out: *mut T,
) {
    let (x, out) = (Shared(x.cast_mut()), Shared(out));
    let chunks = length.div_ceil(rows);
    // A task takes several pieces when they are small, or a strip of columns of one when it is large.
    let pieces = outer * chunks;
    let per_task = (CHUNK / (rows * inner)).max(1);
    let width = (CHUNK / rows).next_multiple_of(64).clamp(64, STRIP).min(inner);
    let strips = inner.div_ceil(width);
    let task = |task: usize| {
        let (group, strip) = (task / strips, task % strips);
        let (column, columns) = (strip * width, width.min(inner - strip * width));
        let range = group * per_task..((group + 1) * per_task).min(pieces);
        let piece = |piece: usize, count: usize| {
            let (o, first) = (piece / chunks, piece % chunks * rows);
            let rows = rows.min(length - first);
            // SAFETY: these rows and columns exist, and the stretch of `out` belongs to this task alone.
            unsafe {
                let (x, out) =
                    (x.get().add((o * length + first) * inner + column), out.get().add(piece * inner + column));
                dispatch(Pieces { f, x, count, rows, stride: inner, width: columns, out });
            }
        };
        if chunks == 1 && strips == 1 {
            piece(range.start, range.len());
        } else {
            range.for_each(|index| piece(index, 1));
        }
    };
    let tasks = pieces.div_ceil(per_task) * strips;
    if outer * length * inner >= 2 * CHUNK {
        parallel_for(tasks, &task);
    } else {
        (0..tasks).for_each(task);
    }
}

/// Folds `count` runs of rows, one behind the other, each onto a row of `out`; rows lie `stride` apart.
struct Pieces<T, F> {
    f: F,
    x: *const T,
    count: usize,
    rows: usize,
    stride: usize,
    width: usize,
    out: *mut T,
}

impl<T: Copy, F: Fold<T>> Kernel for Pieces<T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for piece in 0..self.count {
            // SAFETY: by the maker's promise the pieces exist in `x` and `out`, which is this kernel's alone.
            unsafe {
                let x = self.x.add(piece * self.rows * self.stride);
                let out = std::slice::from_raw_parts_mut(self.out.add(piece * self.stride), self.width);
                fold_piece(self.f, x, self.rows, self.stride, out);
            }
        }
    }
}

/// Folds rows onto each other.
///
/// # Safety
/// As [`fold_onto`]; rows shorter than `NARROW` follow each other without gaps.
#[inline(always)]
unsafe fn fold_piece<T: Copy, F: Fold<T>>(f: F, x: *const T, length: usize, stride: usize, out: &mut [T]) {
    let joined = 2 * NARROW / stride;
    if stride >= NARROW || length < 2 * joined {
        // SAFETY: the rows exist, by the caller's promise.
        unsafe { fold_onto(f, x, length, stride, out) };
        return;
    }
    // Neighbouring short rows are one long row; at the end its parts are folded in turn.
    let mut wide = [f.neutral(); 2 * NARROW];
    let wide = &mut wide[..joined * stride];
    let whole = length / joined;
    // SAFETY: rows shorter than `NARROW` are never cut into strips, so `out` is a whole row and rows follow each other
    // without gaps; `whole · joined` of them exist, then the rest.
    unsafe {
        fold_onto(f, x, whole, joined * stride, wide);
        fold_onto(f, wide.as_ptr(), joined, stride, out);
        let rest = x.add(whole * joined * stride);
        for row in 0..length - whole * joined {
            let row = std::slice::from_raw_parts(rest.add(row * stride), stride);
            out.iter_mut().zip(row).for_each(|(sum, &value)| *sum = f.combine(*sum, value));
        }
    }
}

/// `out` becomes the fold of `length` rows, four of which are combined before they meet the running values.
///
/// # Safety
/// Row r has `out.len()` elements from `x + r · stride` on.
#[inline(always)]
unsafe fn fold_onto<T: Copy, F: Fold<T>>(f: F, x: *const T, length: usize, stride: usize, out: &mut [T]) {
    let width = out.len();
    // SAFETY: by the caller's promise.
    let row = |index: usize| unsafe { std::slice::from_raw_parts(x.add(index * stride), width) };
    out.fill(f.neutral());
    let mut index = 0;
    while index + 4 <= length {
        let (a, b, c, d) = (row(index), row(index + 1), row(index + 2), row(index + 3));
        for i in 0..width {
            let four = f.combine(f.combine(a[i], b[i]), f.combine(c[i], d[i]));
            out[i] = f.combine(out[i], four);
        }
        index += 4;
    }
    for index in index..length {
        let a = row(index);
        for i in 0..width {
            out[i] = f.combine(out[i], a[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct Count;
    impl Fold<i64> for Count {
        fn neutral(self) -> i64 {
            0
        }
        fn combine(self, a: i64, b: i64) -> i64 {
            a + b
        }
    }

    #[test]
    fn every_shape_agrees_with_the_plain_loop() {
        let sizes = [1, 2, 3, 5, 16, 31, 64, 100, 127, 130, 257, 1000, 2500];
        for outer in [1, 3, 40] {
            for length in sizes.into_iter().chain([0, 40_000]) {
                for inner in sizes {
                    let total = outer * length * inner;
                    if total > 700_000 {
                        continue;
                    }
                    let x: Vec<i64> = (0..total as i64).map(|i| i * i % 1009).collect();
                    let mut out = vec![-1; outer * inner];
                    // SAFETY: the vectors have these sizes.
                    unsafe { fold(Count, x.as_ptr(), outer, length, inner, out.as_mut_ptr()) };
                    let mut expected = vec![0; outer * inner];
                    for (i, value) in x.iter().enumerate() {
                        expected[i / (length * inner) * inner + i % inner] += value;
                    }
                    assert_eq!(out, expected, "{outer} {length} {inner}");
                }
            }
        }
    }
}
