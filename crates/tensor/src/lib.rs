//! Tensors, kernels, linear algebra and automatic differentiation in both modes.

pub mod autodiff;
mod dtype;
mod error;
pub mod kernels;
pub mod meter;
mod ops;
pub mod optimizer_kernels;
pub mod pool;
pub mod random;
mod shape;
mod storage;
mod tensor;

pub use autodiff::{
    Tree, grad, grad_of, hessian, hvp, jacfwd, jacobian, jacrev, jvp, linearize, no_grad, per_sample_grad,
    value_and_grad, vjp, vmap,
};
pub use dtype::{DType, Element};
pub use error::{Error, Result};
pub use ops::{Activation, BatchStatistics, CrossEntropy, Reduction};
pub use ops::list::{TryNorm, TryOps, TryUnary};
pub use pool::{num_threads, set_num_threads};
pub use shape::Shape;
pub use tensor::Tensor;
