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

/// The sum of each vector, by halves like [`Lanes::sum`]; one detour by way of memory serves them all.
#[inline(always)]
pub(crate) fn sums<T: Float, const N: usize>(vectors: &[Lanes<T>; N]) -> [T; N] {
    let vectors = std::hint::black_box(vectors);
    let mut sums = [T::ZERO; N];
    for (sum, Lanes(a)) in sums.iter_mut().zip(vectors) {
        let mut b = [T::ZERO; 8];
        for lane in 0..8 {
            b[lane] = a[lane] + a[lane + 8];
        }
        let c = [b[0] + b[4], b[1] + b[5], b[2] + b[6], b[3] + b[7]];
        *sum = (c[0] + c[2]) + (c[1] + c[3]);
    }
    sums
}

/// The same numbers by way of memory. A compiler that sees the additions across lanes in the same breath as the loop before
/// them arranges the loop to suit these, and takes it apart.
#[inline(always)]
fn settled<T: Float>(lanes: Lanes<T>) -> Lanes<T> {
    std::hint::black_box(lanes)
}
