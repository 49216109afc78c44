//! `tove completions`: what a shell needs to complete commands and options.

use clap::CommandFactory;

use crate::arguments::{Arguments, Completions};
use crate::failure::Failure;
use crate::output::Output;

pub fn run(completions: &Completions, output: &Output) -> Result<(), Failure> {
    // The generator panics where it cannot write, which memory always takes.
    let mut text = Vec::new();
    clap_complete::generate(completions.shell, &mut Arguments::command(), "tove", &mut text);
    output.raw(&text)
}
