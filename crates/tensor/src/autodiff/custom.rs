//! Operations with derivative rules of the user's own.
//!
//! The backward rule is written in tensor operations, so it can itself be differentiated. Forward mode comes from it by
//! transposition: the rule is linear in the incoming gradient, and the transpose of a transpose is the map itself.

use std::sync::Arc;

use smallvec::SmallVec;

use super::apply;
use super::functional::try_vjp;
use super::node::{Grads, Point, Saves, check_like};
use crate::error::OrPanic;
use crate::ops::reduce::sum_to;
use crate::ops::{Op, sum_terms};
use crate::{Error, Result, Tensor};

type Function = dyn Fn(&[Tensor]) -> Tensor + Send + Sync;
type Rule = dyn Fn(&[Tensor], &Tensor, &Tensor) -> Vec<Tensor> + Send + Sync;

/// A function of tensors with a backward rule given by the user.
///
/// ```
/// use tove_tensor::{CustomOp, Tensor, grad};
/// // Rounding with a straight-through gradient.
/// let round = CustomOp::new("round_through", |x| x[0].round()).with_backward(|_, _, g| vec![g.clone()]);
/// let slope = grad(|x: &Tensor| round.apply(&[x]).square().sum())(&Tensor::from([1.7]));
/// assert_eq!(slope.to_vec::<f64>(), [4.0]);
/// ```
#[derive(Clone)]
pub struct CustomOp {
    name: &'static str,
    forward: Arc<Function>,
    backward: Option<Arc<Rule>>,
}

impl CustomOp {
    /// A function without a derivative; applying it to a tracked tensor is an error until it gets a backward rule.
    pub fn new(name: &'static str, forward: impl Fn(&[Tensor]) -> Tensor + Send + Sync + 'static) -> CustomOp {
        CustomOp { name, forward: Arc::new(forward), backward: None }
    }

    /// Adds the rule that maps (inputs, output, gradient of the output) to one gradient per input, of the input's type
    /// and shape. A gradient of a shape that the input stretches to is summed back.
    pub fn with_backward(
        mut self,
        backward: impl Fn(&[Tensor], &Tensor, &Tensor) -> Vec<Tensor> + Send + Sync + 'static,
    ) -> CustomOp {
        self.backward = Some(Arc::new(backward));
        self
    }

    /// Applies the function.
    #[track_caller]
    pub fn apply(&self, inputs: &[&Tensor]) -> Tensor {
        self.try_apply(inputs).or_panic()
    }

    /// As [`CustomOp::apply`], with the error returned.
    pub fn try_apply(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        apply(self.clone(), inputs)
    }

    fn pull(&self, inputs: &[Tensor], output: &Tensor, grad: &Tensor) -> Result<Vec<Tensor>> {
        let Some(backward) = &self.backward else {
            return Err(Error::derivative(self.name, "has no derivative; give it one with `with_backward`"));
        };
        let grads = backward(inputs, output, grad);
        if grads.len() != inputs.len() {
            let problem = format!("its backward rule returned {} gradients for {} inputs", grads.len(), inputs.len());
            return Err(Error::derivative(self.name, problem));
        }
        let fitted = grads.into_iter().zip(inputs).map(|(grad, x)| {
            if !x.dtype().is_float() {
                return Ok(grad); // nobody reads it
            }
            // Here rather than in the engine, so that forward mode, which transposes this rule, sees the sum too.
            if x.shape().broadcast(grad.shape()).as_ref() != Some(grad.shape()) || x.dtype() != grad.dtype() {
                check_like(self.name, x.shape(), x.dtype(), &grad)?;
            }
            sum_to(grad, x.shape())
        });
        fitted.collect()
    }
}

fn values(at: &Point<'_>) -> Vec<Tensor> {
    (0..at.arity()).map(|i| at.input(i).clone()).collect()
}

impl Op for CustomOp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let plain: SmallVec<[Tensor; 3]> = inputs.iter().map(|x| x.untracked()).collect();
        Ok((self.forward)(&plain).detach())
    }

    fn is_differentiable(&self) -> bool {
        self.backward.is_some()
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::all_inputs().and_output()
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let (inputs, output) = (values(at), at.output());
        let anchor = Tensor::zeros(output.shape().clone(), output.dtype());
        let terms = tangents.iter().enumerate().filter_map(|(i, t)| Some((i, (*t)?))).map(|(i, tangent)| {
            let rule = |u: &Tensor| Ok(self.pull(&inputs, output, u)?.swap_remove(i));
            let (_, transposed) = try_vjp(rule, &anchor)?;
            Ok(Some(transposed(tangent)))
        });
        sum_terms(terms.collect::<Vec<_>>())
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        Ok(self.pull(&values(at), at.output(), grad)?.into_iter().map(Some).collect())
    }
}
