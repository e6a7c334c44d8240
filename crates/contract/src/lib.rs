//! The types of the JSON documents. A struct that serde writes derives [`Document`], so that its
//! JSON Schema and its type in Python follow from the struct and are written nowhere else:
//! `ackclock._native.document_types` lists them.
//!
//! The derive reads serde's attributes `rename`, `rename_all`, `tag`, `untagged`, `flatten`, `skip` and
//! `skip_serializing_if`. Of a field, `#[document(names("down", "up"))]` lists the values of a text,
//! `#[document(nullable)]` marks a number that may be infinite, which JSON writes as null, and
//! `#[document(optional)]` a key that documents of earlier versions lack.
#![forbid(unsafe_code)]

pub use ackclock_contract_derive::Document;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The form of a value in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    Boolean,
    Integer,
    Number,
    Text,
    /// One of these texts.
    Names(Vec<String>),
    List(Box<Shape>),
    Tuple(Vec<Shape>),
    /// An object whose keys are data.
    Map(Box<Shape>),
    Nullable(Box<Shape>),
    Null,
    /// A struct of [`Types`].
    Struct(String),
}

impl Shape {
    /// The name of a struct for a type argument: `Fitted<Rate>` is FittedRate.
    pub fn name(&self) -> String {
        self.python().chars().filter(char::is_ascii_alphanumeric).collect()
    }

    /// As an annotation in Python.
    pub fn python(&self) -> String {
        match self {
            Shape::Boolean => "bool".into(),
            Shape::Integer => "int".into(),
            Shape::Number => "float".into(),
            Shape::Text => "str".into(),
            Shape::Names(names) => format!("Literal[{}]", joined(names.iter().map(|name| format!("\"{name}\"")))),
            Shape::List(shape) => format!("list[{}]", shape.python()),
            Shape::Tuple(shapes) => format!("tuple[{}]", joined(shapes.iter().map(Shape::python))),
            Shape::Map(shape) => format!("dict[str, {}]", shape.python()),
            Shape::Nullable(shape) => format!("{} | None", shape.python()),
            Shape::Null => "None".into(),
            Shape::Struct(name) => name.clone(),
        }
    }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// A key of a struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub text: &'static str,
    pub shape: Shape,
    /// The key is in every document.
    pub required: bool,
}

impl Field {
    /// `skipped`: serde leaves the key out where it has no value.
    pub fn new(name: &str, text: &'static str, shape: Shape, skipped: bool) -> Field {
        let shape = match shape {
            Shape::Nullable(inner) if skipped => *inner,
            shape => shape,
        };
        Field { name: name.into(), text, shape, required: !skipped }
    }
}

/// A struct of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructType {
    pub name: String,
    pub text: &'static str,
    pub fields: Vec<Field>,
}

/// Makes the keys of a kind of an enum those of its struct: optional, and each once.
pub fn add_kind(fields: &mut Vec<Field>, of_kind: Vec<Field>) {
    for field in of_kind {
        if !fields.iter().any(|known| known.name == field.name) {
            fields.push(Field { required: false, ..field });
        }
    }
}

/// The structs of documents, each after those that it has.
#[derive(Debug, Default)]
pub struct Types {
    known: Vec<String>,
    structs: Vec<StructType>,
}

impl Types {
    /// Adds a struct, once, and gives its shape. A struct may have itself.
    pub fn add(&mut self, name: &str, text: &'static str, fields: impl FnOnce(&mut Types) -> Vec<Field>) -> Shape {
        if !self.known.iter().any(|known| known == name) {
            self.known.push(name.into());
            let fields = fields(self);
            self.structs.push(StructType { name: name.into(), text, fields });
        }
        Shape::Struct(name.into())
    }

    pub fn structs(&self) -> &[StructType] {
        &self.structs
    }
}

/// A value of a document.
pub trait Document {
    /// Its shape; its structs are added to `types`.
    fn shape(types: &mut Types) -> Shape;

    /// The keys of a struct, which `flatten` gives to another; none of other values.
    fn fields(types: &mut Types) -> Vec<Field> {
        let _ = types;
        Vec::new()
    }
}

macro_rules! simple {
    ($shape:expr; $($type:ty),+) => {
        $(impl Document for $type {
            fn shape(_: &mut Types) -> Shape {
                $shape
            }
        })+
    };
}

simple!(Shape::Null; ());
simple!(Shape::Boolean; bool);
simple!(Shape::Integer; u8, u16, u32, u64, usize, i8, i16, i32, i64);
simple!(Shape::Number; f32, f64);
simple!(Shape::Text; String, &str, Cow<'_, str>);

impl<T: Document> Document for Option<T> {
    fn shape(types: &mut Types) -> Shape {
        Shape::Nullable(Box::new(T::shape(types)))
    }
    fn fields(types: &mut Types) -> Vec<Field> {
        T::fields(types).into_iter().map(|field| Field { required: false, ..field }).collect()
    }
}

impl<T: Document> Document for Box<T> {
    fn shape(types: &mut Types) -> Shape {
        T::shape(types)
    }
    fn fields(types: &mut Types) -> Vec<Field> {
        T::fields(types)
    }
}

impl<T: Document> Document for &T {
    fn shape(types: &mut Types) -> Shape {
        T::shape(types)
    }
}

impl<T: Document> Document for Vec<T> {
    fn shape(types: &mut Types) -> Shape {
        Shape::List(Box::new(T::shape(types)))
    }
}

impl<T: Document> Document for &[T] {
    fn shape(types: &mut Types) -> Shape {
        Shape::List(Box::new(T::shape(types)))
    }
}

impl<T: Document, const N: usize> Document for [T; N] {
    fn shape(types: &mut Types) -> Shape {
        Shape::Tuple(vec![T::shape(types); N])
    }
}

impl<A: Document, B: Document> Document for (A, B) {
    fn shape(types: &mut Types) -> Shape {
        Shape::Tuple(vec![A::shape(types), B::shape(types)])
    }
}

impl<K, V: Document> Document for BTreeMap<K, V> {
    fn shape(types: &mut Types) -> Shape {
        Shape::Map(Box::new(V::shape(types)))
    }
}

// The derive names the crate.
#[cfg(test)]
extern crate self as ackclock_contract;
#[cfg(test)]
mod tests;
