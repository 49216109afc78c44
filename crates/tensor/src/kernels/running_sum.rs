//! Running sums along an axis that keep their digits: a tensor seen as (outer, length, inner) keeps its shape, and element
//! k of the middle axis becomes the sum of elements 0 … k (or k … end, in reverse).
//!
//! Totals of f32 are kept in f64. Totals of f64 are kept as an unevaluated sum of two numbers, to which every addition
//! contributes its exact rounding error (Knuth's two-sum; Ogita, Rump and Oishi 2005). Each result is then rounded about
//! once, however long the axis. Neither is slower than plain addition, which waits for the sum before it all the time.
//!
//! A long contiguous row is cut into chunks by its length alone: the chunks are summed, their totals cumulated, and each
//! chunk then starts from what came before it. Hence the same bits for any number of threads.

use super::reduce::Shared;
use super::scan::{CHUNK, STRIP, Sizes};
use super::simd::{Kernel, dispatch};
use crate::pool::parallel_for;

/// Elements summed side by side within a chunk.
const LANES: usize = 16;

/// A number with a total that keeps more digits than the number.
pub(crate) trait Summed: Copy + Send + Sync + 'static {
    type Sum: Copy + Send + Sync;
    /// What the sum has lost to rounding.
    type Rest: Copy + Send + Sync;
    const ZERO: (Self::Sum, Self::Rest);
    fn plus(sum: &mut Self::Sum, rest: &mut Self::Rest, x: Self);
    fn join(total: &mut (Self::Sum, Self::Rest), other: (Self::Sum, Self::Rest));
    fn value(sum: Self::Sum, rest: Self::Rest) -> Self;
}

impl Summed for f32 {
    type Sum = f64;
    type Rest = ();
    const ZERO: (f64, ()) = (0.0, ());

    #[inline(always)]
    fn plus(sum: &mut f64, _rest: &mut (), x: f32) {
        *sum += f64::from(x);
    }

    #[inline(always)]
    fn join(total: &mut (f64, ()), other: (f64, ())) {
        total.0 += other.0;
    }

    #[inline(always)]
    fn value(sum: f64, _rest: ()) -> f32 {
        sum as f32
    }
}

impl Summed for f64 {
    type Sum = f64;
    type Rest = f64;
    const ZERO: (f64, f64) = (0.0, 0.0);

    #[inline(always)]
    fn plus(sum: &mut f64, rest: &mut f64, x: f64) {
        let total = *sum + x;
        let added = total - *sum;
        *rest += (*sum - (total - added)) + (x - added);
        *sum = total;
    }

    #[inline(always)]
    fn join(total: &mut (f64, f64), other: (f64, f64)) {
        Self::plus(&mut total.0, &mut total.1, other.0);
        total.1 += other.1;
    }

    #[inline(always)]
    fn value(sum: f64, rest: f64) -> f64 {
        // An infinite sum has no rest: its rounding error came out as NaN.
        if rest.is_nan() { sum } else { sum + rest }
    }
}

macro_rules! summed_whole_numbers {
    ($($t:ident),*) => {$(
        impl Summed for $t {
            type Sum = $t;
            type Rest = ();
            const ZERO: ($t, ()) = (0, ());

            #[inline(always)]
            fn plus(sum: &mut $t, _rest: &mut (), x: $t) {
                *sum = sum.wrapping_add(x);
            }

            #[inline(always)]
            fn join(total: &mut ($t, ()), other: ($t, ())) {
                total.0 = total.0.wrapping_add(other.0);
            }

            #[inline(always)]
            fn value(sum: $t, _rest: ()) -> $t {
                sum
            }
        }
    )*};
}
summed_whole_numbers!(i64, u8);

type Total<T> = (<T as Summed>::Sum, <T as Summed>::Rest);

/// Writes the running sums of row-major `x` to `out`.
///
/// # Safety
/// `x` and `out` have `sizes.numel()` elements and do not overlap.
pub(crate) unsafe fn running_sum<T: Summed>(x: *const T, sizes: Sizes, reverse: bool, out: *mut T) {
    let (x, out) = (Shared(x.cast_mut()), Shared(out));
    if sizes.inner == 1 && sizes.length > CHUNK {
        // SAFETY: by the caller's promise.
        unsafe { long_rows(x, sizes, reverse, out) };
        return;
    }
    sizes.for_strips(|start, width| {
        // SAFETY: the strip lies inside both tensors, and strips are disjoint.
        let (x, out) = unsafe { (x.get().add(start).cast_const(), out.get().add(start)) };
        let first = T::ZERO;
        dispatch(Strip { x, length: sizes.length, stride: sizes.inner, width, reverse, first, out });
    });
}

unsafe fn long_rows<T: Summed>(x: Shared<T>, sizes: Sizes, reverse: bool, out: Shared<T>) {
    let Sizes { outer, length, .. } = sizes;
    let chunks = length.div_ceil(CHUNK);
    let stretch = |task: usize| {
        let first = task % chunks * CHUNK;
        (task / chunks * length + first, CHUNK.min(length - first))
    };
    let mut totals: Vec<Total<T>> = vec![T::ZERO; outer * chunks];
    let target = Shared(totals.as_mut_ptr());
    parallel_for(outer * chunks, &|task| {
        let (start, count) = stretch(task);
        // SAFETY: the chunk lies inside its row; each task writes its own total.
        unsafe {
            let chunk = std::slice::from_raw_parts(x.get().add(start).cast_const(), count);
            *target.get().add(task) = dispatch(Chunk(chunk));
        }
    });
    for row in totals.chunks_exact_mut(chunks) {
        let mut before = T::ZERO;
        let mut step = |total: &mut Total<T>| {
            let own = std::mem::replace(total, before);
            T::join(&mut before, own);
        };
        if reverse { row.iter_mut().rev().for_each(&mut step) } else { row.iter_mut().for_each(&mut step) }
    }
    let totals = &totals;
    parallel_for(outer * chunks, &|task| {
        let (start, count) = stretch(task);
        // SAFETY: as above.
        let (x, out) = unsafe { (x.get().add(start).cast_const(), out.get().add(start)) };
        dispatch(Strip { x, length: count, stride: 1, width: 1, reverse, first: totals[task], out });
    });
}

/// The total of a chunk, in lanes.
struct Chunk<'a, T>(&'a [T]);

impl<T: Summed> Kernel for Chunk<'_, T> {
    type Output = Total<T>;

    #[inline(always)]
    fn run(self) -> Total<T> {
        let (mut sums, mut rests) = ([T::ZERO.0; LANES], [T::ZERO.1; LANES]);
        let blocks = self.0.chunks_exact(LANES);
        let tail = blocks.remainder();
        for block in blocks {
            for i in 0..LANES {
                T::plus(&mut sums[i], &mut rests[i], block[i]);
            }
        }
        let mut total = T::ZERO;
        for i in 0..LANES {
            T::join(&mut total, (sums[i], rests[i]));
        }
        for &x in tail {
            T::plus(&mut total.0, &mut total.1, x);
        }
        total
    }
}

/// Sums `width` neighbouring columns.
struct Strip<T: Summed> {
    x: *const T,
    length: usize,
    stride: usize,
    width: usize,
    reverse: bool,
    /// What comes before the first element.
    first: Total<T>,
    out: *mut T,
}

impl<T: Summed> Kernel for Strip<T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Strip { x, length, stride, width, reverse, first, out } = self;
        let place = |k: usize| stride * if reverse { length - 1 - k } else { k };
        // SAFETY: the maker's columns have `length` elements, `stride` apart.
        unsafe {
            if width == 1 {
                let (mut sum, mut rest) = first;
                for k in 0..length {
                    T::plus(&mut sum, &mut rest, *x.add(place(k)));
                    *out.add(place(k)) = T::value(sum, rest);
                }
                return;
            }
            let (mut sums, mut rests) = ([first.0; STRIP], [first.1; STRIP]);
            for k in 0..length {
                let value = std::slice::from_raw_parts(x.add(place(k)), width);
                let target = std::slice::from_raw_parts_mut(out.add(place(k)), width);
                for i in 0..width {
                    T::plus(&mut sums[i], &mut rests[i], value[i]);
                    target[i] = T::value(sums[i], rests[i]);
                }
            }
        }
    }
}
