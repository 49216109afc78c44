//! Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019).
//!
//! m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², θ ← θ − η m̂ / (√v̂ + ν), with m̂ = m / (1 − β₁ᵗ), v̂ = v / (1 − β₂ᵗ).
//!
//! Means that start at zero are too small at first: under a constant gradient mₜ = (1 − β₁ᵗ) g. The corrections undo it,
//! so that the first step has the length η (for ν → 0) whatever the size of the gradient, and tend to 1. Without them
//! (`bias_correction(false)`) the first step has the length η (1 − β₁) / √(1 − β₂): 3.16 η for the usual decays, 0.1 η for
//! 0.99 and 0.99.
//!
//! Weight decay λ: Adam adds λ θ to the gradient, the penalty (λ/2) ‖θ‖², and then divides the sum by √v̂, so that
//! parameters with large gradients are pulled less. AdamW shrinks θ ← (1 − η λ) θ beside the step. For plain gradient
//! descent the two are the same, for Adam they are not.

use smallvec::SmallVec;
use tove_tensor::optimizer_kernels::{AdamStep, AdamTensors, adam_step, adam_steps};
use tove_tensor::{Result, Tensor};

use super::{Step, StepRule, Stepwise, Update, slot_count};
use crate::settings::Hyperparameters;

/// Settings of [`Adam`]. Defaults are the paper's and PyTorch's.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "Adam")]
pub struct AdamSettings {
    /// Step size η.
    #[hyper(default = 1e-3, range = "[0, inf)", alias = "lr")]
    pub learning_rate: f64,
    /// Decay β₁ of the mean of gradients.
    #[hyper(default = 0.9, range = "[0, 1)")]
    pub beta1: f64,
    /// Decay β₂ of the mean of squared gradients.
    #[hyper(default = 0.999, range = "[0, 1)")]
    pub beta2: f64,
    /// ν, added to the root of the mean square.
    #[hyper(default = 1e-8, range = "[0, inf)", alias = "eps")]
    pub epsilon: f64,
    /// Strength λ of the penalty (λ/2) ‖θ‖², whose gradient is added to the loss's.
    #[hyper(default = 0.0, range = "[0, inf)")]
    pub weight_decay: f64,
    /// Whether to correct the means for their start at zero.
    #[hyper(default = true)]
    pub bias_correction: bool,
}

/// Settings of [`AdamW`]. Defaults are PyTorch's.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "AdamW")]
pub struct AdamWSettings {
    /// Step size η.
    #[hyper(default = 1e-3, range = "[0, inf)", alias = "lr")]
    pub learning_rate: f64,
    /// Decay β₁ of the mean of gradients.
    #[hyper(default = 0.9, range = "[0, 1)")]
    pub beta1: f64,
    /// Decay β₂ of the mean of squared gradients.
    #[hyper(default = 0.999, range = "[0, 1)")]
    pub beta2: f64,
    /// ν, added to the root of the mean square.
    #[hyper(default = 1e-8, range = "[0, inf)", alias = "eps")]
    pub epsilon: f64,
    /// Strength λ of the shrinking θ ← (1 − η λ) θ.
    #[hyper(default = 0.01, range = "[0, inf)")]
    pub weight_decay: f64,
    /// Whether to correct the means for their start at zero.
    #[hyper(default = true)]
    pub bias_correction: bool,
}

/// Adam; see [`AdamSettings`].
///
/// ```
/// use tove_optim::Adam;
/// use tove_tensor::Tensor;
/// let mut w = Tensor::from([1.0]).requires_grad();
/// w.square().sum().backward();
/// Adam::new(0.1).step(&mut [&mut w])?;
/// assert!((w.item::<f64>() - 0.9).abs() < 1e-6);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub type Adam = Stepwise<AdamSettings>;

/// Adam with weight decay beside the step; see [`AdamWSettings`].
///
/// ```
/// use tove_optim::{AdamW, Optimizer};
/// use tove_tensor::Tensor;
/// let mut w = Tensor::from([1.0]).requires_grad();
/// w.set_grad(Some(Tensor::from([0.0])));
/// AdamW::new(0.1).with(|settings| settings.weight_decay(0.5)).step(&mut [&mut w])?;
/// assert!((w.item::<f64>() - 0.95).abs() < 1e-12);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub type AdamW = Stepwise<AdamWSettings>;

/// What both rules share.
macro_rules! adam_rule {
    ($settings:ty, $name:literal, $decoupled:literal) => {
        impl StepRule for $settings {
            const NAME: &'static str = $name;

            fn slots(&self) -> &'static [&'static str] {
                &["mean", "mean_square"]
            }

            rates_of_fields!();

            fn update(
                &self,
                step: Step,
                parameter: &mut Tensor,
                gradient: &Tensor,
                state: &mut [Tensor],
            ) -> Result<()> {
                let [mean, mean_square] = state else { return Err(slot_count($name, 2, state.len())) };
                adam_step(parameter, gradient, mean, mean_square, &self.adam_step(step, 1.0))
            }

            fn update_all<'a>(&self, updates: impl Iterator<Item = Update<'a>>, scale: f64) -> Result<()> {
                let mut updates: SmallVec<[Update<'a>; 16]> = updates.collect();
                if let Some(odd) = updates.iter().find(|update| update.state.len() != 2) {
                    return Err(slot_count($name, 2, odd.state.len()));
                }
                adam_steps(updates.iter_mut().filter_map(|update| {
                    let Update { step, parameter, gradient, state: [first, second], .. } = update else { return None };
                    Some((AdamTensors { parameter, gradient, first, second }, self.adam_step(*step, scale)))
                }))?;
                updates.drain(..).for_each(Update::done);
                Ok(())
            }
        }

        impl $settings {
            fn adam_step(&self, step: Step, gradient_scale: f64) -> AdamStep {
                let (beta1, beta2, eps, decoupled) = (self.beta1, self.beta2, self.epsilon, $decoupled);
                let Step { number, learning_rate, weight_decay } = step;
                // The corrections 1 − βᵗ are exactly 1 in the limit of many steps.
                let step = if self.bias_correction { number } else { u64::MAX };
                AdamStep { learning_rate, beta1, beta2, eps, weight_decay, decoupled, step, gradient_scale }
            }
        }
    };
}
adam_rule!(AdamSettings, "Adam", false);
adam_rule!(AdamWSettings, "AdamW", true);
