//! Loops over raw memory. Everything unsafe in the crate lives here and in `storage`.
#![allow(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over positions are what becomes vector code")]

pub(crate) mod attention;
pub(crate) mod batch_norm;
pub(crate) mod conv;
pub(crate) mod cross_entropy;
pub(crate) mod elementwise;
pub(crate) mod gelu;
pub(crate) mod gemm;
pub(crate) mod index;
pub(crate) mod lanes;
pub(crate) mod layer_norm;
pub mod math;
pub(crate) mod optimizer;
pub(crate) mod reduce;
pub(crate) mod rows;
pub(crate) mod running_sum;
pub(crate) mod scan;
pub mod simd;
pub(crate) mod softmax;
pub(crate) mod squares;
pub(crate) mod step_rules;
