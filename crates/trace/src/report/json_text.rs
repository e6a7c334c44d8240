//! JSON text as Python's `json.dumps(.., indent=2)` writes it, so that rows written here and
//! documents written there are the same bytes.

use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, Serializer};
use std::io::{self, Write};

/// Appends `value` as indented text. Its first line is not indented, the others are by `level`
/// levels of two spaces more than at the top.
pub fn append(text: &mut Vec<u8>, value: &impl Serialize, level: usize) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(text, Indented { level, is_empty: false }))
}

/// Appends a line break and the indentation of `level`.
pub fn append_line_break(text: &mut Vec<u8>, level: usize) {
    text.push(b'\n');
    text.resize(text.len() + 2 * level, b' ');
}

/// A comma, a line break and an indentation: most of a document, and written at once.
const BREAK: &[u8; 2 + 2 * MAX_LEVEL] = &{
    let mut text = [b' '; 2 + 2 * MAX_LEVEL];
    (text[0], text[1]) = (b',', b'\n');
    text
};
/// Maximum level that is written at once.
const MAX_LEVEL: usize = 31;

struct Indented {
    level: usize,
    /// The array or object that is open has no value yet.
    is_empty: bool,
}

impl Indented {
    /// A line break, with a comma before it unless it is the first.
    fn line_break<W: ?Sized + Write>(&self, writer: &mut W, is_first: bool) -> io::Result<()> {
        let at_once = self.level.min(MAX_LEVEL);
        writer.write_all(&BREAK[usize::from(is_first)..2 + 2 * at_once])?;
        (at_once..self.level).try_for_each(|_| writer.write_all(b"  "))
    }

    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        (self.level, self.is_empty) = (self.level + 1, true);
        writer.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.level -= 1;
        if !std::mem::take(&mut self.is_empty) {
            self.line_break(writer, true)?;
        }
        writer.write_all(bracket)
    }

    fn next<W: ?Sized + Write>(&mut self, writer: &mut W, is_first: bool) -> io::Result<()> {
        self.is_empty = false;
        self.line_break(writer, is_first)
    }
}

impl Formatter for Indented {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.next(writer, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.next(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

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
        if fragment.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(value: &impl Serialize, level: usize) -> String {
        let mut text = Vec::new();
        append(&mut text, value, level).unwrap();
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
            assert_eq!(text(&value, 0), expected);
        }
        assert_eq!(text(&f64::NAN, 0), "null");
    }

    #[test]
    fn text_is_indented_from_its_level_and_empty_containers_stay_on_a_line() {
        let value = json!({"a": [], "b": {}, "c": [1, {"d": null}]});
        let expected = "{\n      \"a\": [],\n      \"b\": {},\n      \"c\": [\n        1,\n        {\n          \"d\": null\n        }\n      ]\n    }";
        assert_eq!(text(&value, 2), expected);
    }

    #[test]
    fn strings_are_ascii_with_the_escapes_of_python() {
        assert_eq!(text(&"a\"\\\n\u{1}\u{7f}é\u{1f600}", 0), r#""a\"\\\n\u0001\u007f\u00e9\ud83d\ude00""#);
    }
}
