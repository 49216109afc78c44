//! Random search on scores, for all rows of a batch side by side: one query per row and trial.

use tove_tensor::{Key, random};

use super::AttackNorm;
use super::budget::ask_all;
use super::model::{AttackLoss, QueryModel};
use super::rows::Batch;
use super::rules::Space;
use super::start::random_start;
use crate::Result;

/// The largest part of the features that a trial changes, and how often it halves at most.
const SHARE: f64 = 0.3;
const HALVINGS: f64 = 8.0;

/// What is searched, and how.
pub(super) struct RandomSearch<'a> {
    pub(super) what: &'static str,
    pub(super) model: &'a dyn QueryModel,
    pub(super) batch: &'a Batch,
    pub(super) space: &'a Space,
    pub(super) labels: &'a [usize],
    pub(super) norm: AttackNorm,
    pub(super) eps: f64,
    pub(super) loss: AttackLoss,
    pub(super) key: Key,
    /// Queries per row.
    pub(super) trials: u64,
}

/// The search of one row.
pub(super) struct Walker {
    pub(super) row: usize,
    pub(super) loss: f64,
    pub(super) point: Vec<f64>,
    pub(super) success: bool,
    delta: Vec<f64>,
}

impl RandomSearch<'_> {
    /// Searches from these rows, of which the losses are known.
    pub(super) fn run(&self, rows: &[(usize, f64)]) -> Result<Vec<Walker>> {
        let begin = |&(row, loss): &(usize, f64)| {
            let point = self.batch.row(row).to_vec();
            Walker { row, loss, delta: vec![0.0; point.len()], point, success: false }
        };
        let mut walkers: Vec<Walker> = rows.iter().map(begin).collect();
        let free: Vec<usize> = (0..self.batch.width()).filter(|&i| self.space.free[i]).collect();
        for trial in 0..self.trials {
            let candidates = self.candidates(&walkers, &free, trial);
            if walkers.iter().all(|walker| walker.success) {
                break;
            }
            let labels: Vec<usize> = candidates.iter().map(|(place, ..)| self.labels[walkers[*place].row]).collect();
            let points = candidates.iter().flat_map(|(_, _, point)| point.iter().copied()).collect();
            let answers = ask_all(self.what, self.model, self.batch, points, &labels, self.loss)?;
            for (index, (place, delta, point)) in candidates.into_iter().enumerate() {
                let (loss, wrong, walker) = (answers.losses[index], answers.wrong[index], &mut walkers[place]);
                if wrong || loss > walker.loss {
                    (walker.loss, walker.point, walker.delta, walker.success) = (loss, point, delta, wrong);
                }
            }
        }
        Ok(walkers)
    }

    /// A perturbation and a point for each walker without a success; none where nothing would change.
    fn candidates(&self, walkers: &[Walker], free: &[usize], trial: u64) -> Vec<(usize, Vec<f64>, Vec<f64>)> {
        let mut all = Vec::with_capacity(walkers.len());
        for (place, walker) in walkers.iter().enumerate().filter(|(_, walker)| !walker.success) {
            let x = self.batch.row(walker.row);
            let key = self.key.fold(walker.row as u64).fold(trial);
            let mut delta = match trial {
                0 => self.first(x, key),
                _ => self.changed(&walker.delta, free, trial as f64 / self.trials as f64, key),
            };
            let mut point = x.to_vec();
            self.space.project(self.norm, self.eps, x, &mut delta);
            self.space.place((self.norm, self.eps), x, x, &delta, &mut point);
            if point != walker.point {
                all.push((place, delta, point));
            }
        }
        all
    }

    /// A first perturbation: a corner of the l∞ ball, a random point of the others.
    fn first(&self, x: &[f64], key: Key) -> Vec<f64> {
        let start = random_start(self.space, self.norm, self.eps, x, key);
        if self.norm != AttackNorm::LInf {
            return start;
        }
        let corner =
            |(i, delta): (usize, f64)| if delta == 0.0 { 0.0 } else { delta.signum() * self.eps * self.space.scale[i] };
        start.into_iter().enumerate().map(corner).collect()
    }

    /// The perturbation with some features changed: fewer as the search goes on.
    fn changed(&self, delta: &[f64], free: &[usize], progress: f64, key: Key) -> Vec<f64> {
        let mut draw = [0.0];
        random::fill_uniform(key.fold(0), &mut draw);
        let share = SHARE * 0.5f64.powf((progress * 1.5 * HALVINGS).floor().min(HALVINGS));
        let count = ((share * free.len() as f64).ceil() as usize).clamp(1, free.len().max(1));
        let order = random::permutation(key.fold(1), free.len());
        let mut signs = vec![0.0; count];
        random::fill_uniform(key.fold(2), &mut signs);
        let part = 0.1 + 0.9 * draw[0];
        let size = match self.norm {
            AttackNorm::LInf => self.eps,
            AttackNorm::L2 => self.eps * part / (count as f64).sqrt(),
            AttackNorm::L1 => self.eps * part / count as f64,
        };
        let mut changed = delta.to_vec();
        for (place, sign) in order.into_iter().zip(signs) {
            let i = free[place as usize];
            let step: f64 = size * self.space.scale[i] * if sign < 0.5 { -1.0 } else { 1.0 };
            // For l∞ a coordinate goes to an end of its interval; other norms move from where they are.
            changed[i] = if self.norm == AttackNorm::LInf { step } else { changed[i] + step };
        }
        changed
    }
}
