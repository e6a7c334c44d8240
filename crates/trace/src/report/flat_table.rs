//! The table of flows: the fields of each flow's JSON without nesting, as columns.

use serde::Serialize;
use serde::ser::{self, Error as _, Impossible, SerializeMap, SerializeSeq, SerializeStruct};
use serde_json::Error;
use std::collections::HashMap;
use std::fmt::{self, Display, Formatter, Write};

/// Rows of scalars: nested names joined by underscores, lists left out, and for each kind of
/// retransmission its count as `cause_KIND`.
#[derive(Debug, Default)]
pub struct FlatTable {
    /// In the order in which rows first have them.
    pub columns: Vec<FlatColumn>,
    numbers: HashMap<String, usize>,
    rows: usize,
    /// Name of the value that is visited next.
    name: String,
    /// The column after that of the last value: rows are alike, so that it is mostly the next one.
    next: usize,
}

#[derive(Debug)]
pub struct FlatColumn {
    pub name: String,
    pub values: FlatValues,
}

/// The values of a column, one for each row. A column of integers becomes one of reals with the
/// first real.
#[derive(Debug, Clone, PartialEq)]
pub enum FlatValues {
    /// This number of rows without a value.
    Null(usize),
    Bool(Vec<Option<bool>>),
    Int(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
}

impl FlatTable {
    pub fn add(&mut self, row: &impl Serialize) -> serde_json::Result<()> {
        (self.rows, self.next) = (self.rows + 1, 0);
        self.name.clear();
        row.serialize(Visit { table: self, part: Part::Object })?;
        for column in &mut self.columns {
            column.values.pad(self.rows);
        }
        Ok(())
    }

    /// Sets the value of the column `name` in the last row.
    fn set(&mut self, value: FlatValue) {
        let is_next = self.columns.get(self.next).is_some_and(|column| column.name == self.name);
        let number = if is_next { self.next } else { self.column() };
        let values = &mut self.columns[number].values;
        values.pad(self.rows - 1);
        values.push(value);
        self.next = number + 1;
    }

    #[cold]
    fn column(&mut self) -> usize {
        if let Some(&number) = self.numbers.get(&self.name) {
            return number;
        }
        let number = self.columns.len();
        self.numbers.insert(self.name.clone(), number);
        self.columns.push(FlatColumn { name: self.name.clone(), values: FlatValues::Null(0) });
        number
    }
}

enum FlatValue {
    Null,
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(String),
}

impl FlatValues {
    pub fn len(&self) -> usize {
        match self {
            FlatValues::Null(rows) => *rows,
            FlatValues::Bool(values) => values.len(),
            FlatValues::Int(values) => values.len(),
            FlatValues::Real(values) => values.len(),
            FlatValues::Text(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds rows without a value up to this number of rows.
    fn pad(&mut self, rows: usize) {
        match self {
            FlatValues::Null(count) => *count = (*count).max(rows),
            FlatValues::Bool(values) if values.len() < rows => values.resize(rows, None),
            FlatValues::Int(values) if values.len() < rows => values.resize(rows, None),
            FlatValues::Real(values) if values.len() < rows => values.resize(rows, None),
            FlatValues::Text(values) if values.len() < rows => values.resize(rows, None),
            _ => {}
        }
    }

    /// A field has values of one type; those of an integer and a real are reals.
    fn push(&mut self, value: FlatValue) {
        if let FlatValues::Null(rows) = *self {
            *self = match value {
                FlatValue::Null => FlatValues::Null(rows),
                FlatValue::Bool(_) => FlatValues::Bool(vec![None; rows]),
                FlatValue::Int(_) => FlatValues::Int(vec![None; rows]),
                FlatValue::Real(_) => FlatValues::Real(vec![None; rows]),
                FlatValue::Text(_) => FlatValues::Text(vec![None; rows]),
            };
        }
        if let (FlatValues::Int(values), FlatValue::Real(_)) = (&*self, &value) {
            *self = FlatValues::Real(values.iter().map(|value| value.map(|int| int as f64)).collect());
        }
        match (self, value) {
            (FlatValues::Null(rows), _) => *rows += 1,
            (FlatValues::Bool(values), FlatValue::Bool(value)) => values.push(Some(value)),
            (FlatValues::Int(values), FlatValue::Int(value)) => values.push(Some(value)),
            (FlatValues::Real(values), FlatValue::Int(value)) => values.push(Some(value as f64)),
            (FlatValues::Real(values), FlatValue::Real(value)) => values.push(Some(value)),
            (FlatValues::Text(values), FlatValue::Text(value)) => values.push(Some(value)),
            (values, _) => values.pad(values.len() + 1),
        }
    }
}

/// Where in a row a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Object,
    /// `causes`: by kind an object, of which `count` is the value.
    Causes,
    Cause,
}

/// A visit of one value, whose name is `table.name`.
struct Visit<'a> {
    table: &'a mut FlatTable,
    part: Part,
}

impl<'a> Visit<'a> {
    fn scalar(self, value: FlatValue) -> serde_json::Result<()> {
        self.table.set(value);
        Ok(())
    }

    fn members(self) -> Members<'a> {
        let prefix = self.table.name.len();
        Members { table: self.table, part: self.part, prefix }
    }
}

/// The members of an object; the first `prefix` bytes of `table.name` are its name.
struct Members<'a> {
    table: &'a mut FlatTable,
    part: Part,
    prefix: usize,
}

impl Members<'_> {
    /// The place in `table.name` where a member's name begins.
    fn begin(&mut self) -> usize {
        if self.prefix > 0 {
            self.table.name.push('_');
        }
        self.table.name.len()
    }

    /// Visits the member whose name in `table.name` begins at `start`.
    fn visit(&mut self, start: usize, value: &(impl Serialize + ?Sized)) -> serde_json::Result<()> {
        let text = &mut self.table.name;
        let (is_causes, is_count) = (text[start..] == *"causes", text[start..] == *"count");
        let part = match self.part {
            Part::Object if is_causes => {
                text.pop();
                Part::Causes
            }
            Part::Object => Part::Object,
            Part::Causes => Part::Cause,
            Part::Cause => {
                text.truncate(self.prefix);
                Part::Cause
            }
        };
        if self.part != Part::Cause || is_count {
            value.serialize(Visit { table: self.table, part })?;
        }
        self.table.name.truncate(self.prefix);
        Ok(())
    }
}

impl SerializeStruct for Members<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> serde_json::Result<()> {
        let start = self.begin();
        self.table.name.push_str(key);
        self.visit(start, value)
    }

    fn end(self) -> serde_json::Result<()> {
        Ok(())
    }
}

/// Text of a key.
struct Key<'a, K: ?Sized>(&'a K);

impl<K: Serialize + ?Sized> Display for Key<'_, K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.serialize(f)
    }
}

impl SerializeMap for Members<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> serde_json::Result<()> {
        Err(Error::custom("a key without its value"))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, _: &T) -> serde_json::Result<()> {
        Err(Error::custom("a value without its key"))
    }

    fn serialize_entry<K: Serialize + ?Sized, V: Serialize + ?Sized>(&mut self, key: &K, value: &V) -> serde_json::Result<()> {
        let start = self.begin();
        write!(self.table.name, "{}", Key(key)).map_err(Error::custom)?;
        self.visit(start, value)
    }

    fn end(self) -> serde_json::Result<()> {
        Ok(())
    }
}

/// A list, which is left out.
struct LeftOut;

impl SerializeSeq for LeftOut {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, _: &T) -> serde_json::Result<()> {
        Ok(())
    }

    fn end(self) -> serde_json::Result<()> {
        Ok(())
    }
}

impl ser::SerializeTuple for LeftOut {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, _: &T) -> serde_json::Result<()> {
        Ok(())
    }

    fn end(self) -> serde_json::Result<()> {
        Ok(())
    }
}

type Unused = Impossible<(), Error>;

fn no_field<T>(kind: &str) -> serde_json::Result<T> {
    Err(Error::custom(format!("a field of a flow is {kind}")))
}

impl<'a> ser::Serializer for Visit<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = LeftOut;
    type SerializeTuple = LeftOut;
    type SerializeTupleStruct = Unused;
    type SerializeTupleVariant = Unused;
    type SerializeMap = Members<'a>;
    type SerializeStruct = Members<'a>;
    type SerializeStructVariant = Unused;

    fn serialize_bool(self, value: bool) -> serde_json::Result<()> {
        self.scalar(FlatValue::Bool(value))
    }

    fn serialize_i8(self, value: i8) -> serde_json::Result<()> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> serde_json::Result<()> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> serde_json::Result<()> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> serde_json::Result<()> {
        self.scalar(FlatValue::Int(value))
    }

    fn serialize_u8(self, value: u8) -> serde_json::Result<()> {
        self.serialize_i64(value.into())
    }

    fn serialize_u16(self, value: u16) -> serde_json::Result<()> {
        self.serialize_i64(value.into())
    }

    fn serialize_u32(self, value: u32) -> serde_json::Result<()> {
        self.serialize_i64(value.into())
    }

    fn serialize_u64(self, value: u64) -> serde_json::Result<()> {
        self.serialize_i64(i64::try_from(value).unwrap_or(i64::MAX))
    }

    /// As JSON has it: the shortest decimal number.
    fn serialize_f32(self, value: f32) -> serde_json::Result<()> {
        self.serialize_f64(value.to_string().parse().unwrap_or(f64::NAN))
    }

    fn serialize_f64(self, value: f64) -> serde_json::Result<()> {
        self.scalar(if value.is_finite() { FlatValue::Real(value) } else { FlatValue::Null })
    }

    fn serialize_char(self, value: char) -> serde_json::Result<()> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> serde_json::Result<()> {
        self.scalar(FlatValue::Text(value.to_owned()))
    }

    fn serialize_bytes(self, _: &[u8]) -> serde_json::Result<()> {
        no_field("bytes")
    }

    fn serialize_none(self) -> serde_json::Result<()> {
        self.scalar(FlatValue::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> serde_json::Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> serde_json::Result<()> {
        self.scalar(FlatValue::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> serde_json::Result<()> {
        self.scalar(FlatValue::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> serde_json::Result<()> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> serde_json::Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> serde_json::Result<()> {
        no_field("a variant with a value")
    }

    fn serialize_seq(self, _: Option<usize>) -> serde_json::Result<LeftOut> {
        Ok(LeftOut)
    }

    fn serialize_tuple(self, _: usize) -> serde_json::Result<LeftOut> {
        Ok(LeftOut)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> serde_json::Result<Unused> {
        no_field("a tuple with a name")
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> serde_json::Result<Unused> {
        no_field("a variant with values")
    }

    fn serialize_map(self, _: Option<usize>) -> serde_json::Result<Members<'a>> {
        Ok(self.members())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> serde_json::Result<Members<'a>> {
        Ok(self.members())
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> serde_json::Result<Unused> {
        no_field("a variant with fields")
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> serde_json::Result<()> {
        self.scalar(FlatValue::Text(value.to_string()))
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
        let mut table = FlatTable::default();
        table.add(&row).unwrap();
        table.add(&json!({"last": false, "later": 1, "a2b": {"rtt_ms": {"count": 0.5}}})).unwrap();
        let mut columns: Vec<(&str, &FlatValues)> = table.columns.iter().map(|c| (c.name.as_str(), &c.values)).collect();
        assert_eq!(columns.pop(), Some(("later", &FlatValues::Int(vec![None, Some(1)]))));
        columns.sort_unstable_by_key(|column| column.0);
        let expected = [
            ("a2b_cause_fast", FlatValues::Int(vec![Some(2), None])),
            ("a2b_cause_timeout", FlatValues::Int(vec![Some(1), None])),
            ("a2b_rtt_ms_count", FlatValues::Real(vec![Some(3.0), Some(0.5)])),
            ("a2b_rtt_ms_min", FlatValues::Null(2)),
            ("client", FlatValues::Text(vec![Some("[2001:db8::1]:80, \"{x}\\".into()), None])),
            ("last", FlatValues::Bool(vec![Some(true), Some(false)])),
        ];
        assert_eq!(columns, expected.each_ref().map(|(name, values)| (*name, values)));
    }
}
