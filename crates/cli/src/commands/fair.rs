//! `tove fair`: a decision threshold for each group.

use serde_json::json;
use tove::trust::fairness::{GroupRule, ParityConstraint, ThresholdOptimizer};

use crate::arguments::Fair;
use crate::commands::conformal::{held_out, options, warn_if_fitted_on};
use crate::failure::Failure;
use crate::files;
use crate::output::{Output, paragraph, table};
use crate::tables;

pub fn run(fair: &Fair, output: &Output) -> Result<(), Failure> {
    files::read_once(&[&fair.model, &fair.file])?;
    files::model_name(&fair.output)?;
    files::may_write(&fair.output, fair.overwrite, &[&fair.model, &fair.file])?;
    let constraint = ParityConstraint::from_name(&fair.criterion.replace('-', "_")).ok_or_else(|| {
        let names = ParityConstraint::all().map(|constraint| constraint.name().replace('_', "-"));
        Failure::usage(format!("--criterion {}: there are {}", fair.criterion, names.join(", ")))
    })?;
    let model = tables::with_target(&fair.model, tables::model(&fair.model)?)?;
    let data = held_out(&model, &fair.file, &fair.reading, output)?;
    data.column(&fair.sensitive).map_err(|error| Failure::usage(format!("--sensitive: {error}")))?;
    warn_if_fitted_on(&model, &data, &fair.file, output)?;
    let failed = |error| tables::failed(&fair.file, data.names(), error);
    let accuracy = |model: &tove::tabular::TabularModel| -> Result<Option<f64>, Failure> {
        let mut evaluator = model.evaluator();
        evaluator.see(&data).map_err(failed)?;
        Ok(evaluator.finish().map_err(failed)?.confusion.map(|matrix| matrix.accuracy()))
    };
    if model.safeguards().decisions.is_some() {
        output.remark("the thresholds that the model has already are replaced");
    }
    let before = accuracy(&model)?;
    let optimizer = ThresholdOptimizer { constraint, ..ThresholdOptimizer::default() };
    let model = model.with_fair_decisions(&data, &fair.sensitive, &optimizer).map_err(failed)?;
    let after = accuracy(&model)?;
    model.save(&fair.output, options(fair.overwrite))?;
    let Some(rule) = &model.safeguards().decisions else {
        return Err(Failure::work("no thresholds were chosen"));
    };
    let file = fair.output.display().to_string();
    let name = |rule_of: &GroupRule| rule.groups.names().get(rule_of.group as usize).cloned().unwrap_or_default();
    let rules = rule.thresholds.rules();
    output.result(
        || {
            let mut rows = vec![["group", "accepted", "true positive rate", "false positive rate"].map(str::to_owned).to_vec()];
            rows.extend(rules.iter().map(|rule| {
                let rates = [rule.selection_rate, rule.true_positive_rate, rule.false_positive_rate];
                let mut row = vec![name(rule)];
                row.extend(rates.map(|rate| format!("{rate:.3}")));
                row
            }));
            let accepted = model.classes().get(1).cloned().unwrap_or_default();
            let mut text = format!(
                "{file} decides by groups of {} ({}); accepted means predicted as {accepted}.",
                fair.sensitive,
                constraint.name().replace('_', " ")
            );
            if let (Some(before), Some(after)) = (before, after) {
                text.push_str(&format!(" Accuracy on these rows: {before:.4} before, {after:.4} after."));
            }
            if !rule.thresholds.is_deterministic() {
                text.push_str(" Some decisions near a threshold are random; the same row is always decided in the same way.");
            }
            let check = "Rates on the rows that chose the thresholds; check them on other rows with `tove audit --sensitive`. Deciding by \
                         a sensitive column may be restricted by law.";
            format!("{}\n{}\n{}", paragraph(&text), table(&rows), paragraph(check))
        },
        || {
            let groups: Vec<_> = rules
                .iter()
                .map(|rule| {
                    json!({
                        "group": name(rule), "selection_rate": rule.selection_rate,
                        "true_positive_rate": rule.true_positive_rate, "false_positive_rate": rule.false_positive_rate,
                    })
                })
                .collect();
            json!({
                "file": file, "criterion": constraint.name(), "sensitive": fair.sensitive, "groups": groups,
                "accuracy_before": before, "accuracy": after, "deterministic": rule.thresholds.is_deterministic(),
            })
        },
    )
}
