//! Nesterov's accelerated gradient (1983) in its look-ahead form: v ← α v − η ∇L(θ + α v), θ ← θ + v.
//!
//! The gradient is wanted at θ + α v, so a step has two halves. [`look_ahead`](Optimizer::look_ahead) moves the
//! parameters there; the caller computes gradients; [`step`](Optimizer::step) finishes. Since θ + v' = (θ + α v) − η g,
//! the second half needs no way back. [`step_with`](Optimizer::step_with) does all three.
//!
//! `Sgd` with `nesterov` and `rate_in_velocity` is the same method seen from the shifted variable θ̃ = θ + α v:
//! v' = α v − η ∇L(θ̃), θ̃ ← θ̃ + v' + α (v' − v).

use tove_tensor::step_rules::{MomentumStep, add_scaled, assign, look_ahead_step};
use tove_tensor::{Error, Result, Tensor};

use super::{Step, StepRule, Stepwise, slot_count};
use crate::groups::Group;
use crate::optimizer::{Optimizer, OptimizerState};
use crate::settings::{Hyperparameters, SettingError};

/// Settings of [`NesterovLookAhead`].
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "NesterovLookAhead")]
pub struct NesterovLookAheadSettings {
    /// Step size η.
    #[hyper(default = 1e-3, range = "[0, inf)", alias = "lr")]
    pub learning_rate: f64,
    /// Share α of the velocity that is kept.
    #[hyper(default = 0.9, range = "[0, 1)")]
    pub momentum: f64,
    /// Strength λ of the penalty (λ/2) ‖θ‖², whose gradient is added to the loss's.
    #[hyper(default = 0.0, range = "[0, inf)")]
    pub weight_decay: f64,
}

impl StepRule for NesterovLookAheadSettings {
    const NAME: &'static str = "NesterovLookAhead";

    fn slots(&self) -> &'static [&'static str] {
        &["velocity"]
    }

    rates_of_fields!();

    /// The half after the gradient.
    fn update(&self, step: Step, parameter: &mut Tensor, gradient: &Tensor, state: &mut [Tensor]) -> Result<()> {
        let [velocity] = state else { return Err(slot_count(Self::NAME, 1, state.len())) };
        let Step { learning_rate, weight_decay, .. } = step;
        let (nesterov, rate_in_velocity) = (true, true);
        let momentum = self.momentum;
        let step = MomentumStep { learning_rate, momentum, weight_decay, nesterov, rate_in_velocity };
        look_ahead_step(parameter, gradient, velocity, &step)
    }
}

/// Nesterov's accelerated gradient with the gradient at the look-ahead point.
///
/// ```
/// use tove_optim::{NesterovLookAhead, Optimizer};
/// use tove_tensor::Tensor;
/// let mut w = Tensor::from([4.0, -3.0]).requires_grad();
/// let mut nesterov = NesterovLookAhead::new(0.05);
/// for _ in 0..200 {
///     nesterov.look_ahead(&mut [&mut w])?;
///     (&w * &w).sum().backward();
///     nesterov.step(&mut [&mut w])?;
/// }
/// assert!(w.to_vec::<f64>().iter().all(|w| w.abs() < 1e-4));
/// # Ok::<(), tove_tensor::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct NesterovLookAhead {
    inner: Stepwise<NesterovLookAheadSettings>,
    /// Whether the parameters are at the look-ahead point.
    ahead: bool,
    /// Which parameters were moved there, by position; empty if that is not known.
    moved: Vec<bool>,
    /// Where those were before. The memory is kept from step to step.
    before: Vec<Option<Tensor>>,
}

impl NesterovLookAhead {
    /// The rule with this step size and momentum 0.9.
    pub fn new(learning_rate: f64) -> NesterovLookAhead {
        NesterovLookAhead { inner: Stepwise::new(learning_rate), ..NesterovLookAhead::default() }
    }

    /// The rule with these settings, which are checked.
    pub fn build(settings: NesterovLookAheadSettings) -> Result<NesterovLookAhead, SettingError> {
        Ok(NesterovLookAhead { inner: Stepwise::build(settings)?, ..NesterovLookAhead::default() })
    }

    /// Gives groups of parameters their own step size and weight decay.
    pub fn groups(mut self, groups: &[Group]) -> Result<NesterovLookAhead> {
        self.inner = self.inner.groups(groups)?;
        Ok(self)
    }

    /// The velocity of the parameter at this position; none before its first gradient.
    pub fn velocity(&self, position: usize) -> Option<&Tensor> {
        self.inner.kept(position, "velocity")
    }

    /// Puts one parameter back to where it was before it looked ahead, bit for bit: θ + α v − α v is not θ in floating point.
    /// Only after a state was loaded between the halves of a step the place is not known, and is computed.
    fn put_back(&mut self, position: usize, parameter: &mut Tensor) -> Result<()> {
        match self.moved.get_mut(position).map(std::mem::take) {
            Some(true) => match &self.before[position] {
                Some(before) => assign(parameter, before),
                None => Ok(()),
            },
            Some(false) => Ok(()),
            None => match self.inner.kept(position, "velocity") {
                Some(velocity) if parameter.is_tracked() => add_scaled(parameter, velocity, -self.inner.rule.momentum),
                _ => Ok(()),
            },
        }
    }
}

impl Optimizer for NesterovLookAhead {
    fn name(&self) -> &'static str {
        NesterovLookAheadSettings::NAME
    }

    fn look_ahead(&mut self, parameters: &mut [&mut Tensor]) -> Result<()> {
        self.inner.rule.validate()?;
        if self.ahead {
            let problem = "are at the look-ahead point already; compute gradients and call `step`";
            return Err(Error::Parameter { op: self.name(), name: "parameters", problem: problem.into() });
        }
        super::expect_count(self.name(), self.inner.kept.len(), parameters.len())?;
        self.moved.clear();
        self.before.resize(parameters.len(), None);
        for (position, parameter) in parameters.iter_mut().enumerate() {
            // A frozen parameter stays where it is.
            let velocity = self.inner.kept(position, "velocity").filter(|_| parameter.is_tracked());
            self.moved.push(velocity.is_some());
            let Some(velocity) = velocity else { continue };
            match &mut self.before[position] {
                Some(before) => assign(before, parameter)?,
                none => *none = Some(parameter.detach()),
            }
            add_scaled(parameter, velocity, self.inner.rule.momentum)?;
        }
        self.ahead = true;
        Ok(())
    }

    fn look_back(&mut self, parameters: &mut [&mut Tensor]) -> Result<()> {
        if !std::mem::take(&mut self.ahead) {
            return Ok(());
        }
        for (position, parameter) in parameters.iter_mut().enumerate() {
            self.put_back(position, parameter)?;
        }
        Ok(())
    }

    fn step(&mut self, parameters: &mut [&mut Tensor]) -> Result<()> {
        if !self.ahead {
            let problem = "are not at the look-ahead point; call `look_ahead` before computing gradients";
            return Err(Error::Parameter { op: self.name(), name: "parameters", problem: problem.into() });
        }
        // A parameter that got no gradient goes back to where it was.
        for (position, parameter) in parameters.iter_mut().enumerate() {
            if parameter.grad().is_none() {
                self.put_back(position, parameter)?;
            }
        }
        self.inner.step(parameters)?;
        self.ahead = false;
        Ok(())
    }

    fn learning_rate(&self) -> f64 {
        self.inner.rule.learning_rate
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.inner.rule.learning_rate = learning_rate;
    }

    fn hyperparameters(&self) -> &dyn Hyperparameters {
        &self.inner.rule
    }

    fn set_hyperparameters(&mut self, settings: &serde_json::Value) -> Result<()> {
        self.inner.set_hyperparameters(settings)
    }

    fn state(&self) -> OptimizerState {
        let mut state = self.inner.state();
        state.counters.insert("ahead".to_owned(), u64::from(self.ahead));
        state
    }

    fn load_state(&mut self, state: &OptimizerState) -> Result<()> {
        self.inner.load_state(state)?;
        self.ahead = state.counters.get("ahead").is_some_and(|&ahead| ahead != 0);
        self.moved.clear();
        self.before.clear();
        Ok(())
    }
}
