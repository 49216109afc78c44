//! Steps of optimisers in one pass through parameter, gradient and state, in place.
//!
//! A parameter whose buffer a graph still holds is copied first, so that no value saved for a backward pass changes.
//!
//! ```
//! use tove_tensor::Tensor;
//! use tove_tensor::optimizer_kernels::{AdamStep, adam_step};
//! let mut w = Tensor::from([1.0]).requires_grad();
//! let (mut m, mut v) = (w.zeros_like(), w.zeros_like());
//! let step = AdamStep { learning_rate: 0.1, step: 1, ..AdamStep::default() };
//! adam_step(&mut w, &Tensor::from([5.0]), &mut m, &mut v, &step)?;
//! assert!((w.item::<f64>() - 0.9).abs() < 1e-8); // the first step has the length of the learning rate
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use smallvec::SmallVec;

use crate::dtype::match_float;
use crate::kernels::optimizer;
use crate::{Error, Result, Tensor};

/// Settings of one step of Adam (Kingma and Ba 2015), with PyTorch's names and defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamStep {
    /// Length of the first step.
    pub learning_rate: f64,
    /// Decay of the running mean of gradients.
    pub beta1: f64,
    /// Decay of the running mean of squared gradients.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub eps: f64,
    /// Strength of the pull towards zero.
    pub weight_decay: f64,
    /// Whether the pull acts on the parameter itself (AdamW, Loshchilov and Hutter 2019) instead of on the gradient.
    pub decoupled: bool,
    /// Number of this step, from 1, for the bias correction.
    pub step: u64,
    /// The gradient is multiplied by it first: what clipping by norm asks for, without a pass of its own.
    pub gradient_scale: f64,
}

impl Default for AdamStep {
    fn default() -> Self {
        AdamStep {
            learning_rate: 1e-3,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: 0.0,
            decoupled: false,
            step: 1,
            gradient_scale: 1.0,
        }
    }
}

/// Settings of one step of gradient descent with momentum, with PyTorch's names and defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SgdStep {
    /// Factor of the step.
    pub learning_rate: f64,
    /// Share of the velocity that is kept.
    pub momentum: f64,
    /// Share of the gradient that does not enter the velocity, from the second step on.
    pub dampening: f64,
    /// Strength of the pull towards zero.
    pub weight_decay: f64,
    /// Whether to look ahead (Nesterov).
    pub nesterov: bool,
    /// Number of this step, from 1.
    pub step: u64,
}

impl Default for SgdStep {
    fn default() -> Self {
        let (learning_rate, weight_decay, momentum, dampening) = (1e-3, 0.0, 0.0, 0.0);
        SgdStep { learning_rate, momentum, dampening, weight_decay, nesterov: false, step: 1 }
    }
}

pub(crate) fn check(op: &'static str, parameter: &Tensor, others: &[&Tensor], step: u64) -> Result<()> {
    if step == 0 {
        return Err(Error::parameter(op, "step", "is 0; steps are counted from 1"));
    }
    for other in others {
        if other.shape() != parameter.shape() {
            let problem = "gradient and state need the parameter's shape";
            return Err(Error::shapes(op, parameter.shape(), other.shape(), problem));
        }
        if other.dtype() != parameter.dtype() {
            return Err(Error::DTypePair { op, left: parameter.dtype(), right: other.dtype() });
        }
        if other.is_batched() || parameter.is_batched() {
            return Err(Error::derivative(op, "values cannot be overwritten inside `vmap`"));
        }
    }
    Ok(())
}

/// One step of Adam: with t the step's number and g the gradient (times `gradient_scale`),
/// m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², p ← p − η m / (1 − β₁ᵗ) / (√(v / (1 − β₂ᵗ)) + ε).
pub fn adam_step(
    parameter: &mut Tensor,
    gradient: &Tensor,
    first: &mut Tensor,
    second: &mut Tensor,
    step: &AdamStep,
) -> Result<()> {
    const OP: &str = "adam_step";
    check(OP, parameter, &[gradient, first, second], step.step)?;
    apply_adam(OP, AdamTensors { parameter, gradient, first, second }, prepare_adam(step))
}

/// A parameter with its gradient and its two moments, for [`adam_step_all`].
#[derive(Debug)]
pub struct AdamTensors<'a> {
    /// What is to be moved.
    pub parameter: &'a mut Tensor,
    /// Its gradient.
    pub gradient: &'a Tensor,
    /// Running mean of gradients.
    pub first: &'a mut Tensor,
    /// Running mean of squared gradients.
    pub second: &'a mut Tensor,
}

/// One step of Adam for many parameters, with the same results as [`adam_step`] for each. What does not depend on the
/// parameter is worked out once, and everything is checked before the first one is moved.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_tensor::optimizer_kernels::{AdamStep, AdamTensors, adam_step_all};
/// let (mut w, g) = (Tensor::from([1.0]).requires_grad(), Tensor::from([5.0]));
/// let (mut m, mut v) = (w.zeros_like(), w.zeros_like());
/// let all = [AdamTensors { parameter: &mut w, gradient: &g, first: &mut m, second: &mut v }];
/// adam_step_all(all, &AdamStep { learning_rate: 0.1, ..AdamStep::default() })?;
/// assert!((w.item::<f64>() - 0.9).abs() < 1e-8);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn adam_step_all<'a>(tensors: impl IntoIterator<Item = AdamTensors<'a>>, step: &AdamStep) -> Result<()> {
    adam_steps(tensors.into_iter().map(|tensors| (tensors, *step)))
}

/// As [`adam_step_all`], with settings for each parameter.
pub fn adam_steps<'a>(tensors: impl IntoIterator<Item = (AdamTensors<'a>, AdamStep)>) -> Result<()> {
    const OP: &str = "adam_step_all";
    let mut tensors: SmallVec<[(AdamTensors<'a>, AdamStep); 16]> = tensors.into_iter().collect();
    for (AdamTensors { parameter, gradient, first, second }, step) in &tensors {
        check(OP, parameter, &[gradient, first, second], step.step)?;
    }
    // Mostly the same for all.
    let mut last: Option<(AdamStep, optimizer::Adam)> = None;
    // Drained in place: the list is too long to be moved for free.
    for (tensors, step) in tensors.drain(..) {
        let prepared = match last {
            Some((before, prepared)) if before == step => prepared,
            _ => prepare_adam(&step),
        };
        last = Some((step, prepared));
        apply_adam(OP, tensors, prepared)?;
    }
    Ok(())
}

fn prepare_adam(step: &AdamStep) -> optimizer::Adam {
    let decay = step.learning_rate * step.weight_decay;
    let correction = |beta: f64| 1.0 - beta.powf(step.step as f64);
    optimizer::Adam {
        rate: step.learning_rate / correction(step.beta1),
        beta1: step.beta1,
        beta2: step.beta2,
        root_correction: 1.0 / correction(step.beta2).sqrt(),
        eps: step.eps,
        decay: if step.decoupled { 0.0 } else { step.weight_decay },
        shrink: if step.decoupled { 1.0 - decay } else { 1.0 },
        scale: step.gradient_scale,
    }
}

fn apply_adam(op: &'static str, tensors: AdamTensors<'_>, prepared: optimizer::Adam) -> Result<()> {
    let AdamTensors { parameter, gradient, first, second } = tensors;
    let gradient = gradient.contiguous_data()?;
    parameter.update(|parameter| {
        match_float!(op, parameter.dtype(), T => {
            let (p, g) = (parameter.as_mut_slice::<T>()?, gradient.contiguous_slice::<T>());
            optimizer::adam(prepared, p, g, first.as_mut_slice::<T>()?, second.as_mut_slice::<T>()?);
        });
        Ok(())
    })
}

/// One step of gradient descent: u ← μ u + (1 − d) g, p ← p − η u; with Nesterov, p ← p − η (g + μ u). The first step
/// sets the velocity to the gradient. Without a velocity, p ← p − η g, and the momentum must be 0.
pub fn sgd_step(
    parameter: &mut Tensor,
    gradient: &Tensor,
    velocity: Option<&mut Tensor>,
    step: &SgdStep,
) -> Result<()> {
    const OP: &str = "sgd_step";
    let state: &[&Tensor] = match &velocity {
        Some(velocity) => &[gradient, velocity],
        None => &[gradient],
    };
    check(OP, parameter, state, step.step)?;
    if velocity.is_none() && step.momentum != 0.0 {
        return Err(Error::parameter(OP, "momentum", "needs a velocity tensor to be kept between steps"));
    }
    let first = step.step == 1;
    let prepared = optimizer::Sgd {
        rate: step.learning_rate,
        momentum: step.momentum,
        undamped: if first { 1.0 } else { 1.0 - step.dampening },
        decay: step.weight_decay,
        nesterov: step.nesterov,
    };
    let gradient = gradient.contiguous_data()?;
    parameter.update(|parameter| {
        match_float!(OP, parameter.dtype(), T => {
            let (p, g) = (parameter.as_mut_slice::<T>()?, gradient.contiguous_slice::<T>());
            let velocity = velocity.map(|velocity| velocity.as_mut_slice::<T>()).transpose()?;
            optimizer::sgd(prepared, p, g, velocity);
        });
        Ok(())
    })
}
