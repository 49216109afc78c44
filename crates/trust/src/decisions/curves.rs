//! Cost curves (Drummond and Holte 2006): the cost of a score with two classes for all class proportions and costs at once.
//!
//! The horizontal axis is x = p C₀₁/(p C₀₁ + (1 − p) C₁₀), the share of the costs that misses of class 1 would have, with p the proportion
//! of class 1; the vertical one is the expected cost as a share of the largest possible one. A threshold with false positive rate F and
//! false negative rate M is the line F(1 − x) + M x. The lower envelope of all lines is the cost of always taking the best threshold;
//! its corners are the points of the convex hull of the ROC curve. Predicting always the same class costs min(x, 1 − x).

use serde_json::{Value, json};
use tove_tensor::Tensor;

use super::CostMatrix;
use super::thresholds::candidates;
use crate::{Result, TrustError};

const WHAT: &str = "CostCurve";

/// The cost of one threshold: a line from its false positive rate at x = 0 to its false negative rate at x = 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostLine {
    /// Class 1 is predicted if the score is at least this; +∞ for never.
    pub threshold: f64,
    /// Share of class 0 predicted as 1.
    pub false_positive_rate: f64,
    /// Share of class 1 predicted as 0.
    pub false_negative_rate: f64,
}

impl CostLine {
    /// The cost at x.
    pub fn cost(&self, x: f64) -> f64 {
        self.false_positive_rate * (1.0 - x) + self.false_negative_rate * x
    }
}

/// A corner of the lower envelope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnvelopeCorner {
    /// Share of the costs that misses would have.
    pub x: f64,
    /// The lowest cost there.
    pub cost: f64,
    /// The threshold that is best from here to the next corner.
    pub threshold: f64,
}

/// The cost lines of all thresholds and their lower envelope.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::decisions::CostCurve;
/// let curve = CostCurve::new(&Tensor::from([0i64, 0, 1, 1]), &Tensor::from([0.1, 0.4, 0.35, 0.8]), None)?;
/// assert_eq!(curve.cost(0.5)?, 0.25); // the best threshold, 0.35 or 0.8, has a balanced error of 1/4
/// assert_eq!((curve.cost(0.0)?, curve.cost(1.0)?), (0.0, 0.0));
/// assert!(curve.area() < 0.25); // the area of always predicting one class
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CostCurve {
    lines: Vec<CostLine>,
    envelope: Vec<EnvelopeCorner>,
}

impl CostCurve {
    /// Of scores (n) of class 1 against labels (n), 0 or 1, with optional weights.
    ///
    /// # Errors
    /// Scores that are not finite; labels other than 0 and 1, or of one class only.
    pub fn new(labels: &Tensor, scores: &Tensor, weights: Option<&Tensor>) -> Result<CostCurve> {
        let candidates = candidates(WHAT, labels, scores, weights)?;
        let all = candidates[0].counts;
        let (positives, negatives) = (all.false_negatives, all.true_negatives);
        if positives == 0.0 || negatives == 0.0 {
            let class = usize::from(positives == 0.0);
            let problem = format!("there are no rows of class {class}");
            return Err(TrustError::data(WHAT, problem, "give rows of both classes"));
        }
        let line = |candidate: &super::thresholds::Candidate| CostLine {
            threshold: candidate.threshold,
            false_positive_rate: candidate.counts.false_positives / negatives,
            false_negative_rate: candidate.counts.false_negatives / positives,
        };
        let mut lines: Vec<CostLine> = candidates.iter().map(line).collect();
        // The last threshold predicts class 1 always, whatever rounding has left.
        if let Some(last) = lines.last_mut() {
            (last.false_positive_rate, last.false_negative_rate) = (1.0, 0.0);
        }
        let envelope = envelope(&lines);
        Ok(CostCurve { lines, envelope })
    }

    /// The line of every threshold, from +∞ down.
    pub fn lines(&self) -> &[CostLine] {
        &self.lines
    }

    /// The corners of the lower envelope, from x = 0 to x = 1.
    pub fn envelope(&self) -> &[EnvelopeCorner] {
        &self.envelope
    }

    /// The lowest cost of all thresholds at x.
    ///
    /// # Errors
    /// If x lies outside of \[0, 1\].
    pub fn cost(&self, x: f64) -> Result<f64> {
        let place = self.place(x)?;
        let (from, to) = (self.envelope[place], self.envelope[(place + 1).min(self.envelope.len() - 1)]);
        if to.x <= from.x {
            return Ok(from.cost);
        }
        Ok(from.cost + (to.cost - from.cost) * (x - from.x) / (to.x - from.x))
    }

    /// The best threshold at x.
    ///
    /// # Errors
    /// If x lies outside of \[0, 1\].
    pub fn threshold(&self, x: f64) -> Result<f64> {
        Ok(self.envelope[self.place(x)?].threshold)
    }

    /// The corner at x or to its left.
    fn place(&self, x: f64) -> Result<usize> {
        if !(0.0..=1.0).contains(&x) {
            return Err(TrustError::argument(WHAT, format!("`x` is {x}; give a number from 0 to 1")));
        }
        Ok(self.envelope.partition_point(|corner| corner.x <= x).saturating_sub(1))
    }

    /// The area under the lower envelope: the mean cost if all x are equally likely; at most 1/4.
    pub fn area(&self) -> f64 {
        self.envelope.windows(2).map(|pair| (pair[1].x - pair[0].x) * (pair[0].cost + pair[1].cost) / 2.0).sum()
    }

    /// As JSON; a threshold of +∞ is null.
    pub fn to_json(&self) -> Value {
        let corner =
            |corner: &EnvelopeCorner| json!({"x": corner.x, "cost": corner.cost, "threshold": corner.threshold});
        json!({"area": self.area(), "envelope": self.envelope.iter().map(corner).collect::<Vec<_>>()})
    }
}

/// The x of the curve for a cost matrix of two classes and a proportion of class 1.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::decisions::{CostMatrix, probability_cost};
/// let costs = CostMatrix::new(&Tensor::from([[0.0, 10.0], [1.0, 0.0]]))?;
/// assert_eq!(probability_cost(&costs, 0.5)?, 10.0 / 11.0);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// A proportion outside of \[0, 1\]; costs without a threshold, see [`CostMatrix::threshold`]; no costs at all.
pub fn probability_cost(costs: &CostMatrix, proportion: f64) -> Result<f64> {
    const WHAT: &str = "probability_cost";
    if !(0.0..=1.0).contains(&proportion) {
        return Err(TrustError::argument(WHAT, format!("`proportion` is {proportion}; give a number from 0 to 1")));
    }
    costs.threshold()?;
    let misses = proportion * (costs.at(0, 1) - costs.at(1, 1));
    let alarms = (1.0 - proportion) * (costs.at(1, 0) - costs.at(0, 0));
    if misses + alarms == 0.0 {
        let fix = "give a proportion between 0 and 1, or other costs";
        return Err(TrustError::data(WHAT, "neither error costs anything for this proportion", fix));
    }
    Ok(misses / (misses + alarms))
}

/// The lower envelope of lines by rising false positive rate: those on the convex hull of the ROC curve, each from the x where it
/// meets the one before.
fn envelope(lines: &[CostLine]) -> Vec<EnvelopeCorner> {
    let mut hull: Vec<CostLine> = Vec::new();
    for &line in lines {
        let rises = |a: &CostLine, b: &CostLine| {
            (b.false_positive_rate - a.false_positive_rate, a.false_negative_rate - b.false_negative_rate)
        };
        while let [.., before, last] = hull[..] {
            let ((run, rise), (next_run, next_rise)) = (rises(&before, &last), rises(&last, &line));
            // The last is below the segment from the one before to this one, or on it.
            if rise * next_run > next_rise * run {
                break;
            }
            hull.pop();
        }
        hull.push(line);
    }
    let mut corners = vec![EnvelopeCorner { x: 0.0, cost: hull[0].cost(0.0), threshold: hull[0].threshold }];
    for pair in hull.windows(2) {
        let run = pair[1].false_positive_rate - pair[0].false_positive_rate;
        let rise = pair[0].false_negative_rate - pair[1].false_negative_rate;
        if run + rise <= 0.0 {
            continue;
        }
        let x = run / (run + rise);
        let corner = EnvelopeCorner { x, cost: pair[0].cost(x), threshold: pair[1].threshold };
        // At x = 0 a better threshold replaces the first one.
        if corners.last().is_some_and(|last| last.x >= x) {
            corners.pop();
        }
        corners.push(corner);
    }
    let last = hull[hull.len() - 1];
    if corners.last().is_some_and(|corner| corner.x < 1.0) {
        corners.push(EnvelopeCorner { x: 1.0, cost: last.cost(1.0), threshold: last.threshold });
    }
    corners
}
