//! Sets by a fixed probability: G(x) = {k : p_k > γ}.
//!
//! They are simple, but γ says nothing about how often the truth is in the set, even for calibrated probabilities: for that, use
//! [`SplitConformalClassifier`](super::SplitConformalClassifier), which chooses the threshold from calibration rows.

use tove_tensor::Tensor;

use super::{CoverageClaim, PredictionSets};
use crate::{Probabilities, Result, TrustError};

/// Sets of all classes whose probability is above a fixed threshold. Nothing is claimed of their coverage.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::conformal::{CoverageClaim, ThresholdSets};
/// let p = Tensor::from([[0.5, 0.3, 0.2]]);
/// let sizes = |gamma: f64| ThresholdSets::new(gamma)?.sets(&p).map(|sets| sets.sizes()[0]);
/// assert_eq!((sizes(0.1)?, sizes(0.2)?, sizes(0.6)?), (3, 2, 0)); // smaller as γ grows; may be empty
/// assert_eq!(ThresholdSets::new(0.1)?.sets(&p)?.claim(), CoverageClaim::None);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdSets {
    gamma: f64,
}

impl ThresholdSets {
    /// With this threshold.
    ///
    /// # Errors
    /// If γ lies outside of \[0, 1\].
    pub fn new(gamma: f64) -> Result<ThresholdSets> {
        if (0.0..=1.0).contains(&gamma) {
            return Ok(ThresholdSets { gamma });
        }
        Err(TrustError::argument(
            "ThresholdSets",
            format!("`gamma` is {gamma}; give a number from 0 to 1, such as 0.1"),
        ))
    }

    /// The threshold.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    /// The sets of rows with these probabilities (n, m), or (n) of the second of two classes.
    ///
    /// # Errors
    /// As [`Probabilities::new`].
    pub fn sets(&self, probabilities: &Tensor) -> Result<PredictionSets> {
        let p = Probabilities::new("ThresholdSets", probabilities)?;
        let members = p.rows().flatten().map(|&p| p > self.gamma).collect();
        Ok(PredictionSets::of(members, p.classes(), CoverageClaim::None))
    }
}
