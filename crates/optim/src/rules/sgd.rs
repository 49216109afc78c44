//! Gradient descent, plain, with momentum (Polyak 1964) or with Nesterov's (1983) as Sutskever et al. (2013) wrote it.
//!
//! θ ← θ − η g. With momentum u ← μ u + g, u₀ = 0, θ ← θ − η u; with Nesterov θ ← θ − η (g + μ u). This is PyTorch's form:
//! the velocity is multiplied by the present step size. With `rate_in_velocity` each gradient keeps the step size of its
//! own step, v ← μ v − η g, θ ← θ + v, as the textbooks have it. The two agree while η is constant.
//!
//! Unrolled, the textbook's velocity is vₖ = − Σᵢ μᵏ⁻ⁱ ηᵢ gᵢ over i = 1 … k.
//!
//! Weight decay λ is the penalty (λ/2) ‖θ‖²: g + λ θ takes the place of g. For plain descent that is
//! θ ← (1 − η λ) θ − η g.

use tove_tensor::step_rules::{MomentumStep, momentum_step, plain_step};
use tove_tensor::{Result, Tensor};

use super::{Step, StepRule, Stepwise, slot_count};
use crate::settings::{Hyperparameters, SettingError};

/// Settings of [`Sgd`].
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "Sgd", check = momentum_for_nesterov)]
pub struct SgdSettings {
    /// Step size η.
    #[hyper(default = 1e-3, range = "[0, inf)", alias = "lr")]
    pub learning_rate: f64,
    /// Share μ of the velocity that is kept.
    #[hyper(default = 0.0, range = "[0, 1)")]
    pub momentum: f64,
    /// Weight decay λ.
    #[hyper(default = 0.0, range = "[0, inf)")]
    pub weight_decay: f64,
    /// Whether to use Nesterov's form of momentum.
    #[hyper(default = false)]
    pub nesterov: bool,
    /// Whether gradients enter the velocity times the step size of their own step; PyTorch multiplies the velocity.
    #[hyper(default = false)]
    pub rate_in_velocity: bool,
}

fn momentum_for_nesterov(settings: &SgdSettings) -> Result<(), SettingError> {
    if settings.nesterov && settings.momentum == 0.0 {
        let problem = "nesterov needs a momentum, which is 0";
        return Err(SettingError::conflict("Sgd", "momentum", problem, "set momentum, for instance to 0.9"));
    }
    Ok(())
}

/// Gradient descent, plain or with momentum; see [`SgdSettings`].
///
/// ```
/// use tove_optim::{Optimizer, Sgd};
/// use tove_tensor::Tensor;
/// let mut w = Tensor::from([4.0, -3.0]).requires_grad();
/// let mut sgd = Sgd::new(0.02).with(|settings| settings.momentum(0.9).nesterov(true));
/// for _ in 0..200 {
///     (&w * &w).sum().backward();
///     sgd.step(&mut [&mut w])?;
/// }
/// assert!(w.to_vec::<f64>().iter().all(|w| w.abs() < 1e-3));
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub type Sgd = Stepwise<SgdSettings>;

impl StepRule for SgdSettings {
    const NAME: &'static str = "Sgd";

    fn slots(&self) -> &'static [&'static str] {
        if self.momentum == 0.0 { &[] } else { &["velocity"] }
    }

    rates_of_fields!();

    fn update(&self, step: Step, parameter: &mut Tensor, gradient: &Tensor, state: &mut [Tensor]) -> Result<()> {
        let Step { learning_rate, weight_decay, .. } = step;
        let velocity = match (self.momentum == 0.0, &mut *state) {
            (true, []) => return plain_step(parameter, gradient, learning_rate, weight_decay),
            (false, [velocity]) => velocity,
            _ => return Err(slot_count(Self::NAME, self.slots().len(), state.len())),
        };
        let (momentum, nesterov, rate_in_velocity) = (self.momentum, self.nesterov, self.rate_in_velocity);
        let step = MomentumStep { learning_rate, momentum, weight_decay, nesterov, rate_in_velocity };
        momentum_step(parameter, gradient, velocity, &step)
    }
}
