//! Can a sensitive column be recovered from the others? Then leaving it out does not make a model blind to it.

use serde_json::{Map, Value, json};
use tove_data::table::{Encoding, Kind, Role, Schema, Table, TableEncoder};
use tove_plot::BarChart;
use tove_tensor::{Key, Tensor};
use tove_trust::fairness::{ProxyAudit, ProxyOptions, proxy_audit};

use crate::audit::{Audit, AuditSection, AuditSubject, AuditVerdict, SensitiveColumn};
use crate::tabular::Result;

const NAME: &str = "proxies";
/// Rows that are used, at most.
const ROWS: usize = 5000;
/// Rows of a group that are needed, at least; smaller groups are left out.
const FEWEST: usize = 10;
/// Features that are named.
const NAMED: usize = 5;
/// An area from which on a warning is worth it.
const STRONG: f64 = 0.7;

pub(super) fn section(audit: &Audit, subject: &AuditSubject) -> Result<Option<AuditSection>> {
    if subject.sensitive.is_empty() {
        return Ok(None);
    }
    let rows = sampled(audit, subject.rows());
    let (mut statements, mut tables, mut figures, mut strong) = (Vec::new(), Vec::new(), Map::new(), false);
    let mut charts = Vec::new();
    for column in &subject.sensitive {
        let name = column.name();
        match found(audit, subject, column, &rows) {
            Ok((proxies, features)) => {
                let area = format!("{:.3} [{:.3}, {:.3}]", proxies.auc.value, proxies.auc.low, proxies.auc.high);
                let best = &features[proxies.features[0].column];
                strong |= proxies.auc.value > STRONG;
                statements.push(if proxies.auc.value > STRONG {
                    format!(
                        "The other columns tell {name} with an area under the ROC curve of {area}, {best} best of all, so a model \
                         without {name} still sees it."
                    )
                } else {
                    format!("The other columns tell little of {name}: area under the ROC curve {area}.")
                });
                let mut lines = vec![["feature", "area on its own"].map(str::to_owned).to_vec()];
                let listed = proxies.features.iter().take(NAMED);
                lines.extend(listed.clone().map(|one| vec![features[one.column].clone(), format!("{:.3}", one.auc)]));
                tables.push((format!("Strongest proxies of {name}"), lines));
                let chart = BarChart::new()
                    .title(format!("Proxies of {name}"))
                    .value_label("area under the ROC curve")
                    .range(0.5, 1.0);
                charts.push(listed.clone().fold(chart, |chart, one| chart.bar(features[one.column].clone(), one.auc)));
                let single: Vec<Value> =
                    listed.map(|one| json!({"feature": features[one.column], "auc": one.auc})).collect();
                figures.insert(
                    name.to_owned(),
                    json!({"auc": proxies.auc.value, "low": proxies.auc.low, "high": proxies.auc.high, "features": single}),
                );
            }
            Err(error) => {
                let reason = error.to_string().replace("proxy_audit: ", "");
                statements.push(format!("Proxies of {name} were not looked for: {reason}."));
                figures.insert(name.to_owned(), Value::Null);
            }
        }
    }
    let verdict = match (strong, tables.is_empty()) {
        (true, _) => AuditVerdict::Warning,
        (false, true) => AuditVerdict::NotChecked,
        (false, false) => AuditVerdict::Passed,
    };
    let mut section = AuditSection::new(NAME, verdict, statements.join(" ")).figures(Value::Object(figures)).assuming(
        format!(
            "Cross-validated logistic regression on the other features, for groups of at least {FEWEST} rows; a small area does not rule \
             out that another model could tell the column."
        ),
    );
    for (title, lines) in tables {
        section = section.table(title, lines);
    }
    Ok(Some(charts.into_iter().fold(section, AuditSection::chart)))
}

fn sampled(audit: &Audit, n: usize) -> Vec<usize> {
    if n <= ROWS {
        return (0..n).collect();
    }
    let order = Key::new(audit.seed).fold(10).permutation(n).to_vec::<i64>();
    let mut rows: Vec<usize> = order.into_iter().take(ROWS).map(|row| row as usize).collect();
    rows.sort_unstable();
    rows
}

/// The audit of a column, and the names of the features.
fn found(
    audit: &Audit,
    subject: &AuditSubject,
    column: &SensitiveColumn,
    rows: &[usize],
) -> Result<(ProxyAudit, Vec<String>)> {
    let codes = column.codes.to_vec::<i64>();
    // Groups of a few rows cannot be told by cross-validation.
    let mut counts = vec![0; column.groups().len()];
    rows.iter().for_each(|&row| counts[codes[row] as usize] += 1);
    let rows: Vec<usize> = rows.iter().copied().filter(|&row| counts[codes[row] as usize] >= FEWEST).collect();
    if counts.iter().filter(|count| **count >= FEWEST).count() < 2 {
        let problem = format!("fewer than two groups have {FEWEST} rows; give more rows, or merge small groups");
        return Err(crate::tabular::TabularError::plan(problem));
    }
    let table = others(subject, column)?.take(&rows)?;
    let encoder = TableEncoder::fit(&table, &Schema::of(&table), &Encoding::default())?;
    let codes = Tensor::from(rows.iter().map(|&row| codes[row]).collect::<Vec<i64>>());
    let options = ProxyOptions { seed: audit.seed, ..ProxyOptions::default() };
    // How well each fit converged is not of interest here.
    let x = encoder.encode(&table)?.x;
    let proxies = tove_learn::quietly(|| proxy_audit(&x, &codes, None, &options))?;
    Ok((proxies, encoder.feature_names().to_vec()))
}

/// The columns that a model could use: its features, or those that are neither truth nor prediction.
fn others(subject: &AuditSubject, column: &SensitiveColumn) -> Result<Table> {
    let usable = |name: &&String| -> bool {
        let own = subject.table.column(name);
        let known = own.is_ok_and(|own| !matches!(own.kind(), Kind::Text | Kind::Date) && own.missing() < own.len());
        let feature = match &subject.source {
            Some((model, _)) => model.schema().field(name).is_ok_and(|field| field.role == Role::Feature),
            None => **name != subject.target && !subject.answers.contains(name),
        };
        known && feature && **name != column.name()
    };
    let names: Vec<String> = subject.table.names().iter().filter(usable).cloned().collect();
    if names.is_empty() {
        return Err(crate::tabular::TabularError::plan("there are no other columns"));
    }
    Ok(subject.table.select(&names)?)
}
