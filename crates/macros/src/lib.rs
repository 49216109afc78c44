//! Derives for the rooms of tove. Each lives in a file of its own, which says what it makes.

mod choice;
mod hyperparameters;
mod range;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Hyperparameters declared once: `Default`, setters, range checks, descriptions and `set("name", "text")` from the
/// fields of a struct. Documented with the trait `tove_optim::settings::Hyperparameters`.
#[proc_macro_derive(Hyperparameters, attributes(hyper))]
pub fn hyperparameters(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    hyperparameters::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Names for the variants of an enum without fields, so that it can be a hyperparameter. Documented with the trait
/// `tove_optim::settings::Choice`.
#[proc_macro_derive(Choice, attributes(choice))]
pub fn choice(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    choice::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
