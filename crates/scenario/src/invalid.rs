//! An invalid value, with its place below the table that is read, and the texts of messages.

use crate::number_text::shortest;
use crate::similar::{close_matches, nearest};
use crate::value::Value;

pub type Read<T> = Result<T, Invalid>;

/// A value outside the allowed ones. The message is `found X; allowed: Y`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    pub found: String,
    pub allowed: String,
    /// From the table that is read to the key.
    pub path: Vec<Step>,
    pub code: Code,
}

/// A key of a table, or the index of an array's element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Index(usize),
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Step::Key(key) => f.write_str(key),
            Step::Index(index) => index.fmt(f),
        }
    }
}

/// The entry in the page of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Value,
    Unit,
    UnknownKey,
    MissingKey,
    /// The message is `found; allowed`: a sentence about keys that exclude each other, and the
    /// remedy.
    Combination,
}

impl Code {
    pub fn name(self) -> &'static str {
        match self {
            Code::Value => "value",
            Code::Unit => "unit",
            Code::UnknownKey => "unknown-key",
            Code::MissingKey => "missing-key",
            Code::Combination => "combination",
        }
    }
}

impl Invalid {
    pub fn new(found: impl Into<String>, allowed: impl Into<String>) -> Invalid {
        Invalid { found: found.into(), allowed: allowed.into(), path: Vec::new(), code: Code::Value }
    }

    /// A value of which `allowed` says what it should be.
    pub fn value(value: &Value, allowed: impl Into<String>) -> Invalid {
        Invalid::new(format_value(value), allowed)
    }

    /// A sentence about keys that exclude each other, and the remedy.
    pub fn problem(statement: &str, remedy: &str) -> Invalid {
        Invalid::new(statement, remedy).with_code(Code::Combination)
    }

    pub fn with_code(self, code: Code) -> Invalid {
        Invalid { code, ..self }
    }

    /// The same error below a key.
    pub fn at(self, key: &str) -> Invalid {
        self.below(Step::Key(key.into()))
    }

    pub fn below(mut self, step: Step) -> Invalid {
        self.path.insert(0, step);
        self
    }
}

/// Characters of a value in a message.
const MAX_CHARACTERS: usize = 80;
/// Elements of an array in a message.
const MAX_ELEMENTS: usize = 20;
/// Names in a message; of more, the most similar ones are listed.
pub const MAX_NAMES: usize = 30;

/// A value as in TOML, limited in length.
pub fn format_value(value: &Value) -> String {
    let text = match value {
        Value::Absent => "None".into(),
        Value::Bool(yes) => yes.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => shortest(*number),
        Value::Text(text) => format!("\"{text}\""),
        Value::Array(values) if values.is_empty() => "an empty list".into(),
        Value::Array(values) => {
            format!("[{}]", values.iter().take(MAX_ELEMENTS).map(format_value).collect::<Vec<_>>().join(", "))
        }
        Value::Table(entries) if entries.is_empty() => "a table (empty)".into(),
        Value::Table(entries) => {
            format!("a table ({})", entries.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(", "))
        }
        Value::Other(text) => text.clone(),
    };
    if text.chars().count() <= MAX_CHARACTERS {
        return text;
    }
    format!("{}...", text.chars().take(MAX_CHARACTERS - 3).collect::<String>())
}

/// The allowed names, and the nearest one to `found` if there is one; of many names the similar ones.
pub fn choices(names: &[&str], found: Option<&str>) -> String {
    let listed = if names.len() > MAX_NAMES {
        let like = close_matches(found.unwrap_or("None"), names, 8, 0.0);
        format!("{} and {} others", like.join(", "), names.len() - like.len())
    } else if names.is_empty() {
        "nothing here".into()
    } else {
        names.join(", ")
    };
    match found.and_then(|found| nearest(found, names)) {
        Some(near) => format!("{listed} (did you mean {near}?)"),
        None => listed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_cut_when_it_is_longer_than_80_characters() {
        let text = format_value(&Value::from("x".repeat(100)));
        assert_eq!((text.len(), &text[76..]), (80, "x..."));
        assert_eq!(format_value(&Value::Table(Vec::new())), "a table (empty)");
        assert_eq!(format_value(&Value::Array(vec![Value::Bool(true), Value::Float(1e-5)])), "[true, 1e-05]");
    }

    #[test]
    fn choices_are_the_similar_names_when_there_are_more_than_30() {
        let names: Vec<String> = (0..40).map(|number| format!("name{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = choices(&names, Some("name7"));
        assert!(text.starts_with("name7, ") && text.ends_with("and 32 others (did you mean name7?)"), "{text}");
        assert_eq!(choices(&["a", "b"], None), "a, b");
    }
}
