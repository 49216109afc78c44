//! `tove text`: a small language model of a text.

mod fit;
mod generate;
mod page;

use crate::arguments::{Text, TextAction};
use crate::failure::Failure;
use crate::output::Output;

pub fn run(text: &Text, output: &Output) -> Result<(), Failure> {
    match &text.action {
        TextAction::Fit(fit) => fit::run(fit, output),
        TextAction::Generate(generate) => generate::run(generate, output),
    }
}
