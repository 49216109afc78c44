//! Fused steps of the simpler optimisers, and what gradient clipping needs; Adam is in
//! [`optimizer_kernels`](crate::optimizer_kernels).
//!
//! Each function makes one pass over parameter, gradient and state, in place, for f32 and f64. A parameter whose buffer a
//! graph still holds is copied first. With g the gradient, a weight decay λ acts as g + λ p in its place.
//!
//! ```
//! use tove_tensor::Tensor;
//! use tove_tensor::step_rules::{AdagradStep, adagrad_step};
//! let mut w = Tensor::from([1.0, 1.0]).requires_grad();
//! let mut sum = w.zeros_like();
//! let step = AdagradStep { learning_rate: 0.1, eps: 0.0, weight_decay: 0.0 };
//! adagrad_step(&mut w, &Tensor::from([5.0, -0.2]), &mut sum, &step)?;
//! let w = w.to_vec::<f64>(); // every coordinate moves by the learning rate at first
//! assert!((w[0] - 0.9).abs() < 1e-12 && (w[1] - 1.1).abs() < 1e-12);
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use crate::dtype::match_float;
use crate::kernels::math::Float;
use crate::kernels::step_rules as kernels;
use crate::optimizer_kernels::check;
use crate::{Error, Result, Tensor};

/// Settings of [`momentum_step`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MomentumStep {
    /// Factor of the step.
    pub learning_rate: f64,
    /// Share of the velocity that is kept.
    pub momentum: f64,
    /// Strength of the pull towards zero.
    pub weight_decay: f64,
    /// Whether to add the velocity's next contribution at once (Nesterov).
    pub nesterov: bool,
    /// Whether gradients enter the velocity times the learning rate of their own step, instead of the velocity being
    /// multiplied by that of the present one.
    pub rate_in_velocity: bool,
}

/// Plain gradient descent: p ← p − η g.
pub fn plain_step(parameter: &mut Tensor, gradient: &Tensor, learning_rate: f64, weight_decay: f64) -> Result<()> {
    const OP: &str = "plain_step";
    check(OP, parameter, &[gradient], 1)?;
    let gradient = gradient.contiguous_data()?;
    parameter.update(|parameter| {
        match_float!(OP, parameter.dtype(), T => {
            let rule = kernels::Plain::<T> { rate: of(learning_rate), decay: of(weight_decay) };
            kernels::run(rule, parameter.as_mut_slice::<T>()?, gradient.contiguous_slice::<T>(), []);
        });
        Ok(())
    })
}

/// Momentum: u ← μ u + g, p ← p − η u, with Nesterov p ← p − η (g + μ u); with `rate_in_velocity`, u ← μ u + η g,
/// p ← p − u, with Nesterov p ← p − (η g + μ u).
pub fn momentum_step(
    parameter: &mut Tensor,
    gradient: &Tensor,
    velocity: &mut Tensor,
    step: &MomentumStep,
) -> Result<()> {
    const OP: &str = "momentum_step";
    check(OP, parameter, &[gradient, velocity], 1)?;
    let (rate_in, rate_out) = rates(step.learning_rate, step.rate_in_velocity);
    let gradient = gradient.contiguous_data()?;
    parameter.update(|parameter| {
        match_float!(OP, parameter.dtype(), T => {
            let rule = kernels::Momentum::<T> {
                momentum: of(step.momentum),
                rate_in: of(rate_in),
                rate_out: of(rate_out),
                decay: of(step.weight_decay),
                nesterov: step.nesterov,
            };
            let g = gradient.contiguous_slice::<T>();
            kernels::run(rule, parameter.as_mut_slice::<T>()?, g, [velocity.as_mut_slice::<T>()?]);
        });
        Ok(())
    })
}

/// The second half of a Nesterov step with the gradient taken at the look-ahead point p = θ + α v:
/// p ← p − η g (which is the new θ), v ← α v − η g.
pub fn look_ahead_step(
    parameter: &mut Tensor,
    gradient: &Tensor,
    velocity: &mut Tensor,
    step: &MomentumStep,
) -> Result<()> {
    const OP: &str = "look_ahead_step";
    check(OP, parameter, &[gradient, velocity], 1)?;
    let gradient = gradient.contiguous_data()?;
    parameter.update(|parameter| {
        match_float!(OP, parameter.dtype(), T => {
            let (momentum, rate, decay) = (of(step.momentum), of(step.learning_rate), of(step.weight_decay));
            let rule = kernels::LookAhead::<T> { momentum, rate, decay };
            let g = gradient.contiguous_slice::<T>();
            kernels::run(rule, parameter.as_mut_slice::<T>()?, g, [velocity.as_mut_slice::<T>()?]);
        });
        Ok(())
    })
}

/// p ← p + c v.
pub fn add_scaled(parameter: &mut Tensor, direction: &Tensor, factor: f64) -> Result<()> {
    const OP: &str = "add_scaled";
    check(OP, parameter, &[direction], 1)?;
    let direction = direction.contiguous_data()?;
    parameter.update(|parameter| {
        match_float!(OP, parameter.dtype(), T => {
            let rule = kernels::AddScaled::<T>(of(factor));
            kernels::run(rule, parameter.as_mut_slice::<T>()?, direction.contiguous_slice::<T>(), []);
        });
        Ok(())
    })
}

/// p ← v, in the memory that p has.
pub fn assign(parameter: &mut Tensor, value: &Tensor) -> Result<()> {
    const OP: &str = "assign";
    check(OP, parameter, &[value], 1)?;
    let value = value.contiguous_data()?;
    parameter.update(|parameter| {
        match_float!(OP, parameter.dtype(), T => {
            parameter.as_mut_slice::<T>()?.copy_from_slice(value.contiguous_slice::<T>());
        });
        Ok(())
    })
}

/// Settings of [`adagrad_step`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdagradStep {
    /// Factor of the step.
    pub learning_rate: f64,
    /// Added to the root of the sum of squares.
    pub eps: f64,
    /// Strength of the pull towards zero.
    pub weight_decay: f64,
}

/// Adagrad: a ← a + g², p ← p − η g / (√a + ν).
pub fn adagrad_step(parameter: &mut Tensor, gradient: &Tensor, sum: &mut Tensor, step: &AdagradStep) -> Result<()> {
    const OP: &str = "adagrad_step";
    check(OP, parameter, &[gradient, sum], 1)?;
    let gradient = gradient.contiguous_data()?;
    parameter.update(|parameter| {
        match_float!(OP, parameter.dtype(), T => {
            let (rate, eps, decay) = (of(step.learning_rate), of(step.eps), of(step.weight_decay));
            let rule = kernels::Adagrad::<T> { rate, eps, decay };
            let g = gradient.contiguous_slice::<T>();
            kernels::run(rule, parameter.as_mut_slice::<T>()?, g, [sum.as_mut_slice::<T>()?]);
        });
        Ok(())
    })
}

/// Settings of [`rms_prop_step`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsPropStep {
    /// Factor of the step.
    pub learning_rate: f64,
    /// Decay β of the mean square.
    pub beta: f64,
    /// Added to the root of the mean square.
    pub eps: f64,
    /// Strength of the pull towards zero.
    pub weight_decay: f64,
    /// Share of the velocity that is kept, if there is one.
    pub momentum: f64,
    /// As in [`MomentumStep`].
    pub rate_in_velocity: bool,
}

/// RMSProp: a ← β a + (1 − β) g², p ← p − η g / (√a + ν). With `mean`, m ← β m + (1 − β) g and a − m² is under the root;
/// with `velocity`, u ← μ u + g / (√a + ν), p ← p − η u.
pub fn rms_prop_step(
    parameter: &mut Tensor,
    gradient: &Tensor,
    square: &mut Tensor,
    mean: Option<&mut Tensor>,
    velocity: Option<&mut Tensor>,
    step: &RmsPropStep,
) -> Result<()> {
    const OP: &str = "rms_prop_step";
    check(OP, parameter, &[gradient, square], 1)?;
    for other in mean.iter().chain(&velocity) {
        check(OP, parameter, &[other], 1)?;
    }
    if velocity.is_none() && step.momentum != 0.0 {
        return Err(Error::parameter(OP, "momentum", "needs a velocity tensor to be kept between steps"));
    }
    let (rate_in, rate_out) = rates(step.learning_rate, step.rate_in_velocity);
    let gradient = gradient.contiguous_data()?;
    parameter.update(|parameter| {
        match_float!(OP, parameter.dtype(), T => {
            let rule = kernels::RmsProp::<T> {
                keep: of(step.beta),
                rest: of(1.0 - step.beta),
                eps: of(step.eps),
                decay: of(step.weight_decay),
                momentum: of(step.momentum),
                rate_in: of(rate_in),
                rate_out: of(rate_out),
            };
            let (p, g) = (parameter.as_mut_slice::<T>()?, gradient.contiguous_slice::<T>());
            let square = square.as_mut_slice::<T>()?;
            match (mean, velocity) {
                (None, None) => kernels::run(kernels::RmsPlain(rule), p, g, [square]),
                (Some(m), None) => kernels::run(kernels::RmsCentred(rule), p, g, [square, m.as_mut_slice::<T>()?]),
                (None, Some(u)) => kernels::run(kernels::RmsMomentum(rule), p, g, [square, u.as_mut_slice::<T>()?]),
                (Some(m), Some(u)) => {
                    let state = [square, m.as_mut_slice::<T>()?, u.as_mut_slice::<T>()?];
                    kernels::run(kernels::RmsCentredMomentum(rule), p, g, state);
                }
            }
        });
        Ok(())
    })
}

/// Σ (s x)² in double precision, in an order that depends on the length alone.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_tensor::step_rules::sum_of_squares;
/// assert_eq!(sum_of_squares(&Tensor::from([3.0f32, 4.0]), 1.0)?, 25.0);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn sum_of_squares(x: &Tensor, scale: f64) -> Result<f64> {
    const OP: &str = "sum_of_squares";
    readable(OP, x)?;
    let x = x.contiguous_data()?;
    Ok(match_float!(OP, x.dtype(), T => kernels::sum_of_squares(x.contiguous_slice::<T>(), scale)))
}

/// The largest magnitude among the elements; NaNs are passed over, and it is 0 of none.
pub fn largest_magnitude(x: &Tensor) -> Result<f64> {
    const OP: &str = "largest_magnitude";
    readable(OP, x)?;
    let x = x.contiguous_data()?;
    Ok(match_float!(OP, x.dtype(), T => kernels::largest_magnitude(x.contiguous_slice::<T>())))
}

/// Multiplies every element, in place when nobody else holds the buffer.
pub fn scale(x: &mut Tensor, factor: f64) -> Result<()> {
    const OP: &str = "scale";
    readable(OP, x)?;
    x.update(|x| {
        match_float!(OP, x.dtype(), T => kernels::scale(x.as_mut_slice::<T>()?, of(factor)));
        Ok(())
    })
}

/// Brings every element into [−limit, limit], in place when nobody else holds the buffer. NaN stays NaN.
pub fn clamp(x: &mut Tensor, limit: f64) -> Result<()> {
    const OP: &str = "clamp";
    readable(OP, x)?;
    x.update(|x| {
        match_float!(OP, x.dtype(), T => kernels::clamp(x.as_mut_slice::<T>()?, of(limit)));
        Ok(())
    })
}

fn of<T: Float>(x: f64) -> T {
    T::from_f64(x)
}

/// The factors of what enters the velocity and of what leaves it.
fn rates(learning_rate: f64, in_velocity: bool) -> (f64, f64) {
    if in_velocity { (learning_rate, 1.0) } else { (1.0, learning_rate) }
}

fn readable(op: &'static str, x: &Tensor) -> Result<()> {
    if x.is_batched() { Err(Error::derivative(op, "values cannot be read inside `vmap`")) } else { Ok(()) }
}
