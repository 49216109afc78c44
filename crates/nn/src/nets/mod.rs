//! Ready nets.

mod mlp;

pub use mlp::Mlp;
