//! Tensors, kernels, linear algebra and automatic differentiation in both modes.

pub mod autodiff;
mod dtype;
mod error;
pub mod io;
pub mod kernels;
pub mod linalg;
pub mod meter;
mod ops;
pub mod optimizer_kernels;
pub mod pool;
pub mod random;
mod shape;
pub mod step_rules;
mod storage;
pub mod symbolic;
mod tensor;
#[doc(hidden)]
pub mod testing;

pub use autodiff::{
    Chain, CheckError, CustomOp, GradCheck, Mismatch, Numerical, Scheme, Trace, Tree, checkpoint, grad, grad_of,
    gradcheck, hessian, hvp, jacfwd, jacobian, jacrev, jvp, linearize, no_grad, numerical_jacobian, per_sample_grad,
    value_and_grad, vjp, vmap,
};
pub use dtype::{DType, Element};
pub use error::{Error, Result};
pub use ops::list::{TryConv, TryIndex, TryLinalg, TryNorm, TryOps, TryReduce, TryUnary};
pub use ops::{
    Activation, BatchStatistics, ConvMode, ConvOptions, CrossEntropy, Ellipsis, Index, Interpolation, IntoIndices,
    NewAxis, PoolOptions, Reduction, Steppable, Unique, stepped,
};
pub use pool::{num_threads, set_num_threads};
pub use random::Key;
pub use shape::Shape;
pub use tensor::Tensor;
