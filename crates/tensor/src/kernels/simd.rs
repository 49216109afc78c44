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
    // Whether the processor has every one of these features.
    macro_rules! has {
        ($($feature:tt)*) => { $(is_x86_feature_detected!($feature))&&* };
    }
    // Exactly the features that `run_avx2` and `run_avx512`, and the tables of the kernels, are compiled with.
    let avx2 = has!("avx2" "fma" "bmi1" "bmi2" "lzcnt" "popcnt");
    let avx512 = has!("avx512f" "avx512vl" "avx512dq" "avx512bw");
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

#[cfg(test)]
mod tests {
    /// Code compiled for a feature that was not asked for would be undefined behavior on processors without it.
    #[test]
    fn every_enabled_feature_is_detected() {
        let source = include_str!("simd.rs");
        let start = source.find("fn detect").expect("there is a detection");
        let detection = &source[start..source.find("fn run_baseline").expect("and what follows it")];
        let users = [
            source,
            include_str!("gemm/table.rs"),
            include_str!("gemm/vector.rs"),
            include_str!("conv/table.rs"),
            include_str!("gelu/value/half.rs"),
            include_str!("gelu/value/wide.rs"),
        ];
        let mut seen = 0;
        for literal in users.iter().flat_map(|text| text.split('"').skip(1).step_by(2)) {
            // Lists of features begin with one of these.
            if literal.starts_with("avx2,") || literal.starts_with("avx512f,") {
                for feature in literal.split(',') {
                    assert!(detection.contains(&format!("\"{feature}\"")), "{feature} is enabled and not detected");
                    seen += 1;
                }
            }
        }
        assert!(seen > 50, "only {seen} features were found in the sources");
    }
}
