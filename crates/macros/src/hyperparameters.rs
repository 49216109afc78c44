//! `#[derive(Hyperparameters)]`: everything that follows from the declared fields of a settings struct.
//!
//! On a field, `#[hyper(default = …, range = "[0, 1)", alias = "…", doc = "…", fix = "…")]`; its doc comment is its
//! documentation unless `doc` replaces it, and one of the two is required. `#[hyper(flatten)]` takes in the hyperparameters of
//! another struct as if they were written here; `#[hyper(skip)]` leaves a field out. On the struct,
//! `#[hyper(name = "Adam", check = path::of::function, crate = "path::of::tove_optim", shared)]`.
//!
//! A derive does not see the fields of another struct. So a `shared` one leaves a macro behind, named after it, that writes its
//! setters for a place inside another struct; a struct that flattens it calls that macro.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Fields, Ident, Lit, LitStr, Meta, Path, Result, Type,
    Visibility,
};

use crate::range::{self, Range};

/// One field as declared.
struct Field<'a> {
    ident: &'a Ident,
    kind: &'a Type,
    visibility: &'a Visibility,
    default: Option<Expr>,
    range: Option<Range>,
    aliases: Vec<String>,
    doc: String,
    fix: Option<String>,
    /// Whether its type is a struct of hyperparameters that are shown as this struct's own.
    flatten: bool,
    /// Whether it is a plain field, not a hyperparameter.
    skip: bool,
}

/// What `#[hyper(…)]` on the struct says.
struct Outer {
    name: String,
    path: TokenStream,
    check: Option<Path>,
    /// Whether other structs take its hyperparameters in.
    shared: bool,
}

pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(input, "Hyperparameters is for structs"));
    };
    let Fields::Named(named) = &data.fields else {
        return Err(Error::new_spanned(input, "hyperparameters need names: declare a struct with named fields"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "a struct of hyperparameters takes no type parameters"));
    }
    let outer = Outer::read(input)?;
    let fields = named.named.iter().map(Field::read).collect::<Result<Vec<_>>>()?;
    refuse_double_names(&fields)?;
    let ident = &input.ident;
    let (default, setters) = (default(&fields), fields.iter().map(|field| setter(field, &quote!())));
    let implementation = implementation(ident, &outer, &doc(&input.attrs), &fields);
    let shared = outer.shared.then(|| setters_macro(ident, &fields));
    Ok(quote! {
        #shared
        #[automatically_derived]
        impl ::core::default::Default for #ident {
            fn default() -> Self {
                Self { #default }
            }
        }
        #[automatically_derived]
        impl #ident {
            #(#setters)*
        }
        #implementation
    })
}

impl Outer {
    fn read(input: &DeriveInput) -> Result<Outer> {
        let (name, path) = (input.ident.to_string(), quote!(::tove_optim::settings));
        let mut outer = Outer { name, path, check: None, shared: false };
        for attribute in hyper(&input.attrs) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("name") {
                    outer.name = meta.value()?.parse::<LitStr>()?.value();
                } else if meta.path.is_ident("check") {
                    outer.check = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("crate") {
                    let root: Path = meta.value()?.parse::<LitStr>()?.parse()?;
                    outer.path = quote!(#root::settings);
                } else if meta.path.is_ident("shared") {
                    outer.shared = true;
                } else {
                    return Err(meta.error("known on the struct: name, check, crate, shared"));
                }
                Ok(())
            })?;
        }
        Ok(outer)
    }
}

impl<'a> Field<'a> {
    fn read(field: &'a syn::Field) -> Result<Field<'a>> {
        let Some(ident) = &field.ident else {
            return Err(Error::new_spanned(field, "a hyperparameter needs a name"));
        };
        let (kind, visibility) = (&field.ty, &field.vis);
        let (default, range, aliases, fix) = (None, None, Vec::new(), None);
        let (doc, flatten, skip) = (doc(&field.attrs), false, false);
        let mut read = Field { ident, kind, visibility, default, range, aliases, doc, fix, flatten, skip };
        for attribute in hyper(&field.attrs) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("default") {
                    read.default = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("range") {
                    read.range = Some(Range::parse(&meta.value()?.parse()?)?);
                } else if meta.path.is_ident("alias") {
                    read.aliases.push(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.path.is_ident("doc") {
                    read.doc = meta.value()?.parse::<LitStr>()?.value();
                } else if meta.path.is_ident("fix") {
                    read.fix = Some(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.path.is_ident("flatten") {
                    read.flatten = true;
                } else if meta.path.is_ident("skip") {
                    read.skip = true;
                } else {
                    return Err(meta.error("known on a field: default, range, alias, doc, fix, flatten, skip"));
                }
                Ok(())
            })?;
        }
        read.check_default()?;
        if read.flatten && (read.range.is_some() || !read.aliases.is_empty() || read.fix.is_some()) {
            return Err(Error::new_spanned(
                ident,
                "flattened hyperparameters have their own ranges, aliases and fixes",
            ));
        }
        if read.doc.is_empty() {
            return Err(Error::new_spanned(ident, "say in a doc comment what the hyperparameter does"));
        }
        Ok(read)
    }

    /// A default written as a number is compared with the range right here.
    fn check_default(&self) -> Result<()> {
        if let (Some(default), Some(range)) = (&self.default, &self.range)
            && range::literal(default).is_some_and(|value| !range.contains(value))
        {
            return Err(Error::new_spanned(default, "the default lies outside the range"));
        }
        Ok(())
    }

    fn is_text(&self) -> bool {
        matches!(self.kind, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "String"))
    }

    fn names(&self) -> impl Iterator<Item = String> + '_ {
        std::iter::once(self.ident.to_string()).chain(self.aliases.iter().cloned())
    }

    fn range_tokens(&self, path: &TokenStream) -> TokenStream {
        match &self.range {
            Some(range) => {
                let range = range.tokens(path);
                quote!(::core::option::Option::Some(#range))
            }
            None => quote!(::core::option::Option::None),
        }
    }

    fn fix_tokens(&self) -> TokenStream {
        match &self.fix {
            Some(fix) => quote!(::core::option::Option::Some(#fix)),
            None => quote!(::core::option::Option::None),
        }
    }

    /// The field's constant facts, for error texts.
    fn facts(&self, outer: &Outer) -> TokenStream {
        let (path, name, field) = (&outer.path, &outer.name, self.ident.to_string());
        let (range, fix) = (self.range_tokens(path), self.fix_tokens());
        quote!(#path::Facts { settings: #name, field: #field, range: #range, fix: #fix })
    }
}

fn hyper(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("hyper"))
}

/// The first paragraph of the doc comment in one line, links as plain text: it is shown outside of rustdoc.
fn doc(attributes: &[Attribute]) -> String {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    };
    let lines = attributes.iter().filter_map(line);
    let paragraph = lines.skip_while(String::is_empty).take_while(|line| !line.is_empty());
    unlinked(&paragraph.collect::<Vec<_>>().join(" "))
}

/// The text with ``[`Name`]``, ``[`Name`](target)`` and `[words](target)` replaced by what they show. Intervals such as
/// `[0, 1)` stay.
fn unlinked(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        plain.push_str(&rest[..open]);
        let inside = &rest[open + 1..];
        let Some(close) = inside.find(']') else { break };
        let (shown, after) = (&inside[..close], &inside[close + 1..]);
        let name = shown.len() > 2 && shown.starts_with('`') && shown.ends_with('`');
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')')).map(|(_, after)| after);
        rest = match target {
            _ if target.is_none() && !name => {
                plain.push('[');
                inside
            }
            target => {
                plain.push_str(shown.trim_matches('`'));
                target.unwrap_or(after)
            }
        };
    }
    plain.push_str(rest);
    plain
}

fn refuse_double_names(fields: &[Field<'_>]) -> Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    for field in fields {
        for name in field.names() {
            if !seen.insert(name.clone()) {
                return Err(Error::new_spanned(field.ident, format!("`{name}` names two hyperparameters")));
            }
        }
    }
    Ok(())
}

fn default(fields: &[Field<'_>]) -> TokenStream {
    let entries = fields.iter().map(|field| {
        let ident = field.ident;
        match &field.default {
            Some(value) if field.is_text() => quote!(#ident: ::core::convert::Into::into(#value)),
            Some(value) => quote!(#ident: #value),
            None => quote!(#ident: ::core::default::Default::default()),
        }
    });
    quote!(#(#entries),*)
}

/// The setter of a field; `inside` is the way from `self` to the struct that has it, each step with its point. Of a flattened
/// field, the setters of its hyperparameters.
fn setter(field: &Field<'_>, inside: &TokenStream) -> TokenStream {
    let Field { ident, kind, visibility, doc, .. } = field;
    if field.flatten {
        let setters = setters_name(kind);
        return quote!(#setters! { #inside .#ident });
    }
    let doc = format!("Sets `{ident}`: {doc}");
    let (argument, value) = if field.is_text() {
        (quote!(impl ::core::convert::Into<#kind>), quote!(::core::convert::Into::into(#ident)))
    } else {
        (quote!(#kind), quote!(#ident))
    };
    quote! {
        #[doc = #doc]
        #[must_use]
        #visibility fn #ident(mut self, #ident: #argument) -> Self {
            self #inside.#ident = #value;
            self
        }
    }
}

/// The macro that writes the setters of a shared struct: `kernel_settings_setters` for `KernelSettings`.
fn setters_name(kind: &Type) -> Ident {
    let name = match kind {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    };
    let mut snake = String::new();
    for (place, letter) in name.unwrap_or_default().chars().enumerate() {
        if letter.is_uppercase() && place > 0 {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    Ident::new(&format!("{snake}_setters"), Span::call_site())
}

fn setters_macro(ident: &Ident, fields: &[Field<'_>]) -> TokenStream {
    let name = setters_name(&syn::parse_quote!(#ident));
    let setters = fields.iter().map(|field| setter(field, &quote!($($inside)*)));
    quote! {
        #[doc(hidden)]
        macro_rules! #name {
            ($($inside:tt)*) => { #(#setters)* };
        }
        #[allow(unused_imports)]
        pub(crate) use #name;
    }
}

/// The entry of a field in the description.
fn described(field: &Field<'_>, path: &TokenStream, defaults: &Ident) -> TokenStream {
    let (ident, kind, doc) = (field.ident, field.kind, &field.doc);
    if field.flatten {
        return quote!(all.extend(#path::flattened(&#defaults.#ident)););
    }
    if field.skip {
        return quote!();
    }
    let (text, aliases, range) = (ident.to_string(), &field.aliases, field.range_tokens(path));
    quote! {
        all.push(#path::Hyperparameter {
            name: #text,
            aliases: &[#(#aliases),*],
            kind: <#kind as #path::Setting>::kind(),
            default: #path::Setting::value(&#defaults.#ident),
            range: #range,
            doc: #doc,
        });
    }
}

fn implementation(ident: &Ident, outer: &Outer, doc: &str, fields: &[Field<'_>]) -> TokenStream {
    let (path, name) = (&outer.path, &outer.name);
    // Not read when there are no fields.
    let defaults = Ident::new("_defaults", Span::mixed_site());
    let described = fields.iter().map(|field| described(field, path, &defaults));
    let fields = || fields.iter().filter(|field| !field.skip);
    let (flat, own): (Vec<_>, Vec<_>) = fields().partition(|field| field.flatten);
    let inner: Vec<&Ident> = flat.iter().map(|field| field.ident).collect();
    // Settings inside a field are reached by names with a point, such as `estimator.alpha`.
    let nested: Vec<&Ident> = own.iter().map(|field| field.ident).collect();
    let nested_names: Vec<String> = nested.iter().map(|ident| ident.to_string()).collect();
    let set = own.iter().map(|field| {
        let (ident, names, facts) = (field.ident, field.names(), field.facts(outer));
        quote!(#(#names)|* => { self.#ident = #path::read(&#facts, input)?; ::core::result::Result::Ok(()) })
    });
    let values = own.iter().map(|field| {
        let (ident, names) = (field.ident, field.names());
        quote!(#(#names)|* => ::core::option::Option::Some(#path::Setting::value(&self.#ident)),)
    });
    let checks = fields().map(|field| {
        let (ident, facts) = (field.ident, field.facts(outer));
        match field.flatten {
            true => quote!(#path::Hyperparameters::validate(&self.#ident).map_err(|error| error.of(#name))?;),
            false => quote!(#path::check(&#facts, &self.#ident)?;),
        }
    });
    let last = outer.check.as_ref().map(|check| quote!(#check(self)?;));
    quote! {
        #[automatically_derived]
        impl #path::Named for #ident {
            const NAME: &'static str = #name;
            const DOC: &'static str = #doc;
        }
        #[automatically_derived]
        impl #path::Hyperparameters for #ident {
            fn schema(&self) -> &'static #path::HyperparameterSchema {
                static SCHEMA: ::std::sync::LazyLock<#path::HyperparameterSchema> = ::std::sync::LazyLock::new(|| {
                    let #defaults = <#ident as ::core::default::Default>::default();
                    #[allow(unused_mut)]
                    let mut all = ::std::vec::Vec::new();
                    #(#described)*
                    #path::HyperparameterSchema { name: #name, doc: #doc, hyperparameters: all }
                });
                &SCHEMA
            }
            fn value(&self, name: &str) -> ::core::option::Option<#path::Value> {
                match &*#path::plain_name(name) {
                    #(#values)*
                    _ => ::core::option::Option::None #(.or_else(|| #path::Hyperparameters::value(&self.#inner, name)))*
                        #(.or_else(|| #path::Setting::value_inside(&self.#nested, #nested_names, name)))*,
                }
            }
            fn assign(
                &mut self,
                name: &str,
                input: #path::Input<'_>,
            ) -> ::core::result::Result<(), #path::SettingError> {
                match &*#path::plain_name(name) {
                    #(#set)*
                    #(_ if #path::Hyperparameters::value(&self.#inner, name).is_some() => {
                        #path::Hyperparameters::assign(&mut self.#inner, name, input).map_err(|error| error.of(#name))
                    })*
                    _ => {
                        #(if let ::core::option::Option::Some(done) =
                            #path::Setting::assign_inside(&mut self.#nested, #nested_names, name, input)
                        {
                            return done;
                        })*
                        ::core::result::Result::Err(#path::SettingError::unknown(self, name))
                    }
                }
            }
            fn describe_all(&self) -> ::std::vec::Vec<(::std::string::String, #path::Hyperparameter)> {
                #[allow(unused_mut)]
                let mut all = #path::described(self);
                #(all.extend(#path::Setting::describe_inside(&self.#nested, #nested_names));)*
                all
            }
            fn validate(&self) -> ::core::result::Result<(), #path::SettingError> {
                #(#checks)*
                #last
                ::core::result::Result::Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        let input: DeriveInput = syn::parse_str(text).expect("a type");
        derive(&input).expect_err("refused").to_string()
    }

    #[test]
    fn mistakes_are_found_while_compiling() {
        let field = |attribute: &str| problem(&format!("struct S {{ #[doc = \"d\"] #[hyper({attribute})] x: f64 }}"));
        assert!(field("default = 2.0, range = \"[0, 1)\"").contains("outside the range"));
        assert!(field("default = -1.0, range = \"[0, 1)\"").contains("outside the range"));
        assert!(field("range = \"0 to 1\"").contains("write an interval"));
        assert!(field("minimum = 0").contains("known on a field"));
        assert!(field("flatten, range = \"[0, 1)\"").contains("their own ranges"));
        assert!(problem("struct S { x: f64 }").contains("doc comment"));
        assert!(problem("struct S(f64);").contains("named fields"));
        assert!(problem("enum E { A }").contains("for structs"));
        assert!(problem("struct S<T> { #[doc = \"d\"] x: T }").contains("type parameters"));
        let twice = "struct S { #[doc = \"d\"] #[hyper(alias = \"y\")] x: f64, #[doc = \"d\"] y: f64 }";
        assert!(problem(twice).contains("names two"));
    }
}
