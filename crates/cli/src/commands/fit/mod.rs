//! `tove fit`: from a table to a fitted model with its held-out scores, its file and its report.

mod comparison;
mod document;
mod options;
mod progress;
mod search;
mod summary;
mod verdict;
mod warnings;

use std::path::Path;

use tove::data::table::{ColumnReport, Description, ReadReport, Role, Table, Wanted};
use tove::nn::interrupt_flag;
use tove::tabular::{Event, Outcome, Plan, TableSource, TabularError};
use tove::tensor::io::WriteOptions;

use crate::arguments::Fit;
use crate::failure::Failure;
use crate::files;
use crate::output::Output;
use crate::report;
use crate::runs::Run;
use crate::tables;

pub use comparison::{cut, method, tried_rows};
pub use document::{curve, scores};
pub use progress::Progress;
pub use summary::{named_matrix, score_rows};
pub use verdict::{beside_baseline, verdict};
pub use warnings::{changes, data_warnings, gathered, heard, quoted, streaming};

/// Rows at the beginning of a file by which the types of columns are inferred when it is read in chunks.
const HEAD: usize = 20_000;

pub fn run(fit: &Fit, output: &Output) -> Result<(), Failure> {
    let inputs: Vec<&Path> = [Some(&fit.file), fit.test.as_ref()].into_iter().flatten().map(AsRef::as_ref).collect();
    files::read_once(&inputs)?;
    options::check_model(fit)?;
    let wanted = Wanted { only: None, unneeded: fit.drop.clone() };
    if fit.target.is_empty() {
        let (data, _) = tables::read_opened(tables::open(&fit.file)?, &fit.reading, &wanted)?;
        let names = data.names().join(", ");
        return Err(Failure::usage(format!("choose the column to predict with --target: {names}")));
    }
    let judge = match &fit.test {
        Some(path) => Some(tables::read(path, &fit.reading, &wanted, output)?),
        None => None,
    };
    let file = tables::open(&fit.file)?;
    if options::streams(fit, &file, output)? {
        return run_in_chunks(fit, judge.as_ref(), &wanted, output);
    }
    let (data, read) = tables::read_opened(file, &fit.reading, &wanted)?;
    tables::remark(&fit.file, &not_numbers(&read), output);
    let plan = interruptible(options::plan(fit)?)?;
    let formats = read.columns.iter().filter_map(|column| Some((column.name.as_str(), column.format?)));
    let plan = formats.fold(plan, |plan, (name, format)| plan.number_format(name, format));
    let schema = plan.schema(&data).map_err(|error| tables::wrong_call(data.names(), error))?;
    options::check_encodings(fit, &schema)?;
    let (candidates, metric) = options::candidates(fit, &data)?;
    let plan = metric.into_iter().fold(plan, Plan::scorer);
    check_files(fit)?;
    let about = data.describe();
    output.remark(summary::table_line(fit, &data, &about, &schema));
    output.detail(summary::columns(&about, &schema));
    let seen = |name: &str| schema.field(name).is_ok_and(|field| field.role != Role::Dropped);
    for (name, column) in data.iter().filter(|(name, column)| column.missing() == column.len() && seen(name)) {
        let kind = column.kind();
        output.remark(format!("warning: column {name} ({kind}) has only missing values; drop it with --drop {name}"));
    }
    let progress = progress::Progress::new(output);
    // The result tells what the fits warned of.
    let watch = &mut |event: &Event| progress.watch(event);
    let (outcome, heard) = warnings::heard(|| plan.fit_and_test(&data, judge.as_ref(), &candidates, watch));
    progress.end();
    // The result has those of the model itself.
    let own = outcome.as_ref().map(|outcome| outcome.model.model().summary().warnings.clone()).unwrap_or_default();
    let others: Vec<String> = heard.into_iter().filter(|warning| !own.contains(warning)).collect();
    warnings::gathered(&others).iter().for_each(|warning| output.remark(format!("warning: {warning}")));
    let outcome = outcome.map_err(|error| failed(fit, data.names(), error))?;
    finish(fit, Some((&data, &about)), &read, &outcome, output)
}

/// A file that does not fit in memory.
fn run_in_chunks(fit: &Fit, judge: Option<&Table>, wanted: &Wanted, output: &Output) -> Result<(), Failure> {
    let options = tables::options(&fit.reading)?;
    let progress = progress::Progress::new(output);
    progress.say("columns");
    let mut source = TableSource::open_wanted(options, &fit.file, wanted)?;
    tables::remark(&fit.file, &not_numbers(source.report()), output);
    let head = source.head(HEAD)?;
    let plan = interruptible(options::plan(fit)?)?;
    let schema = plan.schema(&head).map_err(|error| tables::wrong_call(&[], error))?;
    options::check_encodings(fit, &schema)?;
    let (candidate, kind, metric) = options::streaming_candidate(fit, &head)?;
    let plan = metric.into_iter().fold(plan, Plan::scorer);
    check_files(fit)?;
    output.remark(format!("{}: reading in chunks, with {}", fit.file.display(), candidate.name));
    if fit.budget.is_some() {
        output.remark("warning: --budget has no effect on a file that is read in chunks");
    }
    let outcome = plan.task(kind).fit_stream(&mut source, judge, &candidate, &mut |event| progress.watch(event));
    progress.end();
    let outcome = outcome.map_err(|error| failed(fit, &[], error))?;
    finish(fit, None, source.report(), &outcome, output)
}

/// Ctrl-C ends the fit under way after its present iteration.
fn interruptible(plan: Plan) -> Result<Plan, Failure> {
    let flag = interrupt_flag()?;
    tove::optim::interrupt_on(flag.clone());
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
    let document = document::document(fit, read, outcome, &model, &page);
    run.finish(document.clone(), save_report(fit, data, read, outcome, &page))?;
    let text = || summary::text(read, outcome, &model, &page, run.number, output.is_verbose());
    if files::is_stdout(&model) || files::is_stdout(&page) {
        // The words must not come between the bytes of the file.
        output.remark(text());
    } else {
        output.result(text, || document)?;
    }
    if outcome.interrupted {
        return Err(Failure::interrupted(format!("interrupted; the best model so far is in {}", model.display())));
    }
    Ok(())
}

/// What is to be told of a file before the fit: the values that stopped columns from being numbers. The rest is told with the
/// result.
fn not_numbers(read: &ReadReport) -> ReadReport {
    let columns = read.columns.iter().filter(|column| column.not_numbers.is_some());
    let columns = columns.map(|column| ColumnReport { coerced: 0, ..column.clone() }).collect();
    ReadReport { file: read.file.clone(), columns, ..ReadReport::default() }
}

/// That nothing would be written over, before the work is done.
fn check_files(fit: &Fit) -> Result<(), Failure> {
    let inputs: Vec<&Path> = [Some(&fit.file), fit.test.as_ref()].into_iter().flatten().map(AsRef::as_ref).collect();
    files::differ(&[fit.output.as_ref(), fit.report.as_ref()])?;
    fit.output.as_deref().map_or(Ok(()), files::model_name)?;
    for path in [&fit.output, &fit.report].into_iter().flatten() {
        files::may_write(path, fit.overwrite, &inputs)?;
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
