//! Gaps between groups by the three criteria of fairness, with intervals and tests.
//!
//! With decision D, score R, label Y and sensitive attribute A:
//!
//! - **independence**: D (or R) is independent of A, so P(D = 1 | A = a) is the same for all a;
//! - **separation**: D is independent of A given Y, so true and false positive rates are the same;
//! - **sufficiency**: Y is independent of A given R (or D). **Group calibration**, P(Y = 1 | R = r, A = a) = r for every a, implies it;
//!   the converse fails.
//!
//! Outside of degenerate cases at most one of them can hold ([`tables_search`](super::tables_search)).

use std::fmt;

use serde_json::{Value, json};
use tove_tensor::Key;

use super::gap_measure::GapMeasure;
use super::outcomes::Outcomes;
use super::report::GroupOptions;
use super::resample::{Null, bootstrap, p_value, percentiles, permuted};
use super::tally::{RateKind, Rows, Tally};
use crate::Result;

const NAME: &str = "fairness_gaps";

/// A criterion of fairness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Criterion {
    /// Decisions or scores are independent of the group.
    Independence,
    /// Decisions are independent of the group given the label.
    Separation,
    /// Labels are independent of the group given the score or decision.
    Sufficiency,
}

/// A rate of two groups that are compared.
#[derive(Clone, Copy, Debug)]
struct Contrast {
    kind: RateKind,
    low: usize,
    high: usize,
}

/// A gap between groups. Which two groups are compared is chosen by their rates, so with more than two groups the interval and the
/// gap itself lean to the large side; the test accounts for the choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// What is measured.
    pub measure: GapMeasure,
    /// The gap.
    pub value: f64,
    /// Lower end of the bootstrap percentile interval of the gap between these two groups.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// p-value of the hypothesis that the criterion holds: a permutation test, or for calibration a simulation with labels drawn from the
    /// scores.
    pub p_value: f64,
    /// The groups with the lowest and the highest rate.
    pub between: (String, String),
    /// Groups that are too small, or whose rate is undefined.
    pub left_out: Vec<String>,
}

impl Gap {
    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "measure": self.measure.name(), "criterion": self.measure.criterion().map(|criterion| format!("{criterion:?}")),
            "value": self.value, "low": self.low, "high": self.high, "p_value": self.p_value,
            "between": [self.between.0, self.between.1], "left_out": self.left_out,
        })
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = &self.between;
        write!(
            f,
            "{} {:.3} [{:.3}, {:.3}], p = {:.3}",
            self.measure.name(),
            self.value,
            self.low,
            self.high,
            self.p_value
        )?;
        match self.measure {
            GapMeasure::GroupCalibrationError => write!(f, " ({high})"),
            _ => write!(f, " ({low} against {high})"),
        }
    }
}

/// Gaps by all measures that the data allow.
#[derive(Clone, Debug, PartialEq)]
pub struct FairnessGaps {
    /// The gaps that are defined.
    pub gaps: Vec<Gap>,
    /// Measures that are not defined, and why.
    pub undefined: Vec<(GapMeasure, String)>,
    /// Confidence of the intervals.
    pub confidence: f64,
}

impl FairnessGaps {
    /// The gap by a measure, if it is defined.
    pub fn get(&self, measure: GapMeasure) -> Option<&Gap> {
        self.gaps.iter().find(|gap| gap.measure == measure)
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let undefined = |(measure, why): &(GapMeasure, String)| json!({"measure": measure.name(), "why": why});
        json!({
            "confidence": self.confidence,
            "gaps": self.gaps.iter().map(Gap::to_json).collect::<Vec<Value>>(),
            "undefined": self.undefined.iter().map(undefined).collect::<Vec<Value>>(),
        })
    }
}

impl fmt::Display for FairnessGaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for criterion in
            [Some(Criterion::Independence), Some(Criterion::Separation), Some(Criterion::Sufficiency), None]
        {
            let name = criterion.map_or("other".to_owned(), |criterion| format!("{criterion:?}").to_lowercase());
            writeln!(f, "{name}:")?;
            for gap in self.gaps.iter().filter(|gap| gap.measure.criterion() == criterion) {
                writeln!(f, "  {gap}")?;
            }
            for (measure, why) in self.undefined.iter().filter(|(measure, _)| measure.criterion() == criterion) {
                writeln!(f, "  {}: undefined, {why}", measure.name())?;
            }
        }
        write!(f, "intervals: {} % each; p-values are not corrected for the number of tests", 100.0 * self.confidence)
    }
}

/// Computes the gaps between groups by all measures, each with a bootstrap interval and a test.
///
/// Assumptions: rows are independent; decisions and scores come from a system that was not fitted to these rows.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::fairness::{GapMeasure, GroupOptions, Outcomes, fairness_gaps};
/// let rows = 400;
/// let group: Vec<i64> = (0..rows).map(|i| i % 2).collect();
/// let label: Vec<i64> = (0..rows).map(|i| i / 2 % 2).collect();
/// let decision: Vec<i64> = (0..rows).map(|i| i64::from(i % 8 < 2 + 3 * (i % 2))).collect();
/// let outcomes = Outcomes::new(&Tensor::from_slice(&label))?
///     .decisions(&Tensor::from_slice(&decision))?
///     .sensitive("sex", &Tensor::from_slice(&group))?;
/// let gaps = fairness_gaps(&outcomes, &GroupOptions::default())?;
/// let gap = gaps.get(GapMeasure::DemographicParityDifference).unwrap();
/// assert!((gap.value - 0.25).abs() < 1e-12 && gap.low > 0.1 && gap.p_value < 0.01);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// As [`GroupReport::new`](super::GroupReport::new).
pub fn fairness_gaps(outcomes: &Outcomes, options: &GroupOptions) -> Result<FairnessGaps> {
    options.check(NAME)?;
    let rows = Rows::new(outcomes, options.bins)?;
    let (tally, names) = (rows.tally(), outcomes.groups()?);
    let compared = Compared::new(&tally, options.min_size);
    let mut undefined = Vec::new();
    let mut found: Vec<(GapMeasure, f64, Contrast)> = Vec::new();
    for &measure in GapMeasure::all() {
        if measure.needs_scores() && rows.score.is_none() {
            undefined.push((measure, "no scores were given".to_owned()));
        } else if let Some((value, contrast)) = compared.measure(&tally, measure) {
            found.push((measure, value, contrast));
        } else {
            let why = format!("fewer than two groups have at least {} rows and this rate", options.min_size);
            undefined.push((measure, why));
        }
    }
    let key = Key::new(options.seed);
    let drawn = bootstrap(&rows, options.resamples, key.fold(0), |tally| {
        let again = |&(measure, _, contrast): &(GapMeasure, f64, Contrast)| contrast.again(tally, measure);
        found.iter().map(again).collect::<Vec<Option<f64>>>()
    });
    let p_values = test_all(&rows, &compared, &found, options, key);
    let gap = |(index, &(measure, value, contrast)): (usize, &(GapMeasure, f64, Contrast))| {
        let limit = if measure.is_ratio() { (0.0, 1.0) } else { (0.0, f64::INFINITY) };
        let ends = percentiles(drawn.iter().map(|values| values[index]), options.confidence);
        let (low, high) = ends.unwrap_or(limit);
        let left_out = compared.left_out(&tally, measure);
        Gap {
            measure,
            value,
            low: low.clamp(limit.0, limit.1),
            high: high.clamp(limit.0, limit.1).min(1.0),
            p_value: p_values[index],
            between: (names.names()[contrast.low].clone(), names.names()[contrast.high].clone()),
            left_out: left_out.into_iter().map(|group| names.names()[group].clone()).collect(),
        }
    };
    let gaps = found.iter().enumerate().map(gap).collect();
    Ok(FairnessGaps { gaps, undefined, confidence: options.confidence })
}

/// One p-value for each gap; gaps with the same null hypothesis share the draws.
fn test_all(
    rows: &Rows,
    compared: &Compared,
    found: &[(GapMeasure, f64, Contrast)],
    options: &GroupOptions,
    key: Key,
) -> Vec<f64> {
    let mut p_values = vec![1.0; found.len()];
    let nulls = [Null::Anything, Null::SameLabel, Null::SameDecision, Null::SameScore, Null::Calibrated];
    for (number, null) in nulls.into_iter().enumerate() {
        let tested: Vec<usize> = (0..found.len()).filter(|&index| found[index].0.null() == null).collect();
        if tested.is_empty() {
            continue;
        }
        let size = |measure: GapMeasure, value: f64| if measure.is_ratio() { 1.0 - value } else { value };
        let drawn = permuted(rows, null, options.resamples, key.fold(1 + number as u64), |tally| {
            let one =
                |&index: &usize| compared.measure(tally, found[index].0).map(|(value, _)| size(found[index].0, value));
            tested.iter().map(one).collect::<Vec<Option<f64>>>()
        });
        for (place, &index) in tested.iter().enumerate() {
            let observed = size(found[index].0, found[index].1);
            p_values[index] = p_value(observed, drawn.iter().map(|values| values[place]));
        }
    }
    p_values
}

/// Which groups are large enough to be compared.
pub(super) struct Compared {
    groups: Vec<usize>,
    min_size: f64,
}

impl Compared {
    pub(super) fn new(tally: &Tally, min_size: usize) -> Compared {
        let min_size = min_size as f64;
        Compared { groups: (0..tally.groups()).filter(|&group| tally.rows[group] >= min_size).collect(), min_size }
    }

    fn rate(&self, tally: &Tally, kind: RateKind, group: usize) -> Option<f64> {
        match kind {
            RateKind::InBin(bin) if tally.bins_of(group)[bin].rows < self.min_size => None,
            kind => tally.rate(kind, group),
        }
    }

    fn left_out(&self, tally: &Tally, measure: GapMeasure) -> Vec<usize> {
        let kinds = measure.kinds(tally.bins_of(0).len());
        let defined = |group: usize| match measure {
            GapMeasure::BinnedRateDifference => kinds.iter().any(|&kind| self.rate(tally, kind, group).is_some()),
            _ => kinds.iter().all(|&kind| self.rate(tally, kind, group).is_some()),
        };
        (0..tally.groups()).filter(|group| !self.groups.contains(group) || !defined(*group)).collect()
    }

    /// The measure and the groups between which it is taken; `None` if fewer than two groups have the rate.
    fn measure(&self, tally: &Tally, measure: GapMeasure) -> Option<(f64, Contrast)> {
        let mut worst: Option<(f64, Contrast)> = None;
        for kind in measure.kinds(tally.bins_of(0).len()) {
            let rates = self.groups.iter().filter_map(|&group| Some((self.rate(tally, kind, group)?, group)));
            let rates: Vec<(f64, usize)> = rates.collect();
            if rates.len() < 2 {
                continue;
            }
            let low = rates.iter().fold(rates[0], |low, &rate| if rate.0 < low.0 { rate } else { low });
            let high = rates.iter().fold(rates[0], |high, &rate| if rate.0 > high.0 { rate } else { high });
            let high = if high.1 == low.1 { rates[1] } else { high };
            let value = measure.of(low.0, high.0);
            let worse = |&(old, _): &(f64, Contrast)| if measure.is_ratio() { value < old } else { value > old };
            if worst.as_ref().is_none_or(worse) {
                worst = Some((value, Contrast { kind, low: low.1, high: high.1 }));
            }
        }
        worst
    }
}

impl Contrast {
    /// The measure between the same groups in another sample; negative (or above 1 for a ratio) if their order changed.
    fn again(self, tally: &Tally, measure: GapMeasure) -> Option<f64> {
        let (low, high) = (tally.rate(self.kind, self.low)?, tally.rate(self.kind, self.high)?);
        Some(measure.of(low, high))
    }
}
