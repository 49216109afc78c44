//! One step on mini-batches: forward, backward, update; and what is undone and told when the step fails.

use tove_data::{Batch, Dataset};
use tove_optim::{ReduceOnPlateau, clip_value};
use tove_tensor::{Key, Tensor, TryReduce};

use super::collective::sum_gradients;
use super::run::{PASSES, Training};
use super::task::{Task, number};
use crate::record::gradient_norms;
use crate::walks::Buffers;
use crate::{Error, Module, ModuleExt, Pass, Result};

impl<M: Module, T: Task<M>, D: Dataset + ?Sized> Training<'_, '_, M, T, D> {
    /// The step size of this step: the base times what schedule and plateau say.
    pub(super) fn set_learning_rate(&mut self) {
        let trainer = &mut *self.trainer;
        let scheduled = trainer.schedule.as_ref().map_or(1.0, |schedule| schedule.factor(self.place.step));
        let plateau = trainer.plateau.as_ref().map_or(1.0, ReduceOnPlateau::factor);
        trainer.optimizer.set_learning_rate(trainer.learning_rate * scheduled * plateau);
    }

    /// Adds the gradient of one of the batches of a step, `share` of its samples, to the parameters. Its share of the loss.
    /// If it fails, parameters and buffers are what they were before the step.
    pub(super) fn gather(&mut self, batch: &Batch, piece: usize, share: f64) -> Result<f64> {
        self.add_gradient(batch, piece, share).inspect_err(|_| self.undo())
    }

    fn add_gradient(&mut self, batch: &Batch, piece: usize, share: f64) -> Result<f64> {
        if piece == 0 {
            self.set_learning_rate();
            self.buffers = Buffers::of(self.net);
            self.trainer.optimizer.look_ahead(&mut self.net.parameters_mut())?;
        }
        let key = Key::new(self.trainer.seed).fold(PASSES).fold(self.place.step);
        let pass = Pass::train(if piece == 0 { key } else { key.fold(piece as u64) });
        let loss = self.task.loss(self.net, batch, &pass)?;
        let value = number(&loss)?;
        if !value.is_finite() {
            return Err(self.diverged(batch, value));
        }
        if share == 1.0 {
            loss.try_backward()?
        } else {
            (loss * share).try_backward()?
        }
        Ok(value * share)
    }

    /// Takes the step along the gradients that are there. Their norm, if it was needed.
    pub(super) fn descend(&mut self, batch: &Batch) -> Result<Option<f64>> {
        self.step(batch).inspect_err(|_| self.undo())
    }

    fn step(&mut self, batch: &Batch) -> Result<Option<f64>> {
        let trainer = &mut *self.trainer;
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
            return Ok(None);
        };
        match trainer.optimizer.step_clipped(&mut parameters, limit) {
            Err(error) if error.is_data() => Err(self.diverged(batch, f64::INFINITY)),
            norm => Ok(Some(norm?)),
        }
    }

    /// Leaves no trace of a step that failed: no gradients, parameters and buffers as they were before it.
    fn undo(&mut self) {
        self.net.zero_grad();
        // The step failed for another reason, which is the one to tell.
        let _ = self.trainer.optimizer.look_back(&mut self.net.parameters_mut());
        Buffers::put(self.net, &self.buffers);
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
}
