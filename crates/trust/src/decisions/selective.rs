//! Risk and coverage of decisions that are made only above a confidence, and the confidence for a wanted risk.

use std::fmt;

use serde_json::{Value, json};
use tove_tensor::Tensor;

use crate::conformal::binomial_upper;
use crate::conformal::json::Reader;
use crate::input::{fraction, numbers, reals};
use crate::{Result, TrustError};

/// The risk of deciding only rows of at least some confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RiskCoveragePoint {
    /// Rows with at least this confidence are decided.
    pub threshold: f64,
    /// Share of the rows that are decided.
    pub coverage: f64,
    /// Mean loss of these.
    pub risk: f64,
}

/// Risk against coverage for every confidence (El-Yaniv and Wiener 2010). With losses 0 and 1, the risk is one minus the selective
/// accuracy.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::decisions::RiskCoverage;
/// let curve = RiskCoverage::new(&Tensor::from([0.9, 0.8, 0.8, 0.6]), &Tensor::from([0.0, 0.0, 1.0, 1.0]))?;
/// let points: Vec<(f64, f64)> = curve.points().iter().map(|point| (point.coverage, point.risk)).collect();
/// assert_eq!(points, [(0.25, 0.0), (0.75, 1.0 / 3.0), (1.0, 0.5)]); // equal confidences enter together
/// assert_eq!(curve.at_threshold(0.7).map(|point| point.coverage), Some(0.75));
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RiskCoverage {
    points: Vec<RiskCoveragePoint>,
    /// Area of the best possible order of these losses.
    best: f64,
}

impl RiskCoverage {
    /// Of confidences (n), larger for surer rows, such as the largest probability, and losses (n), such as 1 for errors.
    ///
    /// # Errors
    /// Numbers that are not finite or of different lengths.
    pub fn new(confidences: &Tensor, losses: &Tensor) -> Result<RiskCoverage> {
        const WHAT: &str = "RiskCoverage";
        let confidences = numbers(WHAT, "confidences", confidences, confidences.numel())?;
        let losses = numbers(WHAT, "losses", losses, confidences.len())?;
        let n = losses.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| confidences[b].total_cmp(&confidences[a]));
        let (mut sum, mut points) = (0.0, Vec::new());
        for (place, &row) in order.iter().enumerate() {
            sum += losses[row];
            if order.get(place + 1).is_none_or(|&next| confidences[next] != confidences[row]) {
                let decided = (place + 1) as f64;
                points.push(RiskCoveragePoint {
                    threshold: confidences[row],
                    coverage: decided / n as f64,
                    risk: sum / decided,
                });
            }
        }
        let mut rising = losses;
        rising.sort_by(f64::total_cmp);
        let mut sum = 0.0;
        let risk = |(place, loss): (usize, &f64)| {
            sum += loss;
            sum / (place + 1) as f64
        };
        let best = rising.iter().enumerate().map(risk).sum::<f64>() / n as f64;
        Ok(RiskCoverage { points, best })
    }

    /// A point per distinct confidence, from the largest down.
    pub fn points(&self) -> &[RiskCoveragePoint] {
        &self.points
    }

    /// The point of deciding all rows of at least this confidence; none if there are none.
    pub fn at_threshold(&self, threshold: f64) -> Option<&RiskCoveragePoint> {
        self.points[..self.points.partition_point(|point| point.threshold >= threshold)].last()
    }

    /// The point of lowest coverage that decides at least this share of the rows; none if the share is above 1 or NaN.
    pub fn at_coverage(&self, coverage: f64) -> Option<&RiskCoveragePoint> {
        self.points.iter().find(|point| point.coverage >= coverage - 1e-12)
    }

    /// The area under the curve: the mean risk when coverage goes from 1/n to 1. Rows of equal confidence all have the risk of deciding
    /// them together.
    pub fn area(&self) -> f64 {
        let mut last = 0.0;
        self.points
            .iter()
            .map(|point| (point.coverage - std::mem::replace(&mut last, point.coverage)) * point.risk)
            .sum()
    }

    /// The area minus that of the best order of the same losses: 0 if every error has a lower confidence than every success.
    pub fn excess_area(&self) -> f64 {
        self.area() - self.best
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let point = |point: &RiskCoveragePoint| json!({"threshold": point.threshold, "coverage": point.coverage, "risk": point.risk});
        json!({"area": self.area(), "excess_area": self.excess_area(), "points": self.points.iter().map(point).collect::<Vec<_>>()})
    }
}

/// A confidence above which errors are rare, with a guarantee.
///
/// For each share 1/K, 2/K, … of the rows of largest confidence, the confidence of the next row is a candidate threshold. Given that
/// threshold, the rows strictly above it are independent draws of rows above it, so the binomial upper bound at level δ/K holds for
/// its error rate; all K bounds hold with probability 1 − δ. The candidate of largest coverage whose bound is at most the wanted risk
/// is taken (in the manner of Geifman and El-Yaniv 2017, with fixed candidates in place of their search).
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::decisions::SelectiveThreshold;
/// // 1000 rows of rising confidence; the least sure tenth is wrong.
/// let confidence = Tensor::from_vec((0..1000).map(|i| f64::from(i) / 1000.0).collect::<Vec<f64>>(), [1000]);
/// let errors = Tensor::from_vec((0..1000).map(|i| f64::from(u8::from(i < 100))).collect::<Vec<f64>>(), [1000]);
/// let threshold = SelectiveThreshold::fit(&confidence, &errors, 0.02, 0.05)?;
/// assert!(threshold.bound <= 0.02 && threshold.coverage == 0.9);
/// assert_eq!(threshold.decides(&Tensor::from([0.5, 0.01]))?, [true, false]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelectiveThreshold {
    /// Rows with a confidence above this are decided; none if all are.
    pub threshold: Option<f64>,
    /// Share of the rows that are decided.
    pub coverage: f64,
    /// Share of errors among these.
    pub risk: f64,
    /// Upper bound on the error rate of decided rows.
    pub bound: f64,
    /// The error rate that was asked for.
    pub target: f64,
    /// The probability, at most, that the bound does not hold.
    pub delta: f64,
    /// Number of rows that it was chosen on.
    pub n: usize,
}

const WHAT: &str = "SelectiveThreshold";
const KIND: &str = "selective_threshold";
const VERSION: u64 = 1;

/// Number of candidate shares.
const CANDIDATES: usize = 20;

impl SelectiveThreshold {
    /// From confidences (n) and errors (n), 1 for wrong decisions and 0 for right ones, of rows that the model has not seen: decided
    /// rows are wrong with probability at most `target`, except with probability `delta` over these rows.
    ///
    /// # Errors
    /// Numbers that are not finite; errors other than 0 and 1; `target` or `delta` not between 0 and 1; no threshold for which the risk
    /// can be shown.
    pub fn fit(confidences: &Tensor, errors: &Tensor, target: f64, delta: f64) -> Result<SelectiveThreshold> {
        let (target, delta) = (fraction(WHAT, "target", target)?, fraction(WHAT, "delta", delta)?);
        let confidences = numbers(WHAT, "confidences", confidences, confidences.numel())?;
        let errors = numbers(WHAT, "errors", errors, confidences.len())?;
        if let Some(row) = errors.iter().position(|&error| error != 0.0 && error != 1.0) {
            let problem = format!("the error of row {row} is {}", errors[row]);
            return Err(TrustError::data(WHAT, problem, "give 1 for wrong decisions, 0 for right ones"));
        }
        let n = errors.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| confidences[b].total_cmp(&confidences[a]));
        let mut wrong = vec![0usize; n + 1]; // errors among the first rows
        order
            .iter()
            .enumerate()
            .for_each(|(place, &row)| wrong[place + 1] = wrong[place] + usize::from(errors[row] == 1.0));
        let shares = CANDIDATES.min(n);
        let mut least = 1.0f64;
        for share in (1..=shares).rev() {
            let place = n * share / shares;
            let threshold = order.get(place).map(|&row| confidences[row]);
            // Rows strictly above the threshold.
            let above = threshold.map_or(n, |threshold| order.partition_point(|&row| confidences[row] > threshold));
            if above == 0 {
                continue;
            }
            let bound = binomial_upper(wrong[above], above, delta / shares as f64)?;
            least = least.min(bound);
            if bound <= target {
                let (coverage, risk) = (above as f64 / n as f64, wrong[above] as f64 / above as f64);
                return Ok(SelectiveThreshold { threshold, coverage, risk, bound, target, delta, n });
            }
        }
        let problem = format!("the lowest error rate that {n} rows can show is {least:.4}, above {target}");
        Err(TrustError::data(WHAT, problem, "give more rows, a larger target or delta, or better confidences"))
    }

    /// For each confidence, whether the row is decided.
    ///
    /// # Errors
    /// Confidences that are not finite.
    pub fn decides(&self, confidences: &Tensor) -> Result<Vec<bool>> {
        let confidences = reals(WHAT, "confidences", confidences)?;
        Ok(confidences
            .iter()
            .map(|&confidence| self.threshold.is_none_or(|threshold| confidence > threshold))
            .collect())
    }

    /// As JSON, for a model file.
    pub fn to_json(&self) -> Value {
        json!({"kind": KIND, "version": VERSION, "threshold": self.threshold, "coverage": self.coverage, "risk": self.risk,
            "bound": self.bound, "target": self.target, "delta": self.delta, "n": self.n})
    }

    /// Reads what [`SelectiveThreshold::to_json`] wrote.
    ///
    /// # Errors
    /// A missing or invalid field; another kind of object; a newer version.
    pub fn from_json(value: &Value) -> Result<SelectiveThreshold> {
        let reader = Reader::open(WHAT, value, KIND, VERSION)?;
        let rate = |name: &str| {
            let value = reader.real(name)?;
            let valid = (0.0..=1.0).contains(&value);
            if valid { Ok(value) } else { Err(reader.invalid(format!("`{name}` is {value}, not a rate"))) }
        };
        // A missing threshold is not the same as null, which decides all rows.
        let threshold = if reader.get("threshold")?.is_null() { None } else { Some(reader.real("threshold")?) };
        Ok(SelectiveThreshold {
            threshold,
            coverage: rate("coverage")?,
            risk: rate("risk")?,
            bound: rate("bound")?,
            target: reader.fraction("target")?,
            delta: reader.fraction("delta")?,
            n: reader.count("n")?,
        })
    }
}

impl fmt::Display for SelectiveThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.threshold {
            Some(threshold) => write!(f, "rows with a confidence above {threshold} are decided")?,
            None => write!(f, "all rows are decided")?,
        }
        write!(
            f,
            " ({:.1} % of them, of which {:.2} % wrong): at most {} % are wrong, with probability {}, provided that the {} rows it was \
             chosen on are independent draws of the new rows' distribution",
            100.0 * self.coverage,
            100.0 * self.risk,
            100.0 * self.target,
            1.0 - self.delta,
            self.n
        )
    }
}
