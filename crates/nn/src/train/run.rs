//! One run of the training loop.

use std::sync::atomic::Ordering;
use std::time::Instant;

use serde_json::json;
use tove_data::{Batch, Dataset};
use tove_optim::{Batches, ReduceOnPlateau, clip_value};
use tove_tensor::{Key, Tensor, TryReduce, no_grad};

use super::callback::Step;
use super::checkpoint::{Checkpoint, Place};
use super::collective::sum_gradients;
use super::loader::{Flow, for_each_batch};
use super::log::Logs;
use super::report::{Ending, Evaluation, Report, Scores};
use super::task::{Better, Scored, Task, number};
use super::{Length, Trainer};
use crate::record::gradient_norms;
use crate::{Error, Module, ModuleExt, Pass, Result};

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
    best: Vec<(String, Tensor)>,
    logs: Logs,
    batches: Batches,
    begin: Instant,
    total: u64,
}

impl<'a, 'c, M: Module, T: Task<M>, D: Dataset + ?Sized> Training<'a, 'c, M, T, D> {
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
            false => batches.steps_per_epoch().div_ceil(trainer.collective.size()),
        };
        let total = match trainer.length {
            Length::Epochs(epochs) => (epochs * per_epoch) as u64,
            Length::Steps(steps) => steps,
        };
        let (mut place, mut best) = (Place::default(), Vec::new());
        if let Some(path) = trainer.checkpoint.as_ref().filter(|path| path.exists()) {
            let saved = Checkpoint::read(path)?;
            let expected = settings(trainer, train.len());
            if saved.settings != expected {
                let problem = format!(
                    "{} was written by another run: {} there, {expected} here; use another file",
                    path.display(),
                    saved.settings
                );
                return Err(Error::setting("Trainer", "checkpoint", problem));
            }
            net.load_state(&saved.net)?;
            trainer.optimizer.load_state(&saved.optimizer)?;
            (place, best) = (saved.place, saved.best);
            if let Some(plateau) = &mut trainer.plateau {
                // What it saw before, it sees again.
                let watched = |(name, value): &(String, f64)| (*name == trainer.watch).then_some(*value);
                let seen = place.history.iter().filter_map(|evaluation| evaluation.validation.iter().find_map(watched));
                seen.for_each(|value| _ = plateau.observe(value));
            }
        }
        let (log, events) = (trainer.log.as_deref(), trainer.tensorboard.as_deref());
        let logs = Logs::open(log, events, trainer.progress, total, place.step)?;
        Ok(Training { trainer, net, task, train, validation, place, best, logs, batches, begin: Instant::now(), total })
    }

    pub(super) fn run(mut self) -> Result<Report> {
        let mut line = settings(self.trainer, self.train.len());
        line["event"] = json!("start");
        line["step"] = json!(self.place.step);
        line["optimizer"] = json!(self.trainer.optimizer.name());
        line["hyperparameters"] = self.trainer.optimizer.hyperparameters().to_json();
        line["parameters"] = json!(self.net.count_parameters());
        self.logs.start(line)?;
        let before = self.place.seconds;
        let mut ending = Ending::Complete;
        while self.place.step < self.total && ending == Ending::Complete {
            ending = self.epoch(before)?;
        }
        if ending == Ending::Complete && self.place.evaluated < self.place.losses.len() {
            self.evaluate(before)?;
        }
        self.place.seconds = before + self.begin.elapsed().as_secs_f64();
        self.save()?;
        // The checkpoint is written: what the net and the report hold from here on is for the caller.
        if self.trainer.restore_best && !self.best.is_empty() {
            match self.better_than_evaluated(&ending)? {
                Some(value) => self.place.best = Some((value, self.place.step)),
                None => self.net.load_state(&self.best)?,
            }
        }
        self.logs.end(&ending, self.place.step)?;
        let Place { step, losses, history, best, .. } = self.place;
        Ok(Report { ending, steps: step, losses, history, best })
    }

    /// The watched score of an interrupted run's weights, on which no evaluation fell, if it is better than the best one.
    fn better_than_evaluated(&self, ending: &Ending) -> Result<Option<f64>> {
        let (Ending::Interrupted, Some(set), Some((best, _))) = (ending, self.validation, self.place.best) else {
            return Ok(None);
        };
        let scores = mean_scores(self.net, self.task, set, self.trainer.evaluation_batch)?;
        let watched = scores.iter().find(|score| score.name == self.trainer.watch);
        Ok(watched.filter(|score| score.better.improves(score.value, best, 0.0)).map(|score| score.value))
    }

    /// The rest of the present epoch.
    fn epoch(&mut self, before: f64) -> Result<Ending> {
        let ending = match self.trainer.optimizer.needs_loss() {
            true => self.whole_set(before)?,
            false => self.mini_batches(before)?,
        };
        if ending != Ending::Complete || self.place.step >= self.total && self.trainer.evaluate_every.is_some() {
            return Ok(ending);
        }
        self.place.epoch += 1;
        self.place.step_in_epoch = 0;
        if self.trainer.evaluate_every.is_none() { self.evaluate(before) } else { Ok(Ending::Complete) }
    }

    /// A step for every batch that is left.
    fn mini_batches(&mut self, before: f64) -> Result<Ending> {
        let order: Vec<usize> = self.batches.order(self.place.epoch).into_iter().map(|index| index as usize).collect();
        let (rank, size) = (self.trainer.collective.rank(), self.trainer.collective.size());
        let count = self.batches.steps_per_epoch() / size * size; // all ranks take as many
        let count = if count == 0 { self.batches.steps_per_epoch() } else { count };
        let own = order.chunks(self.trainer.batch_size).take(count).skip(rank).step_by(size);
        let own: Vec<&[usize]> = own.skip(self.place.step_in_epoch).collect();
        let room = (self.total - self.place.step) as usize;
        let own = &own[..own.len().min(room)];
        let key = Key::new(self.trainer.seed).fold(DATA).fold(self.place.epoch as u64);
        let (train, mut ending) = (self.train, Ending::Complete);
        for_each_batch(train, own, key, &mut |batch| {
            let (loss, gradient_norm) = self.descend(&batch)?;
            ending = self.after_step(loss, gradient_norm, before)?;
            Ok(if ending == Ending::Complete { Flow::Continue } else { Flow::Stop })
        })?;
        Ok(ending)
    }

    /// One step on the whole set, for a rule that evaluates the loss as often as it likes.
    fn whole_set(&mut self, before: f64) -> Result<Ending> {
        self.set_learning_rate();
        let loss = self.descend_on_whole_set()?;
        let ending = self.after_step(loss, None, before)?;
        if ending != Ending::Complete || !self.trainer.optimizer.converged() {
            return Ok(ending);
        }
        self.place.epoch += 1;
        self.place.step_in_epoch = 0;
        if self.place.evaluated < self.place.losses.len() {
            self.evaluate(before)?;
        }
        Ok(Ending::Converged)
    }

    /// What follows from a step.
    fn after_step(&mut self, loss: f64, gradient_norm: Option<f64>, before: f64) -> Result<Ending> {
        self.place.step += 1;
        self.place.step_in_epoch += 1;
        self.place.losses.push(loss);
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
            ending = self.evaluate(before)?;
        }
        let asked = self.trainer.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
        if ending == Ending::Complete && (asked || tove_optim::interrupted()) {
            ending = Ending::Interrupted;
        }
        if ending == Ending::Complete && every(self.trainer.checkpoint_every) {
            self.save()?;
        }
        Ok(ending)
    }

    /// The step size of this step: the base times what schedule and plateau say.
    fn set_learning_rate(&mut self) {
        let trainer = &mut *self.trainer;
        let scheduled = trainer.schedule.as_ref().map_or(1.0, |schedule| schedule.factor(self.place.step));
        let plateau = trainer.plateau.as_ref().map_or(1.0, ReduceOnPlateau::factor);
        trainer.optimizer.set_learning_rate(trainer.learning_rate * scheduled * plateau);
    }

    /// Forward, backward, update. The loss, and the norm of the gradients if it was needed.
    fn descend(&mut self, batch: &Batch) -> Result<(f64, Option<f64>)> {
        self.set_learning_rate();
        let trainer = &mut *self.trainer;
        trainer.optimizer.look_ahead(&mut self.net.parameters_mut())?;
        let pass = Pass::train(Key::new(trainer.seed).fold(PASSES).fold(self.place.step));
        let loss = self.task.loss(self.net, batch, &pass)?;
        let value = number(&loss)?;
        if !value.is_finite() {
            return Err(self.diverged(batch, value));
        }
        loss.try_backward()?;
        let mut parameters = self.net.parameters_mut();
        let share = 1.0 / trainer.collective.size() as f64;
        sum_gradients(&mut *trainer.collective, &parameters, share)?;
        if !trainer.callbacks.is_empty() {
            trainer.callbacks.iter_mut().for_each(|callback| callback.gradients(self.place.step + 1, self.net));
            parameters = self.net.parameters_mut();
        }
        if let Some(limit) = trainer.clip_value {
            clip_value(&parameters, limit)?;
        }
        let Some(limit) = trainer.clip_norm else {
            trainer.optimizer.step(&mut parameters)?;
            return Ok((value, None));
        };
        match trainer.optimizer.step_clipped(&mut parameters, limit) {
            Err(error) if error.is_data() => Err(self.diverged(batch, f64::INFINITY)),
            norm => Ok((value, Some(norm?))),
        }
    }

    /// Why the loss is not finite, as far as can be told.
    pub(super) fn diverged(&self, batch: &Batch, value: f64) -> Error {
        let finite =
            |x: &Tensor| !x.dtype().is_float() || x.detach().is_finite().try_all().is_ok_and(|all| all.item::<bool>());
        let broken: Vec<String> =
            self.net.named_parameters().into_iter().filter(|(_, p)| !finite(p)).map(|(name, _)| name).collect();
        let rate = self.trainer.optimizer.learning_rate();
        let reason = if !finite(&batch.x) {
            "the batch itself has NaN or infinite inputs: clean the data".to_owned()
        } else if !finite(&batch.y) {
            "the batch itself has NaN or infinite targets: clean the data".to_owned()
        } else if let Some(first) = broken.first() {
            format!(
                "{} parameters are no longer finite, {first:?} among them: use a smaller step than {rate}",
                broken.len()
            )
        } else {
            let largest = gradient_norms(self.net).into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
            let largest =
                largest.map_or_else(String::new, |(name, norm)| format!(" (largest gradient {norm:.2e} in {name})"));
            format!("the step size {rate} is likely too large{largest}: lower it, clip gradients, or scale the inputs")
        };
        Error::Diverged { step: self.place.step, value, reason }
    }

    /// Scores on the validation set, the best weights, the checkpoint.
    fn evaluate(&mut self, before: f64) -> Result<Ending> {
        let recent = &self.place.losses[self.place.evaluated..];
        let train_loss = recent.iter().sum::<f64>() / recent.len().max(1) as f64;
        self.place.evaluated = self.place.losses.len();
        let batch = self.trainer.evaluation_batch;
        let scores = self.validation.map(|set| mean_scores(self.net, self.task, set, batch)).transpose()?;
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
        let evaluation = Evaluation {
            epoch: self.place.epoch + usize::from(self.place.step_in_epoch > 0),
            step: self.place.step,
            train_loss,
            validation: scores.iter().map(|score| (score.name.to_owned(), score.value)).collect::<Scores>(),
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
        self.save()?;
        let tired = |patience: &super::Patience| self.place.stale >= patience.evaluations;
        if self.trainer.patience.as_ref().is_some_and(tired) {
            ending = Ending::EarlyStop;
        }
        Ok(ending)
    }

    /// Keeps the weights if the watched score is the best so far.
    fn remember(&mut self, watched: Option<Scored>) {
        let Some(Scored { value, better, .. }) = watched else { return };
        let margin = self.trainer.patience.as_ref().map_or(0.0, |patience| patience.margin);
        if self.place.best.is_none_or(|(best, _)| better.improves(value, best, margin)) {
            self.place.best = Some((value, self.place.step));
            self.place.stale = 0;
            if self.trainer.restore_best {
                self.best = self.net.state();
            }
        } else {
            self.place.stale += 1;
        }
    }

    fn save(&self) -> Result<()> {
        let Some(path) = &self.trainer.checkpoint else { return Ok(()) };
        let checkpoint = Checkpoint {
            place: self.place.clone(),
            net: self.net.state(),
            best: self.best.clone(),
            optimizer: self.trainer.optimizer.state(),
            settings: settings(self.trainer, self.train.len()),
        };
        checkpoint.write(path)
    }
}

/// What must be the same for a run to go on from a checkpoint. The length is not part of it: a finished run may be made
/// longer.
fn settings(trainer: &Trainer<'_>, samples: usize) -> serde_json::Value {
    json!({
        "samples": samples, "batch_size": trainer.batch_size, "shuffle": trainer.shuffle,
        "drop_last": trainer.drop_last, "seed": trainer.seed, "ranks": trainer.collective.size(),
    })
}

/// Means of a task's scores over a set, in evaluation.
///
/// ```
/// use tove_data::TensorDataset;
/// use tove_nn::{Classification, Linear, Rng, evaluate};
/// use tove_tensor::{DType, Tensor};
/// let set = TensorDataset::new(Tensor::ones([10, 2], DType::F32), Tensor::zeros([10], DType::I64))?;
/// let scores = evaluate(&Linear::new(2, 3, &mut Rng::new(0)), &Classification::new(), &set, 4)?;
/// assert_eq!((scores[0].name, scores[1].name), ("loss", "accuracy"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn evaluate<M, D: Dataset + ?Sized>(
    net: &M,
    task: &impl Task<M>,
    set: &D,
    batch_size: usize,
) -> Result<Vec<Scored>> {
    mean_scores(net, task, set, batch_size.max(1))
}

fn mean_scores<M, D: Dataset + ?Sized>(net: &M, task: &impl Task<M>, set: &D, batch: usize) -> Result<Vec<Scored>> {
    let indices: Vec<usize> = (0..set.len()).collect();
    let batches: Vec<&[usize]> = indices.chunks(batch).collect();
    let (mut sums, mut samples): (Vec<Scored>, f64) = (Vec::new(), 0.0);
    for_each_batch(set, &batches, Key::new(0), &mut |batch| {
        let count = batch.len() as f64;
        let scores = no_grad(|| task.scores(net, &batch, &Pass::eval()))?;
        if sums.is_empty() {
            sums = scores.iter().map(|score| Scored { value: 0.0, ..*score }).collect();
        }
        sums.iter_mut().zip(&scores).for_each(|(sum, score)| sum.value += count * score.value);
        samples += count;
        Ok(Flow::Continue)
    })?;
    sums.iter_mut().for_each(|sum| sum.value /= samples);
    Ok(sums)
}
