//! `#[derive(Keys)]` makes a struct of a written table its own reader and description, for
//! ackclock-scenario, whose header says how it is used.
//!
//! Of a struct: `#[keys(kind = "codel")]` its value of the key `kind`, `#[keys(check = path)]` a
//! check over several keys, `#[keys(plan = path)]` its configuration as a plan has it,
//! `#[keys(prepare = path)]` a conversion of shorter forms before the keys are read,
//! `#[keys(shorthand = path)]` the JSON Schema of those, `#[keys(derived = path)]` values beside the
//! keys, `#[keys(written = path)]` a change of the written table, `#[keys(given = path)]` what was given
//! for a table that is no key, `#[keys(absent = "..")]` what an absent key means where the key does not
//! say it, and `#[keys(merge)]` a method `over`, which joins two tables of optional keys.
//!
//! Of a field: the doc comment is the text. `#[key(..)]` has `example`, `default`, `unit`, `absent`
//! (what an absent key means, in words or as a number), and the bounds `min`, `max`, `above`, `below`
//! with `allowed`, the words of the error message, or `beyond` those above `max`, and `needed`, those
//! for a missing key; `former` is the name that the key had before, which is still read. A field with
//! `kind` stands for the key `kind`. A field with `flatten` is a table
//! whose keys stand in this one; with `first` they are read before the others.
//!
//! Of an enum: each variant holds a table with a kind; `#[keys(default = "droptail")]` is the kind
//! of a table without one; `prepare`, `shorthand` and `limits` are as of a struct.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, Lit, LitStr, Result, parse_macro_input};

#[proc_macro_derive(Keys, attributes(keys, key))]
pub fn derive_keys(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let expanded = match &input.data {
        Data::Struct(data) => table(&input, &data.fields),
        Data::Enum(data) => kinds(&input, data.variants.iter()),
        Data::Union(_) => Err(Error::new(input.span(), "Keys are of a struct or an enum")),
    };
    expanded.unwrap_or_else(Error::into_compile_error).into()
}

/// The text of doc comments: one paragraph.
fn text_of(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).filter_map(|attribute| {
        match &attribute.meta.require_name_value().ok()?.value {
            Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => Some(line.value().trim().to_owned()),
            _ => None,
        }
    });
    lines.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The settings `name = value` of the attributes of a name.
fn settings(attributes: &[Attribute], of: &str, known: &[&str]) -> Result<Vec<(String, Expr)>> {
    let mut pairs = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(of)) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            if !known.contains(&name.as_str()) {
                return Err(meta.error(format!("unknown setting; known: {}", known.join(", "))));
            }
            let value = if meta.input.peek(syn::Token![=]) { meta.value()?.parse()? } else { syn::parse_quote!(true) };
            pairs.push((name, value));
            Ok(())
        })?;
    }
    Ok(pairs)
}

fn setting<'a>(settings: &'a [(String, Expr)], name: &str) -> Option<&'a Expr> {
    settings.iter().find(|(found, _)| found == name).map(|(_, value)| value)
}

/// An option of tokens as tokens.
fn optional(value: Option<impl ToTokens>) -> TokenStream {
    value.map_or_else(|| quote!(None), |value| quote!(Some(#value)))
}

struct KeyField<'a> {
    field: &'a Field,
    name: String,
    text: String,
    settings: Vec<(String, Expr)>,
}

const KEY_SETTINGS: [&str; 15] = [
    "example", "default", "unit", "absent", "min", "max", "above", "below", "allowed", "beyond", "kind", "flatten", "first",
    "needed", "former",
];

impl<'a> KeyField<'a> {
    fn new(field: &'a Field) -> Result<KeyField<'a>> {
        let ident = field.ident.as_ref().ok_or_else(|| Error::new(field.span(), "a key needs a name"))?;
        let text = text_of(&field.attrs);
        let name = ident.to_string().trim_start_matches("r#").to_owned();
        let key = KeyField { field, name, text, settings: settings(&field.attrs, "key", &KEY_SETTINGS)? };
        if !key.text.ends_with('.') && !key.has("flatten") {
            return Err(Error::new(field.span(), "the doc comment of a key is its text: one or more sentences"));
        }
        Ok(key)
    }

    fn has(&self, name: &str) -> bool {
        setting(&self.settings, name).is_some()
    }

    fn bounds(&self) -> Result<TokenStream> {
        let bound = |name: &str| -> Result<TokenStream> {
            let Some(value) = setting(&self.settings, name) else { return Ok(quote!(None)) };
            let kind = match literal(value) {
                Some(Lit::Int(_)) => quote!(Int),
                Some(Lit::Float(_)) => quote!(Float),
                Some(Lit::Str(_)) => quote!(Text),
                _ => return Err(Error::new(value.span(), "a bound is a number, or a quantity with its unit")),
            };
            Ok(quote!(Some(::ackclock_scenario::keys::Bound::#kind(#value))))
        };
        let (min, max, above, below) = (bound("min")?, bound("max")?, bound("above")?, bound("below")?);
        let (allowed, beyond) = (optional(setting(&self.settings, "allowed")), optional(setting(&self.settings, "beyond")));
        Ok(quote!(::ackclock_scenario::keys::Bounds {
            min: #min, max: #max, above: #above, below: #below, allowed: #allowed, beyond: #beyond
        }))
    }

    fn default(&self) -> TokenStream {
        optional(setting(&self.settings, "default").map(value_of))
    }

    /// `of_table`: what an absent key means where this one does not say it.
    fn description(&self, of_table: Option<&Expr>) -> TokenStream {
        let (text, unit) = (&self.text, optional(setting(&self.settings, "unit")));
        let absent = setting(&self.settings, "absent").or(of_table.filter(|_| !self.has("default")));
        let (words, shown) = match absent {
            Some(absent) if !matches!(literal(absent), Some(Lit::Str(_))) => (None, optional(Some(value_of(absent)))),
            absent => (absent, self.default()),
        };
        let absent = optional(words);
        let example = optional(setting(&self.settings, "example").map(|value| {
            let toml = toml_text(value);
            quote!((::ackclock_scenario::value::Value::from(#value), #toml))
        }));
        quote!(::ackclock_scenario::keys::Notes { text: #text, unit: #unit, default: #shown, absent: #absent, example: #example })
    }
}

fn value_of(expression: &Expr) -> TokenStream {
    quote!(::ackclock_scenario::value::Value::from(#expression))
}

/// A literal, or that of a negative number.
fn literal(value: &Expr) -> Option<&Lit> {
    match value {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        Expr::Unary(negative) => literal(&negative.expr),
        _ => None,
    }
}

/// A literal as TOML has it; empty for another expression, whose value is then written.
fn toml_text(value: &Expr) -> String {
    match literal(value) {
        Some(Lit::Str(text)) => format!("\"{}\"", text.value()),
        Some(_) => value.to_token_stream().to_string().replace(' ', ""),
        None => String::new(),
    }
}

fn table(input: &DeriveInput, fields: &Fields) -> Result<TokenStream> {
    let Fields::Named(named) = fields else { return Err(Error::new(input.span(), "a table has named keys")) };
    let all: Vec<KeyField> = named.named.iter().map(KeyField::new).collect::<Result<_>>()?;
    let known = ["kind", "check", "plan", "prepare", "shorthand", "limits", "derived", "written", "given", "absent", "merge"];
    let of_table = settings(&input.attrs, "keys", &known)?;
    let (ident, title) = (&input.ident, LitStr::new(&input.ident.to_string(), input.ident.span()));
    let description = text_of(&input.attrs);
    let kind = optional(setting(&of_table, "kind"));
    let names = all.iter().map(|key| {
        let (name, inner) = (&key.name, &key.field.ty);
        match key.has("flatten") {
            true => quote!(names.extend(<#inner as ::ackclock_scenario::keys::KeySet>::names())),
            false => quote!(names.push(#name)),
        }
    });

    let (mut keys, mut required, mut reads, mut writes, mut attributes) = (vec![], vec![], vec![], vec![], vec![]);
    let mut controls = vec![];
    let mut inner_attributes = vec![];
    for key in &all {
        let (field, name, kind_type) = (&key.field.ident, &key.name, &key.field.ty);
        if key.has("flatten") {
            keys.push(quote!(keys.extend(<#kind_type as ::ackclock_scenario::keys::KeySet>::keys())));
            controls.push(quote!(controls.extend(<#kind_type as ::ackclock_scenario::keys::KeySet>::key_controls())));
            required.push(quote!(<#kind_type as ::ackclock_scenario::keys::KeySet>::require(entries, names)?;));
            let place = if key.has("first") { 0 } else { reads.len() };
            reads.insert(place, quote!(#field: <#kind_type as ::ackclock_scenario::keys::KeySet>::read_keys(entries)?));
            writes.push(quote!(written.extend(::ackclock_scenario::keys::KeySet::write_keys(&self.#field, given))));
            inner_attributes.push(quote!(.or_else(|| ::ackclock_scenario::keys::KeySet::key_attribute(&self.#field, key))));
            continue;
        }
        if key.has("kind") {
            let (text, kind) = (&key.text, setting(&of_table, "kind"));
            let kind = kind.ok_or_else(|| Error::new(input.span(), "#[keys(kind = ..)] is missing"))?;
            let is_default = setting(&key.settings, "default").is_some();
            keys.push(quote!(keys.push(::ackclock_scenario::keys::Key::kind(#kind, #text, #is_default))));
            reads.push(quote!(#field: #kind_type::default()));
            writes.push(quote!(written.push((#name.to_owned(), ::ackclock_scenario::value::Value::from(#kind)))));
            attributes.push(quote!(#name => Some(::ackclock_scenario::keys::Attribute::Value(#kind.into()))));
            continue;
        }
        let (bounds, notes) = (key.bounds()?, key.description(setting(&of_table, "absent")));
        keys.push(quote!(keys.push(::ackclock_scenario::keys::Key::of::<#kind_type>(#name, #bounds, #notes))));
        let text = &key.text;
        let make_default = optional(setting(&key.settings, "default").map(|value| {
            let value = value_of(value);
            quote!(|| #value)
        }));
        let is_required = !["default", "absent"].iter().any(|setting| key.has(setting));
        let example = setting(&key.settings, "example").filter(|_| is_required).map(value_of);
        let example = optional(example.map(|value| quote!(|| #value)));
        controls.push(quote!(controls.push(
            ::ackclock_scenario::controls::Control::of::<#kind_type>(#name, #text, &#bounds, #example)
        )));
        if setting(&key.settings, "default").is_none() {
            let needed = optional(setting(&key.settings, "needed"));
            required.push(quote! {
                if !<#kind_type as ::ackclock_scenario::keys::KeyValue>::OPTIONAL {
                    ::ackclock_scenario::keys::require(entries, #name, names, #needed)?;
                }
            });
        }
        reads.push(quote!(#field: ::ackclock_scenario::keys::value(entries, #name, &#bounds, #make_default)?));
        writes.push(quote!(::ackclock_scenario::keys::write(&mut written, #name, &self.#field, given)));
        attributes.push(quote!(#name => Some(::ackclock_scenario::keys::KeyValue::attribute(&self.#field))));
    }
    let [prepare, prepare_given] = prepared(&of_table);
    let [rename, rename_given] = renamed(&all);
    let check = setting(&of_table, "check").map(|path| quote!(#path(&read)?;));
    let plan = setting(&of_table, "plan").map_or_else(|| quote!(::serde_json::Value::Null), |path| quote!(#path(self)));
    let schema = match setting(&of_table, "shorthand") {
        Some(path) => quote!(::ackclock_scenario::schema::either(vec![#path(), all_keys])),
        None => quote!(all_keys),
    };
    let limits = setting(&of_table, "limits").map_or_else(|| quote!(""), ToTokens::to_token_stream);
    let derived = setting(&of_table, "derived").map(|path| quote!(.or_else(|| #path(self, key))));
    let given = setting(&of_table, "given").map(|path| {
        quote! {
            fn given(
                &self,
                key: &str,
                given: &::ackclock_scenario::value::Value,
            ) -> Option<::ackclock_scenario::value::Value> {
                #path(key, given)
            }
        }
    });
    let change_written = setting(&of_table, "written").map(|path| quote!(let written = #path(self, written);));
    let merge = setting(&of_table, "merge").map(|_| {
        let fields = all.iter().map(|key| &key.field.ident);
        quote! {
            impl #ident {
                /// The keys of this table, and where it has none those of a weaker one.
                pub fn over(&self, weaker: &Self) -> Self {
                    #ident { #(#fields: Clone::clone(&self.#fields).or_else(|| Clone::clone(&weaker.#fields))),* }
                }
            }
        }
    });
    Ok(quote! {
        #merge

        impl ::ackclock_scenario::keys::KeyValue for #ident {
            fn read(
                value: &::ackclock_scenario::value::Value,
                _: &::ackclock_scenario::keys::Bounds,
            ) -> ::ackclock_scenario::invalid::Read<Self> {
                #rename
                #prepare
                let names = <Self as ::ackclock_scenario::keys::KeySet>::names();
                let entries = ::ackclock_scenario::keys::entries(value, &names)?;
                <Self as ::ackclock_scenario::keys::KeySet>::require(entries, &names)?;
                let read = <Self as ::ackclock_scenario::keys::KeySet>::read_keys(entries)?;
                #check
                Ok(read)
            }

            fn write(&self, given: Option<&::ackclock_scenario::value::Value>) -> ::ackclock_scenario::value::Value {
                #rename_given
                #prepare_given
                ::ackclock_scenario::value::Value::Table(::ackclock_scenario::keys::KeySet::write_keys(self, given))
            }

            fn attribute(&self) -> ::ackclock_scenario::keys::Attribute {
                ::ackclock_scenario::keys::Attribute::Table(::std::sync::Arc::new(self.clone()))
            }

            fn unit() -> &'static str {
                "table"
            }

            fn limits(_: &::ackclock_scenario::keys::Bounds) -> String {
                #limits.into()
            }

            fn schema(
                _: &::ackclock_scenario::keys::Bounds,
                definitions: &mut ::ackclock_scenario::schema::Definitions,
            ) -> ::ackclock_scenario::value::Value {
                let reference = definitions.reference::<#ident>(false);
                let all_keys = ::ackclock_scenario::value::Value::table([("allOf", vec![reference].into())]);
                #schema
            }

            fn controls(_: &::ackclock_scenario::value::Value) -> Vec<::ackclock_scenario::controls::Control> {
                <Self as ::ackclock_scenario::keys::KeySet>::key_controls()
            }
        }

        impl ::ackclock_scenario::keys::Checked for #ident {
            fn table(&self) -> &'static str {
                #title
            }

            fn attribute(&self, key: &str) -> Option<::ackclock_scenario::keys::Attribute> {
                ::ackclock_scenario::keys::KeySet::key_attribute(self, key)
                #derived
            }

            #given

            fn written(&self, given: Option<&::ackclock_scenario::value::Value>) -> ::ackclock_scenario::value::Value {
                ::ackclock_scenario::keys::KeyValue::write(self, given)
            }

            fn plan(&self) -> ::serde_json::Value {
                #plan
            }
        }

        impl ::ackclock_scenario::keys::KeySet for #ident {
            fn keys() -> Vec<::ackclock_scenario::keys::Key> {
                let mut keys = Vec::new();
                #(#keys;)*
                keys
            }

            fn key_controls() -> Vec<::ackclock_scenario::controls::Control> {
                let mut controls = Vec::new();
                #(#controls;)*
                controls
            }

            fn names() -> Vec<&'static str> {
                let mut names = Vec::new();
                #(#names;)*
                names
            }

            fn require(
                entries: &[(String, ::ackclock_scenario::value::Value)],
                names: &[&str],
            ) -> ::ackclock_scenario::invalid::Read<()> {
                let _ = (entries, names);
                #(#required)*
                Ok(())
            }

            fn read_keys(
                entries: &[(String, ::ackclock_scenario::value::Value)],
            ) -> ::ackclock_scenario::invalid::Read<Self> {
                Ok(#ident { #(#reads),* })
            }

            fn write_keys(
                &self,
                given: Option<&::ackclock_scenario::value::Value>,
            ) -> Vec<(String, ::ackclock_scenario::value::Value)> {
                let mut written = Vec::new();
                #(#writes;)*
                #change_written
                written
            }

            fn key_attribute(&self, key: &str) -> Option<::ackclock_scenario::keys::Attribute> {
                match key {
                    #(#attributes,)*
                    _ => None,
                }
                #(#inner_attributes)*
            }
        }

        impl ::ackclock_scenario::keys::Table for #ident {
            const NAME: &'static str = #title;
            const KIND: Option<&'static str> = #kind;

            fn description() -> &'static str {
                #description
            }
        }
    })
}

/// The conversion of shorter forms of `value` and of `given`.
fn prepared(settings: &[(String, Expr)]) -> [TokenStream; 2] {
    let Some(path) = setting(settings, "prepare") else { return [TokenStream::new(), TokenStream::new()] };
    [
        quote!(let prepared = #path(value)?; let value = prepared.as_ref().unwrap_or(value);),
        quote!(let prepared = given.and_then(|given| #path(given).ok().flatten()); let given = prepared.as_ref().or(given);),
    ]
}

/// The present names of keys in `value` and in `given` that have their former ones.
fn renamed(keys: &[KeyField]) -> [TokenStream; 2] {
    let pairs: Vec<TokenStream> = keys
        .iter()
        .filter_map(|key| {
            let (former, name) = (setting(&key.settings, "former")?, &key.name);
            Some(quote!((#former, #name)))
        })
        .collect();
    if pairs.is_empty() {
        return [TokenStream::new(), TokenStream::new()];
    }
    [
        quote! {
            let renamed = ::ackclock_scenario::former_names::renamed(value, &[#(#pairs),*])?;
            let value = renamed.as_ref().unwrap_or(value);
        },
        quote! {
            let renamed = given.and_then(|given| ::ackclock_scenario::former_names::present(given, &[#(#pairs),*]));
            let given = renamed.as_ref().or(given);
        },
    ]
}

fn kinds<'a>(input: &DeriveInput, variants: impl Iterator<Item = &'a syn::Variant>) -> Result<TokenStream> {
    let ident = &input.ident;
    let of_enum = settings(&input.attrs, "keys", &["default", "prepare", "shorthand", "limits"])?;
    let [prepare, prepare_given] = prepared(&of_enum);
    let schema = match setting(&of_enum, "shorthand") {
        Some(path) => quote!(::ackclock_scenario::schema::either(vec![#path(), all_kinds])),
        None => quote!(all_kinds),
    };
    let default = optional(setting(&of_enum, "default"));
    let limits = setting(&of_enum, "limits").map_or_else(|| quote!(""), ToTokens::to_token_stream);
    let (mut names, mut tables) = (vec![], vec![]);
    for variant in variants {
        let Fields::Unnamed(fields) = &variant.fields else {
            return Err(Error::new(variant.span(), "a variant holds its table"));
        };
        let table = fields.unnamed.first().ok_or_else(|| Error::new(variant.span(), "a variant holds its table"))?;
        names.push(&variant.ident);
        tables.push(&table.ty);
    }
    let kinds: Vec<TokenStream> =
        tables.iter().map(|table| quote!(<#table as ::ackclock_scenario::keys::Table>::KIND.unwrap_or_default())).collect();
    let count = tables.len();
    Ok(quote! {
        impl #ident {
            /// The kinds of the table, in the order of their declaration.
            pub fn kinds() -> [&'static str; #count] {
                [#(#kinds),*]
            }

            /// The kinds with the names of their tables.
            pub fn tables() -> [(&'static str, &'static str); #count] {
                [#((#kinds, <#tables as ::ackclock_scenario::keys::Table>::NAME)),*]
            }

            /// The table, whatever its kind.
            pub fn checked(&self) -> &dyn ::ackclock_scenario::keys::Checked {
                match self {
                    #(#ident::#names(table) => table,)*
                }
            }
        }

        impl ::ackclock_scenario::keys::KeyValue for #ident {
            fn read(
                value: &::ackclock_scenario::value::Value,
                bounds: &::ackclock_scenario::keys::Bounds,
            ) -> ::ackclock_scenario::invalid::Read<Self> {
                #prepare
                let kind = ::ackclock_scenario::keys::kind(value, &Self::kinds(), #default)?;
                #(if kind == #kinds {
                    return <#tables as ::ackclock_scenario::keys::KeyValue>::read(value, bounds).map(#ident::#names);
                })*
                unreachable!("every kind has a table")
            }

            fn write(&self, given: Option<&::ackclock_scenario::value::Value>) -> ::ackclock_scenario::value::Value {
                #prepare_given
                match self {
                    #(#ident::#names(table) => ::ackclock_scenario::keys::KeyValue::write(table, given),)*
                }
            }

            fn attribute(&self) -> ::ackclock_scenario::keys::Attribute {
                match self {
                    #(#ident::#names(table) => ::ackclock_scenario::keys::KeyValue::attribute(table),)*
                }
            }

            fn unit() -> &'static str {
                "table"
            }

            fn limits(_: &::ackclock_scenario::keys::Bounds) -> String {
                #limits.into()
            }

            fn schema(
                _: &::ackclock_scenario::keys::Bounds,
                definitions: &mut ::ackclock_scenario::schema::Definitions,
            ) -> ::ackclock_scenario::value::Value {
                let default: Option<&'static str> = #default;
                let all_kinds = ::ackclock_scenario::schema::either(vec![
                    #(definitions.reference::<#tables>(default == Some(#kinds))),*
                ]);
                #schema
            }

            fn controls(value: &::ackclock_scenario::value::Value) -> Vec<::ackclock_scenario::controls::Control> {
                match ::ackclock_scenario::keys::kind(value, &Self::kinds(), #default) {
                    #(Ok(kind) if kind == #kinds => <#tables as ::ackclock_scenario::keys::KeySet>::key_controls(),)*
                    _ => Vec::new(),
                }
            }
        }
    })
}
