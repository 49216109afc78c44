//! One file per command.

pub mod completions;
pub mod diff;
pub mod inspect;
pub mod models;
