//! Tools for kernels that walk over rows: sums and maxima in independent lanes, and chunks of rows for the pool.
//!
//! The order of additions depends on the length alone, so that results are the same on every path and for any number of
//! threads; sums over long rows are cut into blocks, so that rounding errors stay small.

use super::lanes::{Lanes, WIDTH};
use super::math::Float;
use super::simd::{Kernel, dispatch};
use crate::pool::parallel_for;

/// Elements added lane by lane before lanes are combined.
pub(crate) const BLOCK: usize = 4096;
/// Elements of a memory-bound loop that make a task; half as many again are not worth a fork.
pub(crate) const TASK: usize = 16 * 1024;

/// A pointer that tasks may share; they write disjoint parts.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(*mut T);
// SAFETY: see above; every use is in unsafe code that answers for the parts.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub(crate) fn new(pointer: *mut T) -> Self {
        Shared(pointer)
    }

    #[inline(always)]
    pub(crate) fn at(self, index: usize) -> *mut T {
        self.0.wrapping_add(index)
    }

    /// The elements from `index` on, to be read.
    ///
    /// # Safety
    /// They exist, and nobody writes them meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn slice<'a>(self, index: usize, len: usize) -> &'a [T] {
        // SAFETY: by the caller's promise.
        unsafe { std::slice::from_raw_parts(self.0.add(index), len) }
    }

    /// The elements from `index` on, to be written.
    ///
    /// # Safety
    /// They exist, and nobody else uses them meanwhile.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn slice_mut<'a>(self, index: usize, len: usize) -> &'a mut [T] {
        // SAFETY: by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(index), len) }
    }
}

/// Rows that make a task when each has `length` elements that cost as much as `cost` copies.
pub(crate) fn rows_per_task(length: usize, cost: usize) -> usize {
    (TASK / cost).max(1).div_ceil(length.max(1))
}

/// Calls `body(first, count)` for runs of `per_task` of the `rows`, on several threads when there is more than one.
pub(crate) fn for_runs(rows: usize, per_task: usize, body: impl Fn(usize, usize) + Sync) {
    let tasks = rows.div_ceil(per_task);
    let run = |task: usize| {
        let first = task * per_task;
        body(first, per_task.min(rows - first));
    };
    if tasks < 2 { (0..tasks).for_each(run) } else { parallel_for(tasks, &run) }
}

/// Work on rows that can be taken `N` side by side: what one row waits for, the others fill.
pub(crate) trait Groups {
    /// # Safety
    /// The `N` rows from `first` on exist and belong to this task.
    unsafe fn rows<const N: usize>(&mut self, first: usize);
}

/// Works on `count` rows, `N` at a time as long as there are so many.
///
/// # Safety
/// The rows from `first` on exist and belong to this task.
#[inline(always)]
pub(crate) unsafe fn in_groups<const N: usize>(work: &mut impl Groups, first: usize, count: usize) {
    let (end, mut row) = (first + count, first);
    // SAFETY: by the caller's promise.
    unsafe {
        while row + N <= end {
            work.rows::<N>(row);
            row += N;
        }
        while row < end {
            work.rows::<1>(row);
            row += 1;
        }
    }
}

/// Element `i` of a row, without a check that would keep the loop from becoming vector code.
///
/// # Safety
/// `i` is below the length; [`sum`] asks for no other.
#[inline(always)]
pub(crate) unsafe fn get<T: Copy>(x: &[T], i: usize) -> T {
    debug_assert!(i < x.len());
    // SAFETY: by the caller's promise.
    unsafe { *x.get_unchecked(i) }
}

/// Sixteen terms at once.
#[inline(always)]
fn terms<T: Float>(start: usize, f: &impl Fn(usize) -> T) -> Lanes<T> {
    let mut terms = [T::ZERO; WIDTH];
    for (lane, term) in terms.iter_mut().enumerate() {
        *term = f(start + lane);
    }
    Lanes(terms)
}

/// Σ f(i) for i below `n`.
#[inline(always)]
pub(crate) fn sum<T: Float>(n: usize, f: impl Fn(usize) -> T) -> T {
    let mut total = T::ZERO;
    let mut start = 0;
    while start < n {
        let end = n.min(start + BLOCK);
        let mut i = start;
        // By name: an array of accumulators would be kept in memory instead of registers.
        let zero = Lanes::splat(T::ZERO);
        let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
        while i + 4 * WIDTH <= end {
            a = a.add(terms(i, &f));
            b = b.add(terms(i + WIDTH, &f));
            c = c.add(terms(i + 2 * WIDTH, &f));
            d = d.add(terms(i + 3 * WIDTH, &f));
            i += 4 * WIDTH;
        }
        while i + WIDTH <= end {
            a = a.add(terms(i, &f));
            i += WIDTH;
        }
        let mut tail = T::ZERO;
        while i < end {
            tail += f(i);
            i += 1;
        }
        total += a.add(b).add(c.add(d)).sum() + tail;
        start = end;
    }
    total
}

/// Elements from whose mean a number near the mean of a row is taken: the first sixteenth, or the first 16 if that is more.
///
/// With m of n elements its squared distance from the mean is at most n/m variances (Jensen's inequality), so that a
/// variance computed from distances to it, Σd²/n − (Σd/n)², loses four bits of its precision at the very worst.
#[inline(always)]
pub(crate) fn near_part(length: usize) -> usize {
    (length / WIDTH).max(1).next_multiple_of(WIDTH).min(length)
}

/// The larger of two numbers; a NaN on the left is passed over.
#[inline(always)]
pub(crate) fn larger<T: Float>(candidate: T, best: T) -> T {
    T::select(candidate > best, candidate, best)
}

/// The largest element, −∞ of none; NaNs are passed over.
#[inline(always)]
pub(crate) fn largest<T: Float>(x: &[T]) -> T {
    let (vectors, tail) = x.as_chunks::<WIDTH>();
    let (quads, rest) = vectors.as_chunks::<4>();
    let none = Lanes::splat(T::NEG_INFINITY);
    let (mut a, mut b, mut c, mut d) = (none, none, none, none);
    for [p, q, r, s] in quads {
        a = Lanes(*p).larger(a);
        b = Lanes(*q).larger(b);
        c = Lanes(*r).larger(c);
        d = Lanes(*s).larger(d);
    }
    for vector in rest {
        a = Lanes(*vector).larger(a);
    }
    let mut best = T::NEG_INFINITY;
    for &value in tail {
        best = larger(value, best);
    }
    larger(best, a.larger(b).larger(c.larger(d)).largest())
}

/// Adds `count` vectors of `length` numbers that lie one after the other, by halves, into the first.
pub(crate) fn add_halves<T: Float>(vectors: &mut [T], count: usize, length: usize) {
    dispatch(AddHalves { vectors, count, length });
}

struct AddHalves<'a, T> {
    vectors: &'a mut [T],
    count: usize,
    length: usize,
}

impl<T: Float> Kernel for AddHalves<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let AddHalves { vectors, count, length } = self;
        let mut step = 1;
        while step < count {
            let mut first = 0;
            while first + step < count {
                let (left, right) = vectors.split_at_mut((first + step) * length);
                let (target, terms) = (&mut left[first * length..(first + 1) * length], &right[..length]);
                for i in 0..length {
                    target[i] += terms[i];
                }
                first += 2 * step;
            }
            step *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_maxima_of_any_length() {
        for length in 0..300usize {
            let x: Vec<f64> = (0..length).map(|i| (i * 7919 % 503) as f64).collect();
            assert_eq!(sum(length, |i| x[i]), x.iter().sum::<f64>());
            assert_eq!(largest(&x), x.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        }
        assert_eq!(largest(&[f32::NAN, 1.0, f32::NAN]), 1.0);
    }
}
