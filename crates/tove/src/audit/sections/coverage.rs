//! How often prediction sets or intervals hold the truth.

use serde_json::{Map, Value, json};
use tove_plot::BarChart;
use tove_tensor::{DType, Key, Tensor, TryOps};
use tove_trust::conformal::{
    CoverageReport, GroupCoverage, PredictionIntervals, PredictionSets, SplitConformalClassifier,
    SplitConformalRegressor, needed_size,
};

use crate::audit::{Audit, AuditSection, AuditSubject, AuditVerdict};
use crate::tabular::{Result, TabularModel};

const NAME: &str = "coverage";
const CONFIDENCE: f64 = 0.95;

enum Regions {
    Sets(PredictionSets),
    Intervals(PredictionIntervals),
}

/// Regions of some audited rows.
struct Evaluated {
    rows: Tensor,
    regions: Regions,
    source: &'static str,
}

pub(super) fn section(audit: &Audit, subject: &AuditSubject) -> Result<Option<AuditSection>> {
    let own = subject.source.as_ref().filter(|(model, _)| model.safeguards().coverage.is_some());
    if let Some((model, _)) = own {
        return report(subject, &of_model(model, subject)?).map(Some);
    }
    if !subject.classes.is_empty() && subject.probabilities.is_none() {
        let reason = "Prediction sets need probabilities, which the model does not give.";
        return Ok(Some(AuditSection::not_checked(NAME, reason)));
    }
    let (needed, half) = (needed_size(audit.alpha)?, subject.rows() / 2);
    if half < needed {
        let what = if subject.classes.is_empty() { "intervals" } else { "sets" };
        let reason = format!(
            "Prediction {what} with alpha = {} need {needed} rows to calibrate, and half of the audited rows are {half}; give more rows, or \
             a larger alpha.",
            audit.alpha
        );
        return Ok(Some(AuditSection::not_checked(NAME, reason)));
    }
    report(subject, &split(audit, subject)?).map(Some)
}

/// Calibrates on a random half of the rows, for evaluation on the other.
fn split(audit: &Audit, subject: &AuditSubject) -> Result<Evaluated> {
    let n = subject.rows();
    let order = Key::new(audit.seed).fold(5).permutation(n);
    let (first, rows) = (order.try_narrow(0, 0, n / 2)?, order.try_narrow(0, n / 2, n - n / 2)?);
    let take = |tensor: &Tensor, rows: &Tensor| tensor.index_select(0, rows);
    let truth = &subject.truth;
    let regions = match &subject.probabilities {
        Some(probabilities) => {
            let p = probabilities.tensor();
            let fitted = SplitConformalClassifier::new(audit.alpha).fit(&take(&p, &first), &take(truth, &first))?;
            Regions::Sets(fitted.sets(&take(&p, &rows))?)
        }
        None => {
            let predicted = &subject.predictions;
            let fitted =
                SplitConformalRegressor::new(audit.alpha).fit(&take(predicted, &first), &take(truth, &first))?;
            Regions::Intervals(fitted.intervals(&take(predicted, &rows))?)
        }
    };
    let source = "calibrated on a random half of these rows, evaluated on the other half";
    Ok(Evaluated { rows, regions, source })
}

/// Those that the model itself makes.
fn of_model(model: &TabularModel, subject: &AuditSubject) -> Result<Evaluated> {
    let n = subject.rows();
    let predictions = model.predict(&subject.table)?;
    let end = |ends: &Tensor, place: usize| ends.try_narrow(1, place, 1)?.try_reshape([n]);
    let claim = model.safeguards().coverage.as_ref().map(|rule| rule.claim());
    let regions = match (&predictions.sets, &predictions.intervals) {
        (Some(sets), _) => Regions::Sets(PredictionSets::new(sets)?),
        (None, Some(ends)) => Regions::Intervals(PredictionIntervals::new(&end(ends, 0)?, &end(ends, 1)?)?),
        (None, None) => Regions::Sets(PredictionSets::new(&Tensor::zeros([n, 2], DType::U8))?),
    };
    let regions = match (regions, claim) {
        (Regions::Sets(sets), Some(claim)) => Regions::Sets(sets.claimed(claim)),
        (Regions::Intervals(intervals), Some(claim)) => Regions::Intervals(intervals.claimed(claim)),
        (regions, None) => regions,
    };
    let rows = Tensor::from((0..n as i64).collect::<Vec<i64>>());
    Ok(Evaluated { rows, regions, source: "those of the model, on all audited rows" })
}

impl Evaluated {
    fn report(&self, subject: &AuditSubject, groups: Option<&Tensor>) -> Result<CoverageReport> {
        let truth = subject.truth.index_select(0, &self.rows);
        Ok(match &self.regions {
            Regions::Sets(sets) => CoverageReport::of_sets(sets, &truth, groups, CONFIDENCE)?,
            Regions::Intervals(intervals) => CoverageReport::of_intervals(intervals, &truth, groups, CONFIDENCE)?,
        })
    }
}

fn report(subject: &AuditSubject, evaluated: &Evaluated) -> Result<AuditSection> {
    let whole = evaluated.report(subject, None)?;
    let level = whole.claim.level().unwrap_or(0.0);
    let mut rows = vec![["group", "rows", "coverage", "95 % interval", "mean size"].map(str::to_owned).to_vec()];
    let mut chart = BarChart::new().title("Coverage by group").value_label("share of truths covered").range(0.0, 1.0);
    let mut worst: Option<(f64, String)> = None;
    let mut add = |name: String, group: &GroupCoverage| {
        let (value, low, high) = (group.coverage.value, group.coverage.low, group.coverage.high);
        if high < level && worst.as_ref().is_none_or(|(least, _)| value < *least) {
            worst = Some((value, name.clone()));
        }
        chart = std::mem::take(&mut chart).bar_with_interval(name.clone(), value, low, high);
        let cells = [format!("{value:.3}"), format!("{low:.3} to {high:.3}"), number(group.mean_size)];
        let mut row = vec![name, group.coverage.n.to_string()];
        row.extend(cells);
        rows.push(row);
    };
    for class in &whole.classes {
        let name = subject.classes.get(class.group as usize).map_or("", String::as_str);
        add(format!("{} = {name}", subject.target), class);
    }
    let mut columns = Map::new();
    for column in &subject.sensitive {
        let by = evaluated.report(subject, Some(&column.codes.index_select(0, &evaluated.rows)))?;
        for group in &by.groups {
            let name = column.groups().get(group.group as usize).map_or("", String::as_str);
            add(format!("{} = {name}", column.name()), group);
        }
        columns.insert(column.name().to_owned(), by.to_json()["groups"].clone());
    }
    let (verdict, statement) = statement(&whole, level, worst.as_ref());
    let mut section = AuditSection::new(NAME, verdict, statement)
        .assuming(format!("{}.", whole.claim))
        .assuming("Coverage holds on average over rows; for some kinds of rows it can be lower.")
        .figures(json!({
            "source": evaluated.source, "report": whole.to_json(), "sensitive": Value::Object(columns),
        }));
    if rows.len() > 1 {
        let what = if subject.classes.is_empty() { "Prediction intervals" } else { "Prediction sets" };
        section = section.table(format!("{what} {}", evaluated.source), rows).chart(chart);
    }
    if worst.is_some() {
        let how = if subject.can_be_improved() {
            "`tove conformal --by COLUMN`, or --by-class, guarantees"
        } else {
            "Calibrating the sets by group or class guarantees"
        };
        section = section.advice(format!(
            "{how} the coverage in every group or class, with larger regions where the model is worse."
        ));
    }
    Ok(section)
}

/// A size in a few digits.
fn number(size: f64) -> String {
    if size.abs() < 1e9 { format!("{size:.3}") } else { format!("{size:.3e}") }
}

fn statement(whole: &CoverageReport, level: f64, worst: Option<&(f64, String)>) -> (AuditVerdict, String) {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let size = match whole.singleton {
        Some(one) => format!(
            "a set holds {:.2} classes on average, exactly one for {} of the rows",
            whole.mean_size,
            percent(one)
        ),
        None => format!("an interval is {} wide on average", number(whole.mean_size)),
    };
    let mut text = format!(
        "{} [{}, {}] of {} truths are covered, {} are promised; {size}.",
        percent(whole.coverage.value),
        percent(whole.coverage.low),
        percent(whole.coverage.high),
        whole.coverage.n,
        percent(level)
    );
    if let Some((value, name)) = worst {
        text.push_str(&format!(" The worst group is {name} with {}.", percent(*value)));
    }
    let verdict = match (whole.below_claim(), worst) {
        (true, _) => AuditVerdict::Failed,
        (false, Some(_)) => AuditVerdict::Warning,
        _ => AuditVerdict::Passed,
    };
    (verdict, text)
}
