//! The training loop: repetition, resumption, stopping, records, errors.

// Helpers of tests end the test where they fail.
#![allow(clippy::unwrap_used)]

mod checkpoints;
mod failures;
mod finite;
mod lbfgs;
mod offsets;
mod ranks;
mod records;
mod resume;
mod reuse;
mod steps;
mod stopping;
mod support;
mod weighted;
