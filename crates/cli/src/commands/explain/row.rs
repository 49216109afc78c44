//! The prediction for one row, split into contributions of its columns.

use serde_json::{Value, json};
use tove::data::table::Table;
use tove::plot::{BarChart, Report};
use tove::tabular::{Contribution, RowCounterfactual, RowExplanation, TabularModel};
use tove::tensor::io::WriteOptions;

use super::more;
use crate::arguments::Explain;
use crate::failure::Failure;
use crate::output::{Decimals, Output, paragraph, table};

/// Orders of the columns that contributions are averaged over.
const ORDERS: usize = 400;
/// Characters of a value that are shown.
const SHOWN: usize = 30;

pub fn run(
    model: &TabularModel,
    data: &Table,
    number: usize,
    explain: &Explain,
    output: &Output,
) -> Result<(), Failure> {
    let rows = data.n_rows();
    if number == 0 || number > rows {
        return Err(Failure::usage(format!("--row {number}: the table has {rows} rows; the first is 1")));
    }
    let explained = model.explain_row(data, number - 1, data, ORDERS, explain.seed)?;
    if let Some(path) = &explain.report {
        let options = WriteOptions { overwrite: explain.overwrite, ..WriteOptions::default() };
        report(model, &explained, number, explain.top).save(path, options)?;
        output.remark(format!("report: {}", path.display()));
    }
    let other = counterfactual(model, data, number)?;
    output.result(
        || {
            let sentence = other.as_ref().map(|found| paragraph(&turned(found.as_ref())));
            [Some(text(&explained, number, explain.top)), sentence].into_iter().flatten().collect::<Vec<_>>().join("\n")
        },
        || {
            let mut document = document(&explained, number);
            if let Some(found) = &other {
                document["counterfactual"] = found.as_ref().map_or(Value::Null, changes);
            }
            document
        },
    )
}

/// A small change that leads to another class; outer none for models that have no classes or no scores to search by.
fn counterfactual(
    model: &TabularModel,
    data: &Table,
    number: usize,
) -> Result<Option<Option<RowCounterfactual>>, Failure> {
    let own = model.model().capabilities();
    if model.classes().is_empty() || !(own.probabilities || own.decision_function) {
        return Ok(None);
    }
    Ok(Some(model.row_counterfactual(data, number - 1)?))
}

/// What would have to change, in a sentence.
fn turned(found: Option<&RowCounterfactual>) -> String {
    let Some(found) = found else {
        return "No change of its numbers by up to 4 standard deviations was found that leads to another prediction."
            .to_owned();
    };
    let cells: Vec<String> =
        found.changes.iter().map(|cell| format!("{} {} instead of {}", cell.column, cell.after, cell.before)).collect();
    format!(
        "It would be predicted as {} instead of {} with {} (changes of at most {:.2} standard deviations; smaller ones may exist).",
        found.to,
        found.from,
        cells.join(", "),
        found.eps
    )
}

fn changes(found: &RowCounterfactual) -> Value {
    let cell =
        |cell: &tove::tabular::CellChange| json!({"column": cell.column, "before": cell.before, "after": cell.after});
    json!({
        "from": found.from, "to": found.to, "eps": found.eps,
        "changes": found.changes.iter().map(cell).collect::<Vec<_>>(),
    })
}

fn verdict(explained: &RowExplanation, number: usize) -> String {
    let RowExplanation { label, prediction, base, contributions } = explained;
    let decimals = Decimals::of([*prediction, *base]);
    let (shown, mean) = (decimals.show(*prediction), decimals.show(*base));
    let mut text = format!("Row {number}: {label} is {shown}; the mean over the table is {mean}.");
    if let Some(first) = contributions.first().filter(|first| decimals.show(first.mean) != decimals.show(0.0)) {
        let how = if first.mean > 0.0 { "raises" } else { "lowers" };
        text.push_str(&format!(" {} {how} it most, by {}.", pair(first), decimals.show(first.mean.abs())));
    }
    text
}

/// `column = value`.
fn pair(contribution: &Contribution) -> String {
    format!("{} = {}", contribution.column, value(contribution))
}

fn value(contribution: &Contribution) -> String {
    let Some(value) = &contribution.value else { return "(missing)".to_owned() };
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.clone(),
    }
}

fn text(explained: &RowExplanation, number: usize, top: usize) -> String {
    let decimals = Decimals::of(explained.contributions.iter().flat_map(|entry| [entry.mean, entry.error]));
    let mut rows = vec![["column", "value", "contribution", "std error"].map(str::to_owned).to_vec()];
    for entry in explained.contributions.iter().take(top) {
        rows.push(vec![entry.column.clone(), value(entry), decimals.show(entry.mean), decimals.show(entry.error)]);
    }
    let about =
        format!("Contributions are Shapley values: with the mean over the table they add up to {}.", explained.label);
    let table = table(&rows) + &more(explained.contributions.len(), top);
    [paragraph(&verdict(explained, number)), table, paragraph(&about)].join("\n")
}

fn document(explained: &RowExplanation, number: usize) -> Value {
    let entry = |entry: &Contribution| json!({"column": entry.column, "value": entry.value, "mean": entry.mean, "error": entry.error});
    json!({
        "row": number, "label": explained.label, "prediction": explained.prediction, "base": explained.base,
        "verdict": verdict(explained, number),
        "contributions": explained.contributions.iter().map(entry).collect::<Vec<_>>(),
    })
}

fn report(model: &TabularModel, explained: &RowExplanation, number: usize, top: usize) -> Report {
    let title = format!("Why {} predicts what it does for row {number}", model.model().name());
    let label = format!("contribution to {}", explained.label);
    let mut chart = BarChart::new().top(top).wide().value_label(label);
    for entry in &explained.contributions {
        let (low, high) = (entry.mean - entry.error, entry.mean + entry.error);
        chart = chart.bar_with_interval(pair(entry), entry.mean, low, high);
    }
    Report::new(title)
        .subtitle(model.task().to_string())
        .text(verdict(explained, number))
        .section("Contributions of the columns")
        .picture_or_reason(&chart)
        .text("Shapley values of the columns, relative to the rows of the table. Whiskers are one standard error.")
}
