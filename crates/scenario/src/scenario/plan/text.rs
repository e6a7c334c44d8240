//! JSON as Python's `json.dumps` writes it without spaces: ASCII, and numbers as Python shows them.
//! Digests of stored runs are over this text.

use crate::number_text::shortest;
use serde_json::{Number, Value as Json};
use std::fmt::Write;

/// A value without spaces, with the keys of objects in order.
pub fn compact(value: &Json) -> String {
    let mut text = String::new();
    write(&mut text, value);
    text
}

fn write(text: &mut String, value: &Json) {
    match value {
        Json::Null => text.push_str("null"),
        Json::Bool(yes) => text.push_str(if *yes { "true" } else { "false" }),
        Json::Number(number) => write_number(text, number),
        Json::String(string) => write_string(text, string),
        Json::Array(values) => {
            text.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(text, value);
            }
            text.push(']');
        }
        Json::Object(entries) => {
            text.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_string(text, key);
                text.push(':');
                write(text, value);
            }
            text.push('}');
        }
    }
}

/// A negative integer is a float, as it has been in digests.
fn write_number(text: &mut String, number: &Number) {
    match number.as_u64() {
        Some(whole) => {
            let _ = write!(text, "{whole}");
        }
        None => text.push_str(&shortest(number.as_f64().unwrap_or(f64::NAN))),
    }
}

fn write_string(text: &mut String, string: &str) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            ' '..='~' => text.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_is_that_of_json_dumps_when_numbers_and_characters_are_unusual() {
        let value = json!({"b": [1, 1.0, 1e-5, 1e16, -2, 0.1, true, null], "a": "\u{7f}\u{e9}\u{1f600}\"\\\n\u{1}/"});
        let expected = r#"{"a":"\u007f\u00e9\ud83d\ude00\"\\\n\u0001/","b":[1,1.0,1e-05,1e+16,-2.0,0.1,true,null]}"#;
        assert_eq!(compact(&value), expected);
    }
}
