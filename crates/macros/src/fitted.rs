//! `#[derive(Fitted)]`: what follows from the declared fields of a fitted model.
//!
//! The struct has a field `about: About`; every other field is an attribute that was learned, with its shape in words:
//! `#[fitted(shape = "classes, features")]`. `#[fitted(estimator = GaussianNb, version = 1)]` on the struct names the estimator.
//! Made are a method per attribute, `state_record`, `state_attributes`, and `Restore`, which checks shapes, types and that
//! numbers are finite. The words `features` and `classes` are known; others stand for a size that must be the same wherever they
//! are used.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, LitInt, LitStr, Path, Result};

pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(input, "Fitted is for structs"));
    };
    let Fields::Named(named) = &data.fields else {
        return Err(Error::new_spanned(input, "a fitted model has named fields, `about` among them"));
    };
    let (estimator, version) = outer(input)?;
    let ident = &input.ident;
    let (mut getters, mut writes, mut reads, mut attributes, mut names) = (vec![], vec![], vec![], vec![], vec![]);
    for field in &named.named {
        let Some(name) = &field.ident else { continue };
        if name == "about" {
            continue;
        }
        let (kind, text, shape) = (&field.ty, name.to_string(), shape(field)?);
        let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
        getters.push(quote! {
            #(#docs)*
            pub fn #name(&self) -> &#kind {
                &self.#name
            }
        });
        writes.push(quote!(::tove_learn::Attribute::write(&self.#name, #text, &mut record);));
        reads.push(quote! {
            let #name = <#kind as ::tove_learn::Attribute>::read(#text, record)?;
            shapes.check(record, #text, &::tove_learn::Attribute::to_tensor(&#name), &[#(#shape),*])?;
        });
        attributes.push(quote!(all.push((#text, ::tove_learn::Attribute::to_tensor(&self.#name)));));
        names.push(name);
    }
    Ok(quote! {
        #[automatically_derived]
        impl #ident {
            #(#getters)*

            /// Everything that was learned, and what every model knows of itself.
            fn state_record(&self) -> ::tove_learn::Record {
                let mut record = ::tove_learn::Record::new(self.about.name, #version);
                self.about.write(&mut record);
                self.about.write_shape(&mut record);
                #(#writes)*
                record
            }

            /// What was learned, by name.
            fn state_attributes(&self) -> ::std::vec::Vec<(&'static str, ::tove_tensor::Tensor)> {
                let mut all = self.about.attributes();
                #(#attributes)*
                all
            }
        }

        #[automatically_derived]
        impl ::tove_learn::Restore for #ident {
            fn restore(record: &::tove_learn::Record) -> ::tove_learn::Result<#ident> {
                let name = <#estimator as ::tove_optim::settings::Named>::NAME;
                let settings: #estimator = record.settings(name, #version)?;
                let about = ::tove_learn::About::read(&settings, record, record.count("width")?, record.precision()?)?;
                let mut shapes = ::tove_learn::Shapes::new(&about);
                #(#reads)*
                let about = about.outputs(shapes.outputs());
                ::core::result::Result::Ok(#ident { about, #(#names),* })
            }
        }
    })
}

/// The estimator and the version of the layout.
fn outer(input: &DeriveInput) -> Result<(Path, u32)> {
    let (mut estimator, mut version) = (None, 1);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("fitted")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("estimator") {
                estimator = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("version") {
                version = meta.value()?.parse::<LitInt>()?.base10_parse()?;
            } else {
                return Err(meta.error("known on the struct: estimator, version"));
            }
            Ok(())
        })?;
    }
    let missing = || Error::new_spanned(&input.ident, "name the estimator: #[fitted(estimator = Ridge)]");
    Ok((estimator.ok_or_else(missing)?, version))
}

/// The words of a field's shape; none for a number.
fn shape(field: &syn::Field) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("fitted")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("shape") {
                return Err(meta.error("known on a field: shape"));
            }
            let text = meta.value()?.parse::<LitStr>()?.value();
            words = text.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect();
            Ok(())
        })?;
    }
    Ok(words)
}
