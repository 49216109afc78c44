//! The training loop: repetition, resumption, stopping, records, errors.

// Helpers of tests end the test where they fail.
#![allow(clippy::unwrap_used)]

mod failures;
mod lbfgs;
mod ranks;
mod records;
mod resume;
mod steps;
mod stopping;
mod support;
