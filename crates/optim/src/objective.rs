//! A function to be minimised, with its derivatives from the engine.
//!
//! f: ℝⁿ → ℝ gives the value f(x), the gradient ∇f(x) (reverse mode), the Hessian ∇²f(x) (forward over reverse, one sweep)
//! and the product ∇²f(x) v without the matrix. Any function or closure from a tensor to a tensor of one element is an
//! objective; a type with closed forms overrides the provided methods. A function with several outputs is refused with
//! [`Error::Shape`]: there is no order among vectors, so nothing to minimise.
//!
//! ```
//! use tove_optim::Objective;
//! use tove_tensor::Tensor;
//! let f = |x: &Tensor| x.square().sum();
//! let x = Tensor::from([3.0, -1.0]);
//! assert_eq!(f.value(&x)?, 10.0);
//! assert_eq!(f.gradient(&x)?.to_vec::<f64>(), [6.0, -2.0]);
//! assert_eq!(f.hessian(&x)?.to_vec::<f64>(), [2.0, 0.0, 0.0, 2.0]);
//! assert!((|x: &Tensor| x.square()).gradient(&x).is_err());
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use std::cell::RefCell;

use tove_tensor::{DType, Error, Result, Shape, Tensor, Tree, TryOps, hessian, hvp, value_and_grad};

use crate::fault;

/// A scalar function of a tensor of any shape, f32 or f64.
pub trait Objective {
    /// The value as a tensor of one element, made of tensor operations so that it can be differentiated.
    fn evaluate(&self, x: &Tensor) -> Result<Tensor>;

    /// f(x).
    fn value(&self, x: &Tensor) -> Result<f64> {
        fault::number("objective", &scalar(self.evaluate(&x.detach())?)?)
    }

    /// f(x) and ∇f(x), the latter in the shape of x.
    fn value_and_gradient(&self, x: &Tensor) -> Result<(f64, Tensor)> {
        let (value, gradient) = guarded(self, x, |f| value_and_grad(f)(x))?;
        Ok((fault::number("objective", &value)?, gradient))
    }

    /// ∇f(x), in the shape of x.
    fn gradient(&self, x: &Tensor) -> Result<Tensor> {
        Ok(self.value_and_gradient(x)?.1)
    }

    /// ∇²f(x) as a matrix (n, n) over the elements of x in row-major order.
    fn hessian(&self, x: &Tensor) -> Result<Tensor> {
        guarded(self, x, |f| hessian(f, x))?.try_reshape([x.numel(), x.numel()])
    }

    /// ∇²f(x) v without the matrix, in the shape of x.
    fn hessian_vector(&self, x: &Tensor, v: &Tensor) -> Result<Tensor> {
        fault::alike("hessian_vector", x, v, "the direction needs the shape of the point")?;
        guarded(self, x, |f| hvp(f, x, v))
    }
}

impl<F: Fn(&Tensor) -> Tensor> Objective for F {
    fn evaluate(&self, x: &Tensor) -> Result<Tensor> {
        Ok(self(x))
    }
}

/// An objective whose function may itself fail.
///
/// ```
/// use tove_optim::{Objective, objective::Fallible};
/// use tove_tensor::{Tensor, TryOps};
/// let a = Tensor::from([[1.0, 2.0]]);
/// let f = Fallible(|x: &Tensor| Ok(a.try_matmul(x)?.sum()));
/// assert_eq!(f.value(&Tensor::from([1.0, 1.0]))?, 3.0);
/// assert!(f.gradient(&Tensor::from([1.0, 1.0, 1.0])).is_err()); // shapes do not fit
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub struct Fallible<F>(
    /// The function.
    pub F,
);

impl<F: Fn(&Tensor) -> Result<Tensor>> Objective for Fallible<F> {
    fn evaluate(&self, x: &Tensor) -> Result<Tensor> {
        (self.0)(x)
    }
}

/// The value must be one floating-point number.
fn scalar(y: Tensor) -> Result<Tensor> {
    if y.numel() != 1 {
        let problem = "an objective has one number as its value; reduce it with `sum`, `mean` or a norm";
        return Err(fault::shape("objective", y.shape(), problem));
    }
    fault::float("objective", &y)?;
    Ok(y)
}

/// Runs a transformation of the engine over a function that may fail: the first error is kept aside, since the
/// transformations themselves take functions that cannot fail.
fn guarded<O: Objective + ?Sized, R>(
    objective: &O,
    x: &Tensor,
    transform: impl FnOnce(&dyn Fn(&Tensor) -> Tensor) -> R,
) -> Result<R> {
    fault::float("objective", x)?;
    let failure: RefCell<Option<Error>> = RefCell::new(None);
    let function = |x: &Tensor| match objective.evaluate(x).and_then(scalar) {
        Ok(y) => y,
        Err(error) => {
            failure.borrow_mut().get_or_insert(error);
            Tensor::zeros((), x.dtype())
        }
    };
    let result = transform(&function);
    match failure.take() {
        None => Ok(result),
        Some(error) => Err(error),
    }
}

/// How to put a flat vector back into the structure it came from; made by [`ravel`].
pub struct Unravel<P> {
    template: P,
    shapes: Vec<Shape>,
    size: usize,
}

/// All tensors of a structure as one vector, and the way back. The way back is differentiable, so that every tool of this
/// crate also serves functions of several tensors.
///
/// ```
/// use tove_optim::{Objective, ravel};
/// use tove_tensor::Tensor;
/// let (flat, unravel) = ravel(&(Tensor::from([1.0, 2.0]), Tensor::from(3.0)))?;
/// assert_eq!(flat.to_vec::<f64>(), [1.0, 2.0, 3.0]);
/// let f = |flat: &Tensor| { let (w, b) = unravel.tree(flat).unwrap(); (w.sum() * b).sum() };
/// assert_eq!(f.gradient(&flat)?.to_vec::<f64>(), [3.0, 3.0, 3.0]);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn ravel<P: Tree>(tree: &P) -> Result<(Tensor, Unravel<P>)> {
    let template = tree.map(|leaf| leaf.detach());
    let leaves = template.leaves();
    let dtype = leaves.first().map_or(DType::F64, Tensor::dtype);
    for leaf in &leaves {
        fault::float("ravel", leaf)?;
        if leaf.dtype() != dtype {
            return Err(Error::DTypePair { op: "ravel", left: dtype, right: leaf.dtype() });
        }
    }
    let flat: Vec<Tensor> = leaves.iter().map(|leaf| leaf.try_reshape([leaf.numel()])).collect::<Result<_>>()?;
    let size = flat.iter().map(Tensor::numel).sum();
    let vector = match flat.as_slice() {
        [] => Tensor::zeros([0], dtype),
        _ => Tensor::try_concat(&flat.iter().collect::<Vec<_>>(), 0)?,
    };
    let shapes = leaves.iter().map(|leaf| leaf.shape().clone()).collect();
    Ok((vector, Unravel { template, shapes, size }))
}

impl<P: Tree> Unravel<P> {
    /// The structure with the numbers of the vector.
    pub fn tree(&self, flat: &Tensor) -> Result<P> {
        if flat.dims() != [self.size] {
            let problem = format!("a vector of {} numbers fills this structure", self.size);
            return Err(fault::shape("unravel", flat.shape(), problem));
        }
        let mut start = 0;
        let mut leaves = Vec::with_capacity(self.shapes.len());
        for shape in &self.shapes {
            leaves.push(flat.try_narrow(0, start, shape.numel())?.try_reshape(shape.clone())?);
            start += shape.numel();
        }
        Ok(self.template.rebuild(&mut leaves.into_iter()))
    }
}
