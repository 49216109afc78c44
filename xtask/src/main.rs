//! The project's own commands.
//!
//! - `cargo xtask check`: everything continuous integration runs, cheapest first
//! - `cargo xtask syllabus [LETTER...] [--tests] [--update]`: which syllabus items have a passing test
//! - `cargo xtask memory`: the memory stage of the check alone, kernels under AddressSanitizer
//! - `cargo xtask recipes`: the long trainings, each asserting the score it reaches

use std::process::ExitCode;

mod check;
mod command;
mod memory;
mod recipes;
mod results;
mod size;
mod skips;
mod syllabus;
mod test_output;
mod test_run;
mod wording;

const USAGE: &str = "usage: cargo xtask check
       cargo xtask syllabus [LETTER...] [--tests] [--update]
       cargo xtask memory
       cargo xtask recipes";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.first().map(String::as_str) {
        Some("check") if arguments.len() == 1 => check::run(),
        Some("syllabus") => syllabus::run(&arguments[1..]),
        Some("memory") if arguments.len() == 1 => memory::run(),
        Some("recipes") if arguments.len() == 1 => recipes::run(),
        _ => Err(USAGE.to_string()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
