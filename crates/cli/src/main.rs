//! The `tove` program: from a table, a text or a folder of images to a fitted, explained, saved and served model.
//!
//! Results go to standard output, everything else (progress, warnings, errors) to standard error. Exit codes: 0 when done,
//! 1 when the work failed, 2 when the call was wrong.

mod arguments;
mod commands;
mod failure;
mod output;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use failure::Failure;
use output::Output;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    let common = arguments.common;
    if let Some(threads) = common.threads {
        if threads == 0 {
            return Err(Failure::usage("--threads 0: give at least one thread"));
        }
        tove::tensor::set_num_threads(threads);
    }
    let output = Output::new(common.json, common.quiet);
    match arguments.command {
        Command::Models(models) => commands::models::run(&models, &output),
        Command::Inspect(inspect) => commands::inspect::run(&inspect, &output),
        Command::Diff(diff) => commands::diff::run(&diff, &output),
        Command::Completions(completions) => commands::completions::run(&completions),
    }
}
