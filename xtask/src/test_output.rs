//! Reads what `cargo test -- --show-output` prints, line by line.
//!
//! A test announces that it could not do its work by printing `SKIPPED: reason` and returning; it then counts as
//! skipped and not as passed.

use std::collections::HashMap;

use crate::skips;

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Passed,
    Failed,
    /// Marked `#[ignore]`, never started.
    Ignored,
    /// Started, but said that it could not do its work; with the reason.
    Skipped(String),
}

/// One test of one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The program's heading as cargo prints it, such as `tests/ops.rs` or `Doc-tests tove_tensor`.
    pub program: String,
    pub name: String,
    pub status: Status,
}

/// Collects the tests while lines come in.
#[derive(Default)]
pub struct Reader {
    tests: Vec<Test>,
    program: String,
    by_name: HashMap<String, usize>,
    /// Whose printed output is being read, if anybody's.
    speaker: Option<usize>,
    /// Inside the section that repeats what passing tests printed.
    in_successes: bool,
    promised: usize,
}

impl Reader {
    /// Takes the next line and tells whether people want to see it: what passing tests printed is hidden, skips excepted.
    pub fn line(&mut self, line: &str) -> bool {
        if let Some(program) = heading(line) {
            self.program = program;
            self.by_name.clear();
            self.leave_outputs();
        } else if let Some((name, status)) = result_line(line) {
            self.by_name.insert(name.clone(), self.tests.len());
            self.tests.push(Test { program: self.program.clone(), name, status });
        } else if let Some(name) = output_heading(line) {
            self.speaker = self.by_name.get(name).copied();
        } else if let Some(reason) = skips::reason(line) {
            self.skip(reason);
        } else if let Some(count) = summary_count(line) {
            self.promised += count;
            self.leave_outputs();
        } else if line == "successes:" || line == "failures:" {
            self.in_successes = line == "successes:";
        }
        !self.in_successes || skips::reason(line).is_some()
    }

    fn leave_outputs(&mut self) {
        self.speaker = None;
        self.in_successes = false;
    }

    /// The tests read, or an error if the summaries spoke of another number than was found.
    ///
    /// That happens when a program under test writes into the middle of a result line.
    pub fn finish(self) -> Result<Vec<Test>, String> {
        if self.tests.len() == self.promised {
            return Ok(self.tests);
        }
        Err(format!(
            "the test programs announced {} results, {} could be read: a test program crashed, or something it started wrote into its output",
            self.promised,
            self.tests.len()
        ))
    }

    fn skip(&mut self, reason: &str) {
        if let Some(test) = self.speaker.and_then(|index| self.tests.get_mut(index))
            && test.status == Status::Passed
        {
            test.status = Status::Skipped(reason.to_string());
        }
    }
}

/// `     Running tests/ops.rs (target/...)` and `   Doc-tests tove_tensor`.
fn heading(line: &str) -> Option<String> {
    let text = line.strip_prefix("   ")?.trim_start();
    if let Some(program) = text.strip_prefix("Running ") {
        // The path of the program tells crates with equally named files apart: `deps/ops-0123456789abcdef`.
        let (source, path) = program.split_once(" (")?;
        let file = path.trim_end_matches(')').rsplit('/').next()?;
        let target = file.rsplit_once('-').map_or(file, |(target, _hash)| target);
        return Some(format!("{target} {source}"));
    }
    text.starts_with("Doc-tests ").then(|| text.to_string())
}

/// `test name ... ok`, `test name - should panic ... ok`, `test name ... ignored, reason`.
fn result_line(line: &str) -> Option<(String, Status)> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let status = match result {
        "ok" => Status::Passed,
        "FAILED" => Status::Failed,
        _ if result == "ignored" || result.starts_with("ignored,") => Status::Ignored,
        _ => return None,
    };
    let name = ["should panic", "compile fail", "compile"]
        .iter()
        .find_map(|note| name.strip_suffix(note)?.strip_suffix(" - "))
        .unwrap_or(name);
    Some((name.to_string(), status))
}

/// `---- name stdout ----`.
fn output_heading(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// `test result: ok. 3 passed; 1 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.01s`: 4 here.
fn summary_count(line: &str) -> Option<usize> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |word: &str| -> Option<usize> {
        counts.split("; ").find_map(|part| part.strip_suffix(word)?.trim_end().parse().ok())
    };
    Some(count("passed")? + count("failed")? + count("ignored")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
   Compiling tove-tensor v0.1.0
    Finished `release` profile [optimized] target(s) in 1.00s
     Running unittests src/lib.rs (target/release/deps/tove_tensor-0d1e2f3a4b5c6d7e)

running 4 tests
test shape::tests::a8_broadcast_table ... ok
test shape::tests::slow ... ignored, takes an hour
test pool::tests::wrong ... FAILED
test pool::tests::stops - should panic ... ok

successes:

---- shape::tests::a8_broadcast_table stdout ----
SKIPPED: no fixture

successes:
    shape::tests::a8_broadcast_table

failures:

---- pool::tests::wrong stdout ----
SKIPPED: said before it broke

failures:
    pool::tests::wrong

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

   Doc-tests tove_tensor

running 1 test
test crates/tensor/src/pool.rs - pool::parallel_for (line 7) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.51s
";

    fn read(text: &str) -> Result<Vec<Test>, String> {
        let mut reader = Reader::default();
        text.lines().for_each(|line| {
            reader.line(line);
        });
        reader.finish()
    }

    #[test]
    fn statuses_programs_and_skips_are_read() {
        let tests = read(OUTPUT).expect("complete output");
        let found: Vec<(&str, &str, Status)> =
            tests.iter().map(|test| (test.program.as_str(), test.name.as_str(), test.status.clone())).collect();
        let unit = "tove_tensor unittests src/lib.rs";
        assert_eq!(
            found,
            [
                (unit, "shape::tests::a8_broadcast_table", Status::Skipped("no fixture".into())),
                (unit, "shape::tests::slow", Status::Ignored),
                (unit, "pool::tests::wrong", Status::Failed),
                (unit, "pool::tests::stops", Status::Passed),
                ("Doc-tests tove_tensor", "crates/tensor/src/pool.rs - pool::parallel_for (line 7)", Status::Passed),
            ]
        );
    }

    #[test]
    fn what_passing_tests_print_is_hidden_and_skips_are_shown() {
        let mut reader = Reader::default();
        let shown: Vec<&str> = OUTPUT.lines().filter(|line| reader.line(line)).collect();
        let count = |line: &str| shown.iter().filter(|shown| **shown == line).count();
        assert_eq!(count("SKIPPED: no fixture"), 1);
        assert_eq!(count("    shape::tests::a8_broadcast_table"), 0);
        assert_eq!(count("---- pool::tests::wrong stdout ----"), 1);
        assert_eq!(count("running 1 test"), 1);
    }

    #[test]
    fn a_result_line_torn_apart_is_noticed() {
        let torn = OUTPUT.replace("a8_broadcast_table ... ok", "a8_broadcast_table ... hello from a child\nok");
        let error = read(&torn).expect_err("one line is unreadable");
        assert!(error.contains("announced 5 results, 4 could be read"), "{error}");
    }

    #[test]
    fn a_skip_outside_any_test_changes_nothing() {
        let text = "SKIPPED: nobody\ntest a ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0s";
        assert_eq!(read(text).expect("complete")[0].status, Status::Passed);
    }
}
