//! tove trains, checks and ships models with one native engine.
//!
//! This is the crate to depend on; `use tove::prelude::*` brings what most programs need. The rooms behind it are
//! [`tensor`] (arrays, operations, derivatives, linear algebra, files) and [`optim`] (step rules).
//!
//! ```
//! use tove::prelude::*;
//! let slope = grad(|x: &Tensor| x.sin().sum())(&Tensor::from([0.0]));
//! assert_eq!(slope.to_vec::<f64>(), [1.0]);
//! ```

pub use tove_optim as optim;
pub use tove_tensor as tensor;

/// What most programs need: `use tove::prelude::*`.
pub mod prelude {
    pub use tove_optim::{Adam, AdamW, Optimizer, Sgd};
    pub use tove_tensor::{
        Activation, CrossEntropy, DType, Error, GradCheck, Reduction, Result, Shape, Tensor, TryOps, TryUnary,
        checkpoint, grad, grad_of, gradcheck, hessian, hvp, jacobian, jvp, linearize, no_grad, per_sample_grad,
        value_and_grad, vjp, vmap,
    };
}

/// The README's code runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
