//! Loops over raw memory. Everything unsafe in the crate lives here and in `storage`.
#![allow(unsafe_code)]

#[allow(dead_code)] // Until the ops call all of it.
pub(crate) mod gemm;
pub mod simd;
