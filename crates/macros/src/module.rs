//! The derive of `Module`: one visit per field.
//!
//! The code made names its traits by the path `tove_nn`. That is the crate itself, or what the prelude of `tove` brings
//! into scope under that name.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Error, Field, LitStr, Result};

/// How one field is visited.
struct Part {
    member: syn::Member,
    name: TokenStream,
}

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "Module can be derived for structs only"));
    };
    let parts: Vec<Part> =
        data.fields.iter().enumerate().map(part).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    let (members, names): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.member, part.name)).unzip();
    let (ident, kind) = (&input.ident, input.ident.to_string());
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(syn::parse_quote!(tove_nn::Part));
        parameter.bounds.push(syn::parse_quote!(::core::marker::Send));
        parameter.bounds.push(syn::parse_quote!(::core::marker::Sync));
    }
    let (implement, types, condition) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #implement tove_nn::Module for #ident #types #condition {
            fn kind(&self) -> &'static str {
                #kind
            }

            fn parts<'m>(&'m self, walk: &mut dyn tove_nn::Walk<'m>) {
                #(tove_nn::Part::show(&self.#members, #names, walk);)*
            }

            fn parts_mut<'m>(&'m mut self, walk: &mut dyn tove_nn::WalkMut<'m>) {
                #(tove_nn::Part::show_mut(&mut self.#members, #names, walk);)*
            }
        }
    })
}

fn part((index, field): (usize, &Field)) -> Result<Option<Part>> {
    let Options { skip, name } = options(&field.attrs)?;
    if skip {
        return Ok(None);
    }
    let member = match &field.ident {
        Some(ident) => syn::Member::Named(ident.clone()),
        None => syn::Member::Unnamed(index.into()),
    };
    let name = match (name, &field.ident) {
        (Some(name), _) => quote!(tove_nn::Name::Field(#name)),
        (None, Some(ident)) => {
            let text = ident.to_string();
            let text = text.strip_prefix("r#").unwrap_or(&text);
            quote!(tove_nn::Name::Field(#text))
        }
        (None, None) => quote!(tove_nn::Name::Index(#index)),
    };
    Ok(Some(Part { member, name }))
}

#[derive(Default)]
struct Options {
    skip: bool,
    name: Option<String>,
}

fn options(attributes: &[Attribute]) -> Result<Options> {
    let mut options = Options::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("module")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("skip") {
                options.skip = true;
            } else if meta.path.is_ident("name") {
                options.name = Some(meta.value()?.parse::<LitStr>()?.value());
            } else {
                return Err(meta.error("expected `skip` or `name = \"…\"`"));
            }
            Ok(())
        })?;
    }
    Ok(options)
}
