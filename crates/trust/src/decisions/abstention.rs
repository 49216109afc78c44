//! Abstention: decide only where the decision is cheap enough, leave the rest to somebody else.
//!
//! **Chow's rule** (1970): if leaving a row undecided costs d, decide where the lowest expected cost Σⱼ Cᵢⱼ pⱼ is at most d. For equal
//! errors of cost 1: where the largest probability is at least 1 − d. It is optimal for calibrated probabilities.

use tove_tensor::Tensor;

use super::{CostEstimate, CostMatrix};
use crate::input::codes;
use crate::{Result, TrustError};

const WHAT: &str = "ChowRule";

/// Decides, or abstains at a fixed cost.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::decisions::{ChowRule, CostMatrix};
/// let rule = ChowRule::new(CostMatrix::zero_one(2)?, 0.25)?;
/// let decisions = rule.decide(&Tensor::from([[0.75, 0.25], [0.6, 0.4], [0.1, 0.9]]))?;
/// assert_eq!(decisions.classes(), [Some(0), None, Some(1)]);
/// let estimate = rule.evaluate(&decisions, &Tensor::from([0i64, 0, 0]), 0.95, 0)?;
/// assert_eq!(estimate.mean, (0.0 + 0.25 + 1.0) / 3.0);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ChowRule {
    costs: CostMatrix,
    rejection: f64,
}

/// A class, or none, for each row.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectiveDecisions {
    classes: Vec<Option<usize>>,
}

impl SelectiveDecisions {
    /// The decisions; none where the rule abstains.
    pub fn classes(&self) -> &[Option<usize>] {
        &self.classes
    }

    /// Share of the rows that are decided.
    pub fn coverage(&self) -> f64 {
        self.classes.iter().flatten().count() as f64 / self.classes.len() as f64
    }

    /// As a tensor of i64 (n), −1 where the rule abstains.
    pub fn tensor(&self) -> Tensor {
        let code = |class: &Option<usize>| class.map_or(-1, |class| class as i64);
        Tensor::from_slice(&self.classes.iter().map(code).collect::<Vec<i64>>())
    }
}

impl ChowRule {
    /// With costs of decisions, and the cost of abstaining.
    ///
    /// # Errors
    /// A cost of abstaining that is negative or not finite.
    pub fn new(costs: CostMatrix, rejection: f64) -> Result<ChowRule> {
        if rejection >= 0.0 && rejection.is_finite() {
            return Ok(ChowRule { costs, rejection });
        }
        let problem = format!("the cost of abstaining is {rejection}; give a finite number of at least 0");
        Err(TrustError::argument(WHAT, problem))
    }

    /// The decisions for probabilities (n, m), or (n) of the second of two classes. A tie between deciding and abstaining is decided.
    ///
    /// # Errors
    /// Invalid probabilities, or for another number of classes.
    pub fn decide(&self, probabilities: &Tensor) -> Result<SelectiveDecisions> {
        let p = self.costs.read(WHAT, probabilities)?;
        let m = self.costs.classes();
        let choose = |(row, class): (&[f64], usize)| {
            let cost: f64 = (0..m).map(|truth| self.costs.at(class, truth) * row[truth]).sum();
            // Rounding of the sum must not turn a tie into an abstention.
            (cost <= self.rejection * (1.0 + 4.0 * f64::EPSILON)).then_some(class)
        };
        Ok(SelectiveDecisions { classes: p.rows().zip(self.costs.decisions(&p)).map(choose).collect() })
    }

    /// The mean cost of decisions and abstentions, with intervals for the expected cost of a new row.
    ///
    /// # Errors
    /// Labels that are not class indices, one per row; a confidence that is not between 0 and 1.
    pub fn evaluate(
        &self,
        decisions: &SelectiveDecisions,
        labels: &Tensor,
        confidence: f64,
        seed: u64,
    ) -> Result<CostEstimate> {
        let m = self.costs.classes();
        let labels = codes(WHAT, "labels", labels, decisions.classes.len(), m)?;
        if let Some(class) = decisions.classes.iter().flatten().find(|&&class| class >= m) {
            return Err(TrustError::argument(WHAT, format!("a decision for class {class} of {m}")));
        }
        let cost = |(class, &label): (&Option<usize>, &usize)| {
            class.map_or(self.rejection, |class| self.costs.at(class, label))
        };
        let values: Vec<f64> = decisions.classes.iter().zip(&labels).map(cost).collect();
        let (least, most) = self.costs.range();
        CostEstimate::of(&values, (least.min(self.rejection), most.max(self.rejection)), confidence, seed)
    }
}
