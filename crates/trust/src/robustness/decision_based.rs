//! A black-box attack that sees predicted classes alone: it walks along the decision boundary towards the input.
//!
//! From a misclassified point, repeat: move towards the input by bisection until just before the boundary; estimate the
//! normal of the boundary there from the classes of random neighbors; step along it, back into the misclassified region
//! (Chen, Jordan and Wainwright 2020, after the boundary attack of Brendel, Rauber and Bethge 2018). A point is kept only if
//! it is misclassified and nearer than the one before.

use tove_tensor::{Key, Tensor, random};

use super::AttackNorm;
use super::budget::QueryCounter;
use super::model::QueryModel;
use super::norm::sign;
use super::result::AttackResult;
use super::rows::{Batch, classes};
use super::rules::{InputRules, Space};
use super::start::on_sphere;
use crate::{Result, TrustError};

const WHAT: &str = "BoundaryAttack";

/// Random points that are tried as a start.
const TRIES: u64 = 100;

/// A black-box attack that sees the predicted class only, with a budget of queries per row. It searches the nearest
/// misclassified input, so it has no radius.
///
/// ```
/// use tove_tensor::{Tensor, TryOps};
/// use tove_trust::robustness::{AttackNorm, BoundaryAttack, InputRules, LabelsOnly};
/// let w = Tensor::from([[1.0, 0.0], [-2.0, 0.0]]);
/// let model = |x: &Tensor| Ok(x.try_matmul(&w)?);
/// let (x, labels) = (Tensor::from([[0.9, 0.2]]), Tensor::from([0i64]));
/// let attack = BoundaryAttack::new(AttackNorm::L2).rules(InputRules::range(-1.0, 1.0)).max_queries(1000);
/// let found = attack.run(&LabelsOnly(&model), &x, &labels)?;
/// assert!(found.result.success[0] && found.result.queries <= 1000);
/// assert!(found.result.distances[0] < 0.24); // the boundary is 0.5 / √5 = 0.2236 away
/// assert!(found.traces[0].windows(2).all(|two| two[1].1 < two[0].1)); // always nearer
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BoundaryAttack {
    norm: AttackNorm,
    max_queries: u64,
    rules: InputRules,
    seed: u64,
}

/// What a [`BoundaryAttack`] found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BoundaryResult {
    /// The nearest misclassified inputs found. A row without one is returned as given, without success.
    pub result: AttackResult,
    /// For each row, the distances of the misclassified points that were kept, with the number of queries until then.
    pub traces: Vec<Vec<(u64, f64)>>,
}

impl BoundaryResult {
    /// Share of the batch that is still predicted right if changes are limited to this size.
    pub fn robust_accuracy_at(&self, eps: f64) -> f64 {
        let broken = |row: usize| self.result.success[row] && self.result.distances[row] <= eps;
        let n = self.result.success.len();
        (0..n).filter(|&row| !broken(row)).count() as f64 / n.max(1) as f64
    }
}

impl BoundaryAttack {
    /// An attack with 10,000 queries per row, for any inputs. For l1, steps are those of l2, and distances l1.
    pub fn new(norm: AttackNorm) -> BoundaryAttack {
        BoundaryAttack { norm, max_queries: 10_000, rules: InputRules::default(), seed: 0 }
    }

    /// Queries per row at most, the one about the input itself included.
    #[must_use]
    pub fn max_queries(self, max_queries: u64) -> BoundaryAttack {
        BoundaryAttack { max_queries, ..self }
    }

    /// The inputs that are allowed. Starts are drawn from their ranges. Categories keep their values.
    #[must_use]
    pub fn rules(self, rules: InputRules) -> BoundaryAttack {
        BoundaryAttack { rules, ..self }
    }

    /// Decides the random numbers; initially 0.
    #[must_use]
    pub fn seed(self, seed: u64) -> BoundaryAttack {
        BoundaryAttack { seed, ..self }
    }

    /// The attack with its settings, as reports name it.
    pub fn name(&self) -> String {
        format!("decision-based boundary attack in the {} norm, {} queries per row", self.norm.name(), self.max_queries)
    }

    /// Attacks a batch. The first start of a row is the nearest other row with another label; then random points are tried.
    ///
    /// # Errors
    /// No queries; inputs or labels that do not fit; rules that keep every column fixed.
    pub fn run(&self, model: &dyn QueryModel, x: &Tensor, labels: &Tensor) -> Result<BoundaryResult> {
        if self.max_queries == 0 {
            return Err(TrustError::argument(WHAT, "`max_queries` is 0; allow at least one query per row"));
        }
        let batch = Batch::read(WHAT, x)?;
        let space = self.rules.space(WHAT, &batch)?;
        if !space.free.contains(&true) {
            return Err(TrustError::argument(
                WHAT,
                "the rules keep every column fixed; allow a change of at least one",
            ));
        }
        space.admit(WHAT, &batch)?;
        let labels = classes(WHAT, labels, batch.len())?;
        let mut walks = Vec::with_capacity(batch.len());
        let mut queries = 0;
        for row in 0..batch.len() {
            let counter = QueryCounter::new(model, self.max_queries);
            let mut walk = Walk {
                norm: self.norm,
                batch: &batch,
                space: &space,
                counter: &counter,
                x: batch.row(row),
                label: labels[row],
                key: Key::new(self.seed).fold(row as u64),
                best: None,
                trace: Vec::new(),
            };
            let before = walk.run(&other_rows(&batch, &space, self.norm, &labels, row))?;
            walks.push((walk.best.map(|(point, _)| point), walk.trace, before));
            queries += counter.used();
        }
        let inputs: Vec<f64> = walks
            .iter()
            .enumerate()
            .flat_map(|(row, (point, _, _))| point.as_deref().unwrap_or(batch.row(row)).to_vec())
            .collect();
        let rows = batch.rows().zip(inputs.chunks_exact(batch.width()));
        let result = AttackResult {
            attack: self.name(),
            norm: self.norm,
            eps: f64::INFINITY,
            distances: rows.map(|(x, point)| space.distance(self.norm, x, point)).collect(),
            success: walks.iter().map(|(point, _, before)| *before || point.is_some()).collect(),
            already_wrong: walks.iter().map(|walk| walk.2).collect(),
            inputs: batch.tensor_of(inputs)?,
            queries,
            gradients: 0,
        };
        Ok(BoundaryResult { result, traces: walks.into_iter().map(|(_, trace, _)| trace).collect() })
    }
}

/// Other rows with other labels, nearest first; their numbers, with the fixed columns and categories of the row itself.
fn other_rows(batch: &Batch, space: &Space, norm: AttackNorm, labels: &[usize], row: usize) -> Vec<Vec<f64>> {
    let x = batch.row(row);
    let moved = |other: usize| -> Vec<f64> {
        (0..x.len()).map(|i| if space.free[i] { batch.row(other)[i] } else { x[i] }).collect()
    };
    let others = (0..batch.len()).filter(|&other| labels[other] != labels[row]);
    let mut points: Vec<(f64, Vec<f64>)> =
        others.map(moved).map(|point| (space.distance(norm, x, &point), point)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.into_iter().take(3).map(|(_, point)| point).collect()
}

/// The walk of one row.
struct Walk<'a> {
    norm: AttackNorm,
    batch: &'a Batch,
    space: &'a Space,
    counter: &'a QueryCounter<'a>,
    x: &'a [f64],
    label: usize,
    key: Key,
    /// The nearest misclassified point, and its distance.
    best: Option<(Vec<f64>, f64)>,
    trace: Vec<(u64, f64)>,
}

impl Walk<'_> {
    /// Walks until the budget is used up; whether the input was misclassified.
    fn run(&mut self, others: &[Vec<f64>]) -> Result<bool> {
        if self.wrong(std::slice::from_ref(&self.x.to_vec()))? == [true] {
            return Ok(true);
        }
        if !self.start(others)? {
            return Ok(false);
        }
        let mut probes = 0u64;
        for round in 0.. {
            if self.counter.left() == 0 {
                break;
            }
            let before = self.distance();
            if round == 0 {
                self.bisect()?; // later rounds end at the boundary
            }
            probes += 1;
            let count = self.probe_count(probes);
            if count == 0 {
                break;
            }
            let normal = self.normal(count, self.key.fold(1000 + round))?;
            self.leap(&normal, round)?;
            if self.distance() >= before && probes > 200 {
                break;
            }
        }
        Ok(false)
    }

    fn distance(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |best| best.1)
    }

    /// Which points are misclassified. There must be queries left for all.
    fn wrong(&self, points: &[Vec<f64>]) -> Result<Vec<bool>> {
        let x = self.batch.tensor_of_rows(points.concat(), points.len())?;
        Ok(self.counter.query_labels(&x)?.into_iter().map(|label| label != self.label).collect())
    }

    /// A point as it can be stored and is allowed.
    fn allowed(&self, point: &[f64]) -> Vec<f64> {
        let mut delta: Vec<f64> = point.iter().zip(self.x).map(|(point, x)| point - x).collect();
        let mut out = self.x.to_vec();
        self.space.project(AttackNorm::LInf, f64::MAX, self.x, &mut delta);
        self.space.place((AttackNorm::LInf, f64::MAX), self.x, self.x, &delta, &mut out);
        out
    }

    /// Keeps a misclassified point if it is nearer than the best one.
    fn keep(&mut self, point: Vec<f64>) -> bool {
        let distance = self.space.distance(self.norm, self.x, &point);
        if distance >= self.distance() {
            return false;
        }
        self.best = Some((point, distance));
        self.trace.push((self.counter.used(), distance));
        true
    }

    /// Finds a first misclassified point.
    fn start(&mut self, others: &[Vec<f64>]) -> Result<bool> {
        for trial in 0..TRIES + others.len() as u64 {
            if self.counter.left() == 0 {
                return Ok(false);
            }
            let point = match others.get(trial as usize) {
                Some(point) => self.allowed(point),
                None => self.random_point(trial),
            };
            if self.wrong(std::slice::from_ref(&point))? == [true] {
                return Ok(self.keep(point));
            }
        }
        Ok(false)
    }

    /// Uniform in the ranges; without a range, normal around the input with a spread that grows from try to try.
    fn random_point(&self, trial: u64) -> Vec<f64> {
        let (mut uniform, mut normal) = (vec![0.0; self.x.len()], vec![0.0; self.x.len()]);
        random::fill_uniform(self.key.fold(2 * trial), &mut uniform);
        random::fill_normal(self.key.fold(2 * trial + 1), &mut normal);
        let drawn = |i: usize| -> f64 {
            let (low, high) = (self.space.low[i], self.space.high[i]);
            if low.is_finite() && high.is_finite() {
                return low + uniform[i] * (high - low);
            }
            self.x[i] + self.space.scale[i] * normal[i] * 1.25f64.powf((trial % TRIES) as f64 * 0.5)
        };
        self.allowed(&(0..self.x.len()).map(drawn).collect::<Vec<f64>>())
    }

    /// Halves the segment from the input to the best point as long as it pays.
    fn bisect(&mut self) -> Result<()> {
        let Some((far, size)) = self.best.clone() else { return Ok(()) };
        let (mut low, mut high) = (0.0, 1.0);
        // Near enough that an error of the rest is small beside the distance.
        let width = 1e-3f64.max(1.0 / (self.x.len() as f64).powi(2)).min(1e-2) * 0.1;
        while high - low > width && self.counter.left() > 0 && size > 0.0 {
            let middle = 0.5 * (low + high);
            let point = self.between(&far, middle);
            if self.wrong(std::slice::from_ref(&point))? == [true] {
                high = middle;
                self.keep(point);
            } else {
                low = middle;
            }
        }
        Ok(())
    }

    /// The point at this part of the way from the input; for l∞, the far point moved into the ball of that part of its radius.
    fn between(&self, far: &[f64], part: f64) -> Vec<f64> {
        if self.norm != AttackNorm::LInf {
            let point: Vec<f64> = self.x.iter().zip(far).map(|(x, far)| x + part * (far - x)).collect();
            return self.allowed(&point);
        }
        let radius = part * self.space.distance(self.norm, self.x, far);
        let near = |i: usize| {
            self.x[i] + (far[i] - self.x[i]).clamp(-radius * self.space.scale[i], radius * self.space.scale[i])
        };
        self.allowed(&(0..self.x.len()).map(near).collect::<Vec<f64>>())
    }

    /// How many neighbors to ask about: more as the walk goes on, within what is left.
    fn probe_count(&self, round: u64) -> usize {
        let wanted = (20.0 * (round as f64).sqrt()).min(1000.0) as u64;
        wanted.min(self.counter.left().saturating_sub(1)) as usize
    }

    /// The direction into the misclassified region: the mean of random directions, each with the sign of its outcome.
    fn normal(&self, count: usize, key: Key) -> Result<Vec<f64>> {
        let Some((best, size)) = &self.best else { return Ok(Vec::new()) };
        let d = self.x.len();
        let radius = (size / (d as f64).sqrt()).max(1e-9 * size) * 0.3;
        let directions: Vec<Vec<f64>> = (0..count).map(|i| on_sphere(AttackNorm::L2, d, key.fold(i as u64))).collect();
        let neighbor = |direction: &Vec<f64>| {
            let moved = |i: usize| best[i] + radius * (d as f64).sqrt() * direction[i] * self.space.scale[i];
            self.allowed(&(0..d).map(moved).collect::<Vec<f64>>())
        };
        let outcomes = self.wrong(&directions.iter().map(neighbor).collect::<Vec<_>>())?;
        // Centered, so that unequal shares of outcomes do not add noise.
        let mean = outcomes.iter().filter(|wrong| **wrong).count() as f64 / count as f64 * 2.0 - 1.0;
        let mut normal = vec![0.0; d];
        for (direction, wrong) in directions.iter().zip(outcomes) {
            let weight = if wrong { 1.0 } else { -1.0 } - if mean.abs() < 1.0 { mean } else { 0.0 };
            normal.iter_mut().zip(direction).for_each(|(normal, v)| *normal += weight * v);
        }
        let length = AttackNorm::L2.of(&normal);
        if self.norm == AttackNorm::LInf {
            normal.iter_mut().for_each(|v| *v = sign(*v));
        } else if length > 0.0 {
            normal.iter_mut().for_each(|v| *v /= length);
        }
        Ok(normal)
    }

    /// Steps from the boundary into the misclassified region and then back towards the input; shorter ones until that pays.
    fn leap(&mut self, normal: &[f64], round: u64) -> Result<()> {
        let Some((best, size)) = self.best.clone() else { return Ok(()) };
        let mut length = size / ((round + 1) as f64).sqrt();
        for _ in 0..8 {
            if self.counter.left() == 0 {
                return Ok(());
            }
            let moved = |i: usize| best[i] + length * normal[i] * self.space.scale[i];
            let far = self.allowed(&(0..best.len()).map(moved).collect::<Vec<f64>>());
            if self.wrong(std::slice::from_ref(&far))? == [true] {
                self.approach(&far)?;
                if self.distance() < size {
                    return Ok(());
                }
            }
            length *= 0.5;
        }
        Ok(())
    }

    /// Bisects between the input and a misclassified point, which may be farther away than the best one: then first as far from
    /// the input as that, as only nearer points are of use.
    fn approach(&mut self, far: &[f64]) -> Result<()> {
        self.keep(far.to_vec());
        let size = self.space.distance(self.norm, self.x, far);
        let (mut low, mut high) = (0.0, 1.0);
        if self.distance() < size {
            high = 0.999 * self.distance() / size;
            let point = self.between(far, high);
            if self.counter.left() == 0 || self.wrong(std::slice::from_ref(&point))? != [true] {
                return Ok(());
            }
            self.keep(point);
        }
        while high - low > 1e-3 && self.counter.left() > 0 {
            let middle = 0.5 * (low + high);
            let point = self.between(far, middle);
            if self.wrong(std::slice::from_ref(&point))? == [true] {
                high = middle;
                self.keep(point);
            } else {
                low = middle;
            }
        }
        Ok(())
    }
}
