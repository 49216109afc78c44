//! Loops over raw memory. Everything unsafe in the crate lives here and in `storage`.
#![allow(unsafe_code)]

pub(crate) mod conv;
pub(crate) mod elementwise;
pub(crate) mod gemm;
pub mod math;
pub(crate) mod reduce;
pub mod simd;
