//! How small changes of the input change predictions, from above by an attack and, where it can be proven, from below.

use serde_json::json;
use tove_data::table::{Field, Kind, Role, Table};
use tove_learn::Rows;
use tove_plot::LineChart;
use tove_tensor::Key;
use tove_trust::certificates::LinearScores;
use tove_trust::robustness::AttackNorm;

use crate::audit::{Audit, AuditSection, AuditSubject, AuditVerdict};
use crate::tabular::{AttackedTable, CellAttack, Result, TabularModel};

const NAME: &str = "robustness";
/// Rows that are attacked, at most.
const ROWS: usize = 500;
/// Sizes of the changes, in standard deviations.
const EPS: [f64; 4] = [0.05, 0.1, 0.2, 0.5];
/// Changed rows that are shown.
const SHOWN: usize = 3;
/// A loss of accuracy that is worth a warning, at the smallest eps.
const LOSS: f64 = 0.1;

pub(super) fn section(audit: &Audit, subject: &AuditSubject) -> Result<Option<AuditSection>> {
    let Some((model, _)) = &subject.source else { return Ok(None) };
    if subject.classes.is_empty() {
        return Ok(None);
    }
    let own = model.model().capabilities();
    if !own.probabilities && !own.decision_function {
        let reason = "The model gives neither probabilities nor decision scores to guide an attack.";
        return Ok(Some(AuditSection::not_checked(NAME, reason)));
    }
    let number = |field: &Field| field.role == Role::Feature && matches!(field.kind, Kind::Float | Kind::Integer);
    let fixed = |field: &Field| subject.sensitive.iter().any(|column| column.name() == field.name);
    if !model.schema().fields().iter().any(|field| number(field) && !fixed(field)) {
        let reason = "The model has no column of numbers that may change a little.";
        return Ok(Some(AuditSection::not_checked(NAME, reason)));
    }
    let table = sampled(audit, subject)?;
    let eps = audit.sizes(&EPS);
    let mut attacked: Vec<AttackedTable> = Vec::new();
    for &size in &eps {
        let attack = subject.sensitive.iter().fold(CellAttack::new(size), |attack, column| attack.fixed(column.name()));
        let mut found = attack.run(model, &table)?;
        // What a smaller change does, a larger one may do too.
        if let Some(before) = attacked.last() {
            for (wrong, earlier) in found.wrong.iter_mut().zip(&before.wrong) {
                *wrong |= *earlier;
            }
        }
        attacked.push(found);
    }
    let certified = certified(model, &table, &eps)?;
    Ok(Some(report(subject, &table, &eps, &attacked, certified.as_deref())))
}

fn sampled(audit: &Audit, subject: &AuditSubject) -> Result<Table> {
    let n = subject.rows();
    if n <= ROWS {
        return Ok(subject.table.clone());
    }
    let order = Key::new(audit.seed).fold(8).permutation(n).to_vec::<i64>();
    let mut rows: Vec<usize> = order.into_iter().take(ROWS).map(|row| row as usize).collect();
    rows.sort_unstable();
    Ok(subject.table.take(&rows)?)
}

/// For each eps the share of rows that are right and provably stay so; none if the model is not linear or a changed column is not encoded
/// proportionally.
fn certified(model: &TabularModel, table: &Table, eps: &[f64]) -> Result<Option<Vec<f64>>> {
    let Ok(scores) = LinearScores::of(model.model()) else { return Ok(None) };
    let (rows, _) = model.rows(table)?;
    let Rows::Dense(x) = &rows else { return Ok(None) };
    let x = x.to_f64_vec();
    let mut budgets = vec![0.0; scores.width()];
    for field in model.schema().fields() {
        if field.role == Role::Feature && field.kind.is_numeric() && table.has(&field.name) {
            match model.slopes(table, &field.name)? {
                Some((place, _)) => budgets[place] = 1.0,
                None if field.kind == Kind::Boolean => {}
                None => return Ok(None),
            }
        }
    }
    let truth = model.labels().encode(table.column(model.target())?)?.to_f64_vec();
    let mut safe = vec![0usize; eps.len()];
    for (row, truth) in x.chunks(scores.width().max(1)).zip(&truth) {
        let found = scores.radius(row, &budgets, AttackNorm::LInf)?;
        let right = model.model().classes().get(found.class).is_some_and(|class| *class as f64 == *truth);
        for (count, eps) in safe.iter_mut().zip(eps) {
            *count += usize::from(right && found.radius > *eps);
        }
    }
    Ok(Some(safe.into_iter().map(|count| count as f64 / truth.len() as f64).collect()))
}

fn report(
    subject: &AuditSubject,
    table: &Table,
    eps: &[f64],
    attacked: &[AttackedTable],
    certified: Option<&[f64]>,
) -> AuditSection {
    let clean = attacked[0].accuracy();
    let robust: Vec<f64> = attacked.iter().map(AttackedTable::robust_accuracy).collect();
    let loss = clean - robust[0];
    let verdict = if loss > LOSS { AuditVerdict::Warning } else { AuditVerdict::Passed };
    let mut statement = format!(
        "Accuracy on {} attacked rows is {clean:.3}; changes of every number by at most {:?} standard deviations lower it to {:.3}",
        table.n_rows(),
        eps[0],
        robust[0]
    );
    match certified {
        Some(safe) => statement.push_str(&format!("; no change of this size lowers it below {:.3}.", safe[0])),
        None => statement.push_str(", or less: an attack that fails proves nothing."),
    }
    let mut rows = vec![["eps", "accuracy under attack", "proven accuracy"].map(str::to_owned).to_vec()];
    for (place, size) in eps.iter().enumerate() {
        let proven = certified.map_or_else(|| "none".to_owned(), |safe| format!("{:.3}", safe[place]));
        rows.push(vec![format!("{size:?}"), format!("{:.3}", robust[place]), proven]);
    }
    let mut x = vec![0.0];
    x.extend(eps);
    let with_clean = |values: &[f64]| [&[clean], values].concat();
    let mut chart = LineChart::new()
        .series("under attack", &x, &with_clean(&robust))
        .y_limits(0.0, 1.0)
        .title("Accuracy by size of the change")
        .x_label("eps, in standard deviations")
        .y_label("accuracy");
    if let Some(safe) = certified {
        chart = chart.series("proven", &x, &with_clean(safe));
    }
    let examples = examples(subject, table, attacked);
    let mut section = AuditSection::new(NAME, verdict, statement)
        .table("Accuracy when numbers change by at most eps standard deviations", rows)
        .chart(chart)
        .assuming(
            "Every number may change at the same time, within the range of the table; whole numbers stay whole; categories, dates, texts \
             and sensitive columns stay. The attack tries columns one by one and keeps what helps, which finds the worst change for \
             linear models of two classes if no number is whole, and a lower bound on the damage otherwise.",
        )
        .figures(json!({
            "rows": table.n_rows(), "accuracy": clean, "eps": eps, "accuracy_under_attack": robust, "proven_accuracy": certified,
            "attack": "greedy search over cells", "queries": attacked.iter().map(|found| found.queries).sum::<usize>(),
        }));
    if examples.len() > 1 {
        section = section.table("Rows whose prediction a small change turns", examples);
    }
    section
}

/// The cells that an attack changed in some rows that were right.
fn examples(subject: &AuditSubject, table: &Table, attacked: &[AttackedTable]) -> Vec<Vec<String>> {
    let mut rows = vec![["row", "column", "before", "after"].map(str::to_owned).to_vec()];
    let Some(found) =
        attacked.iter().find(|found| (0..found.wrong.len()).any(|row| found.right[row] && found.wrong[row]))
    else {
        return rows;
    };
    let turned = (0..found.wrong.len()).filter(|&row| found.right[row] && found.wrong[row]).take(SHOWN);
    for row in turned {
        for (name, before) in table.iter().filter(|(name, _)| *name != subject.target) {
            let Ok(after) = found.table.column(name) else { continue };
            let (old, new) = (before.text(row), after.text(row));
            if old != new {
                let text = |value: Option<std::borrow::Cow<'_, str>>| {
                    value.map_or_else(String::new, |value| value.into_owned())
                };
                rows.push(vec![(row + 1).to_string(), name.to_owned(), text(old), text(new)]);
            }
        }
    }
    rows
}
