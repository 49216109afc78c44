//! Adagrad (Duchi, Hazan and Singer 2011): a ← a + g², θ ← θ − η g / (√a + ν).
//!
//! The sum of squares never falls, so the step size of each coordinate, η / (√a + ν), never rises.

use tove_tensor::step_rules::{AdagradStep, adagrad_step};
use tove_tensor::{Result, Tensor};

use super::{Step, StepRule, Stepwise, slot_count};
use crate::settings::Hyperparameters;

/// Settings of [`Adagrad`]. Defaults are PyTorch's.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "Adagrad")]
pub struct AdagradSettings {
    /// Step size η.
    #[hyper(default = 1e-2, range = "[0, inf)", alias = "lr")]
    pub learning_rate: f64,
    /// ν, added to the root of the sum of squares.
    #[hyper(default = 1e-10, range = "[0, inf)", alias = "eps")]
    pub epsilon: f64,
    /// Strength λ of the penalty (λ/2) ‖θ‖², whose gradient is added to the loss's.
    #[hyper(default = 0.0, range = "[0, inf)")]
    pub weight_decay: f64,
    /// What the sums of squares begin with.
    #[hyper(default = 0.0, range = "[0, inf)", alias = "initial_accumulator_value")]
    pub initial_sum: f64,
}

/// Adagrad; see [`AdagradSettings`].
///
/// ```
/// use tove_optim::Adagrad;
/// use tove_tensor::Tensor;
/// let mut w = Tensor::from([4.0, -3.0]).requires_grad();
/// let mut adagrad = Adagrad::new(1.0);
/// for _ in 0..200 {
///     (&w * &w).sum().backward();
///     adagrad.step(&mut [&mut w])?;
/// }
/// assert!(w.to_vec::<f64>().iter().all(|w| w.abs() < 1e-3));
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub type Adagrad = Stepwise<AdagradSettings>;

impl StepRule for AdagradSettings {
    const NAME: &'static str = "Adagrad";

    fn slots(&self) -> &'static [&'static str] {
        &["sum"]
    }

    fn initial(&self, _: usize) -> f64 {
        self.initial_sum
    }

    rates_of_fields!();

    fn update(&self, step: Step, parameter: &mut Tensor, gradient: &Tensor, state: &mut [Tensor]) -> Result<()> {
        let [sum] = state else { return Err(slot_count(Self::NAME, 1, state.len())) };
        let Step { learning_rate, weight_decay, .. } = step;
        adagrad_step(parameter, gradient, sum, &AdagradStep { learning_rate, eps: self.epsilon, weight_decay })
    }
}
