//! Tensors, kernels, linear algebra and automatic differentiation.

pub mod io;
pub mod kernels;
pub mod pool;
pub mod symbolic;

pub use pool::{num_threads, set_num_threads};
