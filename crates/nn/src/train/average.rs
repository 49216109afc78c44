//! The running mean of the weights: m ← d m + (1 − d) w after every step, with d = min(decay, (1 + t) / (10 + t)) so that the
//! first weights, which are random, are soon forgotten (Polyak and Juditsky 1992 for the plain mean).

use tove_data::Dataset;
use tove_tensor::step_rules::{add_scaled, scale};
use tove_tensor::{Tensor, TryOps, TryReduce};

use super::run::Training;
use super::task::TrainingTask;
use crate::{Module, ModuleExt, Result};

impl<M: Module, T: TrainingTask<M>, D: Dataset + ?Sized> Training<'_, '_, M, T, D> {
    /// Takes the present weights into the mean.
    pub(super) fn update_average(&mut self) -> Result<()> {
        let Some(decay) = self.trainer.average else { return Ok(()) };
        let (state, steps) = (self.net.state(), self.place.step as f64);
        if self.average.is_empty() {
            self.average = state;
            return Ok(());
        }
        let decay = decay.min((1.0 + steps) / (10.0 + steps));
        // What is frozen, running statistics included, keeps its bits: d m + (1 − d) m is not m in floating point.
        let frozen: Vec<bool> = self.net.parameters().iter().map(|parameter| !parameter.is_tracked()).collect();
        for (index, ((_, mean), (_, value))) in self.average.iter_mut().zip(state).enumerate() {
            let stays = frozen.get(index).copied().unwrap_or_else(|| same(mean, &value));
            if stays || !value.dtype().is_float() {
                *mean = value;
                continue;
            }
            scale(mean, decay)?;
            add_scaled(mean, &value, 1.0 - decay)?;
        }
        Ok(())
    }

    /// Puts the mean into the net, if there is one, and gives what was there.
    pub(super) fn put_average(&mut self) -> Result<Option<Vec<(String, Tensor)>>> {
        if self.trainer.average.is_none() || self.average.is_empty() {
            return Ok(None);
        }
        let present = self.net.state();
        self.net.load_state(&self.average)?;
        Ok(Some(present))
    }
}

/// Whether a buffer has not moved.
fn same(mean: &Tensor, value: &Tensor) -> bool {
    mean.try_eq(value).and_then(|equal| equal.try_all()).is_ok_and(|all| all.item::<bool>())
}
