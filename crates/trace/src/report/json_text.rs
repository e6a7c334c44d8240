//! JSON text of a document, as Python's `json.dumps` writes it: of a flow one line, of all around it
//! lines that are indented by two.

use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// Appends `value` as text on one line.
pub fn append(text: &mut Vec<u8>, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(text, OneLine))
}

/// `value` as text on lines that are indented by two.
pub fn indented(value: &impl Serialize) -> serde_json::Result<String> {
    let mut text = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut text, Indented(PrettyFormatter::new())))?;
    // ASCII: all other characters are escaped.
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Appends a line break and the indentation of `level`.
pub fn append_line_break(text: &mut Vec<u8>, level: usize) {
    text.push(b'\n');
    text.resize(text.len() + 2 * level, b' ');
}

struct OneLine;

impl Formatter for OneLine {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        // The shortest digits that read back as the same number, as Python's; the two differ in where
        // the exponent begins and in its form.
        if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
            return CompactFormatter.write_f64(writer, value);
        }
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, size) = exponent.strip_prefix('-').map_or(("+", exponent), |size| ("-", size));
        write!(writer, "{digits}e{sign}{size:0>2}")
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        // Control characters, quotes and backslashes are escaped elsewhere; DEL is left. Without a branch
        // for each byte: the names of the fields are half of a document.
        let beyond = fragment.bytes().fold(0, |bits, byte| bits | byte | byte.wrapping_add(1));
        if beyond < 0x80 {
            return writer.write_all(fragment.as_bytes());
        }
        for unit in fragment.encode_utf16() {
            match u8::try_from(unit) {
                Ok(byte) if (b' '..=b'~').contains(&byte) => writer.write_all(&[byte])?,
                _ => write!(writer, "\\u{unit:04x}")?,
            }
        }
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        CompactFormatter.write_char_escape(writer, escape)
    }
}

/// The numbers and strings of [`OneLine`], on lines.
struct Indented(PrettyFormatter<'static>);

macro_rules! delegate {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(fn $name<W: ?Sized + Write>(&mut self, writer: &mut W $(, $argument: $kind)*) -> io::Result<()> {
            self.0.$name(writer $(, $argument)*)
        })*
    };
}

impl Formatter for Indented {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        OneLine.write_f64(writer, value)
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        OneLine.write_string_fragment(writer, fragment)
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        OneLine.write_char_escape(writer, escape)
    }

    delegate! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(value: &impl Serialize) -> String {
        let mut text = Vec::new();
        append(&mut text, value).unwrap();
        String::from_utf8(text).unwrap()
    }

    /// Python 3.11: `repr` of each number.
    #[test]
    fn floats_are_written_as_python_writes_them() {
        let table = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e-4, "0.0001"),
            (9.9e-5, "9.9e-05"),
            (1e-5, "1e-05"),
            (-1.25e-7, "-1.25e-07"),
            (1e-100, "1e-100"),
            (123456789012345.6, "123456789012345.6"),
            (9007199254740993.0, "9007199254740992.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
        ];
        for (value, expected) in table {
            assert_eq!(text(&value), expected);
        }
        assert_eq!(text(&f64::NAN), "null");
    }

    #[test]
    fn lists_and_objects_stay_on_a_line() {
        let value = json!({"a": [], "b": {}, "c": [1, {"d": null}]});
        assert_eq!(text(&value), r#"{"a":[],"b":{},"c":[1,{"d":null}]}"#);
    }

    /// Python 3.11: `json.dumps(value, indent=2)`.
    #[test]
    fn indented_text_has_a_line_for_each_value() {
        let value = json!({"a": [], "b": {}, "c": [1, {"d": 1e16}], "e": "é"});
        let lines =
            "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": 1e+16\n    }\n  ],\n  \"e\": \"\\u00e9\"\n}";
        assert_eq!(indented(&value).unwrap(), lines);
    }

    #[test]
    fn strings_are_ascii_with_the_escapes_of_python() {
        assert_eq!(text(&"a\"\\\n\u{1}\u{7f}é\u{1f600}"), r#""a\"\\\n\u0001\u007f\u00e9\ud83d\ude00""#);
    }
}
