//! A document as TOML: top-level keys, then tables, then arrays of tables, whose inner tables are
//! inline.

use crate::number_text::shortest;
use crate::value::Value;

/// The text of a table; it parses to the same values. Absent keys are left out: TOML has no null.
pub fn document(table: &Value) -> String {
    let Value::Table(entries) = table else { return String::new() };
    let mut lines = pairs(entries.iter().filter(|(_, value)| !matches!(value, Value::Table(_)) && !is_tables(value)));
    for (key, value) in entries {
        match value {
            Value::Table(inner) => section(&mut lines, &format!("[{}]", key_text(key)), inner),
            Value::Array(tables) if is_tables(value) => {
                for table in tables {
                    if let Value::Table(inner) = table {
                        section(&mut lines, &format!("[[{}]]", key_text(key)), inner);
                    }
                }
            }
            _ => {}
        }
    }
    if lines.first().is_some_and(String::is_empty) {
        lines.remove(0);
    }
    lines.join("\n") + "\n"
}

fn is_tables(value: &Value) -> bool {
    let Value::Array(values) = value else { return false };
    !values.is_empty() && values.iter().all(|value| matches!(value, Value::Table(_)))
}

fn section(lines: &mut Vec<String>, head: &str, entries: &[(String, Value)]) {
    lines.extend([String::new(), head.to_owned()]);
    lines.extend(pairs(entries.iter()));
}

fn pairs<'a>(entries: impl Iterator<Item = &'a (String, Value)>) -> Vec<String> {
    let present = entries.filter(|(_, value)| *value != Value::Absent);
    present.map(|(key, value)| format!("{} = {}", key_text(key), value_text(value))).collect()
}

fn key_text(key: &str) -> String {
    let is_bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_bare { key.to_owned() } else { quoted(key) }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Absent => String::new(),
        Value::Bool(yes) => yes.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => shortest(*number),
        Value::Text(text) | Value::Other(text) => quoted(text),
        Value::Array(values) => format!("[{}]", values.iter().map(value_text).collect::<Vec<_>>().join(", ")),
        Value::Table(entries) => match pairs(entries.iter()) {
            pairs if pairs.is_empty() => "{}".into(),
            pairs => format!("{{ {} }}", pairs.join(", ")),
        },
    }
}

/// JSON's escapes are TOML's; TOML escapes DEL, too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn tables_follow_the_keys_when_a_document_has_both() {
        let hop = table!("name" => "line", "rate" => table!("down" => "8 Mb/s", "up" => "1 Mb/s"), "loss" => Value::Absent);
        let measure = table!("window" => "all");
        let data = table!("hop" => vec![hop], "measure" => measure, "title" => "\"A\"\n\u{7f}", "a b" => vec![Value::Float(1.0)]);
        let expected = "title = \"\\\"A\\\"\\n\\u007f\"\n\"a b\" = [1.0]\n\n[[hop]]\nname = \"line\"\nrate = { down = \"8 Mb/s\", up = \"1 Mb/s\" }\n\n[measure]\nwindow = \"all\"\n";
        assert_eq!(document(&data), expected);
        assert_eq!(document(&table!("hop" => vec![table!("empty" => Value::Table(Vec::new()))])), "[[hop]]\nempty = {}\n");
    }
}
