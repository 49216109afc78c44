//! Hooks into a run.

use super::loader::Flow;
use super::report::TrainingPoint;
use crate::Module;

/// What is known after a step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Epoch, counted from 1.
    pub epoch: usize,
    /// Steps taken, this one included.
    pub step: u64,
    /// Loss of the batch.
    pub loss: f64,
    /// Step size used.
    pub learning_rate: f64,
    /// Norm of all gradients before clipping; known when gradients are clipped by norm.
    pub gradient_norm: Option<f64>,
}

/// Something that is told about a run and may end it.
///
/// ```
/// use tove_nn::{Callback, Flow, Step};
/// /// Ends the run once the loss is low enough.
/// struct Enough(f64);
/// impl Callback for Enough {
///     fn step(&mut self, step: &Step) -> Flow {
///         if step.loss < self.0 { Flow::Stop } else { Flow::Continue }
///     }
/// }
/// ```
pub trait Callback {
    /// Between the backward pass and the update of step `step` (counted from 1): parameters still hold their gradients,
    /// as they are before clipping. Watch them with [`crate::gradient_norms`]. Of an optimiser that evaluates the loss
    /// several times a step (L-BFGS) these are the gradients of the first evaluation.
    ///
    /// ```
    /// use tove_nn::{Callback, Module, gradient_norms};
    /// /// Norm of every parameter's gradient, step by step.
    /// struct Norms(Vec<Vec<(String, f64)>>);
    /// impl Callback for Norms {
    ///     fn gradients(&mut self, _step: u64, net: &dyn Module) {
    ///         self.0.push(gradient_norms(net));
    ///     }
    /// }
    /// ```
    fn gradients(&mut self, _step: u64, _net: &dyn Module) {}

    /// After every step.
    fn step(&mut self, _step: &Step) -> Flow {
        Flow::Continue
    }

    /// After every evaluation.
    fn evaluation(&mut self, _evaluation: &TrainingPoint, _net: &dyn Module) -> Flow {
        Flow::Continue
    }
}
