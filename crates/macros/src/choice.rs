//! `#[derive(Choice)]`: names for the variants of an enum without fields.
//!
//! A variant's name is its identifier in snake case, or what `#[choice(name = "…")]` says.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Error, Fields, LitStr, Path, Result};

pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(input, "Choice is for enums"));
    };
    let mut path = quote!(::tove_optim::settings);
    read(&input.attrs, |meta| {
        if !meta.path.is_ident("crate") {
            return Err(meta.error("known here: `crate = \"path\"`"));
        }
        let root: Path = meta.value()?.parse::<LitStr>()?.parse()?;
        path = quote!(#root::settings);
        Ok(())
    })?;
    let (mut variants, mut names) = (Vec::new(), Vec::new());
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new_spanned(variant, "a choice has variants without fields"));
        }
        let mut name = snake_case(&variant.ident.to_string());
        read(&variant.attrs, |meta| {
            if !meta.path.is_ident("name") {
                return Err(meta.error("known here: `name = \"…\"`"));
            }
            name = meta.value()?.parse::<LitStr>()?.value();
            Ok(())
        })?;
        variants.push(&variant.ident);
        names.push(name);
    }
    let ident = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        impl #path::Choice for #ident {
            const ALL: &'static [Self] = &[#(#ident::#variants),*];
            const NAMES: &'static [&'static str] = &[#(#names),*];
            fn name(self) -> &'static str {
                match self {
                    #(#ident::#variants => #names,)*
                }
            }
        }
    })
}

fn read(attributes: &[Attribute], entry: impl FnMut(syn::meta::ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    let mut entry = entry;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("choice")) {
        attribute.parse_nested_meta(&mut entry)?;
    }
    Ok(())
}

fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_snake_case() {
        assert_eq!(snake_case("NewtonCg"), "newton_cg");
        assert_eq!(snake_case("L1"), "l1");
    }

    #[test]
    fn variants_with_fields_are_refused() {
        let input: DeriveInput = syn::parse_str("enum Solver { Fast, Slow(u8) }").expect("an enum");
        assert!(derive(&input).expect_err("refused").to_string().contains("without fields"));
    }
}
