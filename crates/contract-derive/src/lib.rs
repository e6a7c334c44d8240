//! `#[derive(Document)]` for ackclock-contract, whose header says what it reads.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, Ident, Lit, LitStr, Meta, Result, Token, Variant,
    parse_macro_input,
};

#[proc_macro_derive(Document, attributes(document))]
pub fn derive_document(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let body = match &input.data {
        Data::Struct(data) => of_struct(&input, &data.fields),
        Data::Enum(data) if data.variants.iter().all(|one| matches!(one.fields, Fields::Unit)) => {
            of_names(&input, data.variants.iter())
        }
        Data::Enum(data) => of_kinds(&input, data.variants.iter()),
        Data::Union(_) => Err(Error::new(input.span(), "a document has structs and enums")),
    };
    let mut bounded = input.generics.clone();
    bounded.type_params_mut().for_each(|one| one.bounds.push(syn::parse_quote!(::ackclock_contract::Document)));
    let (name, (generics, arguments, clause)) = (&input.ident, bounded.split_for_impl());
    let expanded = body.map(|body| {
        quote! {
            impl #generics ::ackclock_contract::Document for #name #arguments #clause { #body }
        }
    });
    expanded.unwrap_or_else(Error::into_compile_error).into()
}

/// `shape` and `fields` of a struct with named fields.
fn of_struct(input: &DeriveInput, fields: &Fields) -> Result<TokenStream> {
    let Fields::Named(fields) = fields else {
        return Err(Error::new(input.span(), "a struct of a document has named fields"));
    };
    let (name, text) = (input.ident.to_string(), text_of(&input.attrs));
    let steps = fields.named.iter().map(of_field).collect::<Result<Vec<_>>>()?;
    let arguments: Vec<_> = input.generics.type_params().map(|one| &one.ident).collect();
    Ok(quote! {
        fn shape(types: &mut ::ackclock_contract::Types) -> ::ackclock_contract::Shape {
            let mut name = #name.to_owned();
            #(name += &<#arguments as ::ackclock_contract::Document>::shape(types).name();)*
            types.add(&name, #text, <Self as ::ackclock_contract::Document>::fields)
        }
        fn fields(types: &mut ::ackclock_contract::Types) -> Vec<::ackclock_contract::Field> {
            let mut fields = Vec::new();
            #(#steps)*
            fields
        }
    })
}

/// Adds the key of a field, or the keys of a flattened one.
fn of_field(field: &Field) -> Result<TokenStream> {
    let (serde, document) = (settings(&field.attrs, "serde")?, settings(&field.attrs, "document")?);
    let (kind, text) = (&field.ty, text_of(&field.attrs));
    if serde.has("skip") {
        return Ok(TokenStream::new());
    }
    if serde.has("flatten") {
        return Ok(quote!(fields.extend(<#kind as ::ackclock_contract::Document>::fields(types));));
    }
    let ident = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    let name = serde.text("rename").unwrap_or(ident);
    let skipped = serde.has("skip_serializing_if") || document.has("optional");
    let mut shape = quote!(<#kind as ::ackclock_contract::Document>::shape(types));
    if !document.names.is_empty() {
        let names = &document.names;
        let of_names = quote!(::ackclock_contract::Shape::Names(vec![#(#names.to_owned()),*]));
        shape = quote! {
            match #shape {
                ::ackclock_contract::Shape::Nullable(_) => ::ackclock_contract::Shape::Nullable(Box::new(#of_names)),
                _ => #of_names,
            }
        };
    }
    if document.has("nullable") {
        shape = quote!(::ackclock_contract::Shape::Nullable(Box::new(#shape)));
    }
    Ok(quote! {
        let shape = #shape;
        fields.push(::ackclock_contract::Field::new(#name, #text, shape, #skipped));
    })
}

/// `shape` of an enum, which serde writes as the names of its variants.
fn of_names<'a>(input: &DeriveInput, variants: impl Iterator<Item = &'a Variant>) -> Result<TokenStream> {
    let names = variants.map(|variant| name_of(input, variant)).collect::<Result<Vec<_>>>()?;
    Ok(quote! {
        fn shape(_: &mut ::ackclock_contract::Types) -> ::ackclock_contract::Shape {
            ::ackclock_contract::Shape::Names(vec![#(#names.to_owned()),*])
        }
    })
}

/// `shape` of an enum with values, which serde writes as an object with one key.
fn of_kinds<'a>(input: &DeriveInput, variants: impl Iterator<Item = &'a Variant>) -> Result<TokenStream> {
    let serde = settings(&input.attrs, "serde")?;
    if serde.has("untagged") {
        return of_structs(input, None, variants);
    }
    if let Some(tag) = serde.text("tag") {
        return of_structs(input, Some(&tag), variants);
    }
    let (name, text) = (input.ident.to_string(), text_of(&input.attrs));
    let mut steps = Vec::new();
    for variant in variants {
        let (key, text) = (name_of(input, variant)?, text_of(&variant.attrs));
        let shape = match &variant.fields {
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                let kind = &fields.unnamed[0].ty;
                quote!(<#kind as ::ackclock_contract::Document>::shape(types))
            }
            Fields::Named(fields) => {
                let (own, steps) = (format!("{name}{}", variant.ident), fields.named.iter().map(of_field));
                let steps = steps.collect::<Result<Vec<_>>>()?;
                quote!(types.add(#own, #text, |types| {
                    let mut fields = Vec::new();
                    #(#steps)*
                    fields
                }))
            }
            _ => return Err(Error::new(variant.span(), "a variant of a document has named fields, or one value")),
        };
        steps.push(quote! {
            let shape = #shape;
            fields.push(::ackclock_contract::Field::new(#key, #text, shape, true));
        });
    }
    Ok(quote! {
        fn shape(types: &mut ::ackclock_contract::Types) -> ::ackclock_contract::Shape {
            types.add(#name, #text, |types| {
                let mut fields = Vec::new();
                #(#steps)*
                fields
            })
        }
    })
}

/// `shape` and `fields` of an enum with values, which serde writes as one of several structs: with a
/// kind under the key `tag`, or untagged.
fn of_structs<'a>(input: &DeriveInput, tag: Option<&str>, variants: impl Iterator<Item = &'a Variant>) -> Result<TokenStream> {
    let (name, text) = (input.ident.to_string(), text_of(&input.attrs));
    let (mut kinds, mut steps) = (Vec::new(), Vec::new());
    for variant in variants {
        kinds.push(name_of(input, variant)?);
        let of_variant = match &variant.fields {
            Fields::Unit => continue,
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                let kind = &fields.unnamed[0].ty;
                quote!(<#kind as ::ackclock_contract::Document>::fields(types))
            }
            Fields::Named(fields) => {
                let steps = fields.named.iter().map(of_field).collect::<Result<Vec<_>>>()?;
                quote!({
                    let mut fields = Vec::new();
                    #(#steps)*
                    fields
                })
            }
            Fields::Unnamed(_) => return Err(Error::new(variant.span(), "a variant of a document has one value")),
        };
        steps.push(quote!(::ackclock_contract::add_kind(&mut fields, #of_variant);));
    }
    let kind = tag.map(|tag| {
        quote! {
            let kinds = ::ackclock_contract::Shape::Names(vec![#(#kinds.to_owned()),*]);
            fields.push(::ackclock_contract::Field::new(#tag, "", kinds, false));
        }
    });
    Ok(quote! {
        fn shape(types: &mut ::ackclock_contract::Types) -> ::ackclock_contract::Shape {
            types.add(#name, #text, <Self as ::ackclock_contract::Document>::fields)
        }
        fn fields(types: &mut ::ackclock_contract::Types) -> Vec<::ackclock_contract::Field> {
            let mut fields = Vec::new();
            #kind
            #(#steps)*
            fields
        }
    })
}

/// The name that serde gives a variant.
fn name_of(input: &DeriveInput, variant: &Variant) -> Result<String> {
    let case = settings(&input.attrs, "serde")?.text("rename_all").unwrap_or_default();
    let renamed = settings(&variant.attrs, "serde")?.text("rename");
    renamed.map_or_else(|| in_case(&variant.ident, &case), Ok)
}

/// The name of a variant by serde's `rename_all`.
fn in_case(variant: &Ident, case: &str) -> Result<String> {
    let name = variant.to_string();
    let separated = |separator: char| {
        let mut done = String::new();
        for (index, letter) in name.char_indices() {
            if index > 0 && letter.is_uppercase() {
                done.push(separator);
            }
            done.extend(letter.to_lowercase());
        }
        done
    };
    match case {
        "" => Ok(name),
        "lowercase" => Ok(name.to_lowercase()),
        "snake_case" => Ok(separated('_')),
        "kebab-case" => Ok(separated('-')),
        _ => Err(Error::new(variant.span(), format!("rename_all = {case:?} is not known to derive(Document)"))),
    }
}

/// The settings of serde's or our attributes.
#[derive(Default)]
struct Settings {
    found: Vec<(String, Option<String>)>,
    /// The arguments of `names(..)`.
    names: Vec<LitStr>,
}

impl Settings {
    fn has(&self, name: &str) -> bool {
        self.found.iter().any(|(found, _)| found == name)
    }

    fn text(&self, name: &str) -> Option<String> {
        self.found.iter().find(|(found, _)| found == name)?.1.clone()
    }
}

fn settings(attributes: &[Attribute], of: &str) -> Result<Settings> {
    let mut settings = Settings::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(of)) {
        for meta in attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)? {
            let name = meta.path().get_ident().map(ToString::to_string).unwrap_or_default();
            match &meta {
                Meta::NameValue(pair) => settings.found.push((name, literal(&pair.value))),
                Meta::Path(_) => settings.found.push((name, None)),
                Meta::List(list) if of == "document" && name == "names" => {
                    settings.names.extend(list.parse_args_with(Punctuated::<LitStr, Token![,]>::parse_terminated)?);
                }
                Meta::List(_) => settings.found.push((name, None)),
            }
        }
    }
    if of == "document"
        && let Some((unknown, _)) = settings.found.iter().find(|(name, _)| !["nullable", "optional"].contains(&name.as_str()))
    {
        let span = attributes.first().map_or_else(proc_macro2::Span::call_site, Spanned::span);
        return Err(Error::new(span, format!("document({unknown}) is not known; known: names, nullable, optional")));
    }
    Ok(settings)
}

fn literal(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// The text of doc comments in one line.
fn text_of(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let lines = lines.filter_map(|attribute| literal(&attribute.meta.require_name_value().ok()?.value));
    lines.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}
