//! The table of flows: the fields of each flow's JSON without nesting.

use serde::Serialize;
use std::collections::HashSet;

/// Rows as JSON objects of scalars, one a line: nested names joined by underscores, lists left out,
/// and for each kind of retransmission its count as `cause_KIND`.
#[derive(Debug, Default)]
pub struct FlatTable {
    pub text: String,
    /// Names in the order in which rows first have them: JSON objects have no order for a reader.
    pub columns: Vec<String>,
    known: HashSet<String>,
}

impl FlatTable {
    pub fn add(&mut self, row: &impl Serialize) -> serde_json::Result<()> {
        let nested = serde_json::to_string(row)?;
        self.text.push('{');
        Flattening { rest: nested.as_bytes(), table: self, is_first: true }.object("");
        self.text.push_str("}\n");
        Ok(())
    }

    fn name(&mut self, name: &str) {
        if !self.known.contains(name) {
            self.known.insert(name.to_owned());
            self.columns.push(name.to_owned());
        }
    }
}

/// A walk over compact JSON text: no spaces, as `serde_json` writes it.
struct Flattening<'a> {
    rest: &'a [u8],
    table: &'a mut FlatTable,
    /// The row has no column yet.
    is_first: bool,
}

impl Flattening<'_> {
    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    /// Calls `each` at the value of every member of the object that begins here, with its name.
    fn members(&mut self, mut each: impl FnMut(&mut Self, &str)) {
        self.skip(1);
        while self.rest.first().is_some_and(|&byte| byte != b'}') {
            let name = self.string().to_owned();
            self.skip(1);
            each(self, &name);
            if self.rest.first() == Some(&b',') {
                self.skip(1);
            }
        }
        self.skip(1);
    }

    /// The members of the object that begins here, each as a scalar with `prefix` before its name.
    fn object(&mut self, prefix: &str) {
        self.members(|walk, name| match walk.rest.first() {
            Some(b'{') if name == "causes" => walk.causes(prefix),
            Some(b'{') => walk.object(&format!("{prefix}{name}_")),
            Some(b'[') => drop(walk.value()),
            _ => {
                let scalar = walk.value().to_owned();
                walk.column(&format!("{prefix}{name}"), &scalar);
            }
        });
    }

    /// `causes`: by kind an object with `count`.
    fn causes(&mut self, prefix: &str) {
        self.members(|walk, kind| {
            walk.members(|walk, name| {
                let value = walk.value().to_owned();
                if name == "count" {
                    walk.column(&format!("{prefix}cause_{kind}"), &value);
                }
            });
        });
    }

    fn column(&mut self, name: &str, value: &str) {
        self.table.name(name);
        if !std::mem::take(&mut self.is_first) {
            self.table.text.push(',');
        }
        for part in ["\"", name, "\":", value] {
            self.table.text.push_str(part);
        }
    }

    /// The content of the string that begins here. Names have no escapes.
    fn string(&mut self) -> &str {
        let quoted = self.value();
        quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default()
    }

    /// The text of the value that begins here.
    fn value(&mut self) -> &str {
        let (mut depth, mut in_string, mut escaped) = (0u32, false, false);
        let mut end = self.rest.len();
        for (i, &byte) in self.rest.iter().enumerate() {
            if in_string {
                in_string = escaped || byte != b'"';
                escaped = !escaped && byte == b'\\';
                if !in_string && depth == 0 {
                    end = i + 1;
                    break;
                }
                continue;
            }
            match byte {
                b'"' => in_string = true,
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth > 0 => {
                    depth -= 1;
                    if depth == 0 {
                        end = i + 1;
                        break;
                    }
                }
                b',' | b'}' | b']' | b':' if depth == 0 => {
                    end = i;
                    break;
                }
                _ => {}
            }
        }
        let (value, rest) = self.rest.split_at(end);
        self.rest = rest;
        std::str::from_utf8(value).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn flat_table_joins_names_and_leaves_lists_out() {
        let row = json!({
            "client": "[2001:db8::1]:80, \"{x}\\",
            "a2b": {"rtt_ms": {"count": 3, "min": null}, "causes": {"fast": {"count": 2, "confidence": 0.5}, "timeout": {"count": 1, "confidence": 1.0}}, "list": [1, {"a": "]"}]},
            "empty": {},
            "none": [],
            "last": true,
        });
        let expected = json!({
            "client": "[2001:db8::1]:80, \"{x}\\",
            "a2b_rtt_ms_count": 3,
            "a2b_rtt_ms_min": null,
            "a2b_cause_fast": 2,
            "a2b_cause_timeout": 1,
            "last": true,
        });
        let mut table = FlatTable::default();
        table.add(&row).unwrap();
        table.add(&json!({"last": false, "later": 1})).unwrap();
        let rows: Vec<serde_json::Value> = table.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows, [expected, json!({"last": false, "later": 1})]);
        assert_eq!(table.columns.len(), 7);
        assert_eq!(table.columns.last().unwrap(), "later");
    }
}
