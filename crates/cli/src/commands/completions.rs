//! `tove completions`: what a shell needs to complete commands and options.

use clap::CommandFactory;

use crate::arguments::{Arguments, Completions};
use crate::failure::Failure;

pub fn run(completions: &Completions) -> Result<(), Failure> {
    clap_complete::generate(completions.shell, &mut Arguments::command(), "tove", &mut std::io::stdout());
    Ok(())
}
