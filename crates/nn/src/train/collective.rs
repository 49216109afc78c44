//! The seam for training with several processes: gradients pass through a [`Collective`], which sums them over all ranks.

use tove_tensor::Tensor;

use crate::{Error, Result};

/// Several processes that train one net, each on its share of every epoch's batches.
pub trait Collective: Send {
    /// Number of this process, from 0.
    fn rank(&self) -> usize;
    /// Number of processes.
    fn size(&self) -> usize;
    /// Replaces every tensor by its sum over all ranks. All ranks call it with tensors of the same shapes in the same
    /// order; the result must have the same bits on all of them.
    fn sum(&mut self, tensors: &mut [Tensor]) -> Result<()>;
}

/// One process on its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

impl Collective for Local {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn sum(&mut self, _: &mut [Tensor]) -> Result<()> {
        Ok(())
    }
}

/// Replaces all gradients by their sums over the ranks. Parameters without a gradient take part with zeros, so that all ranks
/// send the same tensors.
pub(super) fn sum_gradients(collective: &mut dyn Collective, parameters: &[&mut Tensor]) -> Result<()> {
    if collective.size() == 1 {
        return Ok(());
    }
    let trained: Vec<&&mut Tensor> = parameters.iter().filter(|parameter| parameter.is_tracked()).collect();
    let gradient = |parameter: &Tensor| parameter.take_grad().unwrap_or_else(|| parameter.detach().zeros_like());
    let mut gradients: Vec<Tensor> = trained.iter().map(|parameter| gradient(parameter)).collect();
    collective.sum(&mut gradients)?;
    trained.iter().zip(gradients).for_each(|(parameter, gradient)| parameter.set_grad(Some(gradient)));
    Ok(())
}

/// A loss as a sum over batches, Σ wᵢ Lᵢ, and the sum of their weights.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weighted {
    pub(super) loss: f64,
    pub(super) weight: f64,
}

impl Weighted {
    /// Takes one more batch in.
    pub(super) fn add(&mut self, loss: f64, weight: f64) {
        (self.loss, self.weight) = (self.loss + weight * loss, self.weight + weight);
    }

    /// The sums over all ranks. An error if no batch counts: there is nothing to take a mean of.
    pub(super) fn over_ranks(self, collective: &mut dyn Collective) -> Result<Weighted> {
        let mut sums = self;
        if collective.size() > 1 {
            let mut numbers = [Tensor::from([self.loss, self.weight])];
            collective.sum(&mut numbers)?;
            if let [loss, weight] = numbers[0].try_to_vec::<f64>()?[..] {
                sums = Weighted { loss, weight };
            }
        }
        if sums.weight > 0.0 {
            return Ok(sums);
        }
        let problem = "has no row that counts in this step: all are ignored or weigh 0; take larger batches";
        Err(Error::setting("Trainer", "batch", problem))
    }

    /// The mean loss.
    pub(super) fn mean(self) -> f64 {
        self.loss / self.weight
    }
}

/// The weight of a batch, which is a finite number of at least 0.
pub(super) fn checked_weight(weight: f64) -> Result<f64> {
    if weight >= 0.0 && weight.is_finite() {
        return Ok(weight);
    }
    Err(Error::setting("TrainingTask", "weight", format!("is {weight}; give a finite number of at least 0")))
}
