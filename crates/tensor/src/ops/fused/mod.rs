//! Fused operations: a hand-tuned forward and backward kernel beside a plain composition that defines them.
//!
//! Plain first-order reverse mode runs the kernels. Everything else (forward mode, a backward pass that is itself
//! differentiated, `vmap` without a rule) differentiates the definition at the saved inputs. The definition is also the
//! oracle the kernels are tested against.

mod attention;
mod batch_norm;
mod cross_entropy;
mod dropout;
mod layer_norm;
mod linear;
mod packed_attention;
mod softmax;
mod squared_error;

use smallvec::SmallVec;

use crate::autodiff::{Grads, Point, Saves, apply, partial_jvp, partial_vjp};
use crate::ops::{Aux, Op};
use crate::{Result, Tensor};

pub(crate) use attention::attention;
pub use batch_norm::BatchStatistics;
pub(crate) use batch_norm::{batch_norm, batch_norm_with};
pub use cross_entropy::CrossEntropy;
pub(crate) use cross_entropy::cross_entropy;
pub(crate) use dropout::dropout;
pub(crate) use layer_norm::layer_norm;
pub use linear::Activation;
pub(crate) use linear::linear;
pub(crate) use packed_attention::packed_attention;
pub(crate) use softmax::{log_softmax, softmax};
pub(crate) use squared_error::squared_error;

/// An operation with kernels and a definition.
pub(crate) trait Fused: Clone + Send + Sync + 'static {
    const NAME: &'static str;

    /// The value, with by-products for [`Fused::backward`].
    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)>;

    /// Gradients on plain data, for the inputs in `needs`.
    fn backward(&self, at: &Saved<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads>;

    /// The same function in other operations.
    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor>;

    /// The tangent in tensor operations, where that is cheaper than differentiating the definition.
    fn tangent(&self, _at: &Point<'_>, _tangents: &[Option<&Tensor>]) -> Option<Result<Option<Tensor>>> {
        None
    }

    /// The gradients in tensor operations, where that is cheaper than differentiating the definition. Used when the
    /// backward pass is itself differentiated.
    fn adjoint(&self, _at: &Point<'_>, _grad: &Tensor, _needs: &[bool]) -> Option<Result<Grads>> {
        None
    }

    /// Whether [`Fused::backward`] reads the result.
    const NEEDS_OUTPUT: bool = false;

    /// The operation on tensors with a further axis in front where `batched` says so, if that is the same operation.
    fn batch(&self, _inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        Ok(None)
    }

    fn flops(&self, _inputs: &[&Tensor], output: &Tensor) -> u64 {
        output.numel() as u64
    }

    fn attributes(&self) -> String {
        String::new()
    }
}

/// What a backward kernel may use.
pub(crate) struct Saved<'a> {
    pub(crate) inputs: SmallVec<[&'a Tensor; 3]>,
    pub(crate) output: Option<&'a Tensor>,
    pub(crate) aux: &'a [Tensor],
}

/// A [`Fused`] function as an operation.
#[derive(Clone)]
pub(crate) struct FusedOp<F>(pub(crate) F);

/// Applies a fused operation.
#[inline]
pub(crate) fn fused<F: Fused>(f: F, inputs: &[&Tensor]) -> Result<Tensor> {
    apply(FusedOp(f), inputs)
}

impl<F: Fused> FusedOp<F> {
    fn defined(&self, inputs: &[Tensor]) -> Result<Tensor> {
        self.0.definition(&inputs.iter().collect::<SmallVec<[&Tensor; 3]>>())
    }
}

impl<F: Fused> Op for FusedOp<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        self.0.forward(inputs).map(|(output, _)| output)
    }

    fn forward_aux(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        self.0.forward(inputs)
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        if F::NEEDS_OUTPUT { Saves::all_inputs().and_output() } else { Saves::all_inputs() }
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        if let Some(tangent) = self.0.tangent(at, tangents) {
            return tangent;
        }
        partial_jvp(|inputs| self.defined(inputs), at, tangents)
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        // Pushed, not collected: that is quicker for so few.
        let mut inputs = SmallVec::<[&Tensor; 3]>::new();
        for i in 0..at.arity() {
            inputs.push(at.input(i));
        }
        let plain = grad.track().is_none() && inputs.iter().all(|x| x.track().is_none());
        if plain {
            let saved = Saved { inputs, output: at.output, aux: at.aux };
            return self.0.backward(&saved, grad, needs);
        }
        if let Some(grads) = self.0.adjoint(at, grad, needs) {
            return grads;
        }
        partial_vjp(|inputs| self.defined(inputs), at, grad, needs)
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], size: usize) -> Result<Option<Tensor>> {
        self.0.batch(inputs, batched, size)
    }

    fn definition(&self, inputs: &[&Tensor]) -> Option<Result<Tensor>> {
        Some(self.0.definition(inputs))
    }

    fn flops(&self, inputs: &[&Tensor], output: &Tensor) -> u64 {
        self.0.flops(inputs, output)
    }

    fn attributes(&self) -> String {
        self.0.attributes()
    }
}
