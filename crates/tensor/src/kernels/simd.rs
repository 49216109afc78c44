//! Runtime choice of the instruction set.
//!
//! A kernel is written once, as plain Rust that the compiler can vectorise, in the `run` method of a [`Kernel`].
//! [`dispatch`] compiles it once per instruction set and picks the widest one the processor has, so that one binary is
//! fast everywhere without `target-cpu=native`. `TOVE_SIMD=baseline|avx2|avx512` forces a path, which is how the tests
//! reach all of them on one machine.

use std::sync::OnceLock;

/// The instruction sets that kernels are compiled for. On other architectures than x86-64 the baseline is what the
/// target guarantees (NEON on AArch64).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// What the compilation target guarantees.
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, VL, DQ and BW.
    Avx512,
}

/// The instruction set in use, chosen once per process.
#[inline]
pub fn isa() -> Isa {
    static ISA: OnceLock<Isa> = OnceLock::new();
    *ISA.get_or_init(choose)
}

fn choose() -> Isa {
    let best = detect();
    match std::env::var("TOVE_SIMD").as_deref() {
        Ok("baseline") => Isa::Baseline,
        Ok("avx2") => best.min(Isa::Avx2),
        _ => best,
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Isa {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw");
    match (avx2, avx512) {
        (true, true) => Isa::Avx512,
        (true, false) => Isa::Avx2,
        _ => Isa::Baseline,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Isa {
    Isa::Baseline
}

/// A computation compiled once per instruction set. `run` must be `#[inline(always)]`, and so must everything hot that
/// it calls, or the wide copies fall back to baseline code.
pub trait Kernel {
    /// What the kernel returns.
    type Output;
    /// The computation itself.
    fn run(self) -> Self::Output;
}

/// Runs `kernel` in the copy compiled for [`isa`].
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    match isa() {
        // SAFETY: `isa` returns `Avx512` only after the processor reported all of these features.
        Isa::Avx512 => return unsafe { run_avx512(kernel) },
        // SAFETY: `isa` returns `Avx2` only after the processor reported these features.
        Isa::Avx2 => return unsafe { run_avx2(kernel) },
        Isa::Baseline => {}
    }
    run_baseline(kernel)
}

/// Out of line, so that the slowest copy is not repeated wherever `dispatch` is inlined.
#[inline(never)]
fn run_baseline<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}
