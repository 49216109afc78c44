//! How sets and intervals did on rows whose truth is known: coverage with its exact interval, sizes, groups, strata.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};
use tove_tensor::Tensor;

use super::{CoverageClaim, PredictionIntervals, PredictionSets, Proportion};
use crate::Result;
use crate::input::{codes, fraction, groups as read_groups};

/// Coverage of the rows of one group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupCoverage {
    /// The group, or the class.
    pub group: i64,
    /// Share of the rows whose truth is covered.
    pub coverage: Proportion,
    /// Mean number of classes in the sets, or mean width of the bounded intervals.
    pub mean_size: f64,
}

/// Coverage of the rows whose sets or intervals have sizes in a range.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeCoverage {
    /// The smallest size or width.
    pub least: f64,
    /// The largest size or width.
    pub most: f64,
    /// Share of the rows whose truth is covered.
    pub coverage: Proportion,
}

/// Coverage and sizes of sets or intervals on rows that were used neither to fit nor to calibrate.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::conformal::{CoverageReport, PredictionSets};
/// let sets = PredictionSets::new(&Tensor::from([[1i64, 0, 0], [1, 1, 0], [0, 0, 0], [0, 1, 0]]))?;
/// let labels = Tensor::from([0i64, 1, 2, 1]);
/// let report = CoverageReport::of_sets(&sets, &labels, Some(&Tensor::from([7i64, 7, 8, 8])), 0.95)?;
/// assert_eq!((report.coverage.value, report.mean_size, report.empty, report.singleton), (0.75, 1.0, 0.25, Some(0.5)));
/// assert_eq!(report.worst_group().map(|worst| (worst.group, worst.coverage.value)), Some((8, 0.5)));
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CoverageReport {
    /// What was claimed.
    pub claim: CoverageClaim,
    /// Share of the rows whose truth is covered.
    pub coverage: Proportion,
    /// Mean number of classes in the sets, or mean width of the bounded intervals (infinite if all are unbounded).
    pub mean_size: f64,
    /// Median of the same; infinite if that of half of the intervals is.
    pub median_size: f64,
    /// Share of empty sets or intervals.
    pub empty: f64,
    /// Share of sets with one class; none for intervals.
    pub singleton: Option<f64>,
    /// Share of sets with all classes, or of intervals with an infinite end: rows about which nothing is said.
    pub unbounded: f64,
    /// By group, in rising order; empty without groups.
    pub groups: Vec<GroupCoverage>,
    /// By true class, in rising order; empty for intervals.
    pub classes: Vec<GroupCoverage>,
    /// By size: sets of 0, 1, 2, 3, 4 to 6, 7 to 10, 11 to 100 and more classes; intervals by quarters of their width.
    pub by_size: Vec<SizeCoverage>,
}

impl CoverageReport {
    /// Of sets of classes, with the true classes 0 … m − 1 and optionally the group of each row.
    ///
    /// # Errors
    /// Labels or groups that do not fit; a confidence that is not between 0 and 1.
    pub fn of_sets(
        sets: &PredictionSets,
        labels: &Tensor,
        groups: Option<&Tensor>,
        confidence: f64,
    ) -> Result<CoverageReport> {
        const WHAT: &str = "CoverageReport";
        let covered = sets.covers(labels)?;
        let counts = sets.sizes();
        let sizes: Vec<f64> = counts.iter().map(|&size| size as f64).collect();
        let stratum = |size: usize| match size {
            0..=3 => size,
            4..=6 => 4,
            7..=10 => 5,
            11..=100 => 6,
            _ => 7,
        };
        let strata: Vec<i64> = counts.iter().map(|&size| stratum(size) as i64).collect();
        let full = |size: usize| size == sets.classes();
        let labels: Vec<i64> =
            codes(WHAT, "labels", labels, sets.len(), sets.classes())?.into_iter().map(|code| code as i64).collect();
        let rows = Rows { covered: &covered, sizes: &sizes, confidence: fraction(WHAT, "confidence", confidence)? };
        Ok(CoverageReport {
            singleton: Some(share(counts.iter().map(|&size| size == 1))),
            unbounded: share(counts.iter().map(|&size| full(size))),
            empty: share(counts.iter().map(|&size| size == 0)),
            classes: rows.by(&labels)?,
            ..rows.report(sets.claim(), groups, &strata)?
        })
    }

    /// Of intervals, with the true values and optionally the group of each row.
    ///
    /// # Errors
    /// Targets or groups that do not fit; a confidence that is not between 0 and 1.
    pub fn of_intervals(
        intervals: &PredictionIntervals,
        targets: &Tensor,
        groups: Option<&Tensor>,
        confidence: f64,
    ) -> Result<CoverageReport> {
        let covered = intervals.covers(targets)?;
        let sizes = intervals.widths();
        let rows = Rows {
            covered: &covered,
            sizes: &sizes,
            confidence: fraction("CoverageReport", "confidence", confidence)?,
        };
        let ends = || intervals.low().iter().zip(intervals.high());
        Ok(CoverageReport {
            unbounded: share(ends().map(|(low, high)| low.is_infinite() || high.is_infinite())),
            empty: share(ends().map(|(low, high)| low > high)),
            ..rows.report(intervals.claim(), groups, &quarters(&sizes))?
        })
    }

    /// The group of lowest coverage, the first of several.
    pub fn worst_group(&self) -> Option<&GroupCoverage> {
        self.groups.iter().min_by(|a, b| a.coverage.value.total_cmp(&b.coverage.value))
    }

    /// The lowest coverage of all size strata.
    pub fn size_stratified_coverage(&self) -> f64 {
        self.by_size.iter().map(|stratum| stratum.coverage.value).fold(1.0, f64::min)
    }

    /// Whether even the upper end of the interval lies below what was claimed. This happens for one calibration set now and then,
    /// because the claim is an average over calibration sets (see [`coverage_range`](super::coverage_range)); far below it, rows
    /// are not exchangeable.
    pub fn below_claim(&self) -> bool {
        self.claim.level().is_some_and(|level| self.coverage.high < level)
    }

    /// As JSON; infinite sizes are null.
    pub fn to_json(&self) -> Value {
        let group =
            |g: &GroupCoverage| json!({"group": g.group, "coverage": g.coverage.to_json(), "mean_size": g.mean_size});
        let size = |s: &SizeCoverage| json!({"least": s.least, "most": s.most, "coverage": s.coverage.to_json()});
        json!({
            "claim": self.claim.to_json(),
            "coverage": self.coverage.to_json(),
            "mean_size": self.mean_size,
            "median_size": self.median_size,
            "empty": self.empty,
            "singleton": self.singleton,
            "unbounded": self.unbounded,
            "groups": self.groups.iter().map(group).collect::<Vec<_>>(),
            "classes": self.classes.iter().map(group).collect::<Vec<_>>(),
            "by_size": self.by_size.iter().map(size).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for CoverageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| 100.0 * share;
        writeln!(f, "coverage {}", self.coverage)?;
        if self.claim.level().is_some() {
            writeln!(f, "claim: {}", self.claim)?;
        }
        let (mean, median) = (self.mean_size, self.median_size);
        match self.singleton {
            Some(singleton) => writeln!(
                f,
                "mean size {mean:.2}, median {median}, empty {:.1} %, one class {:.1} %, all classes {:.1} %",
                percent(self.empty),
                percent(singleton),
                percent(self.unbounded)
            )?,
            None => writeln!(
                f,
                "mean width {mean:.4}, median {median:.4}, empty {:.1} %, unbounded {:.1} %",
                percent(self.empty),
                percent(self.unbounded)
            )?,
        }
        for (kind, groups) in [("group", &self.groups), ("class", &self.classes)] {
            for group in groups {
                writeln!(f, "{kind} {}: coverage {}, mean size {:.4}", group.group, group.coverage, group.mean_size)?;
            }
        }
        for stratum in &self.by_size {
            writeln!(f, "size {} to {}: coverage {}", stratum.least, stratum.most, stratum.coverage)?;
        }
        Ok(())
    }
}

struct Rows<'a> {
    covered: &'a [bool],
    sizes: &'a [f64],
    confidence: f64,
}

impl Rows<'_> {
    fn report(&self, claim: CoverageClaim, groups: Option<&Tensor>, strata: &[i64]) -> Result<CoverageReport> {
        let groups = match groups {
            Some(groups) => {
                let labels = read_groups("CoverageReport", groups, self.covered.len())?;
                self.by(&labels.codes().iter().map(|&code| labels.classes()[code]).collect::<Vec<i64>>())?
            }
            None => Vec::new(),
        };
        let size = |members: Vec<usize>| {
            let sizes = || members.iter().map(|&row| self.sizes[row]);
            let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
            let coverage = Proportion::of(members.iter().map(|&row| self.covered[row]), self.confidence)?;
            Ok(SizeCoverage { least, most, coverage })
        };
        let mut sorted = self.sizes.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = |place: usize| sorted[place.min(sorted.len() - 1)];
        Ok(CoverageReport {
            claim,
            coverage: Proportion::of(self.covered.iter().copied(), self.confidence)?,
            mean_size: mean(self.sizes.iter().copied()),
            median_size: f64::midpoint(middle((sorted.len() - 1) / 2), middle(sorted.len() / 2)),
            empty: 0.0,
            singleton: None,
            unbounded: 0.0,
            groups,
            classes: Vec::new(),
            by_size: members(strata).into_values().map(size).collect::<Result<Vec<_>>>()?,
        })
    }

    fn by(&self, groups: &[i64]) -> Result<Vec<GroupCoverage>> {
        let group = |(group, members): (i64, Vec<usize>)| {
            let coverage = Proportion::of(members.iter().map(|&row| self.covered[row]), self.confidence)?;
            Ok(GroupCoverage { group, coverage, mean_size: mean(members.iter().map(|&row| self.sizes[row])) })
        };
        members(groups).into_iter().map(group).collect()
    }
}

fn members(groups: &[i64]) -> BTreeMap<i64, Vec<usize>> {
    let mut members: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    groups.iter().enumerate().for_each(|(row, &group)| members.entry(group).or_default().push(row));
    members
}

fn share(hits: impl Iterator<Item = bool>) -> f64 {
    let (count, n) = hits.fold((0usize, 0usize), |(count, n), hit| (count + usize::from(hit), n + 1));
    count as f64 / n as f64
}

/// The mean of the finite values; infinite if there are none.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.filter(|value| value.is_finite()).fold((0.0, 0usize), |(sum, n), value| (sum + value, n + 1));
    if n == 0 { f64::INFINITY } else { sum / n as f64 }
}

/// The quarter of each width; equal widths share one.
fn quarters(widths: &[f64]) -> Vec<i64> {
    let mut sorted = widths.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quarter = |width: &f64| (4 * sorted.partition_point(|other| other < width) / sorted.len()) as i64;
    widths.iter().map(quarter).collect()
}
