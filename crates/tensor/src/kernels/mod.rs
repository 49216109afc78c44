//! Loops over raw memory. Everything unsafe in the crate lives here and in `storage`.
#![allow(unsafe_code)]

pub(crate) mod attention;
pub(crate) mod batch_norm;
pub(crate) mod cross_entropy;
pub(crate) mod elementwise;
pub(crate) mod gelu;
pub(crate) mod gemm;
pub(crate) mod layer_norm;
pub mod math;
pub(crate) mod optimizer;
pub(crate) mod reduce;
pub(crate) mod rows;
pub mod simd;
pub(crate) mod softmax;
