//! Numerical differentiation by the definition of the derivative, for checking.
//!
//! The forward quotient (f(x + h) - f(x)) / h has error O(h) and costs P + 1 evaluations for P parameters; the central
//! quotient (f(x + h) - f(x - h)) / 2h has error O(h²) and costs 2P. For tiny h both drown in round-off. This cost is
//! why differences are a checking tool only.

use crate::error::OrPanic;
use crate::{DType, Error, Result, Tensor};

/// Which quotient to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// (f(x + h) - f(x)) / h.
    Forward,
    /// (f(x + h) - f(x - h)) / 2h.
    Central,
}

/// A derivative by differences, with what it cost.
#[derive(Clone, Debug)]
pub struct Numerical {
    /// The Jacobian, output axes first; the gradient for scalar functions.
    pub jacobian: Tensor,
    /// How often the function was evaluated.
    pub evaluations: usize,
}

/// The Jacobian of `f` at `x` by differences with step `h`. The function is evaluated in the type of `x`, the quotients
/// are taken in f64 over the steps as that type holds them; for f32 a step of about 1e-2 loses least.
///
/// ```
/// use tove_tensor::{Scheme, Tensor, numerical_jacobian};
/// let f = |x: &Tensor| (x * x - x * 1.5).sum();
/// let x = Tensor::from([0.5]);
/// let slope = |scheme| numerical_jacobian(f, &x, scheme, 0.01).jacobian.item::<f64>();
/// assert!((slope(Scheme::Forward) + 0.49).abs() < 1e-12);
/// assert!((slope(Scheme::Central) + 0.50).abs() < 1e-12);
/// ```
#[track_caller]
pub fn numerical_jacobian(f: impl Fn(&Tensor) -> Tensor, x: &Tensor, scheme: Scheme, h: f64) -> Numerical {
    try_numerical_jacobian(f, x, scheme, h).or_panic()
}

/// As [`numerical_jacobian`], with the error returned.
pub fn try_numerical_jacobian(f: impl Fn(&Tensor) -> Tensor, x: &Tensor, scheme: Scheme, h: f64) -> Result<Numerical> {
    if !(h > 0.0 && h.is_finite()) {
        return Err(Error::parameter("numerical_jacobian", "h", format!("must be a positive number, not {h}")));
    }
    let point = x.detach().to_dtype(DType::F64).to_vec::<f64>();
    // Where a point lies once it is rounded to the type of `x`: the width of a step is measured there.
    let rounded = |value: f64| if x.dtype() == DType::F32 { f64::from(value as f32) } else { value };
    let mut evaluations = 0;
    let mut value_at = |point: &[f64]| -> Result<Tensor> {
        evaluations += 1;
        Ok(f(&Tensor::try_from_vec(point.to_vec(), x.shape())?.to_dtype(x.dtype())).detach())
    };
    let base = if scheme == Scheme::Forward { Some(value_at(&point)?) } else { None };
    let mut columns = Vec::with_capacity(point.len());
    let mut shape = base.as_ref().map(|base| base.shape().clone());
    for i in 0..point.len() {
        let mut moved = point.clone();
        moved[i] = rounded(point[i] + h);
        let up = value_at(&moved)?.to_dtype(DType::F64);
        let (down, width) = match &base {
            Some(base) => (base.to_dtype(DType::F64), moved[i] - point[i]),
            None => {
                let above = moved[i];
                moved[i] = rounded(point[i] - h);
                (value_at(&moved)?.to_dtype(DType::F64), above - moved[i])
            }
        };
        if width == 0.0 {
            let problem = format!("is {h}, which is lost beside {} in {}", point[i], x.dtype());
            return Err(Error::parameter("numerical_jacobian", "h", problem));
        }
        shape.get_or_insert_with(|| up.shape().clone());
        columns.push(((up - down) / width).reshape([down_count(&shape)]));
    }
    let Some(shape) = shape else {
        let y = value_at(&point)?;
        let empty = y.shape().joined(x.dims());
        return Ok(Numerical { jacobian: Tensor::zeros(empty, DType::F64), evaluations });
    };
    if columns.is_empty() {
        return Ok(Numerical { jacobian: Tensor::zeros(shape.joined(x.dims()), DType::F64), evaluations });
    }
    let matrix = Tensor::try_stack(&columns.iter().collect::<Vec<_>>(), 1)?; // (outputs, inputs)
    Ok(Numerical { jacobian: matrix.reshape(shape.joined(x.dims())), evaluations })
}

fn down_count(shape: &Option<crate::Shape>) -> usize {
    shape.as_ref().map_or(1, crate::Shape::numel)
}
