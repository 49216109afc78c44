//! The crate people depend on.

pub use tove_optim as optim;
pub use tove_tensor as tensor;

/// What most programs need: `use tove::prelude::*`.
pub mod prelude {
    pub use tove_optim::Adam;
    pub use tove_tensor::{
        Activation, DType, Error, Result, Shape, Tensor, TryOps, TryUnary, grad, grad_of, hessian, hvp, jacobian, jvp,
        linearize, no_grad, per_sample_grad, value_and_grad, vjp, vmap,
    };
}
