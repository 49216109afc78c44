//! The `tove` program: from a table, a text or a folder of images to a fitted, explained, saved and served model.
//!
//! Results go to standard output, everything else (progress, warnings, errors) to standard error. Exit codes: 0 when done,
//! 1 when the work failed, 2 when the call was wrong, 130 when Ctrl-C interrupted a fit.

mod arguments;
mod chunks;
mod commands;
mod failure;
mod files;
mod metrics;
mod model_text;
mod models;
mod output;
mod remedies;
mod report;
mod runs;
mod serve;
mod tables;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use failure::Failure;
use output::{Output, Volume};

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refused(&error),
    };
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Prints what is wrong with the call, or the help that was asked for.
fn refused(error: &clap::Error) -> ExitCode {
    match error.print() {
        Err(problem) if problem.kind() != std::io::ErrorKind::BrokenPipe && !error.use_stderr() => {
            Failure::work(format!("standard output: {problem}")).report()
        }
        _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)),
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
    let volume = match (common.quiet, common.verbose) {
        (true, _) => Volume::Quiet,
        (_, true) => Volume::Verbose,
        _ => Volume::Normal,
    };
    let output = Output::new(common.json, volume);
    failure::tell_warnings();
    tove::estimators::register();
    match arguments.command {
        Command::Fit(fit) => commands::fit::run(&fit, &output),
        Command::Predict(predict) => commands::predict::run(&predict, &output),
        Command::Evaluate(evaluate) => commands::evaluate::run(&evaluate, &output),
        Command::Explain(explain) => commands::explain::run(&explain, &output),
        Command::Audit(audit) => commands::audit::run(&audit, &output),
        Command::Calibrate(calibrate) => commands::calibrate::run(&calibrate, &output),
        Command::Fair(fair) => commands::fair::run(&fair, &output),
        Command::Conformal(conformal) => commands::conformal::run(&conformal, &output),
        Command::Cluster(cluster) => commands::cluster::run(&cluster, &output),
        Command::Reduce(reduce) => commands::reduce::run(&reduce, &output),
        Command::Rebuild(rebuild) => commands::rebuild::run(&rebuild, &output),
        Command::Recommend(recommend) => commands::recommend::run(&recommend, &output),
        Command::Words(words) => commands::words::run(&words, &output),
        Command::Serve(serve) => serve::run(&serve, &output),
        Command::Convert(convert) => commands::convert::run(&convert, &output),
        Command::Split(split) => commands::split::run(&split, &output),
        Command::Runs(runs) => commands::runs::run(&runs, &output),
        Command::Models(models) => commands::models::run(&models, &output),
        Command::Inspect(inspect) => commands::inspect::run(&inspect, &output),
        Command::Images(images) => commands::images::run(&images, &output),
        Command::Text(text) => commands::text::run(&text, &output),
        Command::Demo(demo) => commands::demo::run(&demo, &output),
        Command::Diff(diff) => commands::diff::run(&diff, &output),
        Command::Completions(completions) => commands::completions::run(&completions, &output),
    }
}
