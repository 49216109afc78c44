//! Functions composed of other operations, which give them their derivatives; one file per theme.

mod einsum;
mod loss;
mod product;

pub use loss::Reduction;

pub(crate) use einsum::einsum;
pub(crate) use loss::{binary_cross_entropy, binary_cross_entropy_with_logits, mse_loss, residual};
pub(crate) use product::{cosine_similarity, dot, inner, kron, outer, trace};
