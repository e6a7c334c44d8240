//! The table of flows: the fields of each flow's JSON without nesting, as columns.

use serde::Serialize;
use serde::ser::{self, Error as _, Impossible, SerializeMap, SerializeSeq, SerializeStruct};
use serde_json::Error;
use std::collections::HashMap;
use std::fmt::{self, Display, Formatter, Write};

/// Rows of scalars: nested names joined by underscores, lists left out, and for each kind of
/// retransmission its count as `cause_KIND`.
#[derive(Debug)]
pub struct FlatTable {
    /// In the order in which rows first have them.
    columns: Vec<FlatColumn>,
    numbers: HashMap<String, usize>,
    rows: usize,
    /// The names of the rows' values as a tree; the first is the row itself. A value's column is found
    /// by its place in the tree, without joining names.
    names: Vec<NameNode>,
    /// Text of the last key of a map.
    key: String,
}

/// The name of a value in a row.
#[derive(Debug)]
struct NameNode {
    /// Joined by underscores.
    name: String,
    part: Part,
    /// None before the first value.
    column: Option<usize>,
    /// The members, if the value is an object.
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    key: String,
    /// Address of the key where it is a field's name, of which every row has the same; else zero.
    field_at: usize,
    /// Place in [`FlatTable::names`].
    node: usize,
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

impl Default for FlatTable {
    fn default() -> FlatTable {
        let names = vec![NameNode::new(String::new(), Part::Object)];
        FlatTable { columns: Vec::new(), numbers: HashMap::new(), rows: 0, names, key: String::new() }
    }
}

impl NameNode {
    fn new(name: String, part: Part) -> NameNode {
        NameNode { name, part, column: None, members: Vec::new() }
    }

    /// A member of this object.
    fn member(&self, key: &str) -> NameNode {
        let joined = || if self.name.is_empty() { key.to_owned() } else { format!("{}_{key}", self.name) };
        match self.part {
            Part::Object if key == "causes" => {
                let mut name = joined();
                name.pop();
                NameNode::new(name, Part::Causes)
            }
            Part::Object => NameNode::new(joined(), Part::Object),
            Part::Causes => NameNode::new(joined(), Part::Cause),
            Part::Cause if key == "count" => NameNode::new(self.name.clone(), Part::Cause),
            Part::Cause | Part::LeftOut => NameNode::new(String::new(), Part::LeftOut),
        }
    }
}

impl FlatTable {
    pub fn add(&mut self, row: &impl Serialize) -> serde_json::Result<()> {
        self.rows += 1;
        row.serialize(Visit { table: self, node: 0 })
    }

    /// The columns, in the order in which rows first have them.
    pub fn into_columns(mut self) -> Vec<FlatColumn> {
        for column in &mut self.columns {
            column.values.pad(self.rows);
        }
        self.columns
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Sets a value in the last row.
    fn set(&mut self, node: usize, value: FlatValue) {
        let number = self.names[node].column.unwrap_or_else(|| self.column(node));
        self.columns[number].values.set(self.rows - 1, value);
    }

    #[cold]
    fn column(&mut self, node: usize) -> usize {
        let name = &self.names[node].name;
        let number = *self.numbers.entry(name.clone()).or_insert(self.columns.len());
        if number == self.columns.len() {
            self.columns.push(FlatColumn { name: name.clone(), values: FlatValues::Null(0) });
        }
        self.names[node].column = Some(number);
        number
    }

    /// The place among the members of `node` of the one with this key, which is mostly `expected`.
    fn member(&mut self, node: usize, key: &str, expected: usize) -> usize {
        let members = &self.names[node].members;
        if members.get(expected).is_some_and(|known| known.key == key) { expected } else { self.other_member(node, key, 0) }
    }

    /// [`FlatTable::member`] of a field: a name at the same address is the same.
    #[inline]
    fn field(&mut self, node: usize, name: &'static str, expected: usize) -> usize {
        let at = name.as_ptr() as usize;
        let members = &self.names[node].members;
        let is_expected = members.get(expected).is_some_and(|known| known.field_at == at && known.key.len() == name.len());
        if is_expected { expected } else { self.other_member(node, name, at) }
    }

    #[cold]
    fn other_member(&mut self, node: usize, key: &str, field_at: usize) -> usize {
        let members = &self.names[node].members;
        if let Some(known) = members.iter().position(|known| known.key == key) {
            return known;
        }
        let (place, number) = (members.len(), self.names.len());
        let member = self.names[node].member(key);
        self.names[node].members.push(Member { key: key.to_owned(), field_at, node: number });
        self.names.push(member);
        place
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

    /// Sets the value of the row with this number, which is the last.
    #[inline]
    fn set(&mut self, row: usize, value: FlatValue) {
        match (&mut *self, value) {
            (FlatValues::Null(rows), FlatValue::Null) => *rows = row + 1,
            (FlatValues::Int(values), FlatValue::Int(value)) if values.len() == row => values.push(Some(value)),
            (FlatValues::Real(values), FlatValue::Real(value)) if values.len() == row => values.push(Some(value)),
            (FlatValues::Bool(values), FlatValue::Bool(value)) if values.len() == row => values.push(Some(value)),
            (_, value) => {
                self.pad(row);
                self.push(value);
            }
        }
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
    LeftOut,
}

/// A visit of one value, which has this place in `table.names`.
struct Visit<'a> {
    table: &'a mut FlatTable,
    node: usize,
}

impl<'a> Visit<'a> {
    fn scalar(self, value: FlatValue) -> serde_json::Result<()> {
        self.table.set(self.node, value);
        Ok(())
    }

    fn members(self) -> Members<'a> {
        Members { table: self.table, node: self.node, next: 0 }
    }
}

/// The members of an object.
struct Members<'a> {
    table: &'a mut FlatTable,
    node: usize,
    /// The member after the last one: rows are alike, so that it is mostly the next one.
    next: usize,
}

impl Members<'_> {
    /// The place in `table.names` of the member that is visited now, which has this place among the members.
    fn begin(&mut self, place: usize) -> usize {
        self.next = place + 1;
        self.table.names[self.node].members[place].node
    }

    fn visit(&mut self, node: usize, value: &(impl Serialize + ?Sized)) -> serde_json::Result<()> {
        if self.table.names[node].part == Part::LeftOut { Ok(()) } else { value.serialize(Visit { table: self.table, node }) }
    }
}

impl SerializeStruct for Members<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> serde_json::Result<()> {
        let place = self.table.field(self.node, key, self.next);
        let node = self.begin(place);
        self.visit(node, value)
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
        let mut text = std::mem::take(&mut self.table.key);
        text.clear();
        write!(text, "{}", Key(key)).map_err(Error::custom)?;
        let place = self.table.member(self.node, &text, self.next);
        let node = self.begin(place);
        self.table.key = text;
        self.visit(node, value)
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
        let columns = table.into_columns();
        let mut columns: Vec<(&str, &FlatValues)> = columns.iter().map(|c| (c.name.as_str(), &c.values)).collect();
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
