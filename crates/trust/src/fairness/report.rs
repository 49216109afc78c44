//! Rates of every group with intervals.

use std::fmt;

use serde_json::{Value, json};

use super::outcomes::Outcomes;
use super::tally::{RateKind, Rows, Tally};
use crate::intervals::{clopper_pearson, normal_critical, wilson};
use crate::{Result, TrustError, input};

const NAME: &str = "GroupReport";

/// Settings of group reports and gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupOptions {
    /// Confidence of every single interval; 0.95 by default. With many groups some intervals miss.
    pub confidence: f64,
    /// Groups with fewer rows are reported as too small and left out of gaps; 10 by default. Bins of a group with fewer rows are left
    /// out of comparisons too.
    pub min_size: usize,
    /// Number of equal-width score bins; 10 by default.
    pub bins: usize,
    /// Number of resamples of bootstrap intervals and permutation tests; 1000 by default.
    pub resamples: usize,
    /// Seed of the resamples.
    pub seed: u64,
}

impl Default for GroupOptions {
    fn default() -> GroupOptions {
        GroupOptions { confidence: 0.95, min_size: 10, bins: 10, resamples: 1000, seed: 0 }
    }
}

impl GroupOptions {
    pub(super) fn check(&self, what: &'static str) -> Result<()> {
        input::fraction(what, "confidence", self.confidence)?;
        if self.bins == 0 || self.bins > 10_000 {
            return Err(TrustError::argument(what, format!("`bins` is {}; give 1 to 10000, such as 10", self.bins)));
        }
        if !(20..=1_000_000).contains(&self.resamples) {
            let problem = format!("`resamples` is {}; give 20 to 1000000, such as 1000", self.resamples);
            return Err(TrustError::argument(what, problem));
        }
        Ok(())
    }
}

/// A rate or mean with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The rate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The number of rows, or sum of weights, in its denominator.
    pub n: f64,
}

impl Rate {
    /// Whether the interval holds a value.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    pub(super) fn json(&self) -> Value {
        json!({"value": self.value, "low": self.low, "high": self.high, "n": self.n})
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(3);
        write!(f, "{:.digits$} [{:.digits$}, {:.digits$}]", self.value, self.low, self.high)
    }
}

/// One bar of a group's reliability diagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupBin {
    /// Lower edge of the score bin, included.
    pub low: f64,
    /// Upper edge, excluded except for the last bin.
    pub high: f64,
    /// Number of rows.
    pub rows: usize,
    /// Mean score, `None` for an empty bin.
    pub mean_score: Option<f64>,
    /// Share of label 1 with its interval.
    pub rate: Option<Rate>,
}

/// The rates of one group. A rate whose denominator is empty, such as the true positive rate of a group without positives, is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRates {
    /// The group, such as `sex = 1, race = 0`.
    pub name: String,
    /// The values of the sensitive columns; empty for all rows together.
    pub values: Vec<i64>,
    /// Number of rows.
    pub rows: usize,
    /// Share of all rows, by weight.
    pub share: f64,
    /// Whether the group has too few rows for comparisons.
    pub too_small: bool,
    /// P(Y = 1).
    pub base_rate: Option<Rate>,
    /// P(D = 1), the acceptance rate.
    pub selection_rate: Option<Rate>,
    /// P(D = 1 | Y = 1).
    pub true_positive_rate: Option<Rate>,
    /// P(D = 1 | Y = 0).
    pub false_positive_rate: Option<Rate>,
    /// P(D = 0 | Y = 1).
    pub false_negative_rate: Option<Rate>,
    /// P(D = 0 | Y = 0).
    pub true_negative_rate: Option<Rate>,
    /// P(Y = 1 | D = 1), the precision.
    pub positive_predictive_value: Option<Rate>,
    /// P(Y = 0 | D = 0).
    pub negative_predictive_value: Option<Rate>,
    /// P(D = Y).
    pub accuracy: Option<Rate>,
    /// Mean score, to be compared with the base rate: a calibrated group has equal ones.
    pub mean_score: Option<Rate>,
    /// Expected calibration error of the scores over the bins.
    pub calibration_error: Option<f64>,
    /// The reliability diagram; empty without scores.
    pub bins: Vec<GroupBin>,
}

/// Sizes, rates and calibration of every group, with intervals.
///
/// Intervals of rates are exact (Clopper-Pearson) without weights; with weights they are Wilson's for (Σw)²/Σw² rows, an
/// approximation. That of the mean score is the normal approximation. All assume that rows are independent.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::fairness::{GroupOptions, GroupReport, Outcomes};
/// let outcomes = Outcomes::new(&Tensor::from([1i64, 0, 0, 0]))?
///     .decisions(&Tensor::from([1i64, 0, 1, 0]))?
///     .sensitive("sex", &Tensor::from([0i64, 0, 1, 1]))?;
/// let report = GroupReport::new(&outcomes, &GroupOptions { min_size: 1, ..Default::default() })?;
/// assert_eq!(report.groups[0].true_positive_rate.map(|rate| rate.value), Some(1.0));
/// assert_eq!(report.groups[1].true_positive_rate, None); // no positives in this group
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GroupReport {
    /// The groups, ordered by the values of the sensitive columns.
    pub groups: Vec<GroupRates>,
    /// All rows together.
    pub overall: GroupRates,
    /// Confidence of every interval.
    pub confidence: f64,
}

impl GroupReport {
    /// Computes the report.
    ///
    /// # Errors
    /// No sensitive column; neither decisions nor scores; options out of range.
    pub fn new(outcomes: &Outcomes, options: &GroupOptions) -> Result<GroupReport> {
        options.check(NAME)?;
        let rows = Rows::new(outcomes, options.bins)?;
        let tally = rows.tally();
        let mut all = Tally::new(1, options.bins);
        (0..tally.groups()).for_each(|group| tally.merge_into(group, &mut all, 0));
        let total = all.weight(0);
        let names = outcomes.groups()?;
        let spread = Spread::of(&rows);
        let one = |tally: &Tally, group: usize, spread: &[f64]| -> GroupRates {
            let maker =
                Maker { tally, group, weighted: rows.weighted, unit: rows.unit, confidence: options.confidence };
            maker.rates(total, options.min_size, rows.score.is_some(), spread[group])
        };
        let mut groups: Vec<GroupRates> = (0..tally.groups()).map(|group| one(&tally, group, &spread.groups)).collect();
        for (group, rates) in groups.iter_mut().enumerate() {
            rates.name.clone_from(&names.names()[group]);
            rates.values.clone_from(&names.values()[group]);
        }
        let overall = GroupRates { name: "all rows".into(), ..one(&all, 0, &[spread.overall]) };
        Ok(GroupReport { groups, overall, confidence: options.confidence })
    }

    /// The names of groups with too few rows.
    pub fn too_small(&self) -> Vec<&str> {
        self.groups.iter().filter(|group| group.too_small).map(|group| group.name.as_str()).collect()
    }

    /// As JSON, with `null` for undefined rates.
    pub fn to_json(&self) -> Value {
        let groups: Vec<Value> = self.groups.iter().map(GroupRates::json).collect();
        json!({"confidence": self.confidence, "overall": self.overall.json(), "groups": groups})
    }
}

/// Standard deviations of the scores, by group and overall.
struct Spread {
    groups: Vec<f64>,
    overall: f64,
}

impl Spread {
    fn of(rows: &Rows) -> Spread {
        let Some(score) = &rows.score else { return Spread { groups: vec![0.0; rows.groups], overall: 0.0 } };
        let deviation = |inside: &dyn Fn(usize) -> bool| {
            let (mut weight, mut sum, mut square) = (0.0, 0.0, 0.0);
            for row in (0..rows.len()).filter(|&row| inside(row)) {
                let step = score[row] - 0.5; // centered, against cancellation
                weight += rows.weight[row];
                sum += rows.weight[row] * step;
                square += rows.weight[row] * step * step;
            }
            if weight > 0.0 { (square / weight - (sum / weight).powi(2)).max(0.0).sqrt() } else { 0.0 }
        };
        let groups = (0..rows.groups).map(|group| deviation(&|row| rows.group[row] == group)).collect();
        Spread { groups, overall: deviation(&|_| true) }
    }
}

struct Maker<'a> {
    tally: &'a Tally,
    group: usize,
    weighted: bool,
    unit: f64,
    confidence: f64,
}

impl Maker<'_> {
    fn share(&self, part: f64, whole: f64) -> Option<Rate> {
        if whole <= 0.0 {
            return None;
        }
        let value = (part / whole).clamp(0.0, 1.0);
        let (low, high) = match self.weighted {
            false => clopper_pearson(part, whole, self.confidence),
            true => wilson(value, whole * self.tally.effective_share(self.group), self.confidence),
        };
        Some(Rate { value, low: low.min(value), high: high.max(value), n: whole * self.unit })
    }

    fn rate(&self, kind: RateKind) -> Option<Rate> {
        let (part, whole) = self.tally.parts(kind, self.group);
        self.share(part, whole)
    }

    fn mean_score(&self, deviation: f64) -> Option<Rate> {
        let (part, whole) = self.tally.parts(RateKind::MeanScore, self.group);
        (whole > 0.0).then(|| {
            let value = (part / whole).clamp(0.0, 1.0);
            let n = whole * self.tally.effective_share(self.group);
            let half = normal_critical(1.0 - self.confidence) * deviation / n.sqrt();
            Rate { value, low: (value - half).max(0.0), high: (value + half).min(1.0), n: whole * self.unit }
        })
    }

    fn bins(&self) -> Vec<GroupBin> {
        let bins = self.tally.bins_of(self.group);
        let edge = |index: usize| index as f64 / bins.len() as f64;
        let bar = |(index, sums): (usize, &super::tally::BinSums)| GroupBin {
            low: edge(index),
            high: edge(index + 1),
            rows: sums.rows as usize,
            mean_score: (sums.weight > 0.0).then(|| sums.score / sums.weight),
            rate: self.share(sums.positive, sums.weight),
        };
        bins.iter().enumerate().map(bar).collect()
    }

    fn rates(&self, total: f64, min_size: usize, scored: bool, deviation: f64) -> GroupRates {
        let rows = self.tally.rows[self.group] as usize;
        GroupRates {
            name: String::new(),
            values: Vec::new(),
            rows,
            share: self.tally.weight(self.group) / total,
            too_small: rows < min_size,
            base_rate: self.rate(RateKind::Base),
            selection_rate: self.rate(RateKind::Selection),
            true_positive_rate: self.rate(RateKind::TruePositive),
            false_positive_rate: self.rate(RateKind::FalsePositive),
            false_negative_rate: self.rate(RateKind::FalseNegative),
            true_negative_rate: self.rate(RateKind::TrueNegative),
            positive_predictive_value: self.rate(RateKind::PositivePredictive),
            negative_predictive_value: self.rate(RateKind::NegativePredictive),
            accuracy: self.rate(RateKind::Accuracy),
            mean_score: if scored { self.mean_score(deviation) } else { None },
            calibration_error: if scored { self.tally.rate(RateKind::CalibrationError, self.group) } else { None },
            bins: if scored { self.bins() } else { Vec::new() },
        }
    }
}

impl GroupRates {
    /// The rates by name, in the order of the report.
    pub fn named(&self) -> [(&'static str, Option<Rate>); 10] {
        [
            ("base rate", self.base_rate),
            ("selection rate", self.selection_rate),
            ("true positive rate", self.true_positive_rate),
            ("false positive rate", self.false_positive_rate),
            ("false negative rate", self.false_negative_rate),
            ("true negative rate", self.true_negative_rate),
            ("positive predictive value", self.positive_predictive_value),
            ("negative predictive value", self.negative_predictive_value),
            ("accuracy", self.accuracy),
            ("mean score", self.mean_score),
        ]
    }

    fn json(&self) -> Value {
        let rates = self.named().into_iter();
        let rates: serde_json::Map<String, Value> =
            rates.map(|(name, rate)| (name.replace(' ', "_"), rate.map_or(Value::Null, |rate| rate.json()))).collect();
        let bin = |bin: &GroupBin| {
            let rate = bin.rate.map_or(Value::Null, |rate| rate.json());
            json!({"low": bin.low, "high": bin.high, "rows": bin.rows, "mean_score": bin.mean_score, "rate": rate})
        };
        json!({
            "name": self.name, "values": self.values, "rows": self.rows, "share": self.share, "too_small": self.too_small,
            "rates": rates, "calibration_error": self.calibration_error,
            "bins": self.bins.iter().map(bin).collect::<Vec<Value>>(),
        })
    }
}

impl fmt::Display for GroupReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = || self.groups.iter().chain([&self.overall]);
        let wide = all().map(|group| group.name.chars().count()).max().unwrap_or(0).max(5);
        write!(f, "{:<wide$} {:>7}", "group", "rows")?;
        let columns = ["base", "accepted", "TPR", "FPR", "FNR", "PPV", "NPV", "accuracy", "score"];
        columns.iter().try_for_each(|name| write!(f, "  {name:<20}"))?;
        writeln!(f)?;
        for group in all() {
            write!(f, "{:<wide$} {:>7}", group.name, group.rows)?;
            let named = group.named();
            for (_, rate) in named.iter().filter(|(name, _)| *name != "true negative rate") {
                let text = rate.map_or("-".to_owned(), |rate| rate.to_string());
                write!(f, "  {text:<20}")?;
            }
            writeln!(f, "{}", if group.too_small { "  too small to compare" } else { "" })?;
        }
        write!(f, "intervals: {} % each; - where a group has no rows to count", 100.0 * self.confidence)
    }
}
