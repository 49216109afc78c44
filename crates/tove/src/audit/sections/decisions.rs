//! What decisions cost, which threshold costs least, and what abstaining saves.

use serde_json::{Map, Value, json};
use tove_plot::LineChart;
use tove_tensor::{DType, Tensor};
use tove_trust::Probabilities;
use tove_trust::decisions::{CostCurve, CostEstimate, CostMatrix, RiskCoverage, probability_cost};

use crate::audit::{Audit, AuditSection, AuditSubject, AuditVerdict};
use crate::tabular::Result;

const NAME: &str = "decisions";
const CONFIDENCE: f64 = 0.95;
/// Shares of the rows that are decided, the surest first.
const COVERED: [f64; 4] = [1.0, 0.9, 0.75, 0.5];

pub(super) fn section(audit: &Audit, subject: &AuditSubject) -> Result<Option<AuditSection>> {
    if subject.classes.is_empty() {
        return Ok(None);
    }
    let Some(probabilities) = &subject.probabilities else {
        let reason = "Decisions under costs, and abstention, need probabilities, which the model does not give.";
        return Ok(Some(AuditSection::not_checked(NAME, reason)));
    };
    let (mut abstained, risks) = abstention(subject, probabilities)?;
    let poor = no_better_than_a_constant(subject);
    if let Some(poor) = &poor {
        abstained = format!("{abstained} {poor}");
    }
    let mut section = match &audit.costs {
        None => {
            let mut section = AuditSection::new(NAME, AuditVerdict::Passed, abstained);
            section.figures = json!({});
            section.advice(
                "With --cost, a matrix of what wrong decisions cost, the audit chooses decisions by expected cost.",
            )
        }
        Some(costs) => {
            let mut section = with_costs(audit, subject, probabilities, costs)?;
            section.statement = format!("{} {abstained}", section.statement);
            section
        }
    };
    if poor.is_some() && section.verdict == AuditVerdict::Passed {
        section.verdict = AuditVerdict::Warning;
    }
    let mut rows = vec![["rows decided, the surest first", "error rate"].map(str::to_owned).to_vec()];
    rows.extend(risks.iter().map(|(share, risk)| vec![format!("{:.0} %", 100.0 * share), format!("{risk:.4}")]));
    section.figures["abstention"] =
        risks.iter().map(|(share, risk)| json!({"coverage": share, "risk": risk})).collect();
    Ok(Some(
        section
            .table("Errors if the model abstains where it is least sure", rows)
            .assuming("The rows are like those that will be decided."),
    ))
}

/// A sentence, if predicting the most frequent class for every row would be wrong less often than the model.
fn no_better_than_a_constant(subject: &AuditSubject) -> Option<String> {
    let (truth, predicted) = subject.codes();
    let count = |class: usize| truth.iter().filter(|code| **code == class as i64).count();
    let (most, class) = (0..subject.classes.len()).map(|class| (count(class), class)).max()?;
    let right = truth.iter().zip(&predicted).filter(|(truth, predicted)| truth == predicted).count();
    let share = |count: usize| 100.0 * (truth.len() - count) as f64 / truth.len() as f64;
    (right < most)
        .then(|| format!("Always predicting {} is wrong for only {:.1} %.", subject.classes[class], share(most)))
}

/// What is odd about a cost matrix, in a sentence.
fn oddity(costs: &CostMatrix) -> Option<&'static str> {
    let (m, all) = (costs.classes(), costs.tensor().to_f64_vec());
    let cost = |predicted: usize, truth: usize| all[predicted * m + truth];
    let pairs = || (0..m).flat_map(|truth| (0..m).map(move |predicted| (predicted, truth)));
    if pairs().all(|(predicted, truth)| cost(predicted, truth) == cost(truth, truth)) {
        return Some("With these costs every decision costs the same, so there is nothing to choose.");
    }
    pairs().any(|(predicted, truth)| cost(predicted, truth) < cost(truth, truth)).then_some(
        "With these costs a wrong decision is cheaper than the right one: rows of the matrix are predictions, columns the truth.",
    )
}

/// The error rate on the surest rows, in a sentence and in figures.
fn abstention(subject: &AuditSubject, probabilities: &Probabilities) -> Result<(String, Vec<(f64, f64)>)> {
    let sure: Vec<f64> = (0..probabilities.len()).map(|row| probabilities.top(row).1).collect();
    let (truth, predicted) = subject.codes();
    let wrong: Vec<f64> = truth.iter().zip(&predicted).map(|(a, b)| f64::from(u8::from(a != b))).collect();
    let curve = RiskCoverage::new(&Tensor::from(sure), &Tensor::from(wrong))?;
    let risk = |share: f64| Some((share, curve.at_coverage(share)?.risk));
    let risks: Vec<(f64, f64)> = COVERED.into_iter().filter_map(risk).collect();
    let text = match (risks.first(), risks.iter().find(|(share, _)| *share == 0.75)) {
        (Some((_, all)), Some((_, some))) => format!(
            "{:.1} % of the decisions are wrong, and {:.1} % of those for the surest three quarters of the rows.",
            100.0 * all,
            100.0 * some
        ),
        _ => String::new(),
    };
    Ok((text, risks))
}

fn with_costs(
    audit: &Audit,
    subject: &AuditSubject,
    probabilities: &Probabilities,
    costs: &CostMatrix,
) -> Result<AuditSection> {
    let (truth, usual) = (subject.truth.to_dtype(DType::I64), subject.predictions.to_dtype(DType::I64));
    let best = costs.decide(&probabilities.tensor())?;
    let evaluate = |decisions: &Tensor| costs.evaluate(decisions, &truth, CONFIDENCE, audit.seed);
    let (before, after) = (evaluate(&usual)?, evaluate(&best)?);
    let difference = costs.compare(&best, &usual, &truth, CONFIDENCE, audit.seed)?;
    let (low, high) = difference.bootstrap;
    let changed = best.to_vec::<i64>().iter().zip(usual.to_vec::<i64>()).filter(|(a, b)| **a != *b).count();
    let verdict = if low > 0.0 { AuditVerdict::Warning } else { AuditVerdict::Passed };
    let mut statement = format!(
        "A decision costs {:.4} as the model predicts, and {:.4} if the class of lowest expected cost is chosen, which changes {changed} \
         of {} decisions (difference {:.4} [{low:.4}, {high:.4}]).",
        before.mean,
        after.mean,
        subject.rows(),
        difference.mean
    );
    if verdict == AuditVerdict::Warning {
        statement.push_str(" That this is dearer shows that the probabilities are not calibrated.");
    }
    let odd = oddity(costs);
    if let Some(odd) = odd {
        statement.push_str(&format!(" {odd}"));
    }
    let verdict = if odd.is_some() { AuditVerdict::Warning } else { verdict };
    let line = |name: &str, estimate: &CostEstimate| {
        let (low, high) = estimate.bootstrap;
        vec![name.to_owned(), format!("{:.4}", estimate.mean), format!("{low:.4} to {high:.4}")]
    };
    let rows = vec![
        ["decision", "mean cost", "95 % interval"].map(str::to_owned).to_vec(),
        line("as predicted", &before),
        line("lowest expected cost", &after),
        line("difference", &difference),
    ];
    let mut figures = Map::new();
    figures.insert("as_predicted".into(), before.to_json());
    figures.insert("lowest_expected_cost".into(), after.to_json());
    figures.insert("difference".into(), difference.to_json());
    figures.insert("changed".into(), changed.into());
    let mut section = AuditSection::new(NAME, verdict, statement)
        .table("Mean cost of a decision", rows)
        .assuming("The probabilities are calibrated, and the classes are as frequent as in these rows.");
    if let (2, Ok(threshold)) = (subject.classes.len(), costs.threshold()) {
        figures.insert("threshold".into(), threshold.into());
        section = section.advice(format!(
            "Predict {} from a probability of {threshold:.4} on: `tove predict --threshold {threshold:.4}`.",
            subject.classes[1]
        ));
        let scores: Vec<f64> = probabilities.rows().map(|row| row[1]).collect();
        if let Ok(curve) = CostCurve::new(&truth, &Tensor::from(scores), None) {
            let positive = truth.to_vec::<i64>().iter().filter(|class| **class == 1).count() as f64;
            let x = probability_cost(costs, positive / subject.rows() as f64)?;
            section = section.chart(chart(&curve, x));
            figures.insert("cost_curve".into(), curve.to_json());
        }
    }
    Ok(section.figures(Value::Object(figures)))
}

/// The lowest cost of all thresholds for every mixture of classes and costs, below that of deciding always alike.
fn chart(curve: &CostCurve, x: f64) -> LineChart {
    let (places, costs): (Vec<f64>, Vec<f64>) = curve.envelope().iter().map(|corner| (corner.x, corner.cost)).unzip();
    LineChart::new()
        .series("best threshold", &places, &costs)
        .series("always the same class", &[0.0, 0.5, 1.0], &[0.0, 0.5, 0.0])
        .mark_x("these costs and classes", x)
        .title("Cost curve")
        .x_label("share of the cost that the second class can cause")
        .y_label("cost, as a share of the largest")
}
