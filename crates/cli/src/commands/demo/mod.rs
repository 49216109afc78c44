//! `tove demo`.
use crate::{arguments::Demo, failure::Failure, output::Output};
pub fn run(_: &Demo, _: &Output) -> Result<(), Failure> { Ok(()) }
