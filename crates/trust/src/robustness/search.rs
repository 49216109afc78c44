//! What all attacks on a batch share: the checked problem, and the best input found for each row.

use tove_tensor::Tensor;

use super::AttackNorm;
use super::gradient::{Evaluation, evaluate};
use super::model::{AttackLoss, DifferentiableModel};
use super::result::AttackResult;
use super::rows::{Batch, classes};
use super::rules::{InputRules, Space};
use crate::Result;

/// A batch to attack, checked.
pub(super) struct Problem<'a> {
    pub(super) what: &'static str,
    pub(super) model: &'a dyn DifferentiableModel,
    pub(super) batch: Batch,
    pub(super) labels: Vec<usize>,
    pub(super) space: Space,
    pub(super) norm: AttackNorm,
    pub(super) eps: f64,
    pub(super) loss: AttackLoss,
}

/// What is attacked: inputs and their labels.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) model: &'a dyn DifferentiableModel,
    pub(super) x: &'a Tensor,
    pub(super) labels: &'a Tensor,
    pub(super) eps: f64,
}

impl<'a> Problem<'a> {
    pub(super) fn new(
        what: &'static str,
        target: Target<'a>,
        rules: &InputRules,
        norm: AttackNorm,
        loss: AttackLoss,
    ) -> Result<Problem<'a>> {
        let batch = Batch::read(what, target.x)?;
        let space = rules.space(what, &batch)?;
        space.budget(what, norm, target.eps)?;
        space.admit(what, &batch)?;
        let labels = classes(what, target.labels, batch.len())?;
        Ok(Problem { what, model: target.model, batch, labels, space, norm, eps: target.eps, loss })
    }

    /// Evaluates points, row after row, that belong to these rows of the batch.
    pub(super) fn evaluate(
        &self,
        points: Vec<f64>,
        rows: &[usize],
        gradient: bool,
        found: &mut Found,
    ) -> Result<Evaluation> {
        if rows.is_empty() {
            return Ok(Evaluation::default());
        }
        let labels: Vec<usize> = rows.iter().map(|&row| self.labels[row]).collect();
        found.queries += rows.len() as u64;
        found.gradients += if gradient { rows.len() as u64 } else { 0 };
        evaluate(self.what, self.model, &self.batch.with(points), &labels, self.loss, gradient)
    }
}

/// The best input of each row so far.
pub(super) struct Found {
    pub(super) points: Vec<f64>,
    pub(super) losses: Vec<f64>,
    pub(super) success: Vec<bool>,
    pub(super) already_wrong: Vec<bool>,
    pub(super) queries: u64,
    pub(super) gradients: u64,
}

impl Found {
    /// For walks that note nothing.
    pub(super) fn empty() -> Found {
        let (points, losses, success, already_wrong) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Found { points, losses, success, already_wrong, queries: 0, gradients: 0 }
    }

    /// Asks the model about the inputs as given: those that are wrong already stay as they are.
    pub(super) fn start(problem: &Problem<'_>) -> Result<Found> {
        let n = problem.batch.len();
        let mut found = Found {
            points: problem.batch.values().to_vec(),
            losses: vec![f64::NEG_INFINITY; n],
            success: vec![false; n],
            already_wrong: vec![false; n],
            queries: 0,
            gradients: 0,
        };
        let rows: Vec<usize> = (0..n).collect();
        let before = problem.evaluate(found.points.clone(), &rows, false, &mut found)?;
        found.already_wrong = before.decisions.iter().zip(&problem.labels).map(|(a, b)| a != b).collect();
        found.success.clone_from(&found.already_wrong);
        found.losses = before.losses;
        Ok(found)
    }

    /// Rows without a success.
    pub(super) fn open(&self) -> Vec<usize> {
        (0..self.success.len()).filter(|&row| !self.success[row]).collect()
    }

    /// Notes a point of a row; whether it is (or was) a success.
    pub(super) fn note(&mut self, row: usize, point: &[f64], loss: f64, wrong: bool) -> bool {
        if self.success[row] {
            return true;
        }
        if wrong || loss > self.losses[row] {
            let width = point.len();
            self.points[row * width..(row + 1) * width].copy_from_slice(point);
            self.losses[row] = loss;
            self.success[row] = wrong;
        }
        wrong
    }

    pub(super) fn finish(self, problem: &Problem<'_>, attack: String) -> Result<AttackResult> {
        let Problem { batch, space, norm, eps, .. } = problem;
        let pairs = batch.rows().zip(self.points.chunks_exact(batch.width()));
        let distances = pairs.map(|(x, point)| space.distance(*norm, x, point)).collect();
        Ok(AttackResult {
            attack,
            norm: *norm,
            eps: *eps,
            inputs: batch.tensor_of(self.points)?,
            success: self.success,
            already_wrong: self.already_wrong,
            distances,
            queries: self.queries,
            gradients: self.gradients,
        })
    }
}
