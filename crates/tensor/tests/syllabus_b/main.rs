//! Section B of the syllabus: calculus and automatic differentiation. B14, B15, B16 and B18 are shown in the lessons
//! (`crates/lessons`), B9 by the tests of the symbolic engine.

#[path = "../common/mod.rs"]
mod common;

mod basics;
mod costs;
mod identities;
mod numerical;
mod programs;
mod rules;
mod support;
