//! One step on mini-batches: forward, backward, update; and what is undone and told when the step fails.

use tove_data::{Batch, Dataset};
use tove_optim::{ReduceOnPlateau, clip_value, non_finite_gradient, scale_gradients};
use tove_tensor::{Key, Tensor, TryReduce};

use super::collective::{Weighted, checked_weight, sum_gradients};
use super::run::{PASSES, Training};
use super::task::{TrainingTask, number};
use crate::record::gradient_norms;
use crate::walks::Buffers;
use crate::{Error, Module, ModuleExt, Pass, Result};

impl<M: Module, T: TrainingTask<M>, D: Dataset + ?Sized> Training<'_, '_, M, T, D> {
    /// The step size of this step (from 0): the base times what schedule and plateau say.
    pub(super) fn set_learning_rate(&mut self, step: u64) {
        let trainer = &mut *self.trainer;
        let scheduled = trainer.schedule.as_ref().map_or(1.0, |schedule| schedule.factor(step));
        let plateau = trainer.plateau.as_ref().map_or(1.0, ReduceOnPlateau::factor);
        trainer.optimizer.set_learning_rate(trainer.learning_rate * scheduled * plateau);
    }

    /// Adds the gradient of one of the batches of a step to the parameters. If it fails, parameters and buffers are what they
    /// were before the step.
    pub(super) fn gather(&mut self, batch: &Batch, piece: usize) -> Result<()> {
        self.add_gradient(batch, piece).inspect_err(|_| self.undo())
    }

    /// Whether the gradient of a step is a mean over several batches.
    fn takes_several(&self) -> bool {
        self.trainer.accumulate > 1 || self.trainer.collective.size() > 1
    }

    fn add_gradient(&mut self, batch: &Batch, piece: usize) -> Result<()> {
        if piece == 0 {
            self.set_learning_rate(self.place.step);
            self.gathered = Weighted::default();
            self.buffers = Buffers::of(self.net);
            self.trainer.optimizer.look_ahead(&mut self.net.parameters_mut())?;
        }
        let several = self.takes_several();
        let weight = if several { checked_weight(self.task.weight(batch)?)? } else { 1.0 };
        if weight == 0.0 {
            return Ok(());
        }
        let key = Key::new(self.trainer.seed).fold(PASSES).fold(self.place.step);
        let pass = Pass::train(if piece == 0 { key } else { key.fold(piece as u64) });
        let loss = self.task.loss(self.net, batch, &pass)?;
        let value = number(&loss)?;
        if !value.is_finite() {
            return Err(self.diverged(batch, value));
        }
        if several {
            (loss * weight).try_backward()?
        } else {
            loss.try_backward()?
        }
        self.gathered.add(value, weight);
        Ok(())
    }

    /// Takes the step along the gradients that are there. The mean loss, and the norm of the gradients if it was needed.
    pub(super) fn descend(&mut self) -> Result<(f64, Option<f64>)> {
        self.step().inspect_err(|_| self.undo())
    }

    fn step(&mut self) -> Result<(f64, Option<f64>)> {
        let several = self.takes_several();
        let trainer = &mut *self.trainer;
        let mut parameters = self.net.parameters_mut();
        let gathered = self.gathered.over_ranks(&mut *trainer.collective)?;
        let loss = gathered.mean();
        sum_gradients(&mut *trainer.collective, &parameters)?;
        if several {
            scale_gradients(&parameters, 1.0 / gathered.weight)?;
        }
        if !trainer.callbacks.is_empty() {
            trainer.callbacks.iter_mut().for_each(|callback| callback.gradients(self.place.step + 1, self.net));
            parameters = self.net.parameters_mut();
        }
        if let Some(limit) = trainer.clip_value {
            // Clipping would turn an infinite gradient into a finite one.
            if let Some(position) = non_finite_gradient(&parameters)? {
                return Err(self.gradient_diverged(position, loss));
            }
            clip_value(&parameters, limit)?;
        }
        if let Some(limit) = trainer.clip_norm {
            match trainer.optimizer.step_clipped(&mut parameters, limit) {
                // The norm is not finite: it is said below which gradient is not.
                Err(error) if error.is_data() => {}
                norm => return Ok((loss, Some(norm?))),
            }
        }
        if let Some(position) = non_finite_gradient(&parameters)? {
            return Err(self.gradient_diverged(position, loss));
        }
        if trainer.clip_norm.is_some() {
            let reason = "the norm of the gradients is beyond all numbers: use a smaller step, or scale the loss";
            return Err(Error::Diverged { step: self.place.step, value: loss, reason: reason.to_owned() });
        }
        trainer.optimizer.step(&mut parameters)?;
        Ok((loss, None))
    }

    /// Leaves no trace of a step that failed: no gradients, parameters and buffers as they were before it.
    fn undo(&mut self) {
        self.net.zero_grad();
        // The step failed for another reason, which is the one to tell.
        let _ = self.trainer.optimizer.look_back(&mut self.net.parameters_mut());
        Buffers::put(self.net, &self.buffers);
    }

    /// The loss is finite and the gradient of this parameter is not: a step would put NaN into the weights.
    pub(super) fn gradient_diverged(&self, position: usize, value: f64) -> Error {
        let name = self.net.named_parameters().into_iter().nth(position).map_or_else(String::new, |(name, _)| name);
        let reason = format!(
            "the gradient of {name:?} has NaN or infinite entries while the loss is {value}, so the step is not taken: an \
             operation has no finite derivative here, such as the square root of 0 or a power below 1; add a small number \
             inside it, or clip values before it"
        );
        Error::Diverged { step: self.place.step, value, reason }
    }

    /// An error if a trained parameter is not finite: the last step was too long. Or a buffer, such as a running mean: the net
    /// would be useless in evaluation. Such weights are not saved.
    pub(super) fn expect_finite_weights(&self) -> Result<()> {
        let broken = self.broken_parameters(Tensor::is_tracked);
        let buffer = || self.net.named_buffers().into_iter().find(|(_, buffer)| !finite(&buffer.get()));
        let reason = match (self.broken_reason(&broken), buffer()) {
            (Some(reason), _) => reason,
            (None, Some((name, _))) => {
                format!("the buffer {name:?} is no longer finite: scale the inputs, or use a smaller step")
            }
            (None, None) => return Ok(()),
        };
        Err(Error::Diverged { step: self.place.step, value: f64::NAN, reason })
    }

    /// Names of the parameters, of those that count, that are not finite.
    fn broken_parameters(&self, counts: impl Fn(&Tensor) -> bool) -> Vec<String> {
        let parameters = self.net.named_parameters().into_iter().filter(|(_, parameter)| counts(parameter));
        parameters.filter(|(_, parameter)| !finite(parameter)).map(|(name, _)| name).collect()
    }

    fn broken_reason(&self, broken: &[String]) -> Option<String> {
        let (rate, first) = (self.trainer.optimizer.learning_rate(), broken.first()?);
        let count = broken.len();
        Some(format!("{count} parameters are no longer finite, {first:?} among them: use a smaller step than {rate}"))
    }

    /// Why the loss is not finite, as far as can be told.
    pub(super) fn diverged(&self, batch: &Batch, value: f64) -> Error {
        let broken = self.broken_parameters(|_| true);
        let rate = self.trainer.optimizer.learning_rate();
        let reason = if !finite(&batch.x) {
            "the batch itself has NaN or infinite inputs: clean the data".to_owned()
        } else if !finite(&batch.y) {
            "the batch itself has NaN or infinite targets: clean the data".to_owned()
        } else if let Some(reason) = self.broken_reason(&broken) {
            reason
        } else {
            let largest = gradient_norms(self.net).into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
            let largest =
                largest.map_or_else(String::new, |(name, norm)| format!(" (largest gradient {norm:.2e} in {name})"));
            format!("the step size {rate} is likely too large{largest}: lower it, clip gradients, or scale the inputs")
        };
        let reason = format!("the loss is {value}, and {reason}");
        Error::Diverged { step: self.place.step, value, reason }
    }
}

/// Whether all elements are finite; integers always are.
fn finite(x: &Tensor) -> bool {
    !x.dtype().is_float() || x.detach().is_finite().try_all().is_ok_and(|all| all.item::<bool>())
}
