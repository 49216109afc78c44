//! Accuracy under attack as a function of the budget.

use std::fmt;

use tove_metrics::Score;
use tove_tensor::Tensor;

use super::model::QueryModel;
use super::result::AttackResult;
use super::rows::{Batch, classes};
use crate::{Result, TrustError};

const WHAT: &str = "robustness_curve";

/// A point of a [`RobustnessCurve`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RobustnessPoint {
    /// The budget.
    pub eps: f64,
    /// Share of the samples that are predicted right whatever the attack tried, with Hoeffding's interval for new samples
    /// under the same attack.
    pub accuracy: Score,
    /// One minus the accuracy: the adversarial error, as far as this attack finds it.
    pub error: f64,
}

/// Accuracy under an attack for growing budgets.
///
/// An attack gives a lower bound on the adversarial risk E max 1{f(x') ≠ y}, hence an upper bound on the accuracy under the
/// worst perturbation. A stronger attack may find more.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RobustnessCurve {
    /// The attack with its settings; several if they were different for different budgets.
    pub attack: String,
    /// Accuracy without perturbation.
    pub standard: Score,
    /// By growing budget.
    pub points: Vec<RobustnessPoint>,
    /// For each sample, the smallest budget of the curve for which it is predicted wrong; infinite if there is none.
    pub broken_at: Vec<f64>,
}

impl RobustnessCurve {
    /// The accuracy at a budget of the curve.
    pub fn accuracy_at(&self, eps: f64) -> Option<f64> {
        self.points.iter().find(|point| point.eps == eps).map(|point| point.accuracy.value)
    }
}

impl fmt::Display for RobustnessCurve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Attack: {}", self.attack)?;
        writeln!(f, "Standard accuracy {}", self.standard)?;
        for point in &self.points {
            writeln!(
                f,
                "eps {}: at most {} of the samples are predicted right under attack",
                point.eps, point.accuracy
            )?;
        }
        write!(f, "An attack gives an upper bound on robust accuracy; a stronger one may find more.")
    }
}

/// Attacks a batch with growing budgets. A sample that is predicted wrong within a budget counts as wrong for all larger
/// ones, whose balls contain that input; so the adversarial error never falls. With a budget of 0 it is the standard error.
///
/// `attack(x, labels, eps)` runs the attack on the samples that are still predicted right. Its successes are checked with
/// `model`.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::robustness::{AttackNorm, Fgsm, robustness_curve};
/// let model = |x: &Tensor| Ok(x.clone()); // the sign of a single feature
/// let (x, labels) = (Tensor::from([[0.5], [0.1], [-0.2], [0.3]]), Tensor::from([1i64, 1, 0, 0]));
/// let fgsm = Fgsm::new(AttackNorm::LInf);
/// let curve = robustness_curve(&model, &x, &labels, &[0.0, 0.15, 0.25], |x, labels, eps| {
///     fgsm.run(&model, x, labels, eps)
/// })?;
/// let accuracy: Vec<f64> = curve.points.iter().map(|point| point.accuracy.value).collect();
/// assert_eq!(accuracy, [0.75, 0.5, 0.25]);
/// assert_eq!(curve.attack, "one step in the l-inf norm on the cross-entropy");
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// No budgets, negative ones, or ones that do not grow; inputs or labels that do not fit; an attack that fails.
pub fn robustness_curve(
    model: &dyn QueryModel,
    x: &Tensor,
    labels: &Tensor,
    budgets: &[f64],
    attack: impl Fn(&Tensor, &Tensor, f64) -> Result<AttackResult>,
) -> Result<RobustnessCurve> {
    let batch = Batch::read(WHAT, x)?;
    let truth = classes(WHAT, labels, batch.len())?;
    let ascending = budgets.windows(2).all(|two| two[0] < two[1]);
    if budgets.is_empty() || !ascending || budgets.iter().any(|eps| !(*eps >= 0.0 && eps.is_finite())) {
        let problem = format!("the budgets are {budgets:?}; give numbers of at least 0 in ascending order");
        return Err(TrustError::argument(WHAT, problem));
    }
    let mut broken_at = vec![f64::INFINITY; batch.len()];
    let wrong = |predicted: Vec<usize>| predicted.into_iter().zip(&truth).map(|(a, b)| a != *b).collect::<Vec<bool>>();
    let before = wrong(model.query_labels(x)?);
    before.iter().zip(&mut broken_at).filter(|(wrong, _)| **wrong).for_each(|(_, at)| *at = 0.0);
    let score = |eps: f64, broken_at: &[f64]| {
        let right = broken_at.iter().filter(|&&at| at > eps).count();
        let n = broken_at.len();
        Score::bounded(right as f64 / n as f64, n, n as f64, (0.0, 1.0))
    };
    let standard = score(0.0, &broken_at);
    let (mut points, mut names) = (Vec::new(), Vec::new());
    for &eps in budgets {
        let open: Vec<usize> = (0..batch.len()).filter(|&row| broken_at[row].is_infinite()).collect();
        if eps > 0.0 && !open.is_empty() {
            let part = batch.take(&open);
            let own: Vec<i64> = open.iter().map(|&row| truth[row] as i64).collect();
            let found = attack(&part.tensor_of(part.values().to_vec())?, &Tensor::from_slice(&own), eps)?;
            let after = model.query_labels(&found.inputs)?;
            let broken = open
                .iter()
                .zip(after)
                .zip(&found.success)
                .filter(|((row, after), success)| **success && *after != truth[**row]);
            broken.for_each(|((&row, _), _)| broken_at[row] = eps);
            if !names.contains(&found.attack) {
                names.push(found.attack);
            }
        }
        let accuracy = score(eps, &broken_at);
        points.push(RobustnessPoint { eps, accuracy, error: 1.0 - accuracy.value });
    }
    if names.is_empty() {
        names.push("none was needed".to_owned());
    }
    Ok(RobustnessCurve { attack: names.join("; "), standard, points, broken_at })
}
