//! The vector registers that the micro-kernels are written in, and their portable form.

use crate::kernels::simd::Isa;

/// A register of `LANES` numbers. All methods must be called from code compiled for the instruction set in question,
/// so every implementation is `#[inline(always)]`.
pub(in crate::kernels) trait Vector: Copy {
    /// What a lane holds.
    type Scalar: Copy;
    /// Which lanes a masked access touches.
    type Mask: Copy;
    /// Numbers in a register.
    const LANES: usize;

    /// All lanes zero.
    unsafe fn zero() -> Self;
    /// All lanes equal.
    unsafe fn splat(value: Self::Scalar) -> Self;
    /// The mask of the first `count <= LANES` lanes.
    unsafe fn mask(count: usize) -> Self::Mask;
    /// Unaligned load.
    unsafe fn load(from: *const Self::Scalar) -> Self;
    /// Load of the masked lanes; the others are zero and their memory is not touched.
    unsafe fn load_masked(from: *const Self::Scalar, mask: Self::Mask) -> Self;
    /// Unaligned store.
    unsafe fn store(self, to: *mut Self::Scalar);
    /// Store of whole aligned registers around the caches, where there is such a thing; seen by others after a fence.
    #[inline(always)]
    unsafe fn stream(self, to: *mut Self::Scalar) {
        // SAFETY: passed on to the caller.
        unsafe { self.store(to) }
    }
    /// Store of the masked lanes.
    unsafe fn store_masked(self, to: *mut Self::Scalar, mask: Self::Mask);
    /// `self * factor + term`.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    /// Lane-wise sum.
    unsafe fn add(self, other: Self) -> Self;
    /// Lane-wise product.
    unsafe fn mul(self, other: Self) -> Self;
    /// `max(self, 0)`, with NaN kept.
    unsafe fn relu(self) -> Self;
    /// Sum of the lanes, in an order fixed by the type.
    unsafe fn sum(self) -> Self::Scalar;
    /// Asks for the cache line of `at` to be fetched, without touching it.
    #[inline(always)]
    unsafe fn prefetch(_at: *const Self::Scalar) {}
    /// `to[p * to_stride + r] = from[r * stride + p]` for `r`, `p` below `LANES`; rows from `rows` (at least 1) on
    /// repeat the last one, so that only memory of the source is read.
    unsafe fn transpose(from: *const Self::Scalar, stride: isize, rows: usize, to: *mut Self::Scalar, to_stride: usize);
}

/// A computation on single-precision registers, compiled once per instruction set by [`on`]. `run` must be
/// `#[inline(always)]`, and so must everything hot that it calls.
pub(in crate::kernels) trait Routine {
    /// The computation itself.
    ///
    /// # Safety
    /// Must be called from code compiled for the instruction set of `V`; whoever makes the routine answers for its
    /// pointers.
    unsafe fn run<V: Vector<Scalar = f32>>(self);
}

/// Runs the routine in the copy compiled for an instruction set.
///
/// # Safety
/// The processor must have the instruction set; the rest is the routine's.
#[inline]
pub(in crate::kernels) unsafe fn on<R: Routine>(isa: Isa, routine: R) {
    // SAFETY: passed on to the caller.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => on_avx512(routine),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => on_avx2(routine),
            _ => routine.run::<Lanes<f32, 4>>(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn on_avx512<R: Routine>(routine: R) {
    // SAFETY: passed on to the caller.
    unsafe { routine.run::<std::arch::x86_64::__m512>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn on_avx2<R: Routine>(routine: R) {
    // SAFETY: passed on to the caller.
    unsafe { routine.run::<std::arch::x86_64::__m256>() }
}

/// An array that the compiler puts into whatever registers the target has.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(in crate::kernels) struct Lanes<T, const N: usize>([T; N]);

/// Fused only where the target has the instruction: the software routine is hundreds of times slower.
macro_rules! multiply_add {
    ($a:expr, $b:expr, $c:expr) => {
        if cfg!(any(target_arch = "aarch64", target_feature = "fma")) { $a.mul_add($b, $c) } else { $a * $b + $c }
    };
}

macro_rules! portable {
    ($scalar:ty, $lanes:literal) => {
        impl Vector for Lanes<$scalar, $lanes> {
            type Scalar = $scalar;
            type Mask = usize;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn zero() -> Self {
                Self([0.0; $lanes])
            }
            #[inline(always)]
            unsafe fn splat(value: $scalar) -> Self {
                Self([value; $lanes])
            }
            #[inline(always)]
            unsafe fn mask(count: usize) -> usize {
                count
            }
            #[inline(always)]
            unsafe fn load(from: *const $scalar) -> Self {
                // SAFETY: the caller guarantees `LANES` readable numbers.
                Self(unsafe { from.cast::<[$scalar; $lanes]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn load_masked(from: *const $scalar, mask: usize) -> Self {
                let mut lanes = [0.0; $lanes];
                for (i, lane) in lanes.iter_mut().enumerate().take(mask) {
                    // SAFETY: the caller guarantees the first `mask` numbers.
                    *lane = unsafe { *from.add(i) };
                }
                Self(lanes)
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $scalar) {
                // SAFETY: the caller guarantees room for `LANES` numbers.
                unsafe { to.cast::<[$scalar; $lanes]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            unsafe fn store_masked(self, to: *mut $scalar, mask: usize) {
                for (i, lane) in self.0.into_iter().enumerate().take(mask) {
                    // SAFETY: the caller guarantees room for the first `mask` numbers.
                    unsafe { *to.add(i) = lane };
                }
            }
            #[inline(always)]
            unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
                Self(std::array::from_fn(|i| multiply_add!(self.0[i], factor.0[i], term.0[i])))
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] + other.0[i]))
            }
            #[inline(always)]
            unsafe fn mul(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] * other.0[i]))
            }
            #[inline(always)]
            unsafe fn relu(self) -> Self {
                Self(self.0.map(|x| if x < 0.0 { 0.0 } else { x }))
            }
            #[inline(always)]
            unsafe fn sum(self) -> $scalar {
                self.0.into_iter().sum()
            }
            #[inline(always)]
            unsafe fn transpose(from: *const $scalar, stride: isize, rows: usize, to: *mut $scalar, to_stride: usize) {
                for r in 0..$lanes {
                    for p in 0..$lanes {
                        // SAFETY: row `min(r, rows - 1)` has `LANES` numbers, and the caller guarantees room.
                        unsafe { *to.add(p * to_stride + r) = *from.offset(r.min(rows - 1) as isize * stride).add(p) };
                    }
                }
            }
        }
    };
}

portable!(f32, 4);
portable!(f64, 2);
