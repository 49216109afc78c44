//! Step rules: settings that know how to move one parameter, and [`Stepwise`], which drives any of them.
//!
//! | optimiser | step, with g the gradient |
//! |---|---|
//! | [`Sgd`] | θ ← θ − η g; with momentum u ← μ u + g, θ ← θ − η u; Nesterov's θ ← θ − η (g + μ u) |
//! | [`NesterovLookAhead`] | v ← α v − η ∇L(θ + α v), θ ← θ + v |
//! | [`Adagrad`] | a ← a + g², θ ← θ − η g / (√a + ν) |
//! | [`RmsProp`] | a ← β a + (1 − β) g², θ ← θ − η g / (√a + ν), optionally centred and with momentum |
//! | [`Adam`] | m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², θ ← θ − η m̂ / (√v̂ + ν) |
//! | [`AdamW`] | θ ← (1 − η λ) θ, then Adam's step |

/// The step size and the weight decay of a rule that keeps them in fields of these names.
macro_rules! rates_of_fields {
    () => {
        fn learning_rate(&self) -> f64 {
            self.learning_rate
        }

        fn learning_rate_mut(&mut self) -> &mut f64 {
            &mut self.learning_rate
        }

        fn weight_decay(&self) -> f64 {
            self.weight_decay
        }
    };
}

mod adagrad;
mod adam;
mod look_ahead;
mod rms_prop;
mod sgd;

pub use adagrad::{Adagrad, AdagradSettings};
pub use adam::{Adam, AdamSettings, AdamW, AdamWSettings};
pub use look_ahead::{NesterovLookAhead, NesterovLookAheadSettings};
pub use rms_prop::{RmsProp, RmsPropSettings};
pub use sgd::{Sgd, SgdSettings};

use tove_tensor::{Error, Result, Tensor, step_rules};

use crate::clip::norm_and_factor;
use crate::groups::{Group, Pull};
use crate::leaves::expect_different;
use crate::optimizer::{Optimizer, OptimizerState};
use crate::settings::{Hyperparameters, SettingError};

/// What differs from parameter to parameter in one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Number of this step of the parameter, from 1.
    pub number: u64,
    /// Step size, the group's factor included.
    pub learning_rate: f64,
    /// Weight decay of the parameter's group.
    pub weight_decay: f64,
}

/// What one parameter gets in one step, for [`StepRule::update_all`].
#[derive(Debug)]
pub struct Update<'a> {
    /// What differs from parameter to parameter.
    pub step: Step,
    /// What is to be moved.
    pub parameter: &'a mut Tensor,
    /// Its gradient, taken out of the leaf.
    pub gradient: Tensor,
    /// One tensor per slot.
    pub state: &'a mut [Tensor],
    steps: &'a mut u64,
}

impl Update<'_> {
    /// Counts the step, once the parameter has been moved.
    pub fn done(self) {
        *self.steps = self.step.number;
    }
}

/// The settings of a rule that treats every parameter alone; [`Stepwise`] makes an optimiser of it.
///
/// ```
/// use tove_optim::rules::{Step, StepRule, Stepwise};
/// use tove_optim::settings::Hyperparameters;
/// use tove_optim::Optimizer;
/// use tove_tensor::{Result, Tensor, step_rules};
///
/// /// Steps against the sign of the gradient.
/// #[derive(Clone, Debug, Hyperparameters)]
/// #[hyper(name = "SignDescent")]
/// struct SignDescent {
///     /// Step size.
///     #[hyper(default = 0.1, range = "[0, inf)", alias = "lr")]
///     learning_rate: f64,
/// }
///
/// impl StepRule for SignDescent {
///     const NAME: &'static str = "SignDescent";
///     fn learning_rate(&self) -> f64 {
///         self.learning_rate
///     }
///     fn learning_rate_mut(&mut self) -> &mut f64 {
///         &mut self.learning_rate
///     }
///     fn update(&self, step: Step, parameter: &mut Tensor, gradient: &Tensor, _: &mut [Tensor]) -> Result<()> {
///         step_rules::add_scaled(parameter, &gradient.sign(), -step.learning_rate)
///     }
/// }
///
/// let mut w = Tensor::from([3.0, -5.0]).requires_grad();
/// w.square().sum().backward();
/// Stepwise::<SignDescent>::default().step(&mut [&mut w])?;
/// assert_eq!(w.to_vec::<f64>(), [2.9, -4.9]);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub trait StepRule: Hyperparameters + Clone + Default + Send {
    /// Name of the rule.
    const NAME: &'static str;

    /// Names of the tensors that are kept for each parameter between steps.
    fn slots(&self) -> &'static [&'static str] {
        &[]
    }

    /// What the tensors of a slot are filled with before the first step.
    fn initial(&self, slot: usize) -> f64 {
        let _ = slot;
        0.0
    }

    /// The step size.
    fn learning_rate(&self) -> f64;

    /// The step size, to be changed.
    fn learning_rate_mut(&mut self) -> &mut f64;

    /// The weight decay of parameters whose group has none of its own.
    fn weight_decay(&self) -> f64 {
        0.0
    }

    /// Moves one parameter; `state` has one tensor per slot.
    fn update(&self, step: Step, parameter: &mut Tensor, gradient: &Tensor, state: &mut [Tensor]) -> Result<()>;

    /// Moves all parameters that have a gradient, the gradients multiplied by `scale`. By default one after the other with
    /// [`StepRule::update`]; a rule may do better, with the same results bit by bit.
    fn update_all<'a>(&self, updates: impl Iterator<Item = Update<'a>>, scale: f64) -> Result<()> {
        for mut update in updates {
            if scale != 1.0 {
                step_rules::scale(&mut update.gradient, scale)?;
            }
            self.update(update.step, update.parameter, &update.gradient, update.state)?;
            update.done();
        }
        Ok(())
    }
}

/// What is kept for one parameter.
#[derive(Clone, Debug, Default)]
struct Kept {
    steps: u64,
    /// Names of the slots that are there: the rule's, from the first gradient on.
    names: &'static [&'static str],
    /// One tensor per slot.
    slots: Vec<Tensor>,
}

impl Kept {
    /// Gives the parameter the slots of this rule. Settings may have changed since the last step (a momentum that was 0): slots
    /// are found by name, and those that were not kept start at their first values.
    fn match_slots<R: StepRule>(&mut self, rule: &R, parameter: &Tensor) {
        let names = rule.slots();
        if self.slots.len() == names.len() && (std::ptr::eq(self.names, names) || self.names == names) {
            return;
        }
        let plain = parameter.detach();
        let kept = |name: &&str| self.names.iter().zip(&self.slots).find(|(own, _)| *own == name);
        let slot = |(index, name)| match kept(name) {
            Some((_, tensor)) => tensor.clone(),
            None => plain.full_like(rule.initial(index)),
        };
        self.slots = names.iter().enumerate().map(slot).collect();
        self.names = names;
    }
}

/// The error for a state that has not one tensor per slot of the rule.
pub(crate) fn slot_count(rule: &'static str, expected: usize, found: usize) -> Error {
    let problem = format!("has {found} tensors for a parameter, and the rule keeps {expected}; give one per slot");
    Error::Parameter { op: rule, name: "state", problem: problem.into() }
}

/// An optimiser made of a [`StepRule`]: [`Sgd`], [`Adagrad`], [`RmsProp`], [`Adam`] and [`AdamW`] are names for it.
///
/// ```
/// use tove_optim::{Adam, AdamSettings, Optimizer};
/// let mut adam = Adam::new(1e-2).with(|settings| settings.beta1(0.8));
/// assert_eq!(adam.settings().beta1, 0.8);
/// assert!(Adam::build(AdamSettings::default().beta2(1.0)).is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stepwise<R> {
    rule: R,
    groups: Vec<Group>,
    /// By position of the parameter; those beyond the end belong to no group.
    pulls: Vec<Pull>,
    kept: Vec<Kept>,
}

impl<R: StepRule> Stepwise<R> {
    /// The rule with this step size and its other settings at their defaults. Settings are checked at each step.
    pub fn new(learning_rate: f64) -> Stepwise<R> {
        let mut optimizer = Stepwise::<R>::default();
        *optimizer.rule.learning_rate_mut() = learning_rate;
        optimizer
    }

    /// The rule with these settings, which are checked.
    pub fn build(settings: R) -> Result<Stepwise<R>, SettingError> {
        settings.validate()?;
        Ok(Stepwise { rule: settings, ..Stepwise::default() })
    }

    /// Changes settings: `Adam::new(1e-3).with(|settings| settings.beta1(0.8))`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(R) -> R) -> Stepwise<R> {
        self.rule = change(self.rule);
        self
    }

    /// Gives groups of parameters their own step size and weight decay.
    pub fn groups(mut self, groups: &[Group]) -> Result<Stepwise<R>> {
        self.set_groups(groups)?;
        Ok(self)
    }

    fn set_groups(&mut self, groups: &[Group]) -> Result<()> {
        self.pulls = crate::groups::by_position(R::NAME, groups)?;
        self.groups = groups.to_vec();
        Ok(())
    }

    /// The present settings.
    pub fn settings(&self) -> &R {
        &self.rule
    }

    /// Number of steps that the parameter at this position has made.
    pub fn steps(&self, position: usize) -> u64 {
        self.kept.get(position).map_or(0, |kept| kept.steps)
    }

    /// The tensor kept for a parameter under this name, such as `velocity`; none before its first gradient.
    pub fn kept(&self, position: usize, slot: &str) -> Option<&Tensor> {
        let kept = self.kept.get(position)?;
        let slot = kept.names.iter().position(|&name| name == slot)?;
        kept.slots.get(slot)
    }

    /// One step; as [`Optimizer::step`], here so that callers need not import the trait.
    pub fn step(&mut self, parameters: &mut [&mut Tensor]) -> Result<()> {
        self.step_scaled(parameters, 1.0)
    }

    /// One step with clipped gradients; as [`Optimizer::step_clipped`].
    pub fn step_clipped(&mut self, parameters: &mut [&mut Tensor], limit: f64) -> Result<f64> {
        let (norm, factor) = norm_and_factor(parameters, limit)?;
        self.step_scaled(parameters, factor)?;
        Ok(norm)
    }

    fn step_scaled(&mut self, parameters: &mut [&mut Tensor], scale: f64) -> Result<()> {
        self.rule.validate()?;
        expect_count(R::NAME, self.kept.len(), parameters.len())?;
        if self.kept.is_empty() {
            expect_different(R::NAME, parameters)?;
            expect_positions(R::NAME, self.pulls.len(), parameters.len())?;
        }
        self.kept.resize_with(parameters.len(), Kept::default);
        let Stepwise { rule, pulls, kept, .. } = self;
        let learning_rate = rule.learning_rate();
        let updates = parameters.iter_mut().zip(kept).enumerate().filter_map(|(position, (parameter, kept))| {
            let gradient = parameter.take_grad()?;
            kept.match_slots(rule, parameter);
            let pull = pulls.get(position).copied().unwrap_or_default();
            let step = Step {
                number: kept.steps + 1,
                learning_rate: learning_rate * pull.factor,
                weight_decay: pull.weight_decay.unwrap_or_else(|| rule.weight_decay()),
            };
            Some(Update { step, parameter, gradient, state: &mut kept.slots, steps: &mut kept.steps })
        });
        rule.update_all(updates, scale)
    }
}

/// An error if groups speak of parameters that are not there: they were made for another net.
fn expect_positions(op: &'static str, grouped: usize, parameters: usize) -> Result<()> {
    if grouped <= parameters {
        return Ok(());
    }
    let last = grouped - 1;
    let problem =
        format!("have position {last}, and there are {parameters} parameters, 0 to {}", parameters.max(1) - 1);
    Err(Error::Parameter { op, name: "groups", problem: problem.into() })
}

/// An error unless the number of parameters is what it was.
pub(crate) fn expect_count(op: &'static str, before: usize, now: usize) -> Result<()> {
    if before == 0 || before == now {
        return Ok(());
    }
    let problem = format!("were {before} at the first step and are {now} now; give the same ones in the same order");
    Err(Error::Parameter { op, name: "parameters", problem: problem.into() })
}

impl<R: StepRule> Optimizer for Stepwise<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn step(&mut self, parameters: &mut [&mut Tensor]) -> Result<()> {
        Stepwise::step(self, parameters)
    }

    fn step_clipped(&mut self, parameters: &mut [&mut Tensor], limit: f64) -> Result<f64> {
        Stepwise::step_clipped(self, parameters, limit)
    }

    fn learning_rate(&self) -> f64 {
        self.rule.learning_rate()
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        *self.rule.learning_rate_mut() = learning_rate;
    }

    fn hyperparameters(&self) -> &dyn Hyperparameters {
        &self.rule
    }

    fn set_hyperparameters(&mut self, settings: &serde_json::Value) -> Result<()> {
        let mut rule = self.rule.clone();
        rule.load_json(settings)?;
        rule.validate()?;
        self.rule = rule;
        Ok(())
    }

    fn state(&self) -> OptimizerState {
        let mut state = OptimizerState::new(R::NAME, &self.rule);
        state.groups = Some(self.groups.clone());
        for (position, kept) in self.kept.iter().enumerate() {
            state.counters.insert(format!("{position}.steps"), kept.steps);
            // Settings may have changed since the last step: what is kept belongs to the names it had then.
            let known = |name: &&str| kept.names.iter().zip(&kept.slots).find(|(own, _)| *own == name);
            for (index, name) in self.rule.slots().iter().enumerate() {
                let first = || kept.slots.first().map(|like| like.full_like(self.rule.initial(index)));
                if let Some(tensor) = known(name).map(|(_, tensor)| tensor.clone()).or_else(first) {
                    state.tensors.insert(format!("{position}.{name}"), tensor);
                }
            }
        }
        state
    }

    fn load_state(&mut self, state: &OptimizerState) -> Result<()> {
        state.expect_rule(R::NAME)?;
        let mut rule = self.rule.clone();
        rule.load_json(&state.settings)?;
        let mut kept = Vec::new();
        while let Some(&steps) = state.counters.get(&format!("{}.steps", kept.len())) {
            let tensor = |name: &&str| state.tensors.get(&format!("{}.{name}", kept.len())).cloned();
            let slots: Option<Vec<Tensor>> = rule.slots().iter().map(tensor).collect();
            let slots = match slots {
                Some(slots) => slots,
                None if steps == 0 => Vec::new(),
                None => {
                    let problem = format!("lacks tensors of parameter {}: {}", kept.len(), rule.slots().join(", "));
                    return Err(Error::Parameter { op: R::NAME, name: "state", problem: problem.into() });
                }
            };
            let names = if slots.is_empty() { &[] } else { rule.slots() };
            kept.push(Kept { steps, names, slots });
        }
        if let Some(groups) = &state.groups {
            self.set_groups(groups)?;
        }
        (self.rule, self.kept) = (rule, kept);
        Ok(())
    }
}
