//! Decision rules of groups, and how they decide.

use tove_tensor::random::fill_uniform;
use tove_tensor::{Key, Tensor};

use super::{ThresholdObjective, ThresholdOptimizer};
use crate::{Result, TrustError, input};

const NAME: &str = "FittedThresholdOptimizer";

/// How rows of one group are decided: accepted with probability `always`, plus that of every step whose threshold the score exceeds.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRule {
    /// The value of the sensitive column.
    pub group: i64,
    /// Probability of acceptance whatever the score.
    pub always: f64,
    /// Pairs of a probability and a threshold, of which there are at most two.
    pub steps: Vec<(f64, f64)>,
    /// Expected P(D = 1) on the training rows.
    pub selection_rate: f64,
    /// Expected P(D = 1 | Y = 1) on the training rows.
    pub true_positive_rate: f64,
    /// Expected P(D = 1 | Y = 0) on the training rows.
    pub false_positive_rate: f64,
    /// P(Y = 1) on the training rows.
    pub base_rate: f64,
    /// Number of training rows, or their weight.
    pub weight: f64,
}

impl GroupRule {
    /// The probability of acceptance of a score.
    pub fn probability(&self, score: f64) -> f64 {
        let reached = self.steps.iter().filter(|step| score > step.1).map(|step| step.0);
        (self.always + reached.sum::<f64>()).clamp(0.0, 1.0)
    }

    /// Whether no decision is random.
    pub fn is_deterministic(&self) -> bool {
        let certain = |p: f64| !(1e-12..=1.0 - 1e-12).contains(&p);
        certain(self.always) && self.steps.iter().all(|step| certain(step.0))
    }
}

/// Thresholds chosen by a [`ThresholdOptimizer`].
///
/// Some decisions are random. Each takes one uniform number in [0, 1), so the answer for a row depends on that number alone and not on
/// the other rows. Keep the numbers fixed per person, for example with [`row_uniforms`].
///
/// Deciding needs the group of every row, whose use may be restricted by law.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedThresholdOptimizer {
    pub(super) settings: ThresholdOptimizer,
    pub(super) rules: Vec<GroupRule>,
}

impl FittedThresholdOptimizer {
    pub(super) fn new(settings: ThresholdOptimizer, rules: Vec<GroupRule>) -> FittedThresholdOptimizer {
        FittedThresholdOptimizer { settings, rules }
    }

    /// What was asked for.
    pub fn settings(&self) -> ThresholdOptimizer {
        self.settings
    }

    /// The rule of every group, in ascending order of groups.
    pub fn rules(&self) -> &[GroupRule] {
        &self.rules
    }

    /// The objective on the training rows: accuracy, balanced accuracy, or minus the cost per row.
    pub fn objective(&self) -> f64 {
        let sum =
            |part: &dyn Fn(&GroupRule) -> f64| self.rules.iter().map(|rule| rule.weight * part(rule)).sum::<f64>();
        let (positives, negatives) = (sum(&|rule| rule.base_rate), sum(&|rule| 1.0 - rule.base_rate));
        let hits = sum(&|rule| rule.base_rate * rule.true_positive_rate);
        let alarms = sum(&|rule| (1.0 - rule.base_rate) * rule.false_positive_rate);
        match self.settings.objective {
            ThresholdObjective::Accuracy => (hits + negatives - alarms) / (positives + negatives),
            ThresholdObjective::BalancedAccuracy => 0.5 * (hits / positives + 1.0 - alarms / negatives),
            ThresholdObjective::Cost { false_positive, false_negative } => {
                -(false_negative * (positives - hits) + false_positive * alarms) / (positives + negatives)
            }
        }
    }

    /// Whether no decision is random.
    pub fn is_deterministic(&self) -> bool {
        self.rules.iter().all(GroupRule::is_deterministic)
    }

    /// The probability of acceptance of every row.
    ///
    /// # Errors
    /// Different lengths; scores that are not finite; a group without a rule.
    pub fn probabilities(&self, scores: &Tensor, groups: &Tensor) -> Result<Tensor> {
        Ok(Tensor::from_slice(&self.chances(scores, groups)?))
    }

    /// Decisions 0 or 1: a row is accepted if its uniform number is below its probability of acceptance.
    ///
    /// ```
    /// # use tove_tensor::Tensor;
    /// use tove_trust::fairness::{ThresholdOptimizer, row_uniforms};
    /// # let scores = Tensor::from([0.9, 0.6, 0.4, 0.1, 0.8, 0.3, 0.2, 0.1]);
    /// # let labels = Tensor::from([1i64, 1, 0, 0, 1, 0, 1, 0]);
    /// # let groups = Tensor::from([0i64, 0, 0, 0, 1, 1, 1, 1]);
    /// let fitted = ThresholdOptimizer::default().fit(&scores, &labels, &groups, None)?;
    /// let (ids, scores, groups) = (Tensor::from([1001i64, 1002]), Tensor::from([0.7, 0.05]), Tensor::from([1i64, 1]));
    /// let decisions = fitted.decide(&scores, &groups, &row_uniforms(7, &ids)?)?;
    /// assert_eq!(decisions.to_vec::<i64>(), [1, 0]);
    /// # Ok::<(), tove_trust::TrustError>(())
    /// ```
    ///
    /// # Errors
    /// As [`FittedThresholdOptimizer::probabilities`]; uniform numbers outside of [0, 1).
    pub fn decide(&self, scores: &Tensor, groups: &Tensor, uniforms: &Tensor) -> Result<Tensor> {
        let chances = self.chances(scores, groups)?;
        decided(NAME, &chances, uniforms)
    }

    fn chances(&self, scores: &Tensor, groups: &Tensor) -> Result<Vec<f64>> {
        if scores.numel() == 0 && groups.numel() == 0 {
            return Ok(Vec::new());
        }
        let scores = input::numbers(NAME, "scores", scores, scores.numel())?;
        let groups = input::groups(NAME, groups, scores.len())?;
        let rule = |group: &i64| {
            self.rules.binary_search_by_key(group, |rule| rule.group).map(|index| &self.rules[index]).map_err(|_| {
                let known: Vec<String> = self.rules.iter().map(|rule| rule.group.to_string()).collect();
                let problem = format!("group {group} has no threshold; the groups are {}", known.join(", "));
                TrustError::data(NAME, problem, "fit again with rows of this group, or decide such rows otherwise")
            })
        };
        let rules: Vec<&GroupRule> = groups.classes().iter().map(rule).collect::<Result<_>>()?;
        Ok(scores.iter().zip(groups.codes()).map(|(&score, &code)| rules[code].probability(score)).collect())
    }
}

/// Decisions from probabilities of acceptance and uniform numbers.
pub(crate) fn decided(what: &'static str, chances: &[f64], uniforms: &Tensor) -> Result<Tensor> {
    if chances.is_empty() && uniforms.numel() == 0 {
        return Ok(Tensor::from_slice(&[] as &[i64]));
    }
    let uniforms = input::numbers(what, "uniforms", uniforms, chances.len())?;
    if let Some(row) = uniforms.iter().position(|u| !(0.0..1.0).contains(u)) {
        let problem = format!("the uniform number of row {row} is {}", uniforms[row]);
        return Err(TrustError::data(what, problem, "give numbers in [0, 1), for example from `row_uniforms`"));
    }
    let decisions = chances.iter().zip(&uniforms).map(|(&chance, &u)| i64::from(u < chance));
    Ok(Tensor::from_slice(&decisions.collect::<Vec<i64>>()))
}

/// One uniform number in [0, 1) per row, which depends on the seed and on the row's identifier alone (such as the number of an
/// application), not on its place among other rows. Equal identifiers give equal numbers.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::fairness::row_uniforms;
/// let together = row_uniforms(7, &Tensor::from([10i64, 11, 12]))?.to_vec::<f64>();
/// assert_eq!(row_uniforms(7, &Tensor::from([12i64]))?.to_vec::<f64>(), together[2..]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// Identifiers that are not whole numbers.
pub fn row_uniforms(seed: u64, identifiers: &Tensor) -> Result<Tensor> {
    if identifiers.numel() == 0 {
        return Ok(Tensor::from_slice(&[] as &[f64]));
    }
    let labels = input::groups("row_uniforms", identifiers, identifiers.numel())?;
    let uniform = |&identifier: &i64| {
        let mut one = [0.0f64];
        fill_uniform(Key::new(seed).fold(identifier as u64), &mut one);
        one[0]
    };
    let drawn: Vec<f64> = labels.classes().iter().map(uniform).collect();
    Ok(Tensor::from_slice(&labels.codes().iter().map(|&code| drawn[code]).collect::<Vec<f64>>()))
}
