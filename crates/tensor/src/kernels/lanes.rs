//! Sixteen numbers side by side: what row kernels compute with, so that sums stay in registers.
//!
//! Plain arrays and loops of constant length, which the compiler turns into vector instructions of whatever width it is
//! compiled for. All methods are inlined by force and none takes a closure, so nothing is left behind as baseline code.

use super::math::Float;

/// Numbers in a [`Lanes`]; one widest vector of single precision.
pub(crate) const WIDTH: usize = 16;

/// A vector of numbers; operations act number by number.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<T>(pub(crate) [T; WIDTH]);

impl<T: Float> Lanes<T> {
    #[inline(always)]
    pub(crate) fn splat(value: T) -> Self {
        Lanes([value; WIDTH])
    }

    /// # Safety
    /// Sixteen elements can be read from `start`.
    #[inline(always)]
    pub(crate) unsafe fn load(start: *const T) -> Self {
        // SAFETY: by the caller's promise; an array is aligned like its elements.
        unsafe { Lanes(*start.cast()) }
    }

    /// # Safety
    /// Sixteen elements can be written from `start`.
    #[inline(always)]
    pub(crate) unsafe fn store(self, start: *mut T) {
        // SAFETY: by the caller's promise.
        unsafe { *start.cast() = self.0 }
    }

    #[inline(always)]
    pub(crate) fn add(mut self, other: Self) -> Self {
        for lane in 0..WIDTH {
            self.0[lane] += other.0[lane];
        }
        self
    }

    #[inline(always)]
    pub(crate) fn sub(mut self, other: Self) -> Self {
        for lane in 0..WIDTH {
            self.0[lane] -= other.0[lane];
        }
        self
    }

    #[inline(always)]
    pub(crate) fn mul(mut self, other: Self) -> Self {
        for lane in 0..WIDTH {
            self.0[lane] *= other.0[lane];
        }
        self
    }

    /// self · factor + term, rounded once.
    #[inline(always)]
    pub(crate) fn mul_add(mut self, factor: Self, term: Self) -> Self {
        for lane in 0..WIDTH {
            self.0[lane] = self.0[lane].mul_add(factor.0[lane], term.0[lane]);
        }
        self
    }

    /// The larger of each pair; NaNs in `self` are passed over.
    #[inline(always)]
    pub(crate) fn larger(mut self, best: Self) -> Self {
        for lane in 0..WIDTH {
            self.0[lane] = T::select(self.0[lane] > best.0[lane], self.0[lane], best.0[lane]);
        }
        self
    }

    /// The sum of all, by halves.
    #[inline(always)]
    pub(crate) fn sum(self) -> T {
        let a = settled(self).0;
        #[cfg(target_arch = "x86_64")]
        if size_of::<T>() == 4 {
            // SAFETY: the one type of this size is `f32`.
            return unsafe { std::mem::transmute_copy(&sum_single(&std::mem::transmute_copy(&a))) };
        }
        let mut b = [T::ZERO; 8];
        for lane in 0..8 {
            b[lane] = a[lane] + a[lane + 8];
        }
        let b = std::hint::black_box(b);
        let c = [b[0] + b[4], b[1] + b[5], b[2] + b[6], b[3] + b[7]];
        (c[0] + c[2]) + (c[1] + c[3])
    }

    /// The largest of all.
    #[inline(always)]
    pub(crate) fn largest(self) -> T {
        let mut a = settled(self).0;
        let mut width = WIDTH / 2;
        while width > 0 {
            for lane in 0..width {
                a[lane] = T::select(a[lane + width] > a[lane], a[lane + width], a[lane]);
            }
            width /= 2;
        }
        a[0]
    }
}

/// The sum of each vector, by halves like [`Lanes::sum`].
#[inline(always)]
pub(crate) fn sums<T: Float, const N: usize>(vectors: &[Lanes<T>; N]) -> [T; N] {
    let mut sums = [T::ZERO; N];
    #[cfg(target_arch = "x86_64")]
    if size_of::<T>() == 4 && N == 4 {
        // A copy, or the vectors themselves would live in memory from the start.
        let vectors = *vectors;
        let vectors = std::hint::black_box(&vectors);
        // SAFETY: the one type of this size is `f32`, and there are four vectors and four sums.
        unsafe { sums_single(vectors.as_ptr().cast(), sums.as_mut_ptr().cast()) };
        return sums;
    }
    for (sum, vector) in sums.iter_mut().zip(vectors) {
        *sum = vector.sum();
    }
    sums
}

/// Halves of sixteen numbers added, and halves of the eight.
///
/// # Safety
/// There are sixteen numbers at `a`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn four_of(a: *const f32) -> std::arch::x86_64::__m128 {
    use std::arch::x86_64::{_mm_add_ps, _mm_loadu_ps};
    // SAFETY: by the caller's promise; every x86-64 processor has these instructions.
    unsafe {
        let lower = _mm_add_ps(_mm_loadu_ps(a), _mm_loadu_ps(a.add(8)));
        _mm_add_ps(lower, _mm_add_ps(_mm_loadu_ps(a.add(4)), _mm_loadu_ps(a.add(12))))
    }
}

/// [`Lanes::sum`] in single precision, with the shuffles written out: left to itself, the compiler adds number by number.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn sum_single(a: &[f32; WIDTH]) -> f32 {
    use std::arch::x86_64::{_mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_movehl_ps, _mm_shuffle_ps};
    // SAFETY: there are sixteen numbers, and every x86-64 processor has these instructions.
    unsafe {
        let four = four_of(a.as_ptr());
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}

/// [`sum_single`] of four vectors that lie one after the other, side by side.
///
/// # Safety
/// There are 64 numbers at `a`, and room for four at `out`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn sums_single(a: *const f32, out: *mut f32) {
    use std::arch::x86_64::{
        _mm_add_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_storeu_ps, _mm_unpackhi_ps, _mm_unpacklo_ps,
    };
    // SAFETY: by the caller's promise; every x86-64 processor has these instructions.
    unsafe {
        let (p, q, r, s) = (four_of(a), four_of(a.add(16)), four_of(a.add(32)), four_of(a.add(48)));
        let (low, high) = (_mm_unpacklo_ps(p, q), _mm_unpackhi_ps(p, q));
        let (low_next, high_next) = (_mm_unpacklo_ps(r, s), _mm_unpackhi_ps(r, s));
        let first = _mm_add_ps(_mm_movelh_ps(low, low_next), _mm_movelh_ps(high, high_next));
        let second = _mm_add_ps(_mm_movehl_ps(low_next, low), _mm_movehl_ps(high_next, high));
        _mm_storeu_ps(out, _mm_add_ps(first, second));
    }
}

/// Asks for the memory at an address that will be read soon; any address is allowed.
#[inline(always)]
pub(crate) fn prefetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is part of every x86-64 processor, reads nothing and never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// The same numbers by way of memory. A compiler that sees the additions across lanes in the same breath as the loop before
/// them arranges the loop to suit these, and takes it apart.
#[inline(always)]
fn settled<T: Float>(lanes: Lanes<T>) -> Lanes<T> {
    std::hint::black_box(lanes)
}
