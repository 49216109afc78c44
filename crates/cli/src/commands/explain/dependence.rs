//! Charts of partial dependence.

use tove::data::table::Table;
use tove::plot::{BarChart, DependenceChart, Report};
use tove::tabular::{Grid, PartialDependence, TabularModel};

use crate::failure::Failure;

/// Points of a curve.
const POINTS: usize = 20;

/// Adds the charts of these columns to a report, all with the same range, so that their effects can be compared.
pub fn charts<'a>(
    mut report: Report,
    model: &TabularModel,
    data: &Table,
    columns: impl Iterator<Item = &'a str>,
) -> Result<Report, Failure> {
    let mut all = Vec::new();
    for column in columns {
        all.extend(model.partial_dependence(data, column, POINTS)?);
    }
    let Some(label) = all.first().map(|one| one.label.clone()) else { return Ok(report) };
    // Bars begin at zero, so that the lines beside them have to as well.
    let bars = all.iter().any(|one| matches!(one.grid, Grid::Categories(_)));
    let ends = if bars { (0.0, 0.0) } else { (f64::INFINITY, f64::NEG_INFINITY) };
    let means = all.iter().flat_map(|one| one.means.iter().copied());
    let (low, high) = means.fold(ends, |(low, high): (f64, f64), mean| (low.min(mean), high.max(mean)));
    report = report
        .section("Partial dependence")
        .text(format!("The {label} when a column is set to one value in all rows; all charts have the same range."));
    for PartialDependence { column, grid, means, .. } in &all {
        report = match grid {
            Grid::Categories(names) => {
                let chart = BarChart::new().title(column.as_str()).value_label(label.as_str()).range(low, high);
                let bar = |chart: BarChart, ((name, count), mean): (&(String, usize), &f64)| {
                    chart.bar(format!("{name} ({count})"), *mean)
                };
                report.picture_or_reason(&names.iter().zip(means).fold(chart, bar))
            }
            Grid::Numbers(grid) => {
                let values = data.column(column)?;
                let known: Vec<f64> = (0..values.len()).filter_map(|row| values.number(row)).collect();
                let chart = DependenceChart::new(column.as_str(), grid, means).data(&known);
                report.picture_or_reason(&chart.y_label(label.as_str()).y_range(low, high))
            }
        };
    }
    Ok(report)
}
