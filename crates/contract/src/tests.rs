//! What derive(Document) says of structs with each of serde's attributes.

use super::{Document, Shape, Types};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize, Document)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only their names are used")]
enum Kind {
    First,
    SecondLast,
}

/// Shared keys.
#[derive(Serialize, Document)]
struct Common {
    /// How many,
    /// in all.
    count: u64,
}

#[derive(Serialize, Document)]
struct Part {
    #[serde(flatten)]
    common: Common,
    #[serde(flatten)]
    further: Option<Further>,
    #[serde(rename = "by")]
    kind: Kind,
    #[document(names("down", "up"))]
    direction: Option<&'static str>,
    #[document(nullable)]
    bound: f64,
    #[document(optional)]
    since: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part>,
    #[serde(skip)]
    _hidden: fn(),
}

#[derive(Serialize, Document)]
struct Further {
    shares: BTreeMap<&'static str, f64>,
}

#[test]
fn derived_fields_are_those_that_serde_writes() {
    let mut types = Types::default();
    assert_eq!(Part::shape(&mut types), Shape::Struct("Part".into()));
    // A struct that has itself stands once; flattened ones do not stand at all.
    assert_eq!(types.structs().iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["Part"]);
    let fields = types.structs()[0].fields.iter();
    let fields: Vec<_> = fields.map(|field| (field.name.as_str(), field.shape.python(), field.required)).collect();
    let expected = [
        ("count", "int", true),
        ("shares", "dict[str, float]", false),
        ("by", "Literal[\"first\", \"second-last\"]", true),
        ("direction", "Literal[\"down\", \"up\"] | None", true),
        ("bound", "float | None", true),
        ("since", "int", false),
        ("absent", "tuple[float, float]", false),
        ("parts", "list[Part]", false),
    ];
    assert_eq!(fields, expected.map(|(name, python, required)| (name, python.to_owned(), required)));
}

#[derive(Serialize, Document)]
struct Fitted<E> {
    evidence: E,
}

/// What is asked.
#[derive(Serialize, Document)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only their names are used")]
enum Request {
    Part(Common),
    KeepAlive { every: Option<u8> },
}

#[test]
fn struct_with_a_type_argument_has_its_name() {
    let mut types = Types::default();
    assert_eq!(Fitted::<Common>::shape(&mut types).python(), "FittedCommon");
    assert_eq!(types.structs()[1].fields[0].shape.python(), "Common");
}

#[test]
fn enum_with_values_is_an_object_with_one_of_its_keys() {
    let mut types = Types::default();
    Request::shape(&mut types);
    let all: Vec<_> = types.structs().iter().map(|one| one.name.as_str()).collect();
    assert_eq!(all, ["Common", "RequestKeepAlive", "Request"]);
    let fields: Vec<_> = types.structs()[2].fields.iter().map(|field| (field.name.as_str(), field.required)).collect();
    assert_eq!(fields, [("part", false), ("keep-alive", false)]);
    assert_eq!(types.structs()[1].fields[0].shape.python(), "int | None");
}

#[derive(Serialize, Document)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[expect(dead_code, reason = "only their names are used")]
enum Family {
    Normal { mean: f64, sd: f64 },
    Exponential { mean: f64 },
    Fixed(Common),
    Off,
}

#[test]
fn enum_with_a_tag_is_a_struct_with_a_kind_and_the_keys_of_all_kinds() {
    let fields = Family::fields(&mut Types::default());
    let fields: Vec<_> = fields.iter().map(|field| (field.name.as_str(), field.required)).collect();
    assert_eq!(fields, [("kind", true), ("mean", false), ("sd", false), ("count", false)]);
    let kinds = Family::fields(&mut Types::default())[0].shape.python();
    assert_eq!(kinds, "Literal[\"normal\", \"exponential\", \"fixed\", \"off\"]");
}

#[test]
fn text_of_a_field_is_its_doc_comment_in_one_line() {
    assert_eq!(Common::fields(&mut Types::default())[0].text, "How many, in all.");
    let mut types = Types::default();
    Common::shape(&mut types);
    assert_eq!(types.structs()[0].text, "Shared keys.");
}
