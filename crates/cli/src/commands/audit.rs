//! `tove audit`: how far a model, or the predictions of any system, can be trusted.

use std::path::Path;

use tove::audit::{Audit as Checks, AuditReport, AuditSection, AuditSubject, PredictionColumns};
use tove::data::table::{Table, Wanted};
use tove::tabular::TabularModel;
use tove::tensor::io::WriteOptions;
use tove::trust::decisions::CostMatrix;
use tove::vision::{ImageModel, Images};

use crate::arguments::Audit;
use crate::commands::conformal::as_fitted;
use crate::commands::fit::Progress;
use crate::failure::Failure;
use crate::files;
use crate::models::AnyModel;
use crate::output::{Output, paragraph, table};
use crate::tables;

pub fn run(audit: &Audit, output: &Output) -> Result<(), Failure> {
    let inputs: Vec<&Path> =
        [&audit.model, &audit.file, &audit.predictions, &audit.cost].into_iter().flatten().map(AsRef::as_ref).collect();
    files::read_once(&inputs)?;
    if let Some(path) = &audit.report {
        files::may_write(path, audit.overwrite, &inputs)?;
    }
    let checks = checks(audit)?;
    let report = match (&audit.predictions, &audit.model, &audit.file) {
        (Some(path), _, _) => of_predictions(audit, &checks, path, output)?,
        (None, Some(model), Some(file)) => match AnyModel::load(model)? {
            AnyModel::Table(found) => of_model(audit, &checks, &tables::with_target(model, *found)?, file, output)?,
            AnyModel::Image(found) => of_images(audit, &checks, &found, file, output)?,
            AnyModel::Items(_) => return Err(unsuited(model, "recommenders")),
            AnyModel::Words(_) => return Err(unsuited(model, "word vectors")),
            AnyModel::Text(_) => return Err(unsuited(model, "language models")),
        },
        _ => return Err(Failure::usage("give a model and a table: MODEL FILE, or --predictions FILE --target COLUMN")),
    };
    if let Some(path) = &audit.report {
        let options = WriteOptions { overwrite: audit.overwrite, ..WriteOptions::default() };
        report.page().save(path, options)?;
        output.remark(format!("report: {}", path.display()));
    }
    output.result(|| text(&report), || report.document())
}

fn checks(audit: &Audit) -> Result<Checks, Failure> {
    if !(audit.alpha > 0.0 && audit.alpha < 1.0) {
        let problem = format!("--alpha {}: give a number between 0 and 1, such as 0.1", audit.alpha);
        return Err(Failure::usage(problem));
    }
    if let Some(eps) = audit.eps.iter().flatten().find(|eps| !(**eps > 0.0 && eps.is_finite())) {
        return Err(Failure::usage(format!("--eps {eps}: give positive numbers, such as 0.1")));
    }
    let checks = Checks::new().alpha(audit.alpha).seed(audit.seed);
    let checks = audit.eps.clone().into_iter().fold(checks, Checks::eps);
    let Some(path) = &audit.cost else { return Ok(checks) };
    let wrong = |problem: String| Failure::work(format!("{}: {problem}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| wrong(format!("not JSON: {error}")))?;
    let numbers = |row: &serde_json::Value| row.as_array().is_some_and(|row| row.iter().all(|cell| cell.is_number()));
    if !value.as_array().is_some_and(|rows| rows.iter().all(numbers)) {
        let problem = "not a matrix; give a list of rows of numbers, such as [[0, 5], [1, 0]]";
        return Err(wrong(problem.to_owned()));
    }
    Ok(checks.costs(CostMatrix::from_json(&value).map_err(|error| wrong(error.to_string()))?))
}

fn of_predictions(audit: &Audit, checks: &Checks, path: &Path, output: &Output) -> Result<AuditReport, Failure> {
    let wanted = Wanted { only: None, unneeded: Vec::new() };
    let data = tables::read(path, &audit.reading, &wanted, output)?;
    let columns = PredictionColumns { prediction: audit.prediction.clone(), probability: audit.probability.clone() };
    let target = audit.target.as_deref().unwrap_or_default();
    check_columns(audit, &data)?;
    data.column(target).map_err(|error| Failure::usage(format!("--target: {error}")))?;
    let failed = |error| tables::failed(path, data.names(), error);
    let subject = AuditSubject::of_predictions(&data, target, &columns, &audit.sensitive).map_err(failed)?;
    watched(checks, &subject, output).map_err(failed)
}

fn of_model(
    audit: &Audit,
    checks: &Checks,
    model: &TabularModel,
    path: &Path,
    output: &Output,
) -> Result<AuditReport, Failure> {
    let data = as_fitted(model, path, &audit.reading, output)?;
    check_columns(audit, &data)?;
    let failed = |error| tables::failed(path, data.names(), error);
    if !data.has(model.target()) {
        let given = [("--sensitive", !audit.sensitive.is_empty()), ("--cost", audit.cost.is_some())];
        if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
            let problem = format!("{option} needs the target {}, which the table does not have", model.target());
            return Err(tables::wrong_call(data.names(), Failure::usage(problem)));
        }
        output.remark(format!("the table has no column {}: only drift is checked", model.target()));
        return checks.drift(model, &data).map_err(failed);
    }
    let subject = AuditSubject::of_model(model, &data, &audit.sensitive).map_err(failed)?;
    watched(checks, &subject, output).map_err(failed)
}

fn of_images(
    audit: &Audit,
    checks: &Checks,
    model: &ImageModel,
    path: &Path,
    output: &Output,
) -> Result<AuditReport, Failure> {
    if !audit.sensitive.is_empty() {
        return Err(Failure::usage("--sensitive names columns of a table; images have none"));
    }
    let images = Images::read(path, &model.options())?;
    images.notes.sentences().into_iter().for_each(|sentence| output.remark(sentence));
    let subject = AuditSubject::of_images(model, &images)?;
    Ok(watched(checks, &subject, output)?)
}

fn unsuited(path: &Path, what: &str) -> Failure {
    let path = path.display();
    Failure::usage(format!("{path}: there is no audit of {what}; audits are of models of tables and of images"))
}

fn check_columns(audit: &Audit, data: &Table) -> Result<(), Failure> {
    let lacking = audit.sensitive.iter().find_map(|name| data.column(name).err());
    lacking.map_or(Ok(()), |error| Err(Failure::usage(format!("--sensitive: {error}"))))
}

/// Makes the checks, and shows which is under way.
fn watched(checks: &Checks, subject: &AuditSubject, output: &Output) -> tove::tabular::Result<AuditReport> {
    let progress = Progress::new(output);
    let report = checks.run(subject, &mut |name| progress.say(name));
    progress.end();
    report
}

/// The verdicts first, then the figures of each section.
fn text(report: &AuditReport) -> String {
    let mut text = format!("{}\n", paragraph(&report.subject()));
    if let Some(warning) = report.warning() {
        text.push_str(&format!("{}\n", paragraph(warning)));
    }
    for section in report.sections() {
        text.push_str(&paragraph(&format!("{} [{}]: {}", section.name, section.verdict.name(), section.statement)));
    }
    for section in report.sections() {
        let more = !section.tables.is_empty() || section.advice.is_some() || !section.assumptions.is_empty();
        if more {
            text.push_str(&figures(section));
        }
    }
    text
}

/// The tables of a section, then what to do and what is assumed.
fn figures(section: &AuditSection) -> String {
    let mut text = format!("\n== {}\n", section.name);
    for one in &section.tables {
        text.push_str(&format!("\n{}\n{}", paragraph(&one.title), table(&one.rows)));
    }
    for more in [section.advice.clone().unwrap_or_default(), section.assumption()] {
        if !more.is_empty() {
            text.push_str(&format!("\n{}", paragraph(&more)));
        }
    }
    text
}
