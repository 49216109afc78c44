//! Accuracy, special values and equality of the compiled copies.
use super::Float;
use crate::kernels::simd::{Isa, Kernel, isa};

mod accuracy;
mod special;

/// Applies a function to every element; the function type is zero-sized, so each gets its own loop.
struct Map<'a, T, F: Fn(T) -> T>(&'a [T], &'a mut [T], F);

impl<T: Float, F: Fn(T) -> T> Kernel for Map<'_, T, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (out, &x) in self.1.iter_mut().zip(self.0) {
            *out = (self.2)(x);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn in_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn in_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

/// The instruction sets this processor can run.
pub(super) fn available() -> Vec<Isa> {
    [Isa::Baseline, Isa::Avx2, Isa::Avx512].into_iter().filter(|&set| set <= isa()).collect()
}

/// Runs the copy compiled for `set`, which must be available.
fn run_in<K: Kernel>(set: Isa, kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    match set {
        // SAFETY: `available` lists only sets that the processor reported.
        Isa::Avx512 => return unsafe { in_avx512(kernel) },
        // SAFETY: as above.
        Isa::Avx2 => return unsafe { in_avx2(kernel) },
        Isa::Baseline => {}
    }
    let _ = set;
    kernel.run()
}

/// Function values of a slice in one compiled copy.
fn map<T: Float>(set: Isa, x: &[T], function: impl Fn(T) -> T) -> Vec<T> {
    let mut out = vec![T::ZERO; x.len()];
    run_in(set, Map(x, &mut out, function));
    out
}
