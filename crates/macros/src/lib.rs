//! Derives for the crates of tove. Each lives in a file of its own, which says what it makes.

mod choice;
mod fitted;
mod hyperparameters;
mod module;
mod range;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `Module` for a struct: its fields are the parts of the net, in the order they are written, under their own
/// names. `#[module(skip)]` leaves a field out, `#[module(name = "…")]` gives it another name.
#[proc_macro_derive(Module, attributes(module))]
pub fn module(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    module::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

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

/// Attributes, records and reading of a fitted model, from its fields. Documented with the trait `tove_learn::Attribute`.
#[proc_macro_derive(Fitted, attributes(fitted))]
pub fn fitted(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    fitted::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
