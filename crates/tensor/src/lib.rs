//! Tensors, kernels, linear algebra and automatic differentiation.

pub mod kernels;
pub mod pool;
pub mod random;

pub use pool::{num_threads, set_num_threads};
