//! What an attack found.

use tove_tensor::Tensor;

use super::AttackNorm;

/// The result of an attack on a batch.
///
/// A failure proves nothing: another attack may succeed. The share of successes is a lower bound on what is possible.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AttackResult {
    /// The attack with its settings, for reports.
    pub attack: String,
    /// The norm of the ball.
    pub norm: AttackNorm,
    /// The radius of the ball; infinite for attacks that search the nearest point.
    pub eps: f64,
    /// The inputs found, in the shape and type of the inputs given: all within the ball and the rules. Inputs that were
    /// misclassified already are returned as given.
    pub inputs: Tensor,
    /// Whether the model's prediction for the input found is wrong.
    pub success: Vec<bool>,
    /// Whether the prediction was wrong before.
    pub already_wrong: Vec<bool>,
    /// The size of each change in the norm, in the units of the rules.
    pub distances: Vec<f64>,
    /// Number of rows that went through the model.
    pub queries: u64,
    /// Number of rows that also came back with a gradient.
    pub gradients: u64,
}

impl AttackResult {
    /// Share of the batch that is predicted right at the inputs found: an upper bound on the accuracy under the worst
    /// perturbation.
    pub fn robust_accuracy(&self) -> f64 {
        share(&self.success, false)
    }

    /// Share of the batch that is predicted right without a perturbation.
    pub fn standard_accuracy(&self) -> f64 {
        share(&self.already_wrong, false)
    }

    /// Of the inputs that were predicted right, the share for which the attack succeeded; `None` if there were none.
    pub fn success_rate(&self) -> Option<f64> {
        let right = self.already_wrong.iter().filter(|wrong| !**wrong).count();
        let broken = self.success.iter().zip(&self.already_wrong).filter(|(success, wrong)| **success && !**wrong);
        (right > 0).then(|| broken.count() as f64 / right as f64)
    }
}

fn share(flags: &[bool], value: bool) -> f64 {
    flags.iter().filter(|&&flag| flag == value).count() as f64 / flags.len().max(1) as f64
}
