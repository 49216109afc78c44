//! Intervals of numbers.

use std::fmt;

use tove_tensor::Tensor;

use super::CoverageClaim;
use crate::input::numbers;
use crate::{Result, TrustError};

/// An interval for each row. Ends may be infinite where nothing can be said; an interval whose lower end is above its upper end is
/// empty.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::conformal::PredictionIntervals;
/// let intervals = PredictionIntervals::new(&Tensor::from([0.0, 1.0]), &Tensor::from([2.0, 1.5]))?;
/// assert_eq!(intervals.widths(), [2.0, 0.5]);
/// assert_eq!(intervals.covers(&Tensor::from([2.0, 0.9]))?, [true, false]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionIntervals {
    low: Vec<f64>,
    high: Vec<f64>,
    claim: CoverageClaim,
}

impl PredictionIntervals {
    pub(super) fn of(low: Vec<f64>, high: Vec<f64>, claim: CoverageClaim) -> PredictionIntervals {
        PredictionIntervals { low, high, claim }
    }

    /// Intervals made by any system; nothing is claimed of their coverage.
    ///
    /// # Errors
    /// Ends of different lengths, none, or NaN. Infinite ends are accepted.
    pub fn new(low: &Tensor, high: &Tensor) -> Result<PredictionIntervals> {
        const WHAT: &str = "PredictionIntervals";
        if low.rank() != 1 || low.numel() == 0 || low.dims() != high.dims() {
            let problem = format!("ends of shapes {} and {}", low.shape(), high.shape());
            return Err(TrustError::data(WHAT, problem, "give two vectors of equal length, at least one row"));
        }
        let ends = |tensor: &Tensor| tensor.detach().contiguous().to_f64_vec();
        let (low, high) = (ends(low), ends(high));
        if let Some(row) = low.iter().zip(&high).position(|(low, high)| low.is_nan() || high.is_nan()) {
            let fix = "remove the row; use infinite ends where nothing is known";
            return Err(TrustError::data(WHAT, format!("an end of row {row} is NaN"), fix));
        }
        Ok(PredictionIntervals { low, high, claim: CoverageClaim::None })
    }

    /// The same intervals with a claim, for those that were made with one and read back from a table.
    #[must_use]
    pub fn claimed(self, claim: CoverageClaim) -> PredictionIntervals {
        PredictionIntervals { claim, ..self }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.low.len()
    }

    /// Whether there are no rows; never true.
    pub fn is_empty(&self) -> bool {
        self.low.is_empty()
    }

    /// Lower ends.
    pub fn low(&self) -> &[f64] {
        &self.low
    }

    /// Upper ends.
    pub fn high(&self) -> &[f64] {
        &self.high
    }

    /// Widths; 0 for empty intervals.
    pub fn widths(&self) -> Vec<f64> {
        self.low.iter().zip(&self.high).map(|(low, high)| if high > low { high - low } else { 0.0 }).collect()
    }

    /// For each row, whether the true value lies in the interval, ends included.
    ///
    /// # Errors
    /// If the targets are not finite numbers, one per row.
    pub fn covers(&self, targets: &Tensor) -> Result<Vec<bool>> {
        let targets = numbers("PredictionIntervals", "targets", targets, self.len())?;
        Ok(targets.iter().zip(self.low.iter().zip(&self.high)).map(|(y, (low, high))| low <= y && y <= high).collect())
    }

    /// What is claimed of the coverage.
    pub fn claim(&self) -> CoverageClaim {
        self.claim
    }

    /// As a tensor (n, 2): lower and upper ends.
    pub fn tensor(&self) -> Tensor {
        let ends: Vec<f64> = self.low.iter().zip(&self.high).flat_map(|(&low, &high)| [low, high]).collect();
        Tensor::from_vec(ends, [self.len(), 2])
    }
}

impl fmt::Display for PredictionIntervals {
    /// The mean width, and the claim if there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = self.widths().iter().sum::<f64>() / self.len() as f64;
        write!(f, "{} intervals of mean width {mean:.4}", self.len())?;
        match self.claim {
            CoverageClaim::None => Ok(()),
            claim => write!(f, "; {claim}"),
        }
    }
}
