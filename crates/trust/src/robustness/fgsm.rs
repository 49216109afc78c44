//! One-step attacks: x + δ with the δ of the ball that raises the linearized loss most; for l∞ the fast gradient sign method
//! (Goodfellow, Shlens and Szegedy 2015).

use tove_tensor::Tensor;

use super::AttackNorm;
use super::model::{AttackLoss, DifferentiableModel};
use super::result::AttackResult;
use super::rules::InputRules;
use super::search::{Found, Problem, Target};
use crate::Result;

/// A one-step attack.
///
/// It moves along the closed form of the norm ([`AttackNorm::steepest`]) and then back into the ranges of the inputs; with
/// l1, what the range of one feature cuts off goes to the next one. Categories keep their values.
///
/// ```
/// use tove_tensor::{Tensor, TryOps};
/// use tove_trust::robustness::{AttackNorm, Fgsm};
/// let w = Tensor::from([[1.0, 0.0], [-2.0, 0.0]]); // (features, classes): scores (x₀ − 2 x₁, 0)
/// let model = |x: &Tensor| Ok(x.try_matmul(&w)?);
/// let (x, labels) = (Tensor::from([[1.0, 0.25], [5.0, 0.0]]), Tensor::from([0i64, 0]));
/// let attack = Fgsm::new(AttackNorm::LInf).run(&model, &x, &labels, 0.25)?;
/// assert_eq!(attack.inputs.to_vec::<f64>(), [0.75, 0.5, 4.75, 0.25]);
/// // The margin drops by ε times the dual norm of the weights, 0.25 · 3: to −0.25 and 4.25.
/// assert_eq!(attack.success, [true, false]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Fgsm {
    norm: AttackNorm,
    loss: AttackLoss,
    rules: InputRules,
}

impl Fgsm {
    /// A step in this norm that raises the cross-entropy, for any inputs.
    pub fn new(norm: AttackNorm) -> Fgsm {
        Fgsm { norm, loss: AttackLoss::default(), rules: InputRules::default() }
    }

    /// The loss to raise.
    #[must_use]
    pub fn loss(self, loss: AttackLoss) -> Fgsm {
        Fgsm { loss, ..self }
    }

    /// The inputs that are allowed.
    #[must_use]
    pub fn rules(self, rules: InputRules) -> Fgsm {
        Fgsm { rules, ..self }
    }

    /// Attacks a batch within a ball of radius `eps`.
    ///
    /// # Errors
    /// A budget that is not positive or beyond the data range; inputs that are not finite or violate the rules; labels that
    /// are not classes of the model.
    pub fn run(&self, model: &dyn DifferentiableModel, x: &Tensor, labels: &Tensor, eps: f64) -> Result<AttackResult> {
        let problem = self.problem(Target { model, x, labels, eps })?;
        let mut found = Found::start(&problem)?;
        let open = found.open();
        let points = self.step(&problem, &open, &mut found)?;
        let after = problem.evaluate(points.clone(), &open, false, &mut found)?;
        for (place, (&row, point)) in open.iter().zip(points.chunks_exact(problem.batch.width())).enumerate() {
            // The step is the result, better or not.
            found.losses[row] = f64::NEG_INFINITY;
            found.note(row, point, after.losses[place], after.decisions[place] != problem.labels[row]);
        }
        found.finish(&problem, format!("one step in the {} norm on the {}", self.norm.name(), self.loss.name()))
    }

    /// The step alone, for every row, whether it is predicted right or not.
    ///
    /// # Errors
    /// As [`Fgsm::run`].
    pub fn perturb(&self, model: &dyn DifferentiableModel, x: &Tensor, labels: &Tensor, eps: f64) -> Result<Tensor> {
        let problem = self.problem(Target { model, x, labels, eps })?;
        let all: Vec<usize> = (0..problem.batch.len()).collect();
        let points = self.step(&problem, &all, &mut Found::empty())?;
        problem.batch.tensor_of(points)
    }

    fn problem<'a>(&self, target: Target<'a>) -> Result<Problem<'a>> {
        Problem::new("Fgsm", target, &self.rules, self.norm, self.loss)
    }

    fn step(&self, problem: &Problem<'_>, rows: &[usize], found: &mut Found) -> Result<Vec<f64>> {
        let Problem { batch, space, norm, eps, .. } = problem;
        let here = batch.take(rows);
        let slopes = problem.evaluate(here.values().to_vec(), rows, true, found)?.gradient;
        let mut points = here.values().to_vec();
        let triples = here.rows().zip(slopes.chunks_exact(batch.width())).zip(points.chunks_exact_mut(batch.width()));
        for ((x, slope), point) in triples {
            let delta = space.one_step(*norm, *eps, x, slope);
            space.place((*norm, *eps), x, x, &delta, point);
        }
        Ok(points)
    }
}
