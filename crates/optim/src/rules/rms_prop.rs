//! RMSProp (Tieleman and Hinton 2012): a ← β a + (1 − β) g², θ ← θ − η g / (√a + ν).
//!
//! Centred (Graves 2013), m ← β m + (1 − β) g and the root is of a − m². With momentum u ← μ u + g / (√a + ν),
//! θ ← θ − η u, as PyTorch has it; with `rate_in_velocity` v ← μ v − η g / (√a + ν), θ ← θ + v. The two agree while η is
//! constant. Unlike Adagrad's, the step size of a coordinate recovers once large gradients have stopped.

use tove_tensor::step_rules::{RmsPropStep, rms_prop_step};
use tove_tensor::{Result, Tensor};

use super::{Step, StepRule, Stepwise, slot_count};
use crate::settings::Hyperparameters;

/// Settings of [`RmsProp`]. Defaults are PyTorch's.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "RmsProp")]
pub struct RmsPropSettings {
    /// Step size η.
    #[hyper(default = 1e-2, range = "[0, inf)", alias = "lr")]
    pub learning_rate: f64,
    /// Decay β of the mean of squared gradients.
    #[hyper(default = 0.99, range = "[0, 1)", alias = "alpha")]
    pub beta: f64,
    /// ν, added to the root of the mean square.
    #[hyper(default = 1e-8, range = "[0, inf)", alias = "eps")]
    pub epsilon: f64,
    /// Strength λ of the penalty (λ/2) ‖θ‖², whose gradient is added to the loss's.
    #[hyper(default = 0.0, range = "[0, inf)")]
    pub weight_decay: f64,
    /// Share μ of the velocity that is kept.
    #[hyper(default = 0.0, range = "[0, 1)")]
    pub momentum: f64,
    /// Whether to divide by the root of the variance instead of the mean square.
    #[hyper(default = false)]
    pub centered: bool,
    /// Whether directions enter the velocity times the step size of their own step; PyTorch multiplies the velocity.
    #[hyper(default = false)]
    pub rate_in_velocity: bool,
}

/// RMSProp; see [`RmsPropSettings`].
///
/// ```
/// use tove_optim::RmsProp;
/// use tove_tensor::Tensor;
/// let mut w = Tensor::from([4.0, -3.0]).requires_grad();
/// let mut rms_prop = RmsProp::new(0.02).with(|settings| settings.momentum(0.5).centered(true));
/// for _ in 0..500 {
///     (&w * &w).sum().backward();
///     rms_prop.step(&mut [&mut w])?;
/// }
/// assert!(w.to_vec::<f64>().iter().all(|w| w.abs() < 0.1));
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub type RmsProp = Stepwise<RmsPropSettings>;

impl StepRule for RmsPropSettings {
    const NAME: &'static str = "RmsProp";

    fn slots(&self) -> &'static [&'static str] {
        match (self.centered, self.momentum != 0.0) {
            (false, false) => &["mean_square"],
            (true, false) => &["mean_square", "mean"],
            (false, true) => &["mean_square", "velocity"],
            (true, true) => &["mean_square", "mean", "velocity"],
        }
    }

    rates_of_fields!();

    fn update(&self, step: Step, parameter: &mut Tensor, gradient: &Tensor, state: &mut [Tensor]) -> Result<()> {
        let Step { learning_rate, weight_decay, .. } = step;
        let (beta, eps, momentum, rate_in_velocity) = (self.beta, self.epsilon, self.momentum, self.rate_in_velocity);
        let step = RmsPropStep { learning_rate, beta, eps, weight_decay, momentum, rate_in_velocity };
        let (square, mean, velocity) = match (self.centered, momentum != 0.0, &mut *state) {
            (false, false, [square]) => (square, None, None),
            (true, false, [square, mean]) => (square, Some(mean), None),
            (false, true, [square, velocity]) => (square, None, Some(velocity)),
            (true, true, [square, mean, velocity]) => (square, Some(mean), Some(velocity)),
            _ => return Err(slot_count(Self::NAME, self.slots().len(), state.len())),
        };
        rms_prop_step(parameter, gradient, square, mean, velocity, &step)
    }
}
