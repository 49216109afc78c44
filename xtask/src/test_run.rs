//! Runs every test of the workspace and keeps the results.

use crate::command::{cargo, stream};
use crate::results;
use crate::test_output::{Reader, Status, Test};

/// The tests of a run and whether all of it went well.
pub struct Run {
    pub tests: Vec<Test>,
    pub good: bool,
}

impl Run {
    /// How many tests passed and how many failed.
    pub fn counts(&self) -> (usize, usize) {
        let count = |status: Status| self.tests.iter().filter(|test| test.status == status).count();
        (count(Status::Passed), count(Status::Failed))
    }
}

/// Unit, integration and documentation tests, in release mode; stores the results.
pub fn run() -> Result<Run, String> {
    results::forget();
    let mut reader = Reader::default();
    // Shown output is how a test says SKIPPED; colors would hide the headings from the reader.
    let mut command = cargo("test --release --workspace --all-features --no-fail-fast -- --show-output --color=never");
    command.env("CARGO_TERM_COLOR", "never");
    let good = stream(command, |line| reader.line(line))?;
    match reader.finish() {
        Ok(tests) => {
            results::store(&tests)?;
            Ok(Run { tests, good })
        }
        Err(message) => {
            println!("error: {message}");
            Ok(Run { tests: Vec::new(), good: false })
        }
    }
}
