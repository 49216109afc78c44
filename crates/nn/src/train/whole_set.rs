//! Steps on the whole set, for rules such as L-BFGS that need the loss of the same data again and again.
//!
//! The loss of a step is the mean over all samples, L(θ) = Σ wᵢ Lᵢ(θ) / Σ wᵢ over pieces of `batch_size` samples with their
//! weights ([`TrainingTask::weight`]), so that memory does not grow with the set. Dropout and augmentation draw the same numbers in
//! every evaluation of the whole run: the method minimizes one function, not a different one each time.

use tove_data::Dataset;
use tove_optim::{non_finite_gradient, scale_gradients};
use tove_tensor::{Key, Tensor};

use super::collective::{Weighted, checked_weight, sum_gradients};
use super::loader::{Flow, for_each_batch};
use super::run::{DATA, PASSES, Training};
use super::task::{TrainingTask, number};
use crate::walks::Buffers;
use crate::{Error, Module, ModuleExt, Pass};

type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong inside an evaluation, where only the tensor crate's errors can pass.
enum Failure {
    /// An error of the task, the data or the exchange.
    Error(Error),
    /// The loss of this piece is not finite at the weights a step begins with.
    NotFinite(usize, f64),
    /// The loss is finite, and the gradient of this one of the trained parameters is not.
    Gradient(usize, f64),
}

/// Puts values in the place of the net's trained parameters. Clones of leaves are the same leaves: gradients of the net's
/// loss arrive in both.
fn place_leaves<'t>(net: &mut impl Module, leaves: impl Iterator<Item = &'t Tensor>) {
    let trained = net.parameters_mut().into_iter().filter(|parameter| parameter.is_tracked());
    trained.zip(leaves).for_each(|(parameter, leaf)| *parameter = leaf.clone());
}

impl<M: Module, T: TrainingTask<M>, D: Dataset + ?Sized> Training<'_, '_, M, T, D> {
    /// One step of an optimizer that evaluates the loss itself. The loss before it. If it fails, parameters and buffers are what
    /// they were before.
    pub(super) fn descend_on_whole_set(&mut self) -> Result<f64> {
        self.buffers = Buffers::of(self.net);
        self.step_on_whole_set().inspect_err(|_| Buffers::put(self.net, &self.buffers))
    }

    fn step_on_whole_set(&mut self) -> Result<f64> {
        let Training { trainer, net, task, train, place, .. } = self;
        let (seed, batch_size) = (trainer.seed, trainer.batch_size);
        let (optimizer, collective, callbacks) =
            (&mut trainer.optimizer, &mut *trainer.collective, &mut trainer.callbacks);
        let indices: Vec<usize> = (0..train.len()).collect();
        let own: Vec<&[usize]> =
            indices.chunks(batch_size).skip(collective.rank()).step_by(collective.size()).collect();
        let key = Key::new(seed);
        // Of one piece the loss is the mean already.
        let alone = own.len() == 1 && collective.size() == 1;
        let trained = net.parameters_mut().into_iter().filter(|parameter| parameter.is_tracked());
        let mut leaves: Vec<Tensor> = trained.map(|parameter| parameter.clone()).collect();
        let mut first = true;
        let mut evaluate = |leaves: &[&mut Tensor]| -> Result<f64, Failure> {
            place_leaves(*net, leaves.iter().map(|leaf| &**leaf));
            let (mut sum, mut piece, mut broken) = (Weighted::default(), 0, None);
            let evaluated = for_each_batch(*train, &own, key.fold(DATA), &mut |batch| {
                let weight = if alone { 1.0 } else { checked_weight(task.weight(&batch)?)? };
                let pass = Pass::train(key.fold(PASSES).fold(piece as u64));
                if weight == 0.0 {
                    piece += 1;
                    return Ok(Flow::Continue);
                }
                let loss = task.loss(*net, &batch, &pass)?;
                let value = number(&loss)?;
                if first && !value.is_finite() {
                    broken = Some(Failure::NotFinite(piece, value));
                    return Ok(Flow::Stop);
                }
                if alone {
                    loss.try_backward()?
                } else {
                    (loss * weight).try_backward()?
                }
                sum.add(value, weight);
                piece += 1;
                Ok(Flow::Continue)
            });
            evaluated.map_err(Failure::Error)?;
            if let Some(broken) = broken {
                return Err(broken);
            }
            let sum = sum.over_ranks(collective).map_err(Failure::Error)?;
            sum_gradients(collective, leaves).map_err(Failure::Error)?;
            if !alone {
                scale_gradients(leaves, 1.0 / sum.weight).map_err(|error| Failure::Error(error.into()))?;
            }
            let value = sum.mean();
            if std::mem::take(&mut first) {
                let odd = non_finite_gradient(leaves).map_err(|error| Failure::Error(error.into()))?;
                if let Some(position) = odd {
                    return Err(Failure::Gradient(position, value));
                }
                callbacks.iter_mut().for_each(|callback| callback.gradients(place.step + 1, *net));
            }
            Ok(value)
        };
        let mut failure = None;
        let mut loss = |leaves: &[&mut Tensor]| {
            evaluate(leaves).map_err(|why| {
                failure = Some(why);
                tove_tensor::Error::data("Trainer", "the loss could not be computed")
            })
        };
        let stepped = optimizer.step_with(&mut leaves.iter_mut().collect::<Vec<_>>(), &mut loss);
        // Wherever the last evaluation was, the optimiser leaves the best point in its parameters.
        leaves.iter().for_each(|leaf| leaf.set_grad(None));
        place_leaves(*net, leaves.iter());
        match failure {
            Some(Failure::Error(error)) => Err(error),
            Some(Failure::NotFinite(piece, value)) => {
                let batch = train.batch(own[piece], key.fold(DATA))?;
                Err(self.diverged(&batch, value))
            }
            Some(Failure::Gradient(trained, value)) => {
                let parameters = self.net.parameters();
                let mut positions = (0..parameters.len()).filter(|&position| parameters[position].is_tracked());
                Err(self.gradient_diverged(positions.nth(trained).unwrap_or(0), value))
            }
            None => Ok(stepped?),
        }
    }
}
