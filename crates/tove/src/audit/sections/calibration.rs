//! Do events that are given probability p happen with frequency p?

use serde_json::json;
use tove_learn::calibration::{
    CalibrationCheck, CalibrationMap, CalibrationMethod, CalibrationVerdict, ScoreKind, check_probabilities,
};
use tove_metrics::Score;
use tove_metrics::calibration::{Binning, ReliabilityBins};
use tove_plot::{ReliabilityBin, ReliabilityChart};
use tove_tensor::{Key, Tensor, TryOps};
use tove_trust::Probabilities;

use crate::audit::{Audit, AuditSection, AuditSubject, AuditVerdict};
use crate::tabular::Result;

const NAME: &str = "calibration";

pub(super) fn section(audit: &Audit, subject: &AuditSubject) -> Result<Option<AuditSection>> {
    if subject.classes.is_empty() {
        return Ok(None);
    }
    let Some(probabilities) = &subject.probabilities else {
        let reason = match subject.source {
            Some(_) => {
                "The model gives no probabilities; its scores say what is more likely, not how likely. `tove calibrate` fits \
                 probabilities to them."
            }
            None => "There are no probabilities: no columns P(class), and no --probability.",
        };
        return Ok(Some(AuditSection::not_checked(NAME, reason)));
    };
    let p = probabilities.tensor();
    let check = check_probabilities(&subject.truth, &p, None, None, audit.seed)?;
    let verdict = match check.verdict() {
        CalibrationVerdict::Passed => AuditVerdict::Passed,
        CalibrationVerdict::Failed => AuditVerdict::Warning,
        CalibrationVerdict::TooFew => AuditVerdict::NotChecked,
    };
    let error = interval(&check.ece_after);
    let statement = match check.verdict() {
        CalibrationVerdict::Passed if check.p_value >= CalibrationCheck::ALPHA => format!(
            "Nothing speaks against the probabilities: chance explains the expected calibration error of {error}, p = {:.3}.",
            check.p_value
        ),
        CalibrationVerdict::Passed => {
            format!("Probabilities are close to frequencies: the expected calibration error is {error}.")
        }
        CalibrationVerdict::Failed => format!(
            "Probabilities do not match frequencies: the expected calibration error is {error}, p = {:.3}. {}",
            check.p_value,
            direction(subject, probabilities)
        ),
        CalibrationVerdict::TooFew => format!(
            "{} rows are too few to check probabilities; at least {} are needed.",
            check.samples,
            CalibrationCheck::MINIMUM
        ),
    };
    let mut section = AuditSection::new(NAME, verdict, statement)
        .assuming(format!(
            "Class-wise error over {} bins of equal width; p by consistency resampling; an error up to {} passes whatever p. Rows are \
             independent.",
            CalibrationCheck::BINS,
            CalibrationCheck::TOLERANCE
        ))
        .table("Calibration", rows(&check));
    if let Some(chart) = chart(subject, probabilities, &(0..subject.rows()).collect::<Vec<_>>()) {
        section = section.chart(chart.title("Reliability"));
    }
    let mut figures = json!({"check": document(&check)});
    if verdict == AuditVerdict::Warning
        && let Some((better, after)) = recalibrated(audit, subject, &p)?
    {
        section = section.advice(format!(
            "{} helps: fitted on a random half of these rows, {} lowers the error on the other half from {} to {}.",
            if subject.can_be_improved() { "`tove calibrate`" } else { "Calibration" },
            after.method,
            better.ece_before.as_ref().map_or_else(String::new, interval),
            interval(&better.ece_after)
        ));
        figures["recalibrated"] = json!({"method": after.method, "check": document(&better)});
        if let Some(chart) = chart(subject, &after.probabilities, &after.rows) {
            section = section.chart(chart.title("Reliability after calibration, other half"));
        }
    }
    let recorded = subject.source.as_ref().and_then(|(model, _)| model.model().calibration());
    figures["recorded"] = json!(recorded.map(|check| json!({"passed": check.passed(), "check": document(check)})));
    Ok(Some(section.figures(figures)))
}

fn interval(score: &Score) -> String {
    format!("{:.3} [{:.3}, {:.3}]", score.value, score.low, score.high)
}

/// Whether the model is too sure or not sure enough.
fn direction(subject: &AuditSubject, probabilities: &Probabilities) -> String {
    let n = subject.rows() as f64;
    let sure = (0..subject.rows()).map(|row| probabilities.top(row).1).sum::<f64>() / n;
    let (truth, _) = subject.codes();
    let right = (0..subject.rows()).filter(|&row| probabilities.top(row).0 as i64 == truth[row]).count() as f64 / n;
    let word = if sure > right { "too sure" } else { "not sure enough" };
    format!(
        "The model is {word}: it gives its most probable class {sure:.3} on average, and that is right in {right:.3} of the rows."
    )
}

fn rows(check: &CalibrationCheck) -> Vec<Vec<String>> {
    vec![
        ["figure", "value"].map(str::to_owned).to_vec(),
        vec!["expected calibration error [95 % interval]".into(), interval(&check.ece_after)],
        vec!["p-value of calibration".into(), format!("{:.3}", check.p_value)],
        vec!["log loss".into(), format!("{:.4}", check.log_loss_after)],
        vec!["rows".into(), check.samples.to_string()],
    ]
}

fn document(check: &CalibrationCheck) -> serde_json::Value {
    let score = |score: &Score| json!({"value": score.value, "low": score.low, "high": score.high});
    json!({
        "samples": check.samples, "passed": check.passed(), "p_value": check.p_value, "ece": score(&check.ece_after),
        "ece_before": check.ece_before.as_ref().map(score), "log_loss": check.log_loss_after,
        "log_loss_before": check.log_loss_before,
    })
}

/// Two classes: the second one's probability. More: that of the most probable class.
fn chart(subject: &AuditSubject, probabilities: &Probabilities, rows: &[usize]) -> Option<ReliabilityChart> {
    let (truth, _) = subject.codes();
    let (scores, happened): (Vec<f64>, Vec<i64>) = rows
        .iter()
        .enumerate()
        .map(|(place, &row)| match subject.classes.len() {
            2 => (probabilities.row(place)[1], i64::from(truth[row] == 1)),
            _ => {
                let (class, sure) = probabilities.top(place);
                (sure, i64::from(truth[row] == class as i64))
            }
        })
        .unzip();
    let (happened, scores) = (Tensor::from(happened), Tensor::from(scores));
    let bins = ReliabilityBins::new(&happened, &scores, CalibrationCheck::BINS, Binning::Width, None).ok()?;
    let drawn: Vec<ReliabilityBin> = bins
        .filled()
        .map(|bin| ReliabilityBin {
            low: bin.low,
            high: bin.high,
            mean: bin.mean,
            frequency: bin.frequency,
            count: bin.count,
        })
        .collect();
    Some(ReliabilityChart::from_bins(&drawn))
}

/// Probabilities of some rows after calibration on the others.
struct Recalibrated {
    method: &'static str,
    rows: Vec<usize>,
    probabilities: Probabilities,
}

/// What calibration on a random half does to the other half; none if a half lacks a class or is too small, or if it does not help.
fn recalibrated(audit: &Audit, subject: &AuditSubject, p: &Tensor) -> Result<Option<(CalibrationCheck, Recalibrated)>> {
    let n = subject.rows();
    let order = Key::new(audit.seed).fold(6).permutation(n);
    let (first, second) = (order.try_narrow(0, 0, n / 2)?, order.try_narrow(0, n / 2, n - n / 2)?);
    let take = |tensor: &Tensor, rows: &Tensor| tensor.index_select(0, rows);
    let method = usual_method(n / 2, subject.classes.len());
    let fitted =
        CalibrationMap::fit(method, ScoreKind::Probabilities, &take(p, &first), &take(&subject.truth, &first), None);
    let Ok(map) = fitted else { return Ok(None) };
    let (before, truth) = (take(p, &second), take(&subject.truth, &second));
    let after = map.apply(&before)?;
    let Ok(check) = check_probabilities(&truth, &after, Some(&before), None, audit.seed) else { return Ok(None) };
    let helped = check.ece_before.as_ref().is_some_and(|before| check.ece_after.value < before.value);
    let rows = second.to_vec::<i64>().into_iter().map(|row| row as usize).collect();
    let probabilities = Probabilities::new(NAME, &after)?;
    let method = tove_optim::settings::Choice::name(method);
    Ok(helped.then_some((check, Recalibrated { method, rows, probabilities })))
}

/// Isotonic for two classes and many rows, else temperature.
pub fn usual_method(rows: usize, classes: usize) -> CalibrationMethod {
    if classes == 2 && rows >= 1000 { CalibrationMethod::Isotonic } else { CalibrationMethod::Temperature }
}
