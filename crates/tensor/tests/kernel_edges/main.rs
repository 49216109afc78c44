//! Every kernel that the methods reach, on the shapes where loops begin and end: no elements, one, a register less or more,
//! windows beyond the image, and operands that lie in memory in any way. Values are compared with plain loops or with the
//! same operation on row-major copies. The memory stage of `cargo xtask check` runs this program under AddressSanitizer.
#![allow(clippy::unwrap_used)]

mod empty;
mod images;
mod lines;
mod products;
mod support;
mod views;
