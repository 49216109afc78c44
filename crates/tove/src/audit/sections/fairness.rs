//! Do predictions and errors differ between groups?

use serde_json::{Value, json};
use tove_metrics::clopper_pearson;
use tove_plot::BarChart;
use tove_tensor::Tensor;
use tove_trust::fairness::{
    FairnessGaps, GapMeasure, GroupOptions, GroupRates, GroupReport, Outcomes, Rate, ResidualReport, SensitiveGroups,
    fairness_gaps,
};

use crate::audit::{Audit, AuditSection, AuditSubject, AuditVerdict, SensitiveColumn};
use crate::tabular::Result;

const NAME: &str = "fairness";
/// Gaps from which on they matter, if chance does not explain them.
const LARGE: f64 = 0.1;
const SIGNIFICANT: f64 = 0.05;
const CONFIDENCE: f64 = 0.95;
/// Groups that are shown.
const SHOWN: usize = 30;
/// Small groups that are named.
const NAMED: usize = 3;

pub(super) fn section(audit: &Audit, subject: &AuditSubject) -> Result<Option<AuditSection>> {
    if subject.sensitive.is_empty() {
        return Ok(None);
    }
    let found = match subject.classes.len() {
        0 => of_numbers(subject)?,
        2 => of_two_classes(audit, subject)?,
        _ => of_many_classes(subject)?,
    };
    Ok(Some(found.assuming(
        "Rows are independent and drawn like those the model will meet; the true labels are right. Intervals are for one group or \
         gap at a time.",
    )))
}

/// What the columns say together: the statements, one after the other, and the worst verdict.
fn gathered(parts: Vec<(String, AuditSection)>) -> AuditSection {
    let has = |verdict| parts.iter().any(|(_, part)| part.verdict == verdict);
    let order = [AuditVerdict::Warning, AuditVerdict::Passed];
    let verdict = order.into_iter().find(|verdict| has(*verdict)).unwrap_or(AuditVerdict::NotChecked);
    let statement: Vec<String> = parts.iter().map(|(_, part)| part.statement.clone()).collect();
    let mut all = AuditSection::new(NAME, verdict, statement.join(" "));
    let mut figures = serde_json::Map::new();
    for (name, part) in parts {
        all.tables.extend(part.tables);
        all.charts.extend(part.charts);
        figures.insert(name, part.figures);
    }
    all.figures(Value::Object(figures))
}

fn of_two_classes(audit: &Audit, subject: &AuditSubject) -> Result<AuditSection> {
    let columns: Vec<&SensitiveColumn> = subject.sensitive.iter().collect();
    let mut parts = Vec::new();
    for column in &columns {
        parts.push((column.name().to_owned(), two_classes(audit, subject, &[column])?));
    }
    if columns.len() > 1 {
        let name = columns.iter().map(|column| column.name()).collect::<Vec<_>>().join(" and ");
        parts.push((name, two_classes(audit, subject, &columns)?));
    }
    let all = gathered(parts);
    let advice = format!(
        "Accepted means predicted as {}. `tove fair` chooses a threshold for each group that closes a gap; outside of special cases \
         equal acceptance, equal error rates and equal meaning of scores exclude each other, so choose the one that matters.",
        subject.classes[1]
    );
    Ok(all.advice(advice))
}

fn two_classes(audit: &Audit, subject: &AuditSubject, columns: &[&SensitiveColumn]) -> Result<AuditSection> {
    let mut outcomes = Outcomes::new(&subject.truth)?.decisions(&subject.predictions)?;
    if let Some(probabilities) = &subject.probabilities {
        let scores: Vec<f64> = probabilities.rows().map(|row| row[1]).collect();
        outcomes = outcomes.scores(&Tensor::from(scores))?;
    }
    for column in columns {
        let names: Vec<(i64, &str)> = (0i64..).zip(column.groups().iter().map(String::as_str)).collect();
        outcomes = outcomes.sensitive(column.name(), &column.codes)?.named(column.name(), &names)?;
    }
    let options = GroupOptions { seed: audit.seed, ..GroupOptions::default() };
    let report = GroupReport::new(&outcomes, &options)?;
    let by = columns.iter().map(|column| column.name()).collect::<Vec<_>>().join(" and ");
    let figures = json!({"groups": report.to_json()});
    let gaps = match fairness_gaps(&outcomes, &options) {
        Ok(gaps) => gaps,
        Err(error) => {
            let statement = format!("The groups of {by} cannot be compared: {error}.");
            let part = AuditSection::new(NAME, AuditVerdict::Warning, statement).figures(figures);
            return Ok(part.table(format!("Groups of {by}{}", extent(&report)), group_rows(&report)));
        }
    };
    let (verdict, statement) = statement(&by, &gaps, &report);
    let figures = json!({"groups": report.to_json(), "gaps": gaps.to_json()});
    let part = AuditSection::new(NAME, verdict, statement)
        .table(format!("Groups of {by}{}: rates with 95 % intervals", extent(&report)), group_rows(&report))
        .table(format!("Gaps between the groups of {by}"), gap_rows(&gaps))
        .chart(bars(&report, &format!("Accepted, by {by}"), "acceptance rate", |group| group.selection_rate))
        .chart(bars(&report, &format!("True positive rate, by {by}"), "true positive rate", |group| {
            group.true_positive_rate
        }));
    Ok(part.figures(figures))
}

/// The gap that matters most in a sentence.
fn statement(by: &str, gaps: &FairnessGaps, report: &GroupReport) -> (AuditVerdict, String) {
    let watched = [
        (GapMeasure::DemographicParityDifference, "acceptance rates"),
        (GapMeasure::EqualizedOddsDifference, "error rates"),
        (GapMeasure::AccuracyDifference, "accuracies"),
    ];
    let found: Vec<String> = watched
        .iter()
        .filter_map(|(measure, what)| Some((gaps.get(*measure)?, what)))
        .filter(|(gap, _)| gap.value >= LARGE && gap.p_value < SIGNIFICANT)
        .map(|(gap, what)| {
            let (low, high) = &gap.between;
            format!("{what} differ by {:.2} [{:.2}, {:.2}] ({low} against {high})", gap.value, gap.low, gap.high)
        })
        .collect();
    let mut text = match found.is_empty() {
        true => format!("Between the groups of {by} no gap of {LARGE} or more was found that chance does not explain."),
        false => format!("Between the groups of {by}, {}.", found.join("; ")),
    };
    let small = report.too_small();
    if !small.is_empty() {
        let named = small.iter().take(NAMED).map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let more = if small.len() > NAMED { format!("; and {} more", small.len() - NAMED) } else { String::new() };
        text.push_str(&format!(" Groups with too few rows to compare: {named}{more}."));
    }
    (if found.is_empty() { AuditVerdict::Passed } else { AuditVerdict::Warning }, text)
}

fn shown(rate: Option<Rate>) -> String {
    rate.map_or_else(|| "undefined".to_owned(), |rate| format!("{rate:.2}"))
}

/// The groups that are shown: the largest, in their order.
fn largest(report: &GroupReport) -> Vec<&GroupRates> {
    let mut sizes: Vec<usize> = report.groups.iter().map(|group| group.rows).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let least = sizes.get(SHOWN).map_or(0, |size| size + 1);
    report.groups.iter().filter(|group| group.rows >= least).take(SHOWN).collect()
}

/// What of the groups is shown.
fn extent(report: &GroupReport) -> String {
    let (shown, all) = (largest(report).len(), report.groups.len());
    if shown < all { format!(", the {shown} largest of {all}") } else { String::new() }
}

fn group_rows(report: &GroupReport) -> Vec<Vec<String>> {
    let head = ["group", "rows", "base rate", "accepted", "TPR", "FPR", "PPV", "accuracy"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(largest(report).into_iter().chain([&report.overall]).map(|group| {
        let rates = [
            group.base_rate,
            group.selection_rate,
            group.true_positive_rate,
            group.false_positive_rate,
            group.positive_predictive_value,
            group.accuracy,
        ];
        let mut row = vec![group.name.clone(), group.rows.to_string()];
        row.extend(rates.into_iter().map(shown));
        row
    }));
    rows
}

fn gap_rows(gaps: &FairnessGaps) -> Vec<Vec<String>> {
    let mut rows = vec![["gap", "value", "95 % interval", "p", "between"].map(str::to_owned).to_vec()];
    rows.extend(gaps.gaps.iter().map(|gap| {
        vec![
            gap.measure.name().to_owned(),
            format!("{:.3}", gap.value),
            format!("{:.3} to {:.3}", gap.low, gap.high),
            format!("{:.3}", gap.p_value),
            format!("{} / {}", gap.between.0, gap.between.1),
        ]
    }));
    rows
}

fn bars(report: &GroupReport, title: &str, label: &str, rate: impl Fn(&GroupRates) -> Option<Rate>) -> BarChart {
    let known = largest(report).into_iter().filter_map(|group| Some((group.name.clone(), rate(group)?)));
    let chart = BarChart::new().range(0.0, 1.0).value_label(label).title(title);
    known.fold(chart, |chart, (name, rate)| chart.bar_with_interval(name, rate.value, rate.low, rate.high))
}

/// The accuracy by group.
fn of_many_classes(subject: &AuditSubject) -> Result<AuditSection> {
    let (truth, predicted) = subject.codes();
    by_group(subject, "accuracy", |groups, place| {
        let rows = groups.rows(place);
        let right = rows.iter().filter(|&&row| truth[row] == predicted[row]).count();
        let (low, high) = clopper_pearson(right, rows.len(), CONFIDENCE)?;
        Ok(Some([right as f64 / rows.len() as f64, low, high]))
    })
}

/// The mean error by group: who is predicted too high?
fn of_numbers(subject: &AuditSubject) -> Result<AuditSection> {
    by_group(subject, "mean of prediction minus truth", |groups, place| {
        // The other way round: residuals are truth minus prediction.
        let report = ResidualReport::new(&subject.predictions, &subject.truth, groups, CONFIDENCE)?;
        Ok(report.groups[place].mean_residual.map(|mean| [mean.value, mean.low, mean.high]))
    })
}

/// A figure by group, with its interval: none where a group has too few rows for it.
fn by_group(
    subject: &AuditSubject,
    what: &str,
    metric: impl Fn(&SensitiveGroups, usize) -> Result<Option<[f64; 3]>>,
) -> Result<AuditSection> {
    let mut parts = Vec::new();
    for column in &subject.sensitive {
        let groups = SensitiveGroups::from_column(column.name(), &column.codes)?;
        let mut rows = vec![["group", "rows", what, "95 % interval"].map(str::to_owned).to_vec()];
        let (mut named, mut known) = (serde_json::Map::new(), Vec::new());
        for (place, values) in groups.values().iter().enumerate() {
            let name = column.groups().get(values[0] as usize).cloned().unwrap_or_default();
            let found = metric(&groups, place)?;
            let cells = found.map_or_else(
                || ["too few rows".to_owned(), String::new()],
                |[value, low, high]| [number(value), format!("{} to {}", number(low), number(high))],
            );
            rows.push([&[name.clone(), groups.rows(place).len().to_string()][..], &cells].concat());
            let figures = found.map(|[value, low, high]| json!({"value": value, "low": low, "high": high}));
            known.extend(found.map(|found| (name.clone(), found)));
            named.insert(name, json!(figures));
        }
        let (verdict, statement, gap) = difference(column.name(), what, known);
        let part = AuditSection::new(NAME, verdict, statement)
            .table(format!("Groups of {}", column.name()), rows)
            .figures(json!({"metric": what, "groups": named, "difference": gap}));
        parts.push((column.name().to_owned(), part));
    }
    Ok(gathered(parts))
}

/// A figure in a few digits.
fn number(value: f64) -> String {
    if value.abs() < 1e9 { format!("{value:.3}") } else { format!("{value:.3e}") }
}

/// How far the groups are apart, and whether chance can explain it.
fn difference(by: &str, what: &str, mut known: Vec<(String, [f64; 3])>) -> (AuditVerdict, String, Option<f64>) {
    known.sort_by(|a, b| a.1[0].total_cmp(&b.1[0]));
    let [(lowest, low), .., (highest, high)] = &known[..] else {
        return (AuditVerdict::NotChecked, format!("The groups of {by} are too small to compare."), None);
    };
    let gap = high[0] - low[0];
    let mut text =
        format!("Between the groups of {by}, the {what} differs by {} ({lowest} against {highest})", number(gap));
    // Intervals that do not meet: the difference is significant at less than 5 %.
    if low[2] < high[1] {
        text.push_str(", and their 95 % intervals do not meet.");
        return (AuditVerdict::Warning, text, Some(gap));
    }
    text.push_str("; their 95 % intervals meet, so this may be chance.");
    (AuditVerdict::Passed, text, Some(gap))
}
