//! `cargo xtask memory`: the tests of tensor memory and kernels under a memory checker.
//!
//! AddressSanitizer comes with stable compilers, though its switch does not: `RUSTC_BOOTSTRAP` opens it. The build is made
//! with `--cfg tove_asan`, under which tensor memory and scratch memory are allocated to the byte and given back at once:
//! recycled blocks would hide reads and writes beyond their end. Debug assertions are on, among them those of the standard
//! library in unsafe functions. Where there is no sanitizer, valgrind runs the same tests on baseline instructions.

use std::path::Path;
use std::process::Command;

use crate::command::{cargo, output, succeeds, succeeds_quietly};
use crate::skips;

/// Test programs of tove-tensor, beside its unit tests, that reach every kernel.
const PROGRAMS: &[&str] = &[
    "memory_safety",
    "kernel_edges",
    "absurd_sizes",
    "size_limits",
    "conv_definition",
    "conv_pool",
    "norm_kernels",
    "optimizer_steps",
    "index_views",
    "reduce_ops",
];

/// Leaks are not looked for: worker threads and recycled lists live as long as the process. Sizes that no machine has are
/// refused, as the system does it.
const ASAN: &str =
    "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=8192:detect_stack_use_after_return=1";

enum Checker {
    /// The target to build for.
    Sanitizer(String),
    Valgrind,
}

/// Runs the tests; true if all went well, or there is no checker on this machine, which is a skip.
pub fn run() -> Result<bool, String> {
    let checker = match sanitizer() {
        Ok(target) => Checker::Sanitizer(target),
        Err(reason) if succeeds_quietly(program("valgrind", "--version")) => {
            println!("no AddressSanitizer ({reason}): valgrind on baseline instructions instead");
            Checker::Valgrind
        }
        Err(reason) => {
            return Ok(skips::announce(&no_checker(&reason)));
        }
    };
    // All tests on the best instruction set of this machine and on the baseline. On one in between the unit tests, which
    // take most of the time and of which most do not depend on it, are left out.
    let sets: &[(&str, bool)] = match checker {
        Checker::Sanitizer(_) if has_avx512() => &[("avx512", true), ("avx2", false), ("baseline", true)],
        Checker::Sanitizer(_) => &[("avx2", true), ("baseline", true)],
        Checker::Valgrind => &[("baseline", true)],
    };
    if !sees_a_step_beyond(&checker)? {
        println!(
            "error: the checker did not notice a read beyond a block of tensor memory; nothing it says can be trusted"
        );
        return Ok(false);
    }
    for (set, unit_tests) in sets {
        println!("-- TOVE_SIMD={set}");
        let mut command = tests(&checker, *unit_tests, "");
        command.env("TOVE_SIMD", set);
        if !succeeds(command)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the checker ends a test that reads one byte too far.
fn sees_a_step_beyond(checker: &Checker) -> Result<bool, String> {
    let mut command = tests(checker, true, " -- --ignored a_step_beyond_a_block_is_seen");
    let run = command.output().map_err(|error| format!("cannot start cargo: {error}"))?;
    let said = [run.stdout, run.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let seen = !run.status.success() && is_report(&said);
    if !seen {
        println!("{said}");
    }
    Ok(seen)
}

/// Whether a checker has reported a step beyond a block, as opposed to a build or a test that failed.
fn is_report(said: &str) -> bool {
    said.contains("AddressSanitizer: heap-buffer-overflow") || said.contains("Invalid read of size 1")
}

/// The command that builds and runs the tests under the checker.
fn tests(checker: &Checker, unit_tests: bool, arguments: &str) -> Command {
    let mut programs: String = PROGRAMS.iter().map(|name| format!(" --test {name}")).collect();
    if unit_tests {
        programs.push_str(" --lib");
    }
    let mut command = match checker {
        Checker::Sanitizer(target) => {
            // A target, even the machine's own, keeps the switch from build scripts and macros.
            let mut command =
                cargo(&format!("test -p tove-tensor{programs} --target {target} --target-dir target/asan{arguments}"));
            command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address --cfg tove_asan");
            command.env("ASAN_OPTIONS", ASAN);
            command
        }
        Checker::Valgrind => {
            let mut command = cargo(&format!("test -p tove-tensor{programs} --target-dir target/valgrind{arguments}"));
            command.env("RUSTFLAGS", "--cfg tove_asan");
            let host = std::env::consts::ARCH.to_uppercase();
            let runner = format!("CARGO_TARGET_{host}_UNKNOWN_LINUX_GNU_RUNNER");
            command.env(runner, "valgrind --quiet --error-exitcode=9 --leak-check=no");
            command
        }
    };
    // A quick build: the kernels are vector code by hand or by `inline(always)`, and memory is the same at any level.
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    command.env("CARGO_INCREMENTAL", "0");
    command
}

/// Why nothing was checked, in the words of the list of accepted reasons.
fn no_checker(reason: &str) -> String {
    format!(
        "system feature absent: no AddressSanitizer ({reason}) and no valgrind; install valgrind to check memory here"
    )
}

/// The target to build for, or why there is no sanitizer.
fn sanitizer() -> Result<String, String> {
    let target = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", arch @ ("x86_64" | "aarch64")) => format!("{arch}-unknown-linux-gnu"),
        (os, arch) => return Err(format!("not for {os} on {arch}")),
    };
    let folder = output(program("rustc", &format!("--print target-libdir --target {target}")))?;
    has_runtime(Path::new(folder.trim()))?;
    Ok(target)
}

/// Whether the compiler's libraries in this folder include the sanitizer's.
fn has_runtime(folder: &Path) -> Result<(), String> {
    let files = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_runtime = |name: &str| name.starts_with("librustc") && name.ends_with("_rt.asan.a");
    if files.flatten().any(|file| is_runtime(&file.file_name().to_string_lossy())) {
        return Ok(());
    }
    Err("this compiler comes without its runtime".into())
}

fn program(name: &str, arguments: &str) -> Command {
    let mut command = Command::new(name);
    command.args(arguments.split_whitespace()).current_dir(crate::command::root());
    command
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_the_runtime_says_so() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert_eq!(has_runtime(&folder), Err("this compiler comes without its runtime".into()));
        assert!(has_runtime(&folder.join("missing")).is_err_and(|reason| reason.contains("missing")));
    }

    #[test]
    fn a_machine_without_a_checker_is_an_accepted_skip() {
        assert!(skips::is_accepted(&no_checker("not for plan9 on vax")));
    }

    #[test]
    fn only_a_report_of_the_checker_counts() {
        assert!(is_report("==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x7b"));
        assert!(is_report("==7== Invalid read of size 1"));
        assert!(!is_report("error: could not compile `tove-tensor` (lib test)"));
        assert!(!is_report("test result: FAILED. 0 passed; 1 failed"));
    }

    #[test]
    fn every_program_exists() {
        let folder = crate::command::root().join("crates/tensor/tests");
        for name in PROGRAMS {
            let exists = folder.join(format!("{name}.rs")).exists() || folder.join(name).join("main.rs").exists();
            assert!(exists, "crates/tensor/tests has no program {name}");
        }
    }
}
