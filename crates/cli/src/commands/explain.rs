//! `tove explain`: what a model looks at.
//!
//! Coefficients are those of the scaled features. The importance of a column is how much the score falls when its values are
//! shuffled among the rows; dependence is the mean prediction when a column is set to one value in all rows.

use std::path::Path;

use serde_json::{Value, json};
use tove::data::table::{Column, Kind, Role, Table, Wanted};
use tove::learn::selection::Scorer;
use tove::learn::{Predict, Samples};
use tove::plot::{BarChart, DependenceChart, Picture, Report};
use tove::tabular::TabularModel;
use tove::tensor::io::WriteOptions;
use tove::tensor::{DType, Key};

use crate::arguments::Explain;
use crate::commands::evaluate::samples;
use crate::failure::Failure;
use crate::files;
use crate::output::{Output, number, table};
use crate::tables;

/// How much the score falls without a column.
struct Importance {
    column: String,
    mean: f64,
    spread: f64,
}

pub fn run(explain: &Explain, output: &Output) -> Result<(), Failure> {
    let inputs: Vec<&Path> =
        [Some(&explain.model), explain.file.as_ref()].into_iter().flatten().map(AsRef::as_ref).collect();
    files::read_once(&inputs)?;
    if let Some(path) = &explain.report {
        files::may_write(path, explain.overwrite, &inputs)?;
    }
    let model = tables::model(&explain.model)?;
    let only = model.schema().fields().iter().map(|field| field.name.clone()).collect();
    let wanted = Wanted { only: Some(only), unneeded: Vec::new() };
    let data = match &explain.file {
        Some(file) => Some(tables::read(file, &explain.reading, &wanted, output)?),
        None => None,
    };
    let data = data.map(|data| sampled(&model, data, explain, output)).transpose()?;
    let coefficients = coefficients(&model);
    let importances = match &data {
        Some(data) => importances(&model, data, explain)?,
        None => Vec::new(),
    };
    if coefficients.is_empty() && data.is_none() {
        let name = model.model().name();
        return Err(Failure::usage(format!("{name} has no coefficients; give a table to see what it looks at")));
    }
    if let Some(path) = &explain.report {
        let options = WriteOptions { overwrite: explain.overwrite, ..WriteOptions::default() };
        report(&model, data.as_ref(), &coefficients, &importances, explain)?.save(path, options)?;
        output.remark(format!("report: {}", path.display()));
    }
    let scorer = Scorer::usual(model.model().capabilities())?;
    output.result(
        || {
            let mut text = text(&coefficients, &importances, scorer, explain.top);
            if let Some(side) = side(&model).filter(|_| !coefficients.is_empty()) {
                text.push_str(&format!("\n{side} Numbers were scaled to mean 0 and variance 1 first.\n"));
            }
            text
        },
        || {
            let mut document = document(&coefficients, &importances, scorer);
            document["rows"] = json!(data.as_ref().map(Table::n_rows));
            document
        },
    )
}

/// The rows that have a target, or so many of them, drawn at random.
fn sampled(model: &TabularModel, data: Table, explain: &Explain, output: &Output) -> Result<Table, Failure> {
    let (data, _) = data.drop_missing(&[model.target()])?;
    let (rows, most) = (data.n_rows(), explain.sample);
    if most == 0 || rows <= most {
        return Ok(data);
    }
    output.remark(format!("{most} of {rows} rows, drawn at random, are looked at; --sample N looks at N, 0 at all"));
    let order = Key::new(explain.seed).fold(u64::MAX).permutation(rows).to_vec::<i64>();
    let mut drawn: Vec<usize> = order.into_iter().take(most).map(|row| row as usize).collect();
    drawn.sort_unstable();
    Ok(data.take(&drawn)?)
}

/// What the sign of the coefficients says, where there are two classes.
pub fn side(model: &TabularModel) -> Option<String> {
    let [first, second] = model.classes() else { return None };
    Some(format!("Coefficients above 0 speak for {second}, below 0 for {first}."))
}

/// Class (empty for one row), feature and coefficient, the largest first.
fn coefficients(model: &TabularModel) -> Vec<(String, String, f64)> {
    let Some(values) = model.model().coefficients() else { return Vec::new() };
    let names = model.encoder().feature_names();
    let rows = values.to_f64_vec();
    let several = rows.len() > names.len();
    let mut list: Vec<(String, String, f64)> = rows
        .chunks(names.len().max(1))
        .enumerate()
        .flat_map(|(row, values)| {
            let class = if several { model.classes().get(row).cloned().unwrap_or_default() } else { String::new() };
            names.iter().zip(values.to_vec()).map(move |(name, value)| (class.clone(), name.clone(), value))
        })
        .collect();
    list.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    list
}

fn importances(model: &TabularModel, data: &Table, explain: &Explain) -> Result<Vec<Importance>, Failure> {
    let scorer = Scorer::usual(model.model().capabilities())?;
    let (data, _) = data.drop_missing(&[model.target()])?;
    let y = model.labels().encode(data.column(model.target())?)?;
    let (whole, _) = samples(model, &data)?;
    let full = scorer.score(model.model(), &whole)?.value;
    let mut list = Vec::new();
    for (place, name) in model.schema().with(Role::Feature).enumerate() {
        if !data.has(name) || !model.encoder().columns().any(|column| column == name) {
            continue;
        }
        let mut falls = Vec::new();
        for repeat in 0..explain.repeats.max(1) {
            let key = Key::new(explain.seed).fold(place as u64).fold(repeat as u64);
            let order: Vec<usize> =
                key.permutation(data.n_rows()).to_vec::<i64>().iter().map(|&row| row as usize).collect();
            let shuffled = data.take(&order)?.column(name)?.clone();
            let (rows, _, _) = model.rows(&data.with_column(name, shuffled)?)?;
            falls.push(full - scorer.score(model.model(), &Samples::new(rows, &y)?)?.value);
        }
        let n = falls.len() as f64;
        let mean = falls.iter().sum::<f64>() / n;
        let spread = (falls.iter().map(|fall| (fall - mean).powi(2)).sum::<f64>() / n).sqrt();
        list.push(Importance { column: name.to_owned(), mean, spread });
    }
    list.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    Ok(list)
}

fn text(coefficients: &[(String, String, f64)], importances: &[Importance], scorer: Scorer, top: usize) -> String {
    let mut text = String::new();
    if !importances.is_empty() {
        let mut rows = vec![vec!["column".to_owned(), format!("{scorer} lost when shuffled"), "deviation".to_owned()]];
        for entry in importances.iter().take(top) {
            rows.push(vec![entry.column.clone(), number(entry.mean), number(entry.spread)]);
        }
        text.push_str(&table(&rows));
    }
    if !coefficients.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        let several = coefficients.iter().any(|(class, _, _)| !class.is_empty());
        let mut head = vec!["feature".to_owned(), "coefficient".to_owned()];
        if several {
            head.insert(0, "class".to_owned());
        }
        let mut rows = vec![head];
        for (class, name, value) in coefficients.iter().take(top) {
            let mut row = vec![name.clone(), number(*value)];
            if several {
                row.insert(0, class.clone());
            }
            rows.push(row);
        }
        text.push_str(&table(&rows));
        if coefficients.len() > top {
            text.push_str(&format!("and {} more; --top N shows N\n", coefficients.len() - top));
        }
    }
    text
}

fn document(coefficients: &[(String, String, f64)], importances: &[Importance], scorer: Scorer) -> Value {
    let importances: Vec<Value> = importances
        .iter()
        .map(|entry| json!({"column": entry.column, "mean": entry.mean, "deviation": entry.spread}))
        .collect();
    let coefficients: Vec<Value> = coefficients
        .iter()
        .map(|(class, name, value)| json!({"class": class, "feature": name, "value": value}))
        .collect();
    json!({"scorer": scorer.to_string(), "importances": importances, "coefficients": coefficients})
}

fn report(
    model: &TabularModel,
    data: Option<&Table>,
    coefficients: &[(String, String, f64)],
    importances: &[Importance],
    explain: &Explain,
) -> Result<Report, Failure> {
    let mut report = Report::new(format!("What {} looks at", model.model().name())).subtitle(format!(
        "{} of {}",
        model.task(),
        model.target()
    ));
    if !importances.is_empty() {
        let mut chart = BarChart::new().top(explain.top).value_label("score lost when the column is shuffled");
        for entry in importances {
            let (low, high) = (entry.mean - entry.spread, entry.mean + entry.spread);
            chart = chart.bar_with_interval(entry.column.as_str(), entry.mean, low, high);
        }
        let rows = data.map_or(0, Table::n_rows);
        report = report.section("Importance of columns").text(format!("On {rows} rows.")).picture_or_reason(&chart);
    }
    if !coefficients.is_empty() {
        let mut chart = BarChart::new().top(explain.top).value_label("coefficient of the scaled feature");
        for (class, name, value) in coefficients {
            let name = if class.is_empty() { name.clone() } else { format!("{class}: {name}") };
            chart = chart.bar(name, *value);
        }
        report = report.section("Coefficients").picture_or_reason(&chart);
    }
    let Some(data) = data else { return Ok(report) };
    let mut begun = false;
    for entry in importances.iter().take(6) {
        let Some(chart) = dependence(model, data, &entry.column)? else { continue };
        if !begun {
            report = report.section("Dependence on single columns");
            begun = true;
        }
        report = report.picture_or_reason(&*chart);
    }
    Ok(report)
}

/// Values of a column of names that are shown, at most.
const CATEGORIES: usize = 20;

/// The mean prediction with a column set to one value in all rows: to each of 20 between its 5th and 95th percentile, or to each
/// of its names. A classifier answers for its last class.
fn dependence(model: &TabularModel, data: &Table, name: &str) -> Result<Option<Box<dyn Picture>>, Failure> {
    // Rows from all over the table: files are often sorted.
    let step = data.n_rows().div_ceil(500).max(1);
    let sample = data.filter(|row| row % step == 0);
    let n = sample.n_rows();
    let column = data.column(name)?;
    let at = |same: Column| mean_answer(model, &sample.with_column(name, same)?);
    let mut label = String::new();
    if let Column::Categorical(values) = column {
        let known = values.categories().iter().zip(values.counts()).filter(|(_, count)| *count > 0);
        let mut chart = BarChart::new();
        for (value, count) in known.clone().take(CATEGORIES) {
            let (mean, of) = at(Column::categories(vec![value.as_str(); n]))?;
            label = of;
            chart = chart.bar(format!("{value} ({count})"), mean);
        }
        if known.count() < 2 {
            return Ok(None);
        }
        return Ok(Some(Box::new(chart.title(name).value_label(label))));
    }
    if !column.kind().is_numeric() {
        return Ok(None);
    }
    let mut known: Vec<f64> = (0..column.len()).filter_map(|row| column.number(row)).collect();
    known.sort_by(f64::total_cmp);
    let quantile = |share: f64| known[((known.len() - 1) as f64 * share) as usize];
    if known.len() < 10 || quantile(0.05) == quantile(0.95) {
        return Ok(None);
    }
    let (low, high) = (quantile(0.05), quantile(0.95));
    let mut grid: Vec<f64> = (0..20).map(|i| low + (high - low) * f64::from(i) / 19.0).collect();
    // Whole numbers stay whole.
    let whole = column.kind() != Kind::Float;
    if whole {
        grid.iter_mut().for_each(|value| *value = value.round());
        grid.dedup();
    }
    let mut means = Vec::new();
    for &value in &grid {
        let (mean, of) = at(match column.kind() {
            Kind::Boolean => Column::booleans(vec![value != 0.0; n]),
            _ if whole => Column::integers(vec![value as i64; n]),
            _ => Column::floats(vec![value; n]),
        })?;
        label = of;
        means.push(mean);
    }
    Ok(Some(Box::new(DependenceChart::new(name, &grid, &means).data(&known).y_label(label))))
}

/// The mean prediction for a table, with what it is: of a classifier the probability of its last class, or how often it says so.
fn mean_answer(model: &TabularModel, table: &Table) -> Result<(f64, String), Failure> {
    let (rows, _, _) = model.rows(table)?;
    let fitted = model.model();
    let (values, label) = match fitted.classes().last() {
        Some(&last) => {
            let class = model.classes().get(last as usize).cloned().unwrap_or_default();
            match fitted.predict_proba(&rows) {
                Ok(probabilities) => {
                    let m = fitted.classes().len();
                    let each = probabilities.to_f64_vec().chunks(m).map(|row| row[m - 1]).collect::<Vec<f64>>();
                    (each, format!("mean P({class})"))
                }
                Err(_) => {
                    let answers = fitted.predict(&rows)?.to_dtype(DType::I64).to_vec::<i64>();
                    let each = answers.iter().map(|&answer| f64::from(answer == last)).collect();
                    (each, format!("share predicted {class}"))
                }
            }
        }
        _ => (fitted.predict(&rows)?.to_f64_vec(), format!("mean predicted {}", model.target())),
    };
    Ok((values.iter().sum::<f64>() / values.len().max(1) as f64, label))
}
