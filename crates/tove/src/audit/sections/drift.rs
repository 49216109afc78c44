//! Do the rows come from the distribution of the training rows?

use serde_json::json;
use tove_data::table::Table;
use tove_plot::BarChart;
use tove_trust::drift::{ColumnDrift, DriftOptions, DriftReport, DriftVerdict};

use crate::audit::{Audit, AuditSection, AuditSubject, AuditVerdict};
use crate::tabular::{Result, TabularModel};

const NAME: &str = "drift";
/// Rows that a comparison needs, at least.
const FEWEST: usize = 10;

pub(super) fn section(_: &Audit, subject: &AuditSubject) -> Result<Option<AuditSection>> {
    match &subject.source {
        Some((model, _)) if model.profile().is_some() => of_rows(model, &subject.table).map(Some),
        _ => Ok(None),
    }
}

/// Compares rows with the training rows of a model.
pub(in crate::audit) fn of_rows(model: &TabularModel, table: &Table) -> Result<AuditSection> {
    let report = model.drift(table, &DriftOptions::default())?;
    let verdict = match report.verdict {
        _ if report.rows_now < FEWEST => AuditVerdict::NotChecked,
        DriftVerdict::NotFound | DriftVerdict::Small => AuditVerdict::Passed,
        DriftVerdict::Moderate | DriftVerdict::Large => AuditVerdict::Warning,
    };
    let mut columns: Vec<&ColumnDrift> = report.columns.iter().collect();
    columns.sort_by(|a, b| b.psi.total_cmp(&a.psi));
    let mut rows = vec![
        ["column", "test", "p, adjusted", "stability index", "missing before", "missing now"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(columns.iter().filter(|column| column.values_drifted || column.missing_drifted).map(|column| {
        vec![
            column.name.clone(),
            column.test.unwrap_or("none").to_owned(),
            format!("{:.2e}", column.adjusted),
            format!("{:.3}", column.psi),
            format!("{:.1} %", 100.0 * column.missing_before),
            format!("{:.1} %", 100.0 * column.missing_now),
        ]
    }));
    let chart = columns.iter().take(15).fold(
        BarChart::new().title("How much columns have changed").value_label("population stability index"),
        |chart, column| chart.bar(column.name.clone(), column.psi),
    );
    let mut section = AuditSection::new(NAME, verdict, statement(&report))
        .advice(report.verdict.guarantees())
        .assuming(
            "Rows are independent. A change of the target for the same features cannot be seen without targets. The p-values are \
             corrected for the number of columns.",
        )
        .chart(chart)
        .figures(figures(&report));
    if rows.len() > 1 {
        section = section.table("Columns that differ from the training rows", rows);
    }
    Ok(section)
}

fn statement(report: &DriftReport) -> String {
    let drifted: Vec<&str> = report.drifted().map(|column| column.name.as_str()).collect();
    let of = format!("{} new rows against {} training rows", report.rows_now, report.rows_before);
    if report.rows_now < FEWEST {
        return format!("Fewer than {FEWEST} rows say nothing about drift ({of}).");
    }
    let mut text = match drifted.len() {
        0 => format!("No column differs ({of})."),
        1 => format!("The column {} differs ({of}).", drifted[0]),
        count => {
            let first = drifted.iter().take(5).copied().collect::<Vec<_>>().join(", ");
            let more = if count > 5 { ", …" } else { "" };
            format!("{count} of {} columns differ: {first}{more} ({of}).", report.columns.len())
        }
    };
    for column in report.columns.iter().filter(|column| !column.unseen.is_empty()).take(3) {
        let (name, rows) = &column.unseen[0];
        text.push_str(&format!(
            " {} has {} new {}, such as {name} ({rows} rows).",
            column.name,
            column.unseen.len(),
            if column.unseen.len() == 1 { "category" } else { "categories" }
        ));
    }
    text
}

fn figures(report: &DriftReport) -> serde_json::Value {
    let column = |column: &ColumnDrift| {
        json!({
            "name": column.name, "test": column.test, "statistic": finite(column.statistic), "p": column.p,
            "adjusted": column.adjusted, "psi": finite(column.psi), "wasserstein": column.wasserstein,
            "missing_before": column.missing_before, "missing_now": column.missing_now,
            "unseen": column.unseen, "drifted": column.values_drifted || column.missing_drifted,
        })
    };
    json!({
        "verdict": report.verdict.to_string(), "rows_before": report.rows_before, "rows_now": report.rows_now,
        "tests": report.tests, "alpha": report.alpha,
        "columns": report.columns.iter().map(column).collect::<Vec<_>>(),
    })
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
