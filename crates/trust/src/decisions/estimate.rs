//! The expected cost of decisions, estimated on rows whose truth is known.

use std::fmt;

use serde_json::{Value, json};
use tove_metrics::hoeffding;
use tove_tensor::random::fill_uniform;
use tove_tensor::{Key, Tensor};

use super::CostMatrix;
use crate::input::{codes, fraction};
use crate::{Result, TrustError};

/// Number of resamples of a bootstrap interval.
const RESAMPLES: usize = 1000;

/// A mean cost with two intervals for the expected cost of a new row. Both need independent rows that were not used to fit the model
/// or to choose the decisions.
#[derive(Clone, Debug, PartialEq)]
pub struct CostEstimate {
    /// Mean cost of the rows.
    pub mean: f64,
    /// Number of rows.
    pub n: usize,
    /// Hoeffding's interval, from the range of costs: holds the expected cost with at least the given confidence, for any sample
    /// size.
    pub hoeffding: (f64, f64),
    /// Percentile interval of 1000 resamples: narrower, but its confidence is only approximate, and poor for few rows.
    pub bootstrap: (f64, f64),
    /// The confidence of both.
    pub confidence: f64,
}

impl CostEstimate {
    pub(super) fn of(values: &[f64], range: (f64, f64), confidence: f64, seed: u64) -> Result<CostEstimate> {
        const WHAT: &str = "CostEstimate";
        let confidence = fraction(WHAT, "confidence", confidence)?;
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        if !mean.is_finite() {
            return Err(TrustError::data(WHAT, "the sum of the costs overflows", "give the costs in another unit"));
        }
        let half = hoeffding(n as f64, range.1 - range.0, 1.0 - confidence);
        let hoeffding = ((mean - half).max(range.0), (mean + half).min(range.1));
        Ok(CostEstimate { mean, n, hoeffding, bootstrap: bootstrap(values, confidence, seed), confidence })
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({"mean": self.mean, "n": self.n, "hoeffding": [self.hoeffding.0, self.hoeffding.1],
            "bootstrap": [self.bootstrap.0, self.bootstrap.1], "confidence": self.confidence})
    }
}

impl fmt::Display for CostEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((low, high), (least, most)) = (self.bootstrap, self.hoeffding);
        let percent = (self.confidence * 1e8).round() / 1e6;
        write!(
            f,
            "{:.4} [bootstrap {low:.4}, {high:.4}; Hoeffding {least:.4}, {most:.4}] (n = {}, {percent} %)",
            self.mean, self.n
        )
    }
}

/// The percentile interval of the mean.
fn bootstrap(values: &[f64], confidence: f64, seed: u64) -> (f64, f64) {
    let (n, key) = (values.len(), Key::new(seed));
    let mut draws = vec![0.0f64; n];
    let mut means = Vec::with_capacity(RESAMPLES);
    for resample in 0..RESAMPLES {
        fill_uniform(key.fold(resample as u64), &mut draws);
        let drawn = |u: &f64| values[((u * n as f64) as usize).min(n - 1)];
        means.push(draws.iter().map(drawn).sum::<f64>() / n as f64);
    }
    means.sort_by(f64::total_cmp);
    let skipped = ((1.0 - confidence) / 2.0 * RESAMPLES as f64) as usize;
    (means[skipped], means[RESAMPLES - 1 - skipped])
}

impl CostMatrix {
    /// The mean cost of decisions (n), class indices, with intervals for the expected cost.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// use tove_trust::decisions::CostMatrix;
    /// let costs = CostMatrix::new(&Tensor::from([[0.0, 10.0], [1.0, 0.0]]))?;
    /// let (decisions, labels) = (Tensor::from([0i64, 1, 1, 0]), Tensor::from([0i64, 1, 0, 1]));
    /// let estimate = costs.evaluate(&decisions, &labels, 0.95, 0)?;
    /// assert_eq!(estimate.mean, 2.75); // (0 + 0 + 1 + 10)/4
    /// assert_eq!(estimate.hoeffding.0, 0.0); // four rows tell little
    /// assert!(estimate.bootstrap.1 < estimate.hoeffding.1);
    /// # Ok::<(), tove_trust::TrustError>(())
    /// ```
    ///
    /// # Errors
    /// Decisions or labels that are not class indices or of different lengths; a confidence that is not between 0 and 1.
    pub fn evaluate(&self, decisions: &Tensor, labels: &Tensor, confidence: f64, seed: u64) -> Result<CostEstimate> {
        let values = self.paid("CostMatrix::evaluate", decisions, labels)?;
        CostEstimate::of(&values, self.range(), confidence, seed)
    }

    /// The mean of the cost of the first decisions minus that of the second, row by row, with intervals for its expectation: below 0
    /// if the first are cheaper. Narrower than two separate estimates, because the rows are the same.
    ///
    /// # Errors
    /// As [`CostMatrix::evaluate`].
    pub fn compare(
        &self,
        first: &Tensor,
        second: &Tensor,
        labels: &Tensor,
        confidence: f64,
        seed: u64,
    ) -> Result<CostEstimate> {
        const WHAT: &str = "CostMatrix::compare";
        let (first, second) = (self.paid(WHAT, first, labels)?, self.paid(WHAT, second, labels)?);
        let values: Vec<f64> = first.iter().zip(&second).map(|(first, second)| first - second).collect();
        let (least, most) = self.range();
        CostEstimate::of(&values, (least - most, most - least), confidence, seed)
    }

    /// The cost of each row.
    fn paid(&self, what: &'static str, decisions: &Tensor, labels: &Tensor) -> Result<Vec<f64>> {
        let decisions = codes(what, "decisions", decisions, decisions.numel(), self.classes())?;
        let labels = codes(what, "labels", labels, decisions.len(), self.classes())?;
        Ok(decisions.iter().zip(&labels).map(|(&decision, &label)| self.at(decision, label)).collect())
    }
}
