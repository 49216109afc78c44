//! The seam for training with several processes: gradients pass through a [`Collective`], which sums them over all ranks.

use tove_tensor::Tensor;

use crate::Result;

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

/// Replaces all gradients by `share` times their sums over the ranks. Parameters without a gradient take part with zeros, so
/// that all ranks send the same tensors.
pub(super) fn sum_gradients(collective: &mut dyn Collective, parameters: &[&mut Tensor], share: f64) -> Result<()> {
    if collective.size() == 1 {
        return Ok(());
    }
    let trained: Vec<&&mut Tensor> = parameters.iter().filter(|parameter| parameter.is_tracked()).collect();
    let gradient = |parameter: &Tensor| parameter.take_grad().unwrap_or_else(|| parameter.detach().zeros_like());
    let mut gradients: Vec<Tensor> = trained.iter().map(|parameter| gradient(parameter)).collect();
    collective.sum(&mut gradients)?;
    for (parameter, gradient) in trained.iter().zip(gradients) {
        parameter.set_grad(Some(if share == 1.0 { gradient } else { gradient * share }));
    }
    Ok(())
}

/// The sum of a number over the ranks.
pub(super) fn sum_number(collective: &mut dyn Collective, number: f64) -> Result<f64> {
    if collective.size() == 1 {
        return Ok(number);
    }
    let mut numbers = [Tensor::from([number])];
    collective.sum(&mut numbers)?;
    Ok(numbers[0].item::<f64>())
}
