//! Conformal risk control: a parameter for which the expected loss of a new row is at most α (Angelopoulos et al. 2024).
//!
//! Let Lᵢ(λ) ≤ B be the loss of row i, not rising in λ (larger λ is more careful). The smallest λ with
//! (Σᵢ Lᵢ(λ) + B)/(n + 1) ≤ α has E L(λ) ≤ α for a new row, if rows are exchangeable. With the loss "the truth is not in the set" this
//! is split conformal prediction.

use std::fmt;

use serde_json::{Value, json};
use tove_tensor::Tensor;

use super::json::Reader;
use super::quantile::ceil;
use crate::input::{fraction, numbers, reals};
use crate::{Result, TrustError};

/// Rounding errors of a sum of losses do not count.
const ROUNDING: f64 = 1e-12;

/// A parameter for which the expected loss is controlled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RiskControl {
    /// The chosen parameter.
    pub lambda: f64,
    /// Its place among those that were given.
    pub index: usize,
    /// Mean loss of the calibration rows.
    pub risk: f64,
    /// (Σ Lᵢ + B)/(n + 1), which is at most α.
    pub bound: f64,
    /// The largest expected loss that was asked for.
    pub alpha: f64,
    /// Number of calibration rows.
    pub n: usize,
}

impl RiskControl {
    /// The first of rising parameters (k) for which the expected loss of a new row is at most `alpha`, from the losses of calibration
    /// rows (n, k), which lie in \[0, `largest`\] and do not rise along a row.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// use tove_trust::conformal::RiskControl;
    /// // Losses of four rows for three parameters.
    /// let losses = Tensor::from([[1.0, 0.5, 0.0], [0.5, 0.0, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]);
    /// let choice = RiskControl::fit(&Tensor::from([0.1, 0.2, 0.3]), &losses, 1.0, 0.4)?;
    /// assert_eq!((choice.lambda, choice.risk, choice.bound), (0.2, 0.25, 0.4)); // (1 + 1)/5
    /// # Ok::<(), tove_trust::TrustError>(())
    /// ```
    ///
    /// # Errors
    /// Parameters that do not rise; losses outside of the range, or rising; α not above 0; fewer rows than `largest`/α − 1, or
    /// losses too large for every parameter.
    pub fn fit(lambdas: &Tensor, losses: &Tensor, largest: f64, alpha: f64) -> Result<RiskControl> {
        const WHAT: &str = "RiskControl";
        let lambdas = numbers(WHAT, "parameters", lambdas, lambdas.numel())?;
        if lambdas.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(TrustError::data(
                WHAT,
                "the parameters do not rise",
                "sort them; for falling ones give their negatives",
            ));
        }
        let k = lambdas.len();
        if !matches!(*losses.dims(), [_, columns] if columns == k) {
            let problem = format!("losses of shape {} for {k} parameters", losses.shape());
            return Err(TrustError::data(WHAT, problem, "give a row per sample and a column per parameter"));
        }
        if !(largest > 0.0 && largest.is_finite() && alpha > 0.0 && alpha < largest) {
            let problem =
                format!("`largest` is {largest} and `alpha` is {alpha}; give 0 < alpha < largest, both finite");
            return Err(TrustError::argument(WHAT, problem));
        }
        let losses = reals(WHAT, "losses", losses)?;
        for (row, losses) in losses.chunks_exact(k).enumerate() {
            if let Some(loss) = losses.iter().find(|loss| !(0.0..=largest).contains(*loss)) {
                let problem = format!("row {row} has a loss of {loss}, outside of [0, {largest}]");
                return Err(TrustError::data(WHAT, problem, "give the largest possible loss as `largest`"));
            }
            if let Some(place) = losses.windows(2).position(|pair| pair[1] > pair[0]) {
                let problem = format!("the loss of row {row} rises from parameter {place} to parameter {}", place + 1);
                let fix = "order parameters from careless to careful; replace each loss by the largest of it and all later ones";
                return Err(TrustError::data(WHAT, problem, fix));
            }
        }
        let n = losses.len() / k;
        let sum = |column: usize| losses.iter().skip(column).step_by(k).sum::<f64>();
        let bound = |sum: f64| (sum + largest) / (n + 1) as f64;
        let index = (0..k).find(|&column| bound(sum(column)) <= alpha * (1.0 + ROUNDING));
        let Some(index) = index else { return Err(out_of_reach(WHAT, n, alpha, largest, sum(k - 1))) };
        let risk = sum(index) / n as f64;
        Ok(RiskControl { lambda: lambdas[index], index, risk, bound: bound(sum(index)), alpha, n })
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({"lambda": self.lambda, "index": self.index, "risk": self.risk, "bound": self.bound, "alpha": self.alpha, "n": self.n})
    }
}

impl fmt::Display for RiskControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "parameter {}: the expected loss of a new row is at most {}, provided that it is exchangeable with the {} calibration \
             rows, whose mean loss is {:.4}",
            self.lambda, self.alpha, self.n, self.risk
        )
    }
}

#[cold]
fn out_of_reach(what: &'static str, n: usize, alpha: f64, largest: f64, least: f64) -> TrustError {
    let needed = (ceil(largest / alpha) as usize).saturating_sub(1).max(1);
    if n < needed {
        let problem = format!("{n} calibration rows cannot show an expected loss of at most {alpha}");
        return TrustError::data(what, problem, format!("give at least {needed} rows, or a larger alpha"));
    }
    let problem = format!(
        "even the most careful parameter has a mean loss of {:.4} on {n} rows, too much for alpha = {alpha}",
        least / n as f64
    );
    TrustError::data(what, problem, "give more careful parameters, more rows, or a larger alpha")
}

/// Sets of labels whose expected false negative rate is at most α: for problems where a row has any number of true labels.
///
/// The loss of a row is the share of its true labels that its set misses (0 if it has none). The threshold is the largest for which
/// the bound above holds, among all scores of true labels, found by sorting them once.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::conformal::FalseNegativeControl;
/// // Scores of three labels for four rows, and which labels are true.
/// let p = Tensor::from([[0.9, 0.6, 0.1], [0.2, 0.8, 0.3], [0.7, 0.1, 0.9], [0.4, 0.9, 0.2]]);
/// let truth = Tensor::from([[1i64, 1, 0], [0, 1, 0], [1, 0, 1], [1, 1, 0]]);
/// let control = FalseNegativeControl::fit(&p, &truth, 0.4)?;
/// assert_eq!(control.threshold(), 0.7); // misses 1/2 of the first and of the last row: (1/2 + 1/2 + 1)/5 = 0.4
/// let sets = control.sets(&p)?;
/// assert_eq!(sets.classes_of(0), [0]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FalseNegativeControl {
    threshold: f64,
    alpha: f64,
    risk: f64,
    n: usize,
    labels: usize,
}

const WHAT: &str = "FalseNegativeControl";
const KIND: &str = "false_negative_control";
const VERSION: u64 = 1;

impl FalseNegativeControl {
    /// Calibrates with scores (n, labels), larger for more probable labels, and the truth (n, labels) as 0 and 1.
    ///
    /// # Errors
    /// Scores that are not finite; a truth that is not 0 or 1, or without any true label; α not between 0 and 1; fewer than 1/α − 1
    /// rows.
    pub fn fit(scores: &Tensor, truth: &Tensor, alpha: f64) -> Result<FalseNegativeControl> {
        let alpha = fraction(WHAT, "alpha", alpha)?;
        let [n, labels] = *scores.dims() else { return Err(not_matrix(scores)) };
        if truth.dims() != scores.dims() {
            let problem = format!("a truth of shape {} for scores of shape {}", truth.shape(), scores.shape());
            return Err(TrustError::data(WHAT, problem, "give a row per sample and a column per label in both"));
        }
        let (scores, truth) = (reals(WHAT, "scores", scores)?, reals(WHAT, "labels", truth)?);
        if let Some(place) = truth.iter().position(|&label| label != 0.0 && label != 1.0) {
            let problem = format!("label {} of row {} is {}", place % labels, place / labels, truth[place]);
            return Err(TrustError::data(WHAT, problem, "give 1 for labels that are true, 0 for others"));
        }
        // The scores of true labels, each with the loss of missing it.
        let mut hits: Vec<(f64, f64)> = Vec::new();
        for (scores, truth) in scores.chunks_exact(labels).zip(truth.chunks_exact(labels)) {
            let loss = 1.0 / truth.iter().sum::<f64>();
            hits.extend(scores.iter().zip(truth).filter(|pair| *pair.1 == 1.0).map(|(&score, _)| (score, loss)));
        }
        if hits.is_empty() {
            return Err(TrustError::data(WHAT, "no row has a true label", "give rows with at least one true label"));
        }
        hits.sort_by(|a, b| a.0.total_cmp(&b.0));
        let budget = alpha * (n + 1) as f64 - 1.0;
        if budget < -ROUNDING {
            return Err(out_of_reach(WHAT, n, alpha, 1.0, 0.0));
        }
        // The largest score such that what lies strictly below it may be missed.
        let (mut missed, mut sum, mut threshold) = (0.0, 0.0, hits[0].0);
        for &(score, loss) in &hits {
            if score > threshold {
                if sum > budget + ROUNDING * n as f64 {
                    break;
                }
                (threshold, missed) = (score, sum);
            }
            sum += loss;
        }
        Ok(FalseNegativeControl { threshold, alpha, risk: missed / n as f64, n, labels })
    }

    /// The sets of new rows: all labels whose score is at least the threshold.
    ///
    /// # Errors
    /// Scores that are not finite, or for another number of labels.
    pub fn sets(&self, scores: &Tensor) -> Result<LabelSets> {
        let values = reals(WHAT, "scores", scores)?;
        match *scores.dims() {
            [_, labels] if labels == self.labels => {}
            _ => return Err(not_matrix(scores)),
        }
        Ok(LabelSets {
            members: values.into_iter().map(|score| score >= self.threshold).collect(),
            labels: self.labels,
        })
    }

    /// Labels with at least this score are in the set.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The mean loss of the calibration rows.
    pub fn risk(&self) -> f64 {
        self.risk
    }

    /// The largest expected false negative rate that was asked for.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// As JSON, for a model file.
    pub fn to_json(&self) -> Value {
        json!({"kind": KIND, "version": VERSION, "threshold": self.threshold, "alpha": self.alpha, "risk": self.risk, "n": self.n,
            "labels": self.labels})
    }

    /// Reads what [`FalseNegativeControl::to_json`] wrote.
    ///
    /// # Errors
    /// A missing or invalid field; another kind of object; a newer version.
    pub fn from_json(value: &Value) -> Result<FalseNegativeControl> {
        let reader = Reader::open(WHAT, value, KIND, VERSION)?;
        let control = FalseNegativeControl {
            threshold: reader.real("threshold")?,
            alpha: reader.fraction("alpha")?,
            risk: reader.real("risk")?,
            n: reader.count("n")?,
            labels: reader.count("labels")?,
        };
        if control.labels == 0 || control.n == 0 {
            return Err(reader.invalid("there are no labels or no rows"));
        }
        Ok(control)
    }
}

impl fmt::Display for FalseNegativeControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "labels with a score of at least {}: the expected share of true labels missed is at most {}, provided that new rows are \
             exchangeable with the {} calibration rows, of which {:.4} is missed",
            self.threshold, self.alpha, self.n, self.risk
        )
    }
}

#[cold]
fn not_matrix(scores: &Tensor) -> TrustError {
    let problem = format!("scores of shape {}", scores.shape());
    TrustError::data(WHAT, problem, "give a row per sample and a column per label, as when calibrating")
}

/// Sets of labels of problems where a row has any number of true ones.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelSets {
    members: Vec<bool>,
    labels: usize,
}

impl LabelSets {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.members.len() / self.labels
    }

    /// Whether there are no rows; never true.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The labels in the set of this row, in rising order.
    pub fn classes_of(&self, row: usize) -> Vec<usize> {
        let members = &self.members[row * self.labels..(row + 1) * self.labels];
        members.iter().enumerate().filter(|member| *member.1).map(|member| member.0).collect()
    }

    /// As a tensor of bool (n, labels).
    pub fn tensor(&self) -> Tensor {
        Tensor::from_vec(self.members.clone(), [self.len(), self.labels])
    }
}
