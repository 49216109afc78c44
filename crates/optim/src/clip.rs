//! Gradient clipping (Pascanu, Mikolov and Bengio 2013): if ‖g‖ > c, g ← g c / ‖g‖.
//!
//! Near a cliff of the loss the gradient is huge and points the right way; a step of its full length throws the
//! parameters away. Clipping by norm keeps the direction, clipping by value does not. The norm is that of all gradients
//! together, summed in double precision in an order that depends on the shapes alone.
//!
//! ```
//! use tove_optim::clip_norm;
//! use tove_tensor::Tensor;
//! let w = Tensor::from([1.0, 1.0]).requires_grad();
//! w.set_grad(Some(Tensor::from([30.0, 40.0])));
//! let norm = clip_norm(&[&w], 5.0)?;
//! assert_eq!((norm, w.grad().unwrap().to_vec::<f64>()), (50.0, vec![3.0, 4.0]));
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use std::borrow::Borrow;

use tove_tensor::step_rules::{clamp, largest_magnitude, scale, sum_of_squares};
use tove_tensor::{Error, Result, Tensor, TryReduce};

/// The norm of all gradients that the parameters' leaves hold, as one vector.
///
/// ```
/// use tove_optim::gradient_norm;
/// use tove_tensor::Tensor;
/// let parameters = [Tensor::from([3.0f32]).requires_grad(), Tensor::from([1e200]).requires_grad()];
/// parameters[0].set_grad(Some(Tensor::from([3.0f32])));
/// parameters[1].set_grad(Some(Tensor::from([1e200])));
/// assert_eq!(gradient_norm(&parameters)?, 1e200); // no overflow on the way
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn gradient_norm<P: Borrow<Tensor>>(parameters: &[P]) -> Result<f64> {
    let total = |factor: f64| -> Result<f64> {
        let mut total = 0.0;
        for parameter in parameters {
            if let Some(gradient) = parameter.borrow().grad() {
                total += sum_of_squares(&gradient, factor)?;
            }
        }
        Ok(total)
    };
    let plain = total(1.0)?;
    if plain.is_nan() || (1e-280..1e300).contains(&plain) {
        return Ok(plain.sqrt());
    }
    // Squares left the range of numbers: once more with the largest entry as the unit.
    let mut largest = 0.0f64;
    for parameter in parameters {
        if let Some(gradient) = parameter.borrow().grad() {
            largest = largest.max(largest_magnitude(&gradient)?);
        }
    }
    if largest == 0.0 || largest.is_infinite() { Ok(largest) } else { Ok(total(1.0 / largest)?.sqrt() * largest) }
}

/// Position of the first parameter whose gradient has NaN or infinite entries; none if all gradients are finite.
///
/// ```
/// use tove_optim::non_finite_gradient;
/// use tove_tensor::Tensor;
/// let w = [Tensor::from([1.0]).requires_grad(), Tensor::from([0.0]).requires_grad()];
/// (w[0].square() + w[1].sqrt()).sum().backward(); // the square root has no finite slope at 0
/// assert_eq!(non_finite_gradient(&w)?, Some(1));
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn non_finite_gradient<P: Borrow<Tensor>>(parameters: &[P]) -> Result<Option<usize>> {
    for (position, parameter) in parameters.iter().enumerate() {
        let Some(gradient) = parameter.borrow().grad() else { continue };
        // One fast pass; squares of finite numbers above 1e154 leave the range too, so a suspicion is looked into.
        let suspicious = !sum_of_squares(&gradient, 1.0)?.is_finite();
        if suspicious && !gradient.detach().is_finite().try_all()?.try_item::<bool>()? {
            return Ok(Some(position));
        }
    }
    Ok(None)
}

/// Multiplies all gradients by a factor.
///
/// ```
/// use tove_optim::scale_gradients;
/// use tove_tensor::Tensor;
/// let w = Tensor::from([1.0, 1.0]).requires_grad();
/// w.set_grad(Some(Tensor::from([30.0, 40.0])));
/// scale_gradients(&[&w], 0.5)?;
/// assert_eq!(w.grad().unwrap().to_vec::<f64>(), [15.0, 20.0]);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn scale_gradients<P: Borrow<Tensor>>(parameters: &[P], factor: f64) -> Result<()> {
    each_gradient(parameters, |gradient| scale(gradient, factor))
}

/// Scales all gradients together so that their norm is at most `limit`, and returns the norm they had. Gradients that are
/// not finite are an error and stay as they are.
pub fn clip_norm<P: Borrow<Tensor>>(parameters: &[P], limit: f64) -> Result<f64> {
    let (norm, factor) = norm_and_factor(parameters, limit)?;
    if factor != 1.0 {
        each_gradient(parameters, |gradient| scale(gradient, factor))?;
    }
    Ok(norm)
}

/// The norm of all gradients together, and what they are to be multiplied by so that it is at most `limit`.
pub(crate) fn norm_and_factor<P: Borrow<Tensor>>(parameters: &[P], limit: f64) -> Result<(f64, f64)> {
    const OP: &str = "clip_norm";
    check_limit(OP, limit)?;
    let norm = gradient_norm(parameters)?;
    if !norm.is_finite() {
        let problem = format!(
            "the gradients' norm is {norm}; lower the learning rate, or find the operation that left the range of numbers"
        );
        return Err(Error::Data { op: OP, problem: problem.into() });
    }
    Ok((norm, if norm > limit { limit / norm } else { 1.0 }))
}

/// Brings every entry of every gradient into [−limit, limit].
///
/// ```
/// use tove_optim::clip_value;
/// use tove_tensor::Tensor;
/// let w = Tensor::from([1.0, 1.0]).requires_grad();
/// w.set_grad(Some(Tensor::from([30.0, -0.5])));
/// clip_value(&[&w], 1.0)?;
/// assert_eq!(w.grad().unwrap().to_vec::<f64>(), [1.0, -0.5]);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn clip_value<P: Borrow<Tensor>>(parameters: &[P], limit: f64) -> Result<()> {
    check_limit("clip_value", limit)?;
    each_gradient(parameters, |gradient| clamp(gradient, limit))
}

fn check_limit(op: &'static str, limit: f64) -> Result<()> {
    if limit > 0.0 {
        return Ok(());
    }
    let problem = format!("is {limit}; give a number greater than 0");
    Err(Error::Parameter { op, name: "limit", problem: problem.into() })
}

/// Changes each gradient in its leaf; taken out meanwhile, it is alone and changed in place.
fn each_gradient<P: Borrow<Tensor>>(parameters: &[P], change: impl Fn(&mut Tensor) -> Result<()>) -> Result<()> {
    for parameter in parameters {
        let parameter = parameter.borrow();
        if let Some(mut gradient) = parameter.take_grad() {
            let result = change(&mut gradient);
            parameter.set_grad(Some(gradient));
            result?;
        }
    }
    Ok(())
}
