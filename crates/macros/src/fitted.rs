//! `#[derive(Fitted)]`: what follows from the declared fields of a fitted model.
//!
//! A struct with a field `about: About` is a model: `#[fitted(estimator = GaussianNb, version = 1)]` names its estimator; several of them may share one. Made are
//! a method per attribute, `state_record`, `state_attributes`, `read_state` and `Restore`, which checks shapes, types and that
//! numbers are finite. A struct without `about` is a part of models, `tove_learn::AttributeGroup`, taken in by a field marked `flatten`.
//!
//! On the struct: `bound = "E: Algorithm"` for generics, `complete = function` (`fn(Self, &Record) -> Result<Self>`) for what is
//! made from the fields after reading them and for further checks, `attributes = function` (`fn(&Self) -> Vec<(&str, Tensor)>`) for
//! attributes that are computed.
//!
//! On a field: `shape = "classes, features"` in words, with `|` between alternatives; `features` and `classes` are known, others
//! stand for a size that must be the same wherever they are used, and `*` for any. `name = "C"` is the name of the attribute and
//! `stored = "bias"` that in files, where they are not the field's. `hidden` fields are in files only, `skip` fields not even there:
//! they begin with their default. `nonfinite` allows NaN and infinite numbers, `empty` a length of 0, `double` a tensor that is f64
//! in every model, `former = value` is what files have that were written before the field existed. Fields of the types `PhantomData`
//! and those called `settings` (the estimator) are filled in.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Error, Expr, Fields, LitInt, LitStr, Path, Result, Token, Type, WherePredicate};

/// What is said on the struct.
struct Outer {
    estimators: Vec<Path>,
    version: u32,
    bound: Punctuated<WherePredicate, Token![,]>,
    complete: Option<Path>,
    attributes: Option<Path>,
}

/// What is said on a field.
#[derive(Default)]
struct Inner {
    shapes: Vec<Vec<String>>,
    name: Option<String>,
    stored: Option<String>,
    former: Option<Expr>,
    flatten: bool,
    hidden: bool,
    skip: bool,
    nonfinite: bool,
    empty: bool,
    double: bool,
}

/// The code that is made of the fields.
#[derive(Default)]
struct Code {
    getters: Vec<TokenStream>,
    writes: Vec<TokenStream>,
    reads: Vec<TokenStream>,
    attributes: Vec<TokenStream>,
    names: Vec<TokenStream>,
    model: bool,
}

pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(input, "Fitted is for structs"));
    };
    let Fields::Named(named) = &data.fields else {
        return Err(Error::new_spanned(input, "a fitted model has named fields"));
    };
    let outer = outer(input)?;
    let mut code = Code::default();
    named.named.iter().try_for_each(|field| code.add(field))?;
    if code.model { model(input, &outer, &code) } else { Ok(part(input, &outer, &code)) }
}

impl Code {
    fn add(&mut self, field: &syn::Field) -> Result<()> {
        let Some(name) = &field.ident else { return Ok(()) };
        let (kind, inner) = (&field.ty, inner(field)?);
        if name == "about" {
            self.model = true;
            return Ok(());
        }
        if name == "settings" {
            self.names.push(quote!(settings));
            return Ok(());
        }
        self.names.push(quote!(#name));
        if inner.skip || last_segment(kind).is_some_and(|segment| segment.ident == "PhantomData") {
            self.reads.push(quote!(let #name = <#kind as ::core::default::Default>::default();));
            return Ok(());
        }
        if inner.flatten {
            self.writes.push(quote!(::tove_learn::AttributeGroup::write(&self.#name, record);));
            self.reads.push(quote!(let #name = <#kind as ::tove_learn::AttributeGroup>::read(reading)?;));
            if !inner.hidden {
                self.attributes.push(quote!(::tove_learn::AttributeGroup::attributes(&self.#name, all);));
            }
            return Ok(());
        }
        let own = name.to_string();
        let stored = inner.stored.unwrap_or_else(|| own.clone());
        let shown = inner.name.unwrap_or(own);
        let shapes = inner.shapes.iter().map(|words| quote!(&[#(#words),*]));
        let shapes = if inner.shapes.is_empty() { quote!(&[]) } else { quote!(#(#shapes),*) };
        let (nonfinite, empty, double) = (inner.nonfinite, inner.empty, inner.double);
        let described = quote! {
            ::tove_learn::Field {
                name: #stored, shapes: &[#shapes], nonfinite: #nonfinite, empty: #empty, double: #double,
            }
        };
        let read = quote!(<#kind as ::tove_learn::Attribute>::read(&#described, reading)?);
        self.reads.push(match inner.former {
            Some(former) => quote!(let #name = if reading.has(#stored) { #read } else { #former };),
            None => quote!(let #name = #read;),
        });
        self.writes.push(quote!(::tove_learn::Attribute::write(&self.#name, #stored, record);));
        if !inner.hidden {
            self.attributes.push(quote!(::tove_learn::Attribute::add_to(&self.#name, #shown, all);));
            let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
            let (given, value) = getter(kind, &quote!(self.#name));
            self.getters.push(quote! { #(#docs)* pub fn #name(&self) -> #given { #value } });
        }
        Ok(())
    }
}

/// What a method gives of a field: numbers themselves, slices of lists, references to the rest.
fn getter(kind: &Type, field: &TokenStream) -> (TokenStream, TokenStream) {
    let segment = last_segment(kind);
    let name = segment.map_or(String::new(), |segment| segment.ident.to_string());
    let arguments = segment.map(|segment| &segment.arguments);
    match (name.as_str(), arguments) {
        ("f64" | "usize" | "bool" | "i64", _) => (quote!(#kind), field.clone()),
        ("Option", Some(syn::PathArguments::AngleBracketed(inner))) if is_number(inner) => {
            (quote!(#kind), field.clone())
        }
        ("Vec", Some(syn::PathArguments::AngleBracketed(inner))) => {
            let inner = &inner.args;
            (quote!(&[#inner]), quote!(&#field))
        }
        _ => (quote!(&#kind), quote!(&#field)),
    }
}

/// Whether the only argument is a number, which is copied.
fn is_number(arguments: &syn::AngleBracketedGenericArguments) -> bool {
    let is = |argument: &syn::GenericArgument| match argument {
        syn::GenericArgument::Type(kind) => last_segment(kind).is_some_and(|segment| segment.ident == "f64"),
        _ => false,
    };
    arguments.args.iter().all(is)
}

fn last_segment(kind: &Type) -> Option<&syn::PathSegment> {
    match kind {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

/// A model of its own.
fn model(input: &DeriveInput, outer: &Outer, code: &Code) -> Result<TokenStream> {
    let missing = || Error::new_spanned(&input.ident, "name the estimator: #[fitted(estimator = Ridge)]");
    let first = outer.estimators.first().ok_or_else(missing)?;
    let names_of = outer.estimators.iter().map(|path| quote!(<#path as ::tove_optim::settings::Named>::NAME));
    let (ident, version) = (&input.ident, outer.version);
    let (generics, arguments, wheres) = bounds(input, outer);
    let Code { getters, writes, reads, attributes, names, .. } = code;
    let extra = outer.attributes.as_ref().map(|path| quote!(all.extend(#path(self));));
    let begin = match outer.estimators.len() {
        1 => quote! {
            let settings: #first = reading.record().settings(#(#names_of)*, #version)?;
            let about = reading.begin(&settings)?;
        },
        _ => quote!(let about = reading.begin_any(&[#(#names_of),*], #version)?;),
    };
    let complete = outer
        .complete
        .as_ref()
        .map_or_else(|| quote!(::core::result::Result::Ok(model)), |path| quote!(#path(model, reading.record())));
    Ok(quote! {
        #[automatically_derived]
        impl #generics #ident #arguments #wheres {
            #(#getters)*

            /// Everything that was learned, and what every model knows of itself.
            fn state_record(&self) -> ::tove_learn::Record {
                let mut own = ::tove_learn::Record::new(self.about.name, #version);
                let record = &mut own;
                self.about.write(record);
                self.about.write_shape(record);
                #(#writes)*
                own
            }

            /// What was learned, by name.
            fn state_attributes(&self) -> ::std::vec::Vec<(&'static str, ::tove_tensor::Tensor)> {
                let mut own = self.about.attributes();
                let all = &mut own;
                #(#attributes)*
                #extra
                own
            }

            /// Reads what `state_record` wrote.
            fn read_state(reading: &mut ::tove_learn::Reading<'_>) -> ::tove_learn::Result<Self> {
                #begin
                #(#reads)*
                let about = reading.end(about)?;
                let model = #ident { about, #(#names),* };
                #complete
            }
        }

        #[automatically_derived]
        impl #generics ::tove_learn::Restore for #ident #arguments #wheres {
            fn restore(record: &::tove_learn::Record) -> ::tove_learn::Result<Self> {
                Self::read_state(&mut ::tove_learn::Reading::new(record)?)
            }
        }
    })
}

/// What models take in.
fn part(input: &DeriveInput, outer: &Outer, code: &Code) -> TokenStream {
    let ident = &input.ident;
    let (generics, arguments, wheres) = bounds(input, outer);
    let Code { writes, reads, attributes, names, .. } = code;
    let extra = outer.attributes.as_ref().map(|path| quote!(all.extend(#path(self));));
    let complete = outer
        .complete
        .as_ref()
        .map_or_else(|| quote!(::core::result::Result::Ok(part)), |path| quote!(#path(part, reading.record())));
    quote! {
        #[automatically_derived]
        impl #generics ::tove_learn::AttributeGroup for #ident #arguments #wheres {
            fn write(&self, record: &mut ::tove_learn::Record) {
                #(#writes)*
            }

            fn read(reading: &mut ::tove_learn::Reading<'_>) -> ::tove_learn::Result<Self> {
                #(#reads)*
                let part = #ident { #(#names),* };
                #complete
            }

            fn attributes(&self, all: &mut ::std::vec::Vec<(&'static str, ::tove_tensor::Tensor)>) {
                #(#attributes)*
                #extra
            }
        }
    }
}

/// The generics of the struct with the bounds of its attribute.
fn bounds(input: &DeriveInput, outer: &Outer) -> (TokenStream, TokenStream, TokenStream) {
    let mut generics = input.generics.clone();
    generics.make_where_clause().predicates.extend(outer.bound.iter().cloned());
    let (generics, arguments, wheres) = generics.split_for_impl();
    (quote!(#generics), quote!(#arguments), quote!(#wheres))
}

fn outer(input: &DeriveInput) -> Result<Outer> {
    let mut outer =
        Outer { estimators: Vec::new(), version: 1, bound: Punctuated::new(), complete: None, attributes: None };
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("fitted")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("estimator") {
                outer.estimators.push(meta.value()?.parse()?);
            } else if meta.path.is_ident("version") {
                outer.version = meta.value()?.parse::<LitInt>()?.base10_parse()?;
            } else if meta.path.is_ident("bound") {
                outer.bound = meta.value()?.parse::<LitStr>()?.parse_with(Punctuated::parse_terminated)?;
            } else if meta.path.is_ident("complete") {
                outer.complete = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("attributes") {
                outer.attributes = Some(meta.value()?.parse()?);
            } else {
                return Err(meta.error("known on the struct: estimator, version, bound, complete, attributes"));
            }
            Ok(())
        })?;
    }
    Ok(outer)
}

fn inner(field: &syn::Field) -> Result<Inner> {
    let mut inner = Inner::default();
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("fitted")) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            let text = || -> Result<String> { Ok(meta.value()?.parse::<LitStr>()?.value()) };
            match name.as_str() {
                "shape" => inner.shapes = text()?.split('|').map(words).collect(),
                "name" => inner.name = Some(text()?),
                "stored" => inner.stored = Some(text()?),
                "former" => inner.former = Some(meta.value()?.parse()?),
                "flatten" => inner.flatten = true,
                "hidden" => inner.hidden = true,
                "skip" => inner.skip = true,
                "nonfinite" => inner.nonfinite = true,
                "empty" => inner.empty = true,
                "double" => inner.double = true,
                _ => {
                    let known = "shape, name, stored, former, flatten, hidden, skip, nonfinite, empty, double";
                    return Err(meta.error(format!("known on a field: {known}")));
                }
            }
            Ok(())
        })?;
    }
    Ok(inner)
}

/// The words of a shape; none for a number.
fn words(text: &str) -> Vec<String> {
    text.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}
