//! Partial dependence: the mean prediction when a column is set to one value in all rows.

use tove::data::table::{Column, Kind, Table};
use tove::learn::Predict;
use tove::plot::{BarChart, DependenceChart, Report};
use tove::tabular::TabularModel;
use tove::tensor::DType;

use crate::failure::Failure;

/// Categories that are shown, at most.
const CATEGORIES: usize = 20;
/// Rows that the means are taken over, at most.
const ROWS: usize = 500;
/// Points of a curve.
const POINTS: u32 = 20;

/// The partial dependence on one column.
struct Dependence {
    column: String,
    at: Places,
    means: Vec<f64>,
}

/// The values that a column is set to.
enum Places {
    /// Categories, with their rows.
    Categories(Vec<String>),
    /// Numbers between the 5th and the 95th percentile of those known.
    Numbers { grid: Vec<f64>, known: Vec<f64> },
}

/// Adds the charts of these columns to a report, all with the same range, so that their effects can be compared.
pub fn charts<'a>(
    mut report: Report,
    model: &TabularModel,
    data: &Table,
    columns: impl Iterator<Item = &'a str>,
) -> Result<Report, Failure> {
    let mut all = Vec::new();
    for column in columns {
        all.extend(dependence(model, data, column)?);
    }
    let means = || all.iter().flat_map(|one: &Dependence| one.means.iter().copied());
    if all.is_empty() {
        return Ok(report);
    }
    // Bars begin at zero, so that the lines beside them have to as well.
    let bars = all.iter().any(|one| matches!(one.at, Places::Categories(_)));
    let ends = if bars { (0.0, 0.0) } else { (f64::INFINITY, f64::NEG_INFINITY) };
    let (low, high) = means().fold(ends, |(low, high): (f64, f64), mean| (low.min(mean), high.max(mean)));
    let label = label(model);
    report = report
        .section("Partial dependence")
        .text(format!("The {label} when a column is set to one value in all rows; all charts have the same range."));
    for Dependence { column, at, means } in &all {
        report = match at {
            Places::Categories(names) => {
                let chart = BarChart::new().title(column.as_str()).value_label(label.as_str()).range(low, high);
                let chart = names.iter().zip(means).fold(chart, |chart, (name, mean)| chart.bar(name.as_str(), *mean));
                report.picture_or_reason(&chart)
            }
            Places::Numbers { grid, known } => {
                let chart = DependenceChart::new(column.as_str(), grid, means).data(known);
                report.picture_or_reason(&chart.y_label(label.as_str()).y_range(low, high))
            }
        };
    }
    Ok(report)
}

/// The dependence on a column; `None` for text, dates, and columns with one value.
fn dependence(model: &TabularModel, data: &Table, name: &str) -> Result<Option<Dependence>, Failure> {
    // Rows from all over the table: files are often sorted.
    let step = data.n_rows().div_ceil(ROWS).max(1);
    let sample = data.filter(|row| row % step == 0);
    let (n, column) = (sample.n_rows(), data.column(name)?);
    let at = |same: Column| mean_prediction(model, &sample.with_column(name, same)?);
    let of = |at: Places, means: Vec<f64>| Some(Dependence { column: name.to_owned(), at, means });
    if let Column::Categorical(values) = column {
        let counted = values.categories().iter().zip(values.counts()).filter(|(_, count)| *count > 0);
        let known: Vec<(&String, usize)> = counted.take(CATEGORIES).collect();
        if known.len() < 2 {
            return Ok(None);
        }
        let means = known.iter().map(|(value, _)| at(Column::categories(vec![value.as_str(); n])));
        let means = means.collect::<Result<Vec<f64>, Failure>>()?;
        let names = known.iter().map(|(value, count)| format!("{value} ({count})")).collect();
        return Ok(of(Places::Categories(names), means));
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
    let place = |point: u32| low + (high - low) * f64::from(point) / f64::from(POINTS - 1);
    let mut grid: Vec<f64> = (0..POINTS).map(place).collect();
    // Integers stay integers.
    let whole = column.kind() != Kind::Float;
    if whole {
        grid.iter_mut().for_each(|value| *value = value.round());
        grid.dedup();
    }
    let constant = |value: f64| match column.kind() {
        Kind::Boolean => Column::booleans(vec![value != 0.0; n]),
        _ if whole => Column::integers(vec![value as i64; n]),
        _ => Column::floats(vec![value; n]),
    };
    let means = grid.iter().map(|&value| at(constant(value))).collect::<Result<Vec<f64>, Failure>>()?;
    Ok(of(Places::Numbers { grid, known }, means))
}

/// The name of the class whose probability is shown: the last.
fn class(model: &TabularModel) -> Option<&str> {
    let last = *model.model().classes().last()?;
    model.classes().get(last as usize).map(String::as_str)
}

/// What the means are of.
fn label(model: &TabularModel) -> String {
    match class(model) {
        Some(class) if model.model().capabilities().probabilities => format!("mean P({class})"),
        Some(class) => format!("share predicted {class}"),
        None => format!("mean predicted {}", model.target()),
    }
}

/// The mean prediction for a table: of a classifier the probability of its last class, or how often it predicts it.
fn mean_prediction(model: &TabularModel, table: &Table) -> Result<f64, Failure> {
    let (rows, _, _) = model.rows(table)?;
    let fitted = model.model();
    let values: Vec<f64> = match fitted.classes().last() {
        Some(_) if fitted.capabilities().probabilities => {
            let m = fitted.classes().len();
            fitted.predict_proba(&rows)?.to_f64_vec().chunks(m).map(|row| row[m - 1]).collect()
        }
        Some(&last) => {
            let predicted = fitted.predict(&rows)?.to_dtype(DType::I64).to_vec::<i64>();
            predicted.iter().map(|&class| f64::from(class == last)).collect()
        }
        None => fitted.predict(&rows)?.to_f64_vec(),
    };
    Ok(values.iter().sum::<f64>() / values.len().max(1) as f64)
}
