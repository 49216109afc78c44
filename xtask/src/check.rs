//! `cargo xtask check`: everything continuous integration runs, cheapest first.
//!
//! Every stage runs, whatever became of the ones before, so that one run shows all there is to fix. The last line
//! counts tests and other stages together.

use std::time::{Duration, Instant};

use crate::command::{cargo, root, succeeds, succeeds_quietly};
use crate::test_run::{self, Run};
use crate::{memory, size, skips, syllabus, wording};

struct Stage {
    name: &'static str,
    good: bool,
    time: Duration,
}

/// Runs all stages; true if every one went well.
pub fn run() -> Result<bool, String> {
    let mut stages = Vec::new();
    let mut tests = Run { tests: Vec::new(), good: false };
    stage(&mut stages, "format", format_check);
    stage(&mut stages, "sizes", size::run);
    stage(&mut stages, "wording", wording::run);
    stage(&mut stages, "clippy", clippy);
    stage(&mut stages, "tests", || {
        browser();
        tests = test_run::run()?;
        Ok(tests.good)
    });
    stage(&mut stages, "skipped tests", || skips::check(&tests.tests));
    stage(&mut stages, "memory", memory::run);
    stage(&mut stages, "documentation", documentation);
    stage(&mut stages, "syllabus", || syllabus::check(&tests.tests));
    Ok(summary(&stages, &tests))
}

fn stage(stages: &mut Vec<Stage>, name: &'static str, work: impl FnOnce() -> Result<bool, String>) {
    println!("\n== {name}");
    let start = Instant::now();
    let good = work().unwrap_or_else(|message| {
        println!("error: {message}");
        false
    });
    let time = start.elapsed();
    println!("== {name}: {} in {:.1} s", word(good), time.as_secs_f64());
    stages.push(Stage { name, good, time });
}

fn word(good: bool) -> &'static str {
    if good { "ok" } else { "FAILED" }
}

fn format_check() -> Result<bool, String> {
    component("rustfmt", "fmt --version");
    succeeds(cargo("fmt --all --check"))
}

fn clippy() -> Result<bool, String> {
    component("clippy", "clippy --version");
    let all = succeeds(cargo("clippy --release --workspace --all-targets --all-features -- -D warnings"))?;
    // What only a feature uses is dead code without it.
    Ok(succeeds(cargo("clippy --release --package tove-data --no-default-features -- -D warnings"))? && all)
}

fn documentation() -> Result<bool, String> {
    let mut command = cargo("doc --release --workspace --all-features --no-deps");
    command.env("RUSTDOCFLAGS", "-D warnings");
    succeeds(command)
}

/// Installs a part of the toolchain if it is missing; the stage itself fails if that does not work.
fn component(name: &str, probe: &str) {
    if succeeds_quietly(cargo(probe)) {
        return;
    }
    println!("{name} is missing, installing it");
    let mut command = std::process::Command::new("rustup");
    command.args(["component", "add", name]).current_dir(root());
    if !succeeds(command).unwrap_or(false) {
        println!("error: {name} could not be installed; run `rustup component add {name}` with network access");
    }
}

/// Installs the browser that the served page is tested in, where the system's packages allow it; its tests are skipped with
/// a word otherwise.
fn browser() {
    let command = |name: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new(name);
        command.args(arguments);
        command
    };
    let is_there = || succeeds_quietly(command("chromium", &["--version"]));
    if is_there() || !succeeds_quietly(command("apt-get", &["--version"])) {
        return;
    }
    println!("chromium is missing, installing it for the tests of the served page");
    let install = || succeeds_quietly(command("apt-get", &["install", "-y", "--no-install-recommends", "chromium"]));
    let installed = install() || (succeeds_quietly(command("apt-get", &["update"])) && install());
    if !installed || !is_there() {
        println!("chromium could not be installed; the tests of the served page will be skipped");
    }
}

fn summary(stages: &[Stage], run: &Run) -> bool {
    println!("\n== summary");
    for Stage { name, good, time } in stages {
        println!("{name:<14} {:<7} {:>7.1} s", word(*good), time.as_secs_f64());
    }
    let (passed, failed) = totals(stages, run);
    println!("{passed} passed, {failed} failed");
    stages.iter().all(|stage| stage.good)
}

/// Tests and other stages together. A test stage that failed without a failing test (it did not build, or a program
/// crashed) counts as one failure, so that the last line never hides it.
fn totals(stages: &[Stage], run: &Run) -> (usize, usize) {
    let (mut passed, mut failed) = run.counts();
    failed += usize::from(!run.good && failed == 0);
    for stage in stages.iter().filter(|stage| stage.name != "tests") {
        if stage.good {
            passed += 1;
        } else {
            failed += 1;
        }
    }
    (passed, failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_output::{Status, Test};

    fn run_of(statuses: &[Status], good: bool) -> Run {
        let test = |status: &Status| Test { program: "p".into(), name: "n".into(), status: status.clone() };
        Run { tests: statuses.iter().map(test).collect(), good }
    }

    fn stage_of(name: &'static str, good: bool) -> Stage {
        Stage { name, good, time: Duration::ZERO }
    }

    #[test]
    fn stages_and_tests_are_counted_together() {
        let run = run_of(&[Status::Passed, Status::Failed, Status::Ignored], false);
        let stages = [stage_of("format", true), stage_of("clippy", false), stage_of("tests", false)];
        assert_eq!(totals(&stages, &run), (2, 2));
    }

    #[test]
    fn a_test_stage_that_did_not_build_is_a_failure() {
        assert_eq!(totals(&[stage_of("tests", false)], &run_of(&[], false)), (0, 1));
    }

    #[test]
    fn a_stage_with_an_error_is_recorded_as_failed() {
        let mut stages = Vec::new();
        stage(&mut stages, "clippy", || Err("no network".into()));
        assert!(!stages[0].good);
    }
}
