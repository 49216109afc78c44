//! One run of the training loop.

use std::sync::atomic::Ordering;
use std::time::Instant;

use serde_json::json;
use tove_data::Dataset;
use tove_optim::Batches;
use tove_tensor::{Key, Tensor};

use super::callback::Step;
use super::checkpoint::{Checkpoint, Place};
use super::collective::Weighted;
use super::evaluation::evaluate;
use super::loader::{Flow, for_each_batch};
use super::log::Logs;
use super::report::{Ending, Scores, TrainingPoint, TrainingReport};
use super::resume::{resume, settings};
use super::task::{Better, Scored, TrainingTask};
use super::{Length, Trainer};
use crate::{Error, Module, ModuleExt, Result};

/// Streams of random numbers, apart from each other.
pub(super) const PASSES: u64 = 1;
pub(super) const DATA: u64 = 2;

pub(super) struct Training<'a, 'c, M, T, D: ?Sized> {
    pub(super) trainer: &'a mut Trainer<'c>,
    pub(super) net: &'a mut M,
    pub(super) task: &'a T,
    pub(super) train: &'a D,
    validation: Option<&'a dyn Dataset>,
    pub(super) place: Place,
    /// What the net's buffers held before the present step, to be put back if the step fails.
    pub(super) buffers: Vec<Tensor>,
    /// The losses of the batches of the present step.
    pub(super) gathered: Weighted,
    best: Vec<(String, Tensor)>,
    /// The running mean of the net's state, if it is asked for and a step was made.
    pub(super) average: Vec<(String, Tensor)>,
    logs: Logs,
    batches: Batches,
    begin: Instant,
    total: u64,
    /// What must be the same to go on from the checkpoint.
    settings: serde_json::Value,
}

impl<'a, 'c, M: Module, T: TrainingTask<M>, D: Dataset + ?Sized> Training<'a, 'c, M, T, D> {
    pub(super) fn start(
        trainer: &'a mut Trainer<'c>,
        net: &'a mut M,
        task: &'a T,
        train: &'a D,
        validation: Option<&'a dyn Dataset>,
    ) -> Result<Self> {
        let batches = Batches::new(train.len(), trainer.batch_size, trainer.seed)?;
        let batches = batches.shuffle(trainer.shuffle).drop_last(trainer.drop_last);
        let per_epoch = match trainer.optimizer.needs_loss() {
            true => 1,
            false => batches_of_rank(&batches, trainer)?.div_ceil(trainer.accumulate),
        };
        let total = match trainer.length {
            Length::Epochs(epochs) => epochs.saturating_mul(per_epoch) as u64,
            Length::Steps(steps) => steps,
        };
        let begin = Instant::now();
        let settings = settings(trainer, train)?;
        let (place, best, average) = match trainer.checkpoint.clone().filter(|path| path.exists()) {
            Some(path) => resume(trainer, net, &settings, &path)?,
            None => (Place::default(), Vec::new(), Vec::new()),
        };
        let (log, events) = (trainer.log.as_deref(), trainer.tensorboard.as_deref());
        let logs = Logs::open(log, events, trainer.progress, total, place.step)?;
        let (buffers, gathered) = (Vec::new(), Weighted::default());
        Ok(Training {
            trainer,
            net,
            task,
            train,
            validation,
            place,
            buffers,
            gathered,
            best,
            average,
            logs,
            batches,
            begin,
            total,
            settings,
        })
    }

    pub(super) fn run(mut self) -> Result<TrainingReport> {
        let mut line = self.settings.clone();
        line["event"] = json!("start");
        line["step"] = json!(self.place.step);
        line["optimizer"] = json!(self.trainer.optimizer.name());
        line["hyperparameters"] = self.trainer.optimizer.hyperparameters().to_json();
        line["parameters"] = json!(self.net.count_parameters());
        self.logs.start(line)?;
        let before = self.place.seconds;
        let ending = self.descend_to_the_end(before).or_else(|error| self.give_up(error))?;
        // The checkpoint is written: what the net and the report hold from here on is for the caller.
        if matches!(ending, Ending::Complete | Ending::Converged) && self.place.evaluated < self.place.losses.len() {
            // The run ends between two evaluations. A longer run has none here, so the checkpoint does not know of it.
            self.evaluate(before)?;
        }
        self.put_average()?;
        let mut scores = self.place.history.last().map_or_else(Scores::new, |last| last.validation.clone());
        if self.trainer.restore_best && !self.best.is_empty() {
            match self.better_than_evaluated(&ending)? {
                Some((value, present)) => {
                    self.place.best = Some((value, self.place.step));
                    scores = present;
                }
                None => {
                    self.net.load_state(&self.best)?;
                    let of_best =
                        |evaluation: &&TrainingPoint| Some(evaluation.step) == self.place.best.map(|best| best.1);
                    let found = self.place.history.iter().rev().find(of_best);
                    scores = found.map_or(scores, |evaluation| evaluation.validation.clone());
                }
            }
        }
        self.logs.end(&ending, self.place.step)?;
        let Place { step, losses, history, best, .. } = self.place;
        Ok(TrainingReport { ending, steps: step, losses, history, best, scores })
    }

    /// All steps that are left, and the checkpoint behind them.
    fn descend_to_the_end(&mut self, before: f64) -> Result<Ending> {
        // A run that had stopped early or converged when it was saved has nothing left to do.
        let mut ending = Ending::Complete;
        if self.is_out_of_patience() {
            ending = Ending::EarlyStop;
        } else if self.place.step > 0 && self.trainer.optimizer.converged() {
            ending = Ending::Converged;
        }
        if let Some(last) = self.place.step.checked_sub(1) {
            // An evaluation that follows before any step names the step size of the last one.
            self.set_learning_rate(last);
        }
        while self.place.step < self.total && ending == Ending::Complete {
            ending = self.epoch(before)?;
        }
        self.place.seconds = before + self.begin.elapsed().as_secs_f64();
        self.save()?;
        Ok(ending)
    }

    /// The watched score of an interrupted run's weights, on which no evaluation fell, if it is better than the best one; and all
    /// scores.
    fn better_than_evaluated(&self, ending: &Ending) -> Result<Option<(f64, Scores)>> {
        let (Ending::Interrupted, Some(set), Some((best, _))) = (ending, self.validation, self.place.best) else {
            return Ok(None);
        };
        let scores = evaluate(self.net, self.task, set, self.trainer.evaluation_batch)?;
        let watched = scores.iter().find(|score| score.name == self.trainer.watch);
        let better = watched.filter(|score| score.better.improves(score.value, best, 0.0)).map(|score| score.value);
        Ok(better.map(|value| (value, named(&scores))))
    }

    /// When the loss is no longer finite, the best weights are taken back, if they are kept.
    fn give_up(&mut self, error: Error) -> Result<Ending> {
        if matches!(error, Error::Diverged { .. }) && self.trainer.restore_best && !self.best.is_empty() {
            self.net.load_state(&self.best)?;
        }
        Err(error)
    }

    /// Whether patience is exhausted.
    fn is_out_of_patience(&self) -> bool {
        self.trainer.patience.as_ref().is_some_and(|patience| self.place.stale >= patience.evaluations.max(1))
    }

    /// The rest of the present epoch.
    fn epoch(&mut self, before: f64) -> Result<Ending> {
        let (ending, over) = match self.trainer.optimizer.needs_loss() {
            // One step is the epoch. A run that was cut right after it has only the end of the epoch left to do.
            true if self.place.step_in_epoch > 0 => (Ending::Complete, true),
            true => (self.whole_set(before)?, true),
            false => self.mini_batches(before)?,
        };
        // A run may be over within an epoch; made longer, it goes on there.
        if ending != Ending::Complete || !over {
            return Ok(ending);
        }
        self.place.epoch += 1;
        self.place.step_in_epoch = 0;
        if self.trainer.evaluate_every.is_none() { self.evaluate_and_save(before) } else { Ok(Ending::Complete) }
    }

    /// A step for every batch that is left of the epoch, as far as the run goes; and whether the epoch is over.
    fn mini_batches(&mut self, before: f64) -> Result<(Ending, bool)> {
        let order: Vec<usize> = self.batches.order(self.place.epoch).into_iter().map(|index| index as usize).collect();
        let (rank, size) = (self.trainer.collective.rank(), self.trainer.collective.size());
        let count = batches_of_rank(&self.batches, self.trainer)? * size;
        let own = order.chunks(self.trainer.batch_size).take(count).skip(rank).step_by(size);
        let together = self.trainer.accumulate;
        let own: Vec<&[usize]> = own.skip(self.place.step_in_epoch * together).collect();
        let room = usize::try_from(self.total - self.place.step).unwrap_or(usize::MAX).saturating_mul(together);
        let over = own.len() <= room;
        let own = &own[..own.len().min(room)];
        let key = Key::new(self.trainer.seed).fold(DATA).fold(self.place.epoch as u64);
        let (train, mut ending, mut taken) = (self.train, Ending::Complete, 0);
        for_each_batch(train, own, key, &mut |batch| {
            let piece = taken % together;
            taken += 1;
            self.gather(&batch, piece)?;
            if piece + 1 < together && taken < own.len() {
                return Ok(Flow::Continue);
            }
            let (loss, gradient_norm) = self.descend()?;
            ending = self.after_step(loss, gradient_norm, before)?;
            Ok(if ending == Ending::Complete { Flow::Continue } else { Flow::Stop })
        })?;
        Ok((ending, over))
    }

    /// One step on the whole set, for a rule that evaluates the loss as often as it likes.
    fn whole_set(&mut self, before: f64) -> Result<Ending> {
        self.set_learning_rate(self.place.step);
        let loss = self.descend_on_whole_set()?;
        let ending = self.after_step(loss, None, before)?;
        if ending != Ending::Complete || !self.trainer.optimizer.converged() {
            return Ok(ending);
        }
        self.place.epoch += 1;
        self.place.step_in_epoch = 0;
        if self.place.evaluated < self.place.losses.len() {
            self.evaluate_and_save(before)?;
        }
        Ok(Ending::Converged)
    }

    /// What follows from a step.
    fn after_step(&mut self, loss: f64, gradient_norm: Option<f64>, before: f64) -> Result<Ending> {
        self.place.step += 1;
        self.place.step_in_epoch += 1;
        self.place.losses.push(loss);
        self.update_average()?;
        let learning_rate = self.trainer.optimizer.learning_rate();
        let step = Step { epoch: self.place.epoch + 1, step: self.place.step, loss, learning_rate, gradient_norm };
        self.logs.step(&step)?;
        let mut ending = Ending::Complete;
        for callback in &mut self.trainer.callbacks {
            if callback.step(&step) == Flow::Stop {
                ending = Ending::Callback;
            }
        }
        let every = |steps: Option<u64>| steps.is_some_and(|steps| step.step.is_multiple_of(steps));
        if ending == Ending::Complete && every(self.trainer.evaluate_every) {
            ending = self.evaluate_and_save(before)?;
        }
        let flags = [&self.trainer.stop, &self.trainer.signal];
        let asked = flags.into_iter().flatten().any(|flag| flag.load(Ordering::Relaxed));
        if ending == Ending::Complete && (asked || tove_optim::interrupted()) {
            ending = Ending::Interrupted;
        }
        if ending == Ending::Complete && every(self.trainer.checkpoint_every) {
            self.save()?;
        }
        Ok(ending)
    }

    /// Scores on the validation set, the best weights, the checkpoint.
    fn evaluate_and_save(&mut self, before: f64) -> Result<Ending> {
        let ending = self.evaluate(before)?;
        self.save()?;
        Ok(if self.is_out_of_patience() { Ending::EarlyStop } else { ending })
    }

    /// Scores on the validation set and the best weights.
    fn evaluate(&mut self, before: f64) -> Result<Ending> {
        let present = self.put_average()?;
        let judged = self.judge(before);
        if let Some(present) = present {
            self.net.load_state(&present)?;
        }
        judged
    }

    /// Scores on the validation set for the weights that are in the net, and what follows from them.
    fn judge(&mut self, before: f64) -> Result<Ending> {
        let recent = &self.place.losses[self.place.evaluated..];
        let train_loss = recent.iter().sum::<f64>() / recent.len().max(1) as f64;
        self.place.evaluated = self.place.losses.len();
        let batch = self.trainer.evaluation_batch;
        let scores = self.validation.map(|set| evaluate(self.net, self.task, set, batch)).transpose()?;
        let scores = scores.unwrap_or_default();
        let watched = scores.iter().find(|score| score.name == self.trainer.watch);
        if self.validation.is_some() && watched.is_none() {
            let names: Vec<&str> = scores.iter().map(|score| score.name).collect();
            let problem = format!("is {:?}, but the task gives {}", self.trainer.watch, names.join(", "));
            return Err(Error::setting("Trainer", "watch", problem));
        }
        self.remember(watched.copied());
        if let (Some(plateau), Some(score)) = (&mut self.trainer.plateau, watched) {
            if plateau.larger_is_better() != (score.better == Better::Higher) {
                let problem = format!("goes by {}, of which the other direction is better", score.name);
                return Err(Error::setting("Trainer", "plateau", format!("{problem}; set its `larger_is_better`")));
            }
            plateau.observe(score.value);
        }
        self.place.seconds = before + self.begin.elapsed().as_secs_f64();
        let evaluation = TrainingPoint {
            epoch: self.place.epoch + usize::from(self.place.step_in_epoch > 0),
            step: self.place.step,
            train_loss,
            validation: named(&scores),
            learning_rate: self.trainer.optimizer.learning_rate(),
            seconds: self.place.seconds,
        };
        self.logs.evaluation(&evaluation)?;
        let mut ending = Ending::Complete;
        for callback in &mut self.trainer.callbacks {
            if callback.evaluation(&evaluation, self.net) == Flow::Stop {
                ending = Ending::Callback;
            }
        }
        self.place.history.push(evaluation);
        Ok(ending)
    }

    /// Keeps the weights if the watched score is the best so far.
    fn remember(&mut self, watched: Option<Scored>) {
        let Some(Scored { value, better, .. }) = watched else { return };
        let margin = self.trainer.patience.as_ref().map_or(0.0, |patience| patience.margin);
        // What is not finite is never the best, not even the first time.
        if value.is_finite() && self.place.best.is_none_or(|(best, _)| better.improves(value, best, margin)) {
            self.place.best = Some((value, self.place.step));
            self.place.stale = 0;
            if self.trainer.restore_best {
                self.best = self.net.state();
            }
        } else {
            self.place.stale += 1;
        }
    }

    /// Writes the checkpoint, if there is one to be written. Weights that are not finite are an error with or without one.
    fn save(&self) -> Result<()> {
        self.expect_finite_weights()?;
        let Some(path) = &self.trainer.checkpoint else { return Ok(()) };
        let checkpoint = Checkpoint {
            place: self.place.clone(),
            net: self.net.state(),
            best: self.best.clone(),
            average: self.average.clone(),
            optimizer: self.trainer.optimizer.state(),
            settings: self.settings.clone(),
        };
        checkpoint.write(path)
    }
}

/// Scores by name.
fn named(scores: &[Scored]) -> Scores {
    scores.iter().map(|score| (score.name.to_owned(), score.value)).collect()
}

/// Batches that each rank takes in an epoch: all as many, so that none waits for another.
fn batches_of_rank(batches: &Batches, trainer: &Trainer<'_>) -> Result<usize> {
    let (count, ranks) = (batches.steps_per_epoch(), trainer.collective.size());
    if count < ranks {
        let problem = format!("has {ranks} ranks, and an epoch has {count} batches; take smaller ones");
        return Err(Error::setting("Trainer", "collective", problem));
    }
    Ok(count / ranks)
}
