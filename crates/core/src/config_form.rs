//! Configuration fields whose form in a plan differs from their type.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A key that must be present, though it may be null. With serde's default, an absent key is null.
pub fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

/// Null is no limit: the maximum of the type.
pub fn unlimited<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Ok(nullable(from)?.unwrap_or(u64::MAX))
}

/// What `unlimited` reads: the maximum is null.
pub fn or_null<S: Serializer>(limit: &u64, into: S) -> Result<S::Ok, S::Error> {
    (*limit != u64::MAX).then_some(limit).serialize(into)
}

/// A plan leaves out a key with the value that an absent key has.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Null is no limit: infinity.
pub fn infinite<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(nullable(from)?.unwrap_or(f64::INFINITY))
}

/// A number that is whole is one without a point.
pub fn whole<S: Serializer>(number: &f64, into: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 && (0.0..1e15).contains(number) { (*number as u64).serialize(into) } else { number.serialize(into) }
}

/// As `whole`, with null for what `infinite` reads.
pub fn whole_or_null<S: Serializer>(number: &f64, into: S) -> Result<S::Ok, S::Error> {
    if number.is_finite() { whole(number, into) } else { into.serialize_none() }
}

/// A value for each direction, `{"down": .., "up": ..}`, in the order of `Direction::BOTH`:
/// `#[serde(with = "per_direction")]`.
pub mod per_direction {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize, Serialize)]
    #[serde(deny_unknown_fields)]
    struct PerDirection<T> {
        down: T,
        up: T,
    }

    pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<[T; 2], D::Error> {
        PerDirection::deserialize(from).map(|PerDirection { down, up }| [down, up])
    }

    pub fn serialize<S: Serializer, T: Serialize>([down, up]: &[T; 2], into: S) -> Result<S::Ok, S::Error> {
        PerDirection { down, up }.serialize(into)
    }
}

/// A name from a table; the error names `what` and the unknown name.
pub fn named<'de, D: Deserializer<'de>, T>(
    from: D,
    what: &str,
    from_name: impl FnOnce(&str) -> Option<T>,
) -> Result<T, D::Error> {
    let name = String::deserialize(from)?;
    from_name(&name).ok_or_else(|| serde::de::Error::custom(format!("there is no {what} '{name}'")))
}
