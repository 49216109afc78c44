//! `tove conformal`: prediction sets or intervals with guaranteed coverage.

use serde_json::json;
use tove::audit::AuditSubject;
use tove::data::table::{Schema, Table, Wanted};
use tove::tabular::{CoveragePlan, TabularModel};
use tove::tensor::io::WriteOptions;
use tove::trust::conformal::SetScore;

use crate::arguments::{Conformal, Reading};
use crate::failure::Failure;
use crate::files;
use crate::output::{Output, paragraph};
use crate::tables;

pub fn run(conformal: &Conformal, output: &Output) -> Result<(), Failure> {
    files::read_once(&[&conformal.model, &conformal.file])?;
    files::model_name(&conformal.output)?;
    files::may_write(&conformal.output, conformal.overwrite, &[&conformal.model, &conformal.file])?;
    let score = score(&conformal.score)?;
    if !(conformal.alpha > 0.0 && conformal.alpha < 1.0) {
        let problem = format!("--alpha {}: give a number between 0 and 1, such as 0.1", conformal.alpha);
        return Err(Failure::usage(problem));
    }
    let model = tables::with_target(&conformal.model, tables::model(&conformal.model)?)?;
    let data = held_out(&model, &conformal.file, &conformal.reading, output)?;
    let by = conformal.by.as_deref();
    if let Some(error) = by.and_then(|name| data.column(name).err()) {
        return Err(Failure::usage(format!("--by: {error}")));
    }
    warn_if_fitted_on(&model, &data, &conformal.file, output)?;
    if model.safeguards().coverage.is_some() {
        output.remark("the prediction sets or intervals that the model has already are replaced");
    }
    let mut plan = CoveragePlan::new(conformal.alpha).score(score);
    if let Some(column) = by {
        plan = plan.by(column);
    }
    if conformal.by_class {
        plan = plan.by_class();
    }
    let failed = |error| tables::failed(&conformal.file, data.names(), error);
    let model = model.with_coverage(&data, &plan).map_err(failed)?;
    model.save(&conformal.output, options(conformal.overwrite))?;
    let claim = model.safeguards().coverage.as_ref().map(|rule| rule.claim().to_string()).unwrap_or_default();
    let file = conformal.output.display().to_string();
    let what = if model.classes().is_empty() { "intervals" } else { "sets" };
    let columns = if model.classes().is_empty() {
        format!("lower {0} and upper {0}", model.target())
    } else {
        "set(CLASS), true where the set holds the class".to_owned()
    };
    output.result(
        || {
            let text = format!(
                "{file} predicts as before and adds prediction {what}: {claim}. `tove predict` and `tove serve` give them as \
                 columns {columns}; `tove audit` on other rows says how often they hold the truth."
            );
            paragraph(&text)
        },
        || json!({"file": file, "alpha": conformal.alpha, "rows": data.n_rows(), "claim": claim}),
    )
}

fn score(name: &str) -> Result<SetScore, Failure> {
    Ok(match name {
        "lac" => SetScore::Lac,
        "aps" => SetScore::Aps { randomized: true },
        "raps" => SetScore::Raps { lambda: 0.01, k_reg: 1, randomized: true },
        _ => return Err(Failure::usage(format!("--score {name}: there are lac, aps and raps"))),
    })
}

pub fn options(overwrite: bool) -> WriteOptions {
    WriteOptions { overwrite, ..WriteOptions::default() }
}

/// Reads rows with the target, the features as they were at fitting.
pub fn held_out(
    model: &TabularModel,
    path: &std::path::Path,
    reading: &Reading,
    output: &Output,
) -> Result<Table, Failure> {
    let data = as_fitted(model, path, reading, output)?;
    data.column(model.target()).map_err(|error| tables::failed(path, data.names(), error))?;
    Ok(data)
}

/// Reads a table: the columns that the model needs as they were at fitting, all others as they look.
pub fn as_fitted(
    model: &TabularModel,
    path: &std::path::Path,
    reading: &Reading,
    output: &Output,
) -> Result<Table, Failure> {
    let needed = model.schema().fields().iter().filter(|field| field.role.is_needed()).cloned().collect();
    let options = tables::options(reading)?.schema(&Schema::new(needed)?);
    let (data, read) = tables::open(path)?.read(&options, &Wanted { only: None, unneeded: Vec::new() })?;
    if data.n_rows() == 0 {
        return Err(tables::no_rows(path));
    }
    tables::remark(path, &read, output);
    Ok(data)
}

/// Says that rows which the model was fitted on do not serve.
pub fn warn_if_fitted_on(
    model: &TabularModel,
    data: &Table,
    path: &std::path::Path,
    output: &Output,
) -> Result<(), Failure> {
    let failed = |error| tables::failed(path, data.names(), error);
    if AuditSubject::of_model(model, data, &[]).map_err(failed)?.fitted_on() {
        output.remark(
            "warning: the model was fitted on rows of this table, so the result is too optimistic; use rows that were not used for \
             fitting",
        );
    }
    Ok(())
}
