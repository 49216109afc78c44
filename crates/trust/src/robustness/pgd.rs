//! Projected gradient descent on the margin (Madry et al. 2018): steps along the closed form of the norm, each followed by
//! the projection onto the ball and the ranges of the inputs, from several starts.

use tove_tensor::{Key, Tensor};

use super::climb::{Climb, Particle};
use super::model::{AttackLoss, DifferentiableModel};
use super::result::AttackResult;
use super::rows::Batch;
use super::rules::InputRules;
use super::search::{Found, Problem, Target};
use super::start::random_start;
use super::{AttackNorm, categories};
use crate::{Result, TrustError};

const WHAT: &str = "Pgd";

/// Projected gradient attack.
///
/// δ ← P(δ + α s) with the step s of the norm (g / ‖g‖₂ for l2, sign g for l∞, the signs of the largest slopes for l1) and
/// the projection P onto the ball and then onto the ranges, as foolbox does (ART takes the ranges first). Every input found
/// is inside of both to the last bit. Whole numbers stay whole: gradients are taken at the nearest allowed point. Categories
/// are changed by search: all combinations if there are at most 64, otherwise the best single change, repeatedly.
///
/// ```
/// use tove_tensor::{Tensor, TryOps};
/// use tove_trust::robustness::{AttackNorm, InputRules, Pgd};
/// let w = Tensor::from([[1.0, 0.0], [-2.0, 0.0]]);
/// let model = |x: &Tensor| Ok(x.try_matmul(&w)?);
/// let (x, labels) = (Tensor::from([[0.9, 0.2]]), Tensor::from([0i64]));
/// let attack = Pgd::new(AttackNorm::L2).rules(InputRules::range(0.0, 1.0)).steps(20);
/// assert!(!attack.run(&model, &x, &labels, 0.2)?.success[0]); // the distance to the boundary is 0.5 / √5 = 0.2236
/// let found = attack.run(&model, &x, &labels, 0.23)?;
/// assert!(found.success[0] && found.distances[0] <= 0.23);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pgd {
    norm: AttackNorm,
    steps: usize,
    relative_step: Option<f64>,
    restarts: usize,
    random_start: bool,
    loss: AttackLoss,
    rules: InputRules,
    seed: u64,
}

impl Pgd {
    /// Ten steps from one random start that raise the cross-entropy, for any inputs.
    pub fn new(norm: AttackNorm) -> Pgd {
        Pgd {
            norm,
            steps: 10,
            relative_step: None,
            restarts: 1,
            random_start: true,
            loss: AttackLoss::default(),
            rules: InputRules::default(),
            seed: 0,
        }
    }

    /// Number of steps from each start; initially 10.
    #[must_use]
    pub fn steps(self, steps: usize) -> Pgd {
        Pgd { steps, ..self }
    }

    /// The size of a step as a part of the budget; initially the smaller of 2.5 / steps and 1.
    #[must_use]
    pub fn relative_step(self, relative_step: f64) -> Pgd {
        Pgd { relative_step: Some(relative_step), ..self }
    }

    /// Number of starts; initially 1. Rows for which the attack succeeded take no part in further ones.
    #[must_use]
    pub fn restarts(self, restarts: usize) -> Pgd {
        Pgd { restarts, ..self }
    }

    /// Whether the first start is drawn at random from the ball, as further ones always are; initially it is. Without it the
    /// first start is the input.
    #[must_use]
    pub fn random_start(self, random_start: bool) -> Pgd {
        Pgd { random_start, ..self }
    }

    /// The loss to raise; initially the cross-entropy.
    #[must_use]
    pub fn loss(self, loss: AttackLoss) -> Pgd {
        Pgd { loss, ..self }
    }

    /// The inputs that are allowed; initially any.
    #[must_use]
    pub fn rules(self, rules: InputRules) -> Pgd {
        Pgd { rules, ..self }
    }

    /// Decides the random starts; initially 0. A start depends on the seed and the place of the row in the batch.
    #[must_use]
    pub fn seed(self, seed: u64) -> Pgd {
        Pgd { seed, ..self }
    }

    /// The attack with its settings, as reports name it.
    pub fn name(&self) -> String {
        let start = if self.random_start { "random starts" } else { "starts, the first at the input" };
        format!(
            "PGD in the {} norm on the {}: {} steps from {} {start}",
            self.norm.name(),
            self.loss.name(),
            self.steps,
            self.restarts,
        )
    }

    /// Attacks a batch within a ball of radius `eps`. A row is done with its first success; without one, the input with the
    /// highest loss is returned.
    ///
    /// # Errors
    /// A budget that is not positive or beyond the data range; no steps or starts; inputs that are not finite or violate the
    /// rules; labels that are not classes of the model.
    pub fn run(&self, model: &dyn DifferentiableModel, x: &Tensor, labels: &Tensor, eps: f64) -> Result<AttackResult> {
        let problem = self.problem(Target { model, x, labels, eps })?;
        let mut found = Found::start(&problem)?;
        let climb = Climb { problem: &problem, steps: self.steps, alpha: self.alpha(eps), stop_early: true };
        if problem.space.blocks.is_empty() {
            for restart in 0..self.restarts {
                let mut particles = self.starts(&problem, &found.open(), restart, Key::new(self.seed));
                climb.run(&mut particles, &mut found)?;
            }
        } else {
            categories::search(&climb, self.restarts, &mut found, |rows, restart| {
                self.starts(&problem, rows, restart, Key::new(self.seed))
            })?;
        }
        found.finish(&problem, self.name())
    }

    /// The last point of the walk from the first start, for every row, whether it is predicted right or not: what adversarial
    /// training learns from.
    ///
    /// # Errors
    /// As [`Pgd::run`]; rules with categories.
    pub fn perturb(&self, model: &dyn DifferentiableModel, x: &Tensor, labels: &Tensor, eps: f64) -> Result<Tensor> {
        self.perturb_with(model, x, labels, eps, Key::new(self.seed))
    }

    /// As [`Pgd::perturb`], from given starts, which are moved into the ball and the ranges.
    ///
    /// # Errors
    /// As [`Pgd::perturb`]; starts of another shape.
    pub fn perturb_from(
        &self,
        model: &dyn DifferentiableModel,
        x: &Tensor,
        labels: &Tensor,
        eps: f64,
        starts: &Tensor,
    ) -> Result<Tensor> {
        let starts = Batch::read(WHAT, starts)?;
        let problem = self.numeric(Target { model, x, labels, eps })?;
        if (starts.len(), starts.width()) != (problem.batch.len(), problem.batch.width()) {
            let shape = x.shape();
            return Err(TrustError::data(
                WHAT,
                format!("the starts do not have the shape {shape}"),
                "give one per input",
            ));
        }
        let start = |row: usize| {
            let x = problem.batch.row(row);
            let delta = starts.row(row).iter().zip(x).map(|(start, x)| start - x).collect();
            Particle::new(&problem, row, x.to_vec(), eps, delta)
        };
        self.walk(&problem, (0..problem.batch.len()).map(start).collect())
    }

    pub(super) fn perturb_with(
        &self,
        model: &dyn DifferentiableModel,
        x: &Tensor,
        labels: &Tensor,
        eps: f64,
        key: Key,
    ) -> Result<Tensor> {
        let problem = self.numeric(Target { model, x, labels, eps })?;
        let all: Vec<usize> = (0..problem.batch.len()).collect();
        let particles = self.starts(&problem, &all, 0, key);
        self.walk(&problem, particles)
    }

    /// The last points of walks that take all steps.
    fn walk(&self, problem: &Problem<'_>, mut particles: Vec<Particle>) -> Result<Tensor> {
        let climb = Climb { problem, steps: self.steps, alpha: self.alpha(problem.eps), stop_early: false };
        climb.run(&mut particles, &mut Found::empty())?;
        problem.batch.tensor_of(particles.into_iter().flat_map(|particle| particle.point).collect())
    }

    /// A problem without categories.
    fn numeric<'a>(&self, target: Target<'a>) -> Result<Problem<'a>> {
        let problem = self.problem(target)?;
        if !problem.space.blocks.is_empty() {
            let fix = "declare them as `ColumnRule::Fixed`, or use `Pgd::run`, which searches among categories";
            return Err(TrustError::unsupported(WHAT, "a walk along gradients cannot change categories", fix));
        }
        Ok(problem)
    }

    fn problem<'a>(&self, target: Target<'a>) -> Result<Problem<'a>> {
        if self.steps == 0 || self.restarts == 0 {
            let problem = format!("{} steps from {} starts; give at least one of each", self.steps, self.restarts);
            return Err(TrustError::argument(WHAT, problem));
        }
        if let Some(step) = self.relative_step.filter(|step| !(*step > 0.0 && step.is_finite())) {
            let problem = format!("`relative_step` is {step}; give a positive number, such as 0.25");
            return Err(TrustError::argument(WHAT, problem));
        }
        Problem::new(WHAT, target, &self.rules, self.norm, self.loss)
    }

    fn alpha(&self, eps: f64) -> f64 {
        eps * self.relative_step.unwrap_or((2.5 / self.steps as f64).min(1.0))
    }

    /// Where the walks of these rows begin.
    fn starts(&self, problem: &Problem<'_>, rows: &[usize], restart: usize, key: Key) -> Vec<Particle> {
        let random = self.random_start || restart > 0;
        let start = |&row: &usize| {
            let x = problem.batch.row(row);
            let delta = if random {
                let key = key.fold(restart as u64).fold(row as u64);
                random_start(&problem.space, problem.norm, problem.eps, x, key)
            } else {
                vec![0.0; x.len()]
            };
            Particle::new(problem, row, x.to_vec(), problem.eps, delta)
        };
        rows.iter().map(start).collect()
    }
}
