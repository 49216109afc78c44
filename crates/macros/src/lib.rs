//! Derives of tove. They are re-exported, with their documentation, by the crates whose traits they implement.

mod module;

use proc_macro::TokenStream;

/// Implements `Module` for a struct: its fields are the parts of the net, in the order they are written, under their own
/// names. `#[module(skip)]` leaves a field out, `#[module(name = "…")]` gives it another name.
#[proc_macro_derive(Module, attributes(module))]
pub fn derive_module(input: TokenStream) -> TokenStream {
    module::derive(syn::parse_macro_input!(input)).unwrap_or_else(syn::Error::into_compile_error).into()
}
