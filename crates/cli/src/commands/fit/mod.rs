//! `tove fit`: from a table to a judged, saved and reported model.

mod order;
mod progress;
mod told;

use std::path::Path;

use tove::data::table::{Description, ReadReport, Table};
use tove::nn::interrupt_flag;
use tove::tabular::{Event, Outcome, Plan, TableSource, TabularError};
use tove::tensor::io::WriteOptions;

use crate::arguments::Fit;
use crate::failure::Failure;
use crate::output::Output;
use crate::report;
use crate::runs::Run;
use crate::tables;

pub use told::{
    beside_baseline, changes, curve, doubts, legend, named_matrix, score_rows, streaming, tried_rows, verdict,
    with_interval,
};

/// Rows at the beginning of a file that tell what is to be done with one that is read in pieces.
const HEAD: usize = 20_000;

pub fn run(fit: &Fit, output: &Output) -> Result<(), Failure> {
    if fit.target.is_empty() {
        let (data, _) = tables::read_with_report(&fit.file, &fit.reading)?;
        let names = data.names().join(", ");
        return Err(Failure::usage(format!("name the column to predict with --target; there are {names}")));
    }
    let judge = match &fit.test {
        Some(path) => Some(tables::read(path, &fit.reading, output)?),
        None => None,
    };
    if order::streams(fit, output)? {
        return run_in_pieces(fit, judge.as_ref(), output);
    }
    let (data, read) = tables::read_with_report(&fit.file, &fit.reading)?;
    let plan = interruptible(order::plan(fit)?)?;
    let schema =
        plan.schema(&data).map_err(|error| Failure::usage(format!("{error}{}", tables::hint(data.names()))))?;
    order::check_encodings(fit, &schema)?;
    let candidates = order::candidates(fit, &data)?;
    check_files(fit)?;
    let about = data.describe();
    output.remark(told::summary(fit, &data, &about, &schema));
    for (name, column) in data.iter().filter(|(_, column)| column.missing() == column.len()) {
        let kind = column.kind();
        output.remark(format!("warning: column {name} ({kind}) has no values at all; leave it out with --drop {name}"));
    }
    let progress = progress::Progress::new(output);
    // The result tells what the fits warned of.
    let watch = &mut |event: &Event| progress.watch(event);
    let outcome = tove::learn::quietly(|| plan.fit_judged(&data, judge.as_ref(), &candidates, watch));
    progress.end();
    let outcome = outcome.map_err(|error| failed(fit, data.names(), error))?;
    finish(fit, Some((&data, &about)), &read, &outcome, output)
}

/// A file that does not fit in memory.
fn run_in_pieces(fit: &Fit, judge: Option<&Table>, output: &Output) -> Result<(), Failure> {
    let options = tables::options(&fit.reading)?;
    let progress = progress::Progress::new(output);
    progress.say("columns");
    let mut source = TableSource::open(options, &fit.file)?;
    let head = source.head(HEAD)?;
    let plan = interruptible(order::plan(fit)?)?;
    let schema = plan.schema(&head).map_err(Failure::usage)?;
    order::check_encodings(fit, &schema)?;
    let (candidate, kind) = order::streaming_candidate(fit, &head)?;
    check_files(fit)?;
    output.remark(format!("{}: read in pieces with {}", fit.file.display(), candidate.name));
    let outcome = plan.task(kind).fit_stream(&mut source, judge, &candidate, &mut |event| progress.watch(event));
    progress.end();
    let outcome = outcome.map_err(|error| failed(fit, &[], error))?;
    finish(fit, None, source.report(), &outcome, output)
}

/// Ctrl-C ends the fit under way after its present iteration.
fn interruptible(plan: Plan) -> Result<Plan, Failure> {
    let flag = interrupt_flag()?;
    tove::optim::heed(flag.clone());
    Ok(plan.stop(flag))
}

fn failed(fit: &Fit, names: &[String], error: TabularError) -> Failure {
    match error {
        TabularError::Interrupted => Failure::interrupted(error),
        other if names.is_empty() => other.into(),
        other => tables::failed(&fit.file, names, other),
    }
}

/// Saves the model and the report, notes the run, prints the result.
fn finish(
    fit: &Fit,
    data: Option<(&Table, &Description)>,
    read: &ReadReport,
    outcome: &Outcome,
    output: &Output,
) -> Result<(), Failure> {
    let run = Run::begin(&fit.runs)?;
    let model = fit.output.clone().unwrap_or_else(|| run.folder.join("model.tove"));
    let page = fit.report.clone().unwrap_or_else(|| run.folder.join("report.html"));
    let options = WriteOptions { overwrite: fit.overwrite, ..WriteOptions::default() };
    if let Err(error) = outcome.model.save(&model, options) {
        run.abandon();
        return Err(error.into());
    }
    let document = told::document(fit, read, outcome, &model, &page);
    run.finish(document.clone(), save_report(fit, data, read, outcome, &page))?;
    output.result(|| told::text(read, outcome, &model, &page, run.number), || document)?;
    if outcome.interrupted {
        return Err(Failure::interrupted(format!("interrupted; {} holds what was done", model.display())));
    }
    Ok(())
}

/// That nothing would be written over, before the work is done.
fn check_files(fit: &Fit) -> Result<(), Failure> {
    for path in [&fit.output, &fit.report].into_iter().flatten() {
        crate::commands::training::may_write(path, fit.overwrite)?;
    }
    Ok(())
}

fn save_report(
    fit: &Fit,
    data: Option<(&Table, &Description)>,
    read: &ReadReport,
    outcome: &Outcome,
    page: &Path,
) -> Result<(), Failure> {
    let options = WriteOptions { overwrite: fit.overwrite, ..WriteOptions::default() };
    Ok(report::of_fit(fit, data, read, outcome)?.save(page, options)?)
}
