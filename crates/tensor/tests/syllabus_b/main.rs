//! Section B of the syllabus: calculus and automatic differentiation. B14, B15, B16 and B18 are shown in the lessons
//! (`crates/lessons`), B9 by the tests of the symbolic engine.

#![allow(clippy::unwrap_used, reason = "a test ends where its expectations do")]

#[path = "../common/mod.rs"]
mod common;

mod basics;
mod costs;
mod identities;
mod numerical;
mod programs;
mod rules;
mod support;
