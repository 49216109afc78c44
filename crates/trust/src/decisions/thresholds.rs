//! The threshold of a score for two classes, chosen on rows that the model has not seen.
//!
//! Every distinct score is a candidate, and so is "none": class 1 is predicted if the score is at least the threshold. One sort gives
//! the counts of all candidates, O(n log n). The criterion's value at the chosen threshold is the best of many on the same rows, so it
//! is too good: evaluate the decisions on other rows.

use serde_json::{Value, json};
use tove_tensor::Tensor;

use super::CostMatrix;
use crate::input::{codes, numbers, weights as read_weights};
use crate::{Result, TrustError};

const WHAT: &str = "select_threshold";

/// What the threshold is chosen for. Of equally good thresholds, the largest is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ThresholdCriterion<'a> {
    /// The lowest mean cost.
    Cost(&'a CostMatrix),
    /// The largest F-score, (1 + β²) P R/(β² P + R) with precision P and recall R; β = 1 gives F1.
    FBeta(f64),
    /// The largest recall with at least this precision.
    PrecisionAtLeast(f64),
    /// The largest precision with at least this recall.
    RecallAtLeast(f64),
    /// The largest difference of true and false positive rate (Youden's J); the same threshold has the best balanced accuracy.
    Youden,
}

/// Sums of weights above and below a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdCounts {
    /// Rows of class 1 with at least the threshold.
    pub true_positives: f64,
    /// Rows of class 0 with at least the threshold.
    pub false_positives: f64,
    /// Rows of class 1 below.
    pub false_negatives: f64,
    /// Rows of class 0 below.
    pub true_negatives: f64,
}

impl ThresholdCounts {
    /// Share of class 1 among the rows predicted as 1; none if there are none.
    pub fn precision(&self) -> Option<f64> {
        ratio(self.true_positives, self.true_positives + self.false_positives)
    }

    /// Share of the rows of class 1 that are predicted as 1; none without such rows.
    pub fn recall(&self) -> Option<f64> {
        ratio(self.true_positives, self.true_positives + self.false_negatives)
    }

    /// Share of the rows of class 0 that are predicted as 1; none without such rows.
    pub fn false_positive_rate(&self) -> Option<f64> {
        ratio(self.false_positives, self.false_positives + self.true_negatives)
    }

    fn total(&self) -> f64 {
        self.true_positives + self.false_positives + self.false_negatives + self.true_negatives
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// A chosen threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdChoice {
    /// Class 1 is predicted if the score is at least this; +∞ if it is never predicted.
    pub threshold: f64,
    /// The criterion at the threshold: mean cost, F-score, recall, precision, or J.
    pub value: f64,
    /// The counts at the threshold.
    pub counts: ThresholdCounts,
}

impl ThresholdChoice {
    /// The decisions (n) for scores (n): 1 where the score is at least the threshold. A tensor of i64.
    ///
    /// # Errors
    /// Scores that are not finite numbers in a vector.
    pub fn decide(&self, scores: &Tensor) -> Result<Tensor> {
        let scores = numbers("ThresholdChoice", "scores", scores, scores.numel())?;
        let decisions: Vec<i64> = scores.iter().map(|&score| i64::from(score >= self.threshold)).collect();
        Ok(Tensor::from_slice(&decisions))
    }

    /// As JSON; a threshold of +∞ is null.
    pub fn to_json(&self) -> Value {
        let counts = &self.counts;
        json!({
            "threshold": self.threshold,
            "value": self.value,
            "true_positives": counts.true_positives,
            "false_positives": counts.false_positives,
            "false_negatives": counts.false_negatives,
            "true_negatives": counts.true_negatives,
        })
    }
}

/// A candidate threshold with its counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) threshold: f64,
    pub(super) counts: ThresholdCounts,
}

/// All candidate thresholds from +∞ down, each with its counts: one sort, one pass.
pub(super) fn candidates(
    what: &'static str,
    labels: &Tensor,
    scores: &Tensor,
    weights: Option<&Tensor>,
) -> Result<Vec<Candidate>> {
    let scores = numbers(what, "scores", scores, scores.numel())?;
    let labels = codes(what, "labels", labels, scores.len(), 2)?;
    let weights = read_weights(what, weights, scores.len())?;
    let mut order: Vec<usize> = (0..scores.len()).filter(|&row| weights[row] > 0.0).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let sum = |class: usize| order.iter().filter(|&&row| labels[row] == class).map(|&row| weights[row]).sum::<f64>();
    let (positives, negatives) = (sum(1), sum(0));
    let (mut above, mut found) = ((0.0, 0.0), Vec::new());
    let candidate = |threshold: f64, (tp, fp): (f64, f64)| Candidate {
        threshold,
        counts: ThresholdCounts {
            true_positives: tp,
            false_positives: fp,
            // Rounding of sums of weights must not leave a little below 0.
            false_negatives: (positives - tp).max(0.0),
            true_negatives: (negatives - fp).max(0.0),
        },
    };
    found.push(candidate(f64::INFINITY, above));
    for (place, &row) in order.iter().enumerate() {
        if labels[row] == 1 {
            above.0 += weights[row]
        } else {
            above.1 += weights[row]
        }
        // Equal scores enter together; 0 and −0 are equal.
        if order.get(place + 1).is_none_or(|&next| scores[next] != scores[row]) {
            found.push(candidate(scores[row], above));
        }
    }
    Ok(found)
}

/// The best threshold for scores (n) of class 1 against labels (n), 0 or 1, with optional weights.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::decisions::{CostMatrix, ThresholdCriterion, select_threshold};
/// let (labels, scores) = (Tensor::from([0i64, 0, 1, 1]), Tensor::from([0.1, 0.4, 0.35, 0.8]));
/// let best = select_threshold(&labels, &scores, None, ThresholdCriterion::FBeta(1.0))?;
/// assert_eq!((best.threshold, best.value), (0.35, 0.8));
/// let costs = CostMatrix::new(&Tensor::from([[0.0, 1.0], [10.0, 0.0]]))?; // a false alarm is dear
/// let best = select_threshold(&labels, &scores, None, ThresholdCriterion::Cost(&costs))?;
/// assert_eq!((best.threshold, best.value), (0.8, 0.25));
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// Scores that are not finite; labels other than 0 and 1; a class without rows, where the criterion needs it; precision or recall that no
/// threshold reaches; costs of more than two classes.
pub fn select_threshold(
    labels: &Tensor,
    scores: &Tensor,
    weights: Option<&Tensor>,
    criterion: ThresholdCriterion<'_>,
) -> Result<ThresholdChoice> {
    check(criterion)?;
    let candidates = candidates(WHAT, labels, scores, weights)?;
    let first = candidates[0].counts;
    if first.total() == 0.0 {
        return Err(TrustError::data(WHAT, "there are no rows of positive weight", "give rows of both classes"));
    }
    let missing = match criterion {
        ThresholdCriterion::Cost(_) => None,
        _ if first.false_negatives == 0.0 => Some(1),
        ThresholdCriterion::Youden if first.true_negatives == 0.0 => Some(0),
        _ => None,
    };
    if let Some(class) = missing {
        let problem = format!("there are no rows of class {class}");
        return Err(TrustError::data(WHAT, problem, "give rows of both classes"));
    }
    // Strictly better, from the largest threshold down: ties go to the largest.
    let mut best: Option<(f64, Candidate)> = None;
    for &candidate in &candidates {
        if let Some(value) = gain(criterion, &candidate.counts).filter(|&value| best.is_none_or(|best| value > best.0))
        {
            best = Some((value, candidate));
        }
    }
    let Some((value, Candidate { threshold, counts })) = best else { return Err(unreached(criterion, &candidates)) };
    let value = if matches!(criterion, ThresholdCriterion::Cost(_)) { -value } else { value };
    Ok(ThresholdChoice { threshold, value, counts })
}

fn check(criterion: ThresholdCriterion<'_>) -> Result<()> {
    match criterion {
        ThresholdCriterion::Cost(costs) if costs.classes() != 2 => {
            let problem = format!("costs of {} classes", costs.classes());
            Err(TrustError::unsupported(
                WHAT,
                problem,
                "use `CostMatrix::decide`; a threshold exists for two classes only",
            ))
        }
        // Squares of other numbers, times counts, would leave the range of doubles.
        ThresholdCriterion::FBeta(beta) if !(1e-100..=1e100).contains(&beta) => {
            Err(TrustError::argument(WHAT, format!("beta is {beta:e}; give a number from 1e-100 to 1e100, such as 1")))
        }
        ThresholdCriterion::PrecisionAtLeast(least) | ThresholdCriterion::RecallAtLeast(least)
            if !(0.0..=1.0).contains(&least) =>
        {
            Err(TrustError::argument(WHAT, format!("a rate of {least}; give a number from 0 to 1")))
        }
        _ => Ok(()),
    }
}

/// What is to be maximized; none where the candidate is not allowed.
fn gain(criterion: ThresholdCriterion<'_>, counts: &ThresholdCounts) -> Option<f64> {
    match criterion {
        ThresholdCriterion::Cost(costs) => {
            let cost = costs.at(1, 1) * counts.true_positives
                + costs.at(1, 0) * counts.false_positives
                + costs.at(0, 1) * counts.false_negatives
                + costs.at(0, 0) * counts.true_negatives;
            Some(-cost / counts.total())
        }
        ThresholdCriterion::FBeta(beta) => {
            let (hits, square) = (counts.true_positives, beta * beta);
            let whole = (1.0 + square) * hits + square * counts.false_negatives + counts.false_positives;
            Some((1.0 + square) * hits / whole)
        }
        ThresholdCriterion::PrecisionAtLeast(least) => {
            counts.precision().filter(|&precision| precision >= least).and_then(|_| counts.recall())
        }
        ThresholdCriterion::RecallAtLeast(least) => {
            counts.recall().filter(|&recall| recall >= least).and_then(|_| counts.precision())
        }
        ThresholdCriterion::Youden => Some(counts.recall()? - counts.false_positive_rate()?),
    }
}

#[cold]
fn unreached(criterion: ThresholdCriterion<'_>, candidates: &[Candidate]) -> TrustError {
    let best = candidates.iter().filter_map(|candidate| candidate.counts.precision()).fold(0.0, f64::max);
    let wanted = if let ThresholdCriterion::PrecisionAtLeast(least) = criterion { least } else { 1.0 };
    let problem = format!("the best precision of all thresholds is {best:.4}, below {wanted}");
    TrustError::data(WHAT, problem, "ask for less, or improve the model")
}
