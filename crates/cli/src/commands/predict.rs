//! `tove predict`: predictions of a saved model for the rows of a table.

use serde_json::{Value, json};
use tove::data::table::{Column, Role, Table};
use tove::tabular::{Predictions, TabularModel};

use crate::arguments::Predict;
use crate::failure::Failure;
use crate::output::Output;
use crate::tables;

pub fn run(predict: &Predict, output: &Output) -> Result<(), Failure> {
    let model = tables::model(&predict.model)?;
    if let Some(path) = predict.output.as_ref().filter(|path| path.exists() && !predict.overwrite) {
        return Err(Failure::usage(format!(
            "{} exists already; choose another name or add --overwrite",
            path.display()
        )));
    }
    let data = tables::read(&predict.file, &predict.reading, output)?;
    let predictions = model.predict(&data).map_err(|error| tables::failed(&predict.file, &data, error))?;
    remarks(&predictions, output);
    if predict.proba && predictions.probabilities.is_none() {
        let name = model.model().name();
        return Err(Failure::usage(format!("{name} gives no probabilities; leave out --proba, or fit another model")));
    }
    let answer = answer(&model, &data, &predictions, predict.proba)?;
    if output.is_json() {
        return output.result(String::new, || rows(&answer));
    }
    tables::write(&answer, predict.output.as_deref(), predict.overwrite)?;
    if let Some(path) = &predict.output {
        output.remark(format!("{} rows predicted: {}", answer.n_rows(), path.display()));
    }
    Ok(())
}

/// What had to be done to the table.
pub fn remarks(predictions: &Predictions, output: &Output) {
    let about = &predictions.conformed;
    if !about.extra.is_empty() {
        output.remark(format!("columns the model does not know were left out: {}", about.extra.join(", ")));
    }
    for (name, found, wanted) in &about.converted {
        output.remark(format!("column {name} was read as {found} and taken as {wanted}"));
    }
    for unseen in &about.unseen {
        let (column, value, rows) = (&unseen.column, &unseen.value, unseen.rows);
        output.remark(format!("column {column}: the value {value} of {rows} rows was not seen at fitting"));
    }
    for (column, rows) in &predictions.imputed {
        output.remark(format!("column {column}: {rows} missing values were filled"));
    }
}

/// The columns that name rows, the predictions, and the probabilities if asked for.
pub fn answer(model: &TabularModel, data: &Table, predictions: &Predictions, proba: bool) -> Result<Table, Failure> {
    let mut columns: Vec<(String, Column)> = Vec::new();
    for name in model.schema().with(Role::Id) {
        if let Ok(column) = data.column(name) {
            columns.push((name.to_owned(), column.clone()));
        }
    }
    columns.push((format!("predicted {}", model.target()), predictions.column.clone()));
    if let (true, Some(probabilities)) = (proba, &predictions.probabilities) {
        let m = model.model().classes().len();
        let all = probabilities.to_f64_vec();
        for (place, &class) in model.model().classes().iter().enumerate() {
            let name = model.classes().get(class as usize).cloned().unwrap_or_else(|| class.to_string());
            columns.push((format!("P({name})"), Column::floats(all.chunks(m).map(|row| row[place]).collect())));
        }
    }
    Ok(Table::new(columns)?)
}

/// A JSON object per row.
pub fn rows(table: &Table) -> Value {
    let cell = |column: &Column, row: usize| match column.number(row) {
        _ if column.is_missing(row) => Value::Null,
        Some(value) if column.kind().is_numeric() => json!(value),
        _ => column.text(row).map_or(Value::Null, |text| json!(text)),
    };
    let object = |row: usize| table.iter().map(|(name, column)| (name.to_owned(), cell(column, row))).collect();
    Value::Array((0..table.n_rows()).map(|row| Value::Object(object(row))).collect())
}
