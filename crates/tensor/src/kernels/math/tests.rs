//! Accuracy, special values and equality of the compiled copies.
use super::Float;
use crate::kernels::simd::{Isa, Kernel, isa};

mod accuracy;
mod special;

/// A function of one number. A type rather than a closure, because a closure is not inlined by force, and would then be
/// compiled for the baseline only.
pub(super) trait Unary: Copy {
    fn apply<T: Float>(x: T) -> T;
}

/// A value of a fresh type that applies the named method, or the expression `x => …` over a type `T: Float`.
macro_rules! unary {
    ($name:ident) => {
        unary!(x => x.$name())
    };
    ($x:ident => $value:expr) => {{
        #[derive(Clone, Copy)]
        struct Function;
        impl crate::kernels::math::tests::Unary for Function {
            #[inline(always)]
            fn apply<T: Float>($x: T) -> T {
                $value
            }
        }
        Function
    }};
}
pub(super) use unary;

/// Applies a function to every element.
struct Map<'a, T, F: Unary>(&'a [T], &'a mut [T], F);

impl<T: Float, F: Unary> Kernel for Map<'_, T, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (out, &x) in self.1.iter_mut().zip(self.0) {
            *out = F::apply(x);
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
fn map<T: Float>(set: Isa, x: &[T], function: impl Unary) -> Vec<T> {
    let mut out = vec![T::ZERO; x.len()];
    run_in(set, Map(x, &mut out, function));
    out
}
