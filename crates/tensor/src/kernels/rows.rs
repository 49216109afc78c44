//! Tools for kernels that walk over rows: sums and maxima in independent lanes, and chunks of rows for the pool.
//!
//! The order of additions depends on the length alone, so that results are the same on every path and for any number of
//! threads; sums over long rows are cut into blocks, so that rounding errors stay small.

use super::math::Float;
use crate::pool::parallel_for;

/// Independent accumulators: enough to hide the latency of an addition on the widest vectors.
const LANES: usize = 64;
/// Elements added lane by lane before lanes are combined.
const BLOCK: usize = 4096;
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

/// Element `i` of a row, without a check that would keep the loop from becoming vector code.
///
/// # Safety
/// `i` is below the length; [`sum`] and [`sums`] ask for no other.
#[inline(always)]
pub(crate) unsafe fn get<T: Copy>(x: &[T], i: usize) -> T {
    debug_assert!(i < x.len());
    // SAFETY: by the caller's promise.
    unsafe { *x.get_unchecked(i) }
}

/// Σ f(i), twice at once, for i below `n`.
#[inline(always)]
pub(crate) fn sums<T: Float>(n: usize, f: impl Fn(usize) -> (T, T)) -> (T, T) {
    let mut total = (T::ZERO, T::ZERO);
    let mut start = 0;
    while start < n {
        let end = n.min(start + BLOCK);
        let (mut a, mut b) = ([T::ZERO; LANES], [T::ZERO; LANES]);
        let mut i = start;
        while i + LANES <= end {
            for lane in 0..LANES {
                let (p, q) = f(i + lane);
                a[lane] += p;
                b[lane] += q;
            }
            i += LANES;
        }
        let (mut c, mut d) = ([T::ZERO; LANES], [T::ZERO; LANES]);
        for lane in 0..end - i {
            (c[lane], d[lane]) = f(i + lane);
        }
        total.0 += gather(a, c, |x, y| x + y);
        total.1 += gather(b, d, |x, y| x + y);
        start = end;
    }
    total
}

/// Σ f(i) for i below `n`.
#[inline(always)]
pub(crate) fn sum<T: Float>(n: usize, f: impl Fn(usize) -> T) -> T {
    let mut total = T::ZERO;
    let mut start = 0;
    while start < n {
        let end = n.min(start + BLOCK);
        let mut a = [T::ZERO; LANES];
        let mut i = start;
        while i + LANES <= end {
            for lane in 0..LANES {
                a[lane] += f(i + lane);
            }
            i += LANES;
        }
        let mut c = [T::ZERO; LANES];
        for lane in 0..end - i {
            c[lane] = f(i + lane);
        }
        total += gather(a, c, |x, y| x + y);
        start = end;
    }
    total
}

/// The larger of two numbers; a NaN on the left is passed over.
#[inline(always)]
pub(crate) fn larger<T: Float>(candidate: T, best: T) -> T {
    T::select(candidate > best, candidate, best)
}

/// The largest element, −∞ of none; NaNs are passed over.
#[inline(always)]
pub(crate) fn largest<T: Float>(x: &[T]) -> T {
    let mut a = [T::NEG_INFINITY; LANES];
    let (body, tail) = x.as_chunks::<LANES>();
    for group in body {
        for lane in 0..LANES {
            a[lane] = larger(group[lane], a[lane]);
        }
    }
    let mut c = [T::NEG_INFINITY; LANES];
    for (slot, &value) in c.iter_mut().zip(tail) {
        *slot = larger(value, T::NEG_INFINITY);
    }
    gather(a, c, larger)
}

/// Combines two sets of lanes by halves.
#[inline(always)]
fn gather<T: Float>(mut a: [T; LANES], b: [T; LANES], combine: impl Fn(T, T) -> T) -> T {
    for lane in 0..LANES {
        a[lane] = combine(a[lane], b[lane]);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            a[lane] = combine(a[lane], a[lane + width]);
        }
        width /= 2;
    }
    a[0]
}

/// Adds `count` vectors of `length` numbers that lie one after the other, by halves, into the first.
pub(crate) fn add_halves<T: Float>(vectors: &mut [T], count: usize, length: usize) {
    let mut step = 1;
    while step < count {
        let mut first = 0;
        while first + step < count {
            let (left, right) = vectors.split_at_mut((first + step) * length);
            let target = &mut left[first * length..(first + 1) * length];
            target.iter_mut().zip(&right[..length]).for_each(|(sum, &term)| *sum += term);
            first += 2 * step;
        }
        step *= 2;
    }
}
