//! Black-box attacks that see scores: gradients estimated by finite differences, and random search.

use tove_tensor::{Key, Tensor};

use super::AttackNorm;
use super::budget::{QueryCounter, ask_all};
use super::model::{AttackLoss, QueryModel};
use super::random_search::RandomSearch;
use super::result::AttackResult;
use super::rows::{Batch, classes};
use super::rules::{InputRules, Space};
use crate::{Result, TrustError};

/// The gradient by the input of the loss of each row, estimated from scores alone:
/// Σᵢ (l(x + a eᵢ) − l(x)) / a · eᵢ over the unit vectors eᵢ. It takes exactly d + 1 queries per row of d features. The error
/// is of the order of `step` where the loss is smooth.
///
/// ```
/// use tove_tensor::{Tensor, TryUnary};
/// use tove_trust::robustness::{AttackLoss, QueryCounter, finite_difference_gradient};
/// let model = |x: &Tensor| Ok(x.try_square()?); // two features, two scores
/// let (x, label) = (Tensor::from([[1.0, 3.0]]), Tensor::from([0i64]));
/// let counter = QueryCounter::new(&model, 100);
/// let slope = finite_difference_gradient(&counter, &x, &label, AttackLoss::Margin, 1e-6)?.to_vec::<f64>();
/// assert!((slope[0] + 2.0).abs() < 1e-5 && (slope[1] - 6.0).abs() < 1e-5); // of x₁² − x₀²
/// assert_eq!(counter.used(), 3);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// A step that is not positive or so small that it is lost in rounding; inputs that are not finite; a model that shows no
/// scores.
pub fn finite_difference_gradient(
    model: &dyn QueryModel,
    x: &Tensor,
    labels: &Tensor,
    loss: AttackLoss,
    step: f64,
) -> Result<Tensor> {
    const WHAT: &str = "finite_difference_gradient";
    let batch = Batch::read(WHAT, x)?;
    let labels = classes(WHAT, labels, batch.len())?;
    check_step(WHAT, step)?;
    let mut out = Vec::with_capacity(batch.values().len());
    for (row, &label) in batch.rows().zip(&labels) {
        let estimate = Estimate { what: WHAT, batch: &batch, label, loss, step };
        let free = vec![true; row.len()];
        out.extend(estimate.gradient(model, row, &free)?.slopes);
    }
    batch.tensor_of(out)
}

fn check_step(what: &'static str, step: f64) -> Result<()> {
    if step > 0.0 && step.is_finite() {
        return Ok(());
    }
    Err(TrustError::argument(what, format!("the step is {step}; give a positive number, such as 1e-3")))
}

struct Estimate<'a> {
    what: &'static str,
    batch: &'a Batch,
    label: usize,
    loss: AttackLoss,
    step: f64,
}

/// An estimated gradient, and what the model says at the point itself.
struct Slopes {
    slopes: Vec<f64>,
    loss: f64,
    wrong: bool,
}

impl Estimate<'_> {
    /// Asks about the point, then about a neighbor along each free axis.
    fn gradient(&self, model: &dyn QueryModel, point: &[f64], free: &[bool]) -> Result<Slopes> {
        let axes: Vec<usize> = (0..point.len()).filter(|&i| free[i]).collect();
        let mut points = point.to_vec();
        let mut steps = Vec::with_capacity(axes.len());
        for &axis in &axes {
            let mut neighbor = point.to_vec();
            let moved = neighbor[axis] + self.step;
            neighbor[axis] = if self.batch.single() { f64::from(moved as f32) } else { moved };
            steps.push(neighbor[axis] - point[axis]); // as stored
            points.extend(neighbor);
        }
        if steps.contains(&0.0) {
            let problem = format!("the step {} is lost in the rounding of the inputs; give a larger one", self.step);
            return Err(TrustError::argument(self.what, problem));
        }
        let labels = vec![self.label; axes.len() + 1];
        let answers = ask_all(self.what, model, self.batch, points, &labels, self.loss)?;
        let mut slopes = vec![0.0; point.len()];
        for (place, (&axis, step)) in axes.iter().zip(steps).enumerate() {
            slopes[axis] = (answers.losses[place + 1] - answers.losses[0]) / step;
        }
        Ok(Slopes { slopes, loss: answers.losses[0], wrong: answers.wrong[0] })
    }
}

/// How an attack on scores searches.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum QuerySearch {
    /// Projected gradient steps along finite differences, d + 1 queries each. The neighbors may lie outside of the ball.
    FiniteDifferences {
        /// The distance of the neighbors.
        step: f64,
    },
    /// Changes of a few features at random that are kept if the loss rises, one query each; ever fewer features at a time
    /// (after Andriushchenko et al. 2020). For many features this needs far fewer queries.
    Random,
}

/// A black-box attack that sees scores, with a budget of queries per row.
///
/// ```
/// use tove_tensor::{Tensor, TryOps};
/// use tove_trust::robustness::{AttackNorm, ScoreAttack};
/// let w = Tensor::from([[1.0, 0.0], [-2.0, 0.0]]);
/// let model = |x: &Tensor| Ok(x.try_matmul(&w)?);
/// let (x, labels) = (Tensor::from([[0.9, 0.2]]), Tensor::from([0i64]));
/// let found = ScoreAttack::new(AttackNorm::LInf).max_queries(100).run(&model, &x, &labels, 0.25)?;
/// assert!(found.success[0] && found.queries <= 100 && found.distances[0] <= 0.25);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreAttack {
    norm: AttackNorm,
    search: QuerySearch,
    max_queries: u64,
    loss: AttackLoss,
    rules: InputRules,
    seed: u64,
}

impl ScoreAttack {
    /// Random search on the margin loss with 10,000 queries per row, for any inputs.
    pub fn new(norm: AttackNorm) -> ScoreAttack {
        ScoreAttack {
            norm,
            search: QuerySearch::Random,
            max_queries: 10_000,
            loss: AttackLoss::Margin,
            rules: InputRules::default(),
            seed: 0,
        }
    }

    /// How to search.
    #[must_use]
    pub fn search(self, search: QuerySearch) -> ScoreAttack {
        ScoreAttack { search, ..self }
    }

    /// Queries per row at most, the one about the input itself included.
    #[must_use]
    pub fn max_queries(self, max_queries: u64) -> ScoreAttack {
        ScoreAttack { max_queries, ..self }
    }

    /// The loss to raise; initially the margin loss, of which random search needs the order only.
    #[must_use]
    pub fn loss(self, loss: AttackLoss) -> ScoreAttack {
        ScoreAttack { loss, ..self }
    }

    /// The inputs that are allowed. Categories keep their values.
    #[must_use]
    pub fn rules(self, rules: InputRules) -> ScoreAttack {
        ScoreAttack { rules, ..self }
    }

    /// Decides the random numbers; initially 0.
    #[must_use]
    pub fn seed(self, seed: u64) -> ScoreAttack {
        ScoreAttack { seed, ..self }
    }

    /// The attack with its settings, as reports name it.
    pub fn name(&self) -> String {
        let how = match self.search {
            QuerySearch::FiniteDifferences { step } => format!("finite differences of step {step}"),
            QuerySearch::Random => "random search".to_owned(),
        };
        let (norm, loss) = (self.norm.name(), self.loss.name());
        format!("score-based {how} in the {norm} norm on the {loss}, {} queries per row", self.max_queries)
    }

    /// Attacks a batch within a ball of radius `eps`.
    ///
    /// # Errors
    /// A budget that is not positive or beyond the data range; no queries; inputs or labels that do not fit; a model that
    /// shows no scores.
    pub fn run(&self, model: &dyn QueryModel, x: &Tensor, labels: &Tensor, eps: f64) -> Result<AttackResult> {
        const WHAT: &str = "ScoreAttack";
        if self.max_queries == 0 {
            return Err(TrustError::argument(WHAT, "`max_queries` is 0; allow at least one query per row"));
        }
        if let QuerySearch::FiniteDifferences { step } = self.search {
            check_step(WHAT, step)?;
        }
        let batch = Batch::read(WHAT, x)?;
        let space = self.rules.space(WHAT, &batch)?;
        space.budget(WHAT, self.norm, eps)?;
        space.admit(WHAT, &batch)?;
        let labels = classes(WHAT, labels, batch.len())?;
        let everything = QueryCounter::new(model, self.max_queries.saturating_mul(batch.len() as u64));
        let before = ask_all(WHAT, &everything, &batch, batch.values().to_vec(), &labels, self.loss)?;
        let open: Vec<(usize, f64)> =
            before.losses.iter().copied().enumerate().filter(|(row, _)| !before.wrong[*row]).collect();
        let (mut inputs, mut success) = (batch.values().to_vec(), before.wrong.clone());
        let mut keep = |row: usize, point: &[f64], wrong: bool| {
            inputs[row * point.len()..(row + 1) * point.len()].copy_from_slice(point);
            success[row] = wrong;
        };
        match self.search {
            QuerySearch::FiniteDifferences { step } => {
                for (row, loss) in open {
                    let counter = QueryCounter::new(&everything, self.max_queries - 1);
                    let label = labels[row];
                    let estimate = Estimate { what: WHAT, batch: &batch, label, loss: self.loss, step };
                    let ball = (self.norm, eps);
                    let search =
                        DifferenceSearch { ball, estimate, space: &space, x: batch.row(row), counter: &counter };
                    let (point, wrong) = search.run(loss)?;
                    keep(row, &point, wrong);
                }
            }
            QuerySearch::Random => {
                let search = RandomSearch {
                    what: WHAT,
                    model: &everything,
                    batch: &batch,
                    space: &space,
                    labels: &labels,
                    norm: self.norm,
                    eps,
                    loss: self.loss,
                    key: Key::new(self.seed),
                    trials: self.max_queries - 1,
                };
                search.run(&open)?.iter().for_each(|found| keep(found.row, &found.point, found.success));
            }
        }
        let rows = batch.rows().zip(inputs.chunks_exact(batch.width()));
        let distances = rows.map(|(x, point)| space.distance(self.norm, x, point)).collect();
        Ok(AttackResult {
            attack: self.name(),
            norm: self.norm,
            eps,
            inputs: batch.tensor_of(inputs)?,
            success,
            already_wrong: before.wrong,
            distances,
            queries: everything.used(),
            gradients: 0,
        })
    }
}

/// The search for one row along finite differences.
struct DifferenceSearch<'a> {
    ball: (AttackNorm, f64),
    estimate: Estimate<'a>,
    space: &'a Space,
    x: &'a [f64],
    counter: &'a QueryCounter<'a>,
}

impl DifferenceSearch<'_> {
    fn place(&self, delta: &mut [f64]) -> Vec<f64> {
        let mut point = self.x.to_vec();
        self.space.project(self.ball.0, self.ball.1, self.x, delta);
        self.space.place(self.ball, self.x, self.x, delta, &mut point);
        point
    }

    /// Gradient steps of a quarter of the budget, as many as there are queries for. The best point, and whether it is
    /// misclassified.
    fn run(&self, loss: f64) -> Result<(Vec<f64>, bool)> {
        let needed = self.space.free.iter().filter(|free| **free).count() as u64 + 1;
        let (mut delta, mut point) = (vec![0.0; self.x.len()], self.x.to_vec());
        let mut best = (loss, point.clone());
        // One query is left for the last point.
        while self.counter.left() > needed {
            let here = self.estimate.gradient(self.counter, &point, &self.space.free)?;
            if here.wrong {
                return Ok((point, true));
            }
            if here.loss > best.0 {
                best = (here.loss, point.clone());
            }
            self.space.step(self.ball, 0.25 * self.ball.1, self.x, &here.slopes, &mut delta);
            let next = self.place(&mut delta);
            if next == point {
                break;
            }
            point = next;
        }
        if self.counter.left() > 0 && point != best.1 {
            let Estimate { what, batch, label, loss, .. } = self.estimate;
            let last = ask_all(what, self.counter, batch, point.clone(), &[label], loss)?;
            if last.wrong[0] || last.losses[0] > best.0 {
                return Ok((point, last.wrong[0]));
            }
        }
        Ok((best.1, false))
    }
}
