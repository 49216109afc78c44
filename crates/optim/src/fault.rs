//! Short forms of the errors of this crate, all of the engine's one type, and of the reads of numbers they guard.

use tove_tensor::{Error, Result, Shape, Tensor, TryOps};

#[cold]
pub(crate) fn parameter(op: &'static str, name: &'static str, problem: impl Into<String>) -> Error {
    Error::Parameter { op, name, problem: problem.into().into() }
}

#[cold]
pub(crate) fn data(op: &'static str, problem: impl Into<String>) -> Error {
    Error::Data { op, problem: problem.into().into() }
}

#[cold]
pub(crate) fn derivative(op: &'static str, problem: impl Into<String>) -> Error {
    Error::Derivative { op, problem: problem.into().into() }
}

#[cold]
pub(crate) fn shape(op: &'static str, shape: &Shape, problem: impl Into<String>) -> Error {
    Error::Shape { op, shape: Box::new(shape.clone()), problem: problem.into().into() }
}

#[cold]
pub(crate) fn shapes(op: &'static str, left: &Tensor, right: &Tensor, problem: impl Into<String>) -> Error {
    let shapes = Box::new((left.shape().clone(), right.shape().clone()));
    Error::ShapePair { op, shapes, problem: problem.into().into() }
}

/// The tensor must hold f32 or f64.
pub(crate) fn float(op: &'static str, x: &Tensor) -> Result<()> {
    if x.dtype().is_float() {
        return Ok(());
    }
    Err(Error::DType { op, dtype: x.dtype(), expected: "points and gradients need f32 or f64" })
}

/// Both must have one shape and one type.
pub(crate) fn alike(op: &'static str, left: &Tensor, right: &Tensor, problem: &'static str) -> Result<()> {
    if left.shape() != right.shape() {
        return Err(shapes(op, left, right, problem));
    }
    if left.dtype() != right.dtype() {
        return Err(Error::DTypePair { op, left: left.dtype(), right: right.dtype() });
    }
    Ok(())
}

/// A number that must be positive and finite.
pub(crate) fn positive(op: &'static str, name: &'static str, value: f64) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(parameter(op, name, format!("is {value}; it must be positive and finite")))
}

/// A number that must be finite and not negative.
pub(crate) fn not_negative(op: &'static str, name: &'static str, value: f64) -> Result<()> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(parameter(op, name, format!("is {value}; it must be finite and not negative")))
}

/// ⟨a, b⟩ over all elements, summed in f64.
pub(crate) fn dot(a: &Tensor, b: &Tensor) -> Result<f64> {
    alike("dot", a, b, "an inner product needs equal shapes")?;
    Ok(a.detach().to_f64_vec().iter().zip(b.detach().to_f64_vec()).map(|(a, b)| a * b).sum())
}

/// ‖a‖² over all elements, summed in f64.
pub(crate) fn square_norm(a: &Tensor) -> f64 {
    a.detach().to_f64_vec().iter().map(|a| a * a).sum()
}

/// ‖a‖ over all elements.
pub(crate) fn norm(a: &Tensor) -> f64 {
    square_norm(a).sqrt()
}

/// a + c b.
pub(crate) fn add_scaled(a: &Tensor, c: f64, b: &Tensor) -> Result<Tensor> {
    a.try_add(&scaled(b, c)?)
}

/// c b, for floating-point tensors.
pub(crate) fn scaled(b: &Tensor, c: f64) -> Result<Tensor> {
    b.try_mul(&Tensor::full((), c, b.dtype()))
}

/// The only number of a tensor as f64.
pub(crate) fn number(op: &'static str, y: &Tensor) -> Result<f64> {
    match y.detach().to_f64_vec().as_slice() {
        [value] => Ok(*value),
        _ => Err(shape(op, y.shape(), "is not a single number")),
    }
}

/// Whether all elements are finite.
pub(crate) fn all_finite(x: &Tensor) -> bool {
    x.detach().to_f64_vec().iter().all(|x| x.is_finite())
}
