//! Keys that had another name, with which files are still read.

use crate::invalid::{Invalid, Read};
use crate::value::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A former name and the present one.
pub type Renamed = (&'static str, &'static str);

thread_local! {
    static READ: RefCell<BTreeSet<Renamed>> = const { RefCell::new(BTreeSet::new()) };
}

/// The former names that this thread has read since the last call.
pub fn take() -> BTreeSet<Renamed> {
    READ.take()
}

/// A table with the present names of its keys, if it has former ones; they are noted for `take`.
/// Error: it has both names of a key.
pub fn renamed(value: &Value, names: &[Renamed]) -> Read<Option<Value>> {
    for &(former, present) in names.iter().filter(|(former, _)| value.get(former).is_some()) {
        if value.get(present).is_some() {
            let allowed = format!("{present} alone: {former} is its former name");
            return Err(Invalid::new(format!("{former} and {present}"), allowed).at(former));
        }
        READ.with_borrow_mut(|read| read.insert((former, present)));
    }
    Ok(present(value, names))
}

/// A table with the present names of its keys, if it has former ones.
pub fn present(value: &Value, names: &[Renamed]) -> Option<Value> {
    let Value::Table(entries) = value else { return None };
    let present = |key: &str| names.iter().find(|(former, _)| *former == key).map(|(_, present)| (*present).to_owned());
    if !entries.iter().any(|(key, _)| present(key).is_some()) {
        return None;
    }
    let entries = entries.iter().map(|(key, value)| (present(key).unwrap_or_else(|| key.clone()), value.clone()));
    Some(Value::Table(entries.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Bounds, KeyValue};
    use crate::table;
    use crate::tcp::bursts::Tso;

    #[test]
    fn table_is_the_same_when_a_key_has_its_former_name_and_the_name_is_noted() {
        let read = |table: &Value| Tso::read(table, &Bounds::NONE);
        let former = table!("segments" => 2, "time" => "1 ms", "most" => "64 KiB");
        let present = table!("segments" => 2, "time" => "1 ms", "max" => "64 KiB");
        let tso = read(&present).expect("a table");
        assert_eq!(take(), BTreeSet::new());
        assert_eq!(read(&former), Ok(tso.clone()));
        assert_eq!(take(), BTreeSet::from([("most", "max")]));
        assert_eq!((tso.write(Some(&former)), take()), (present, BTreeSet::new()));
    }

    #[test]
    fn table_is_refused_when_it_has_both_names_of_a_key() {
        let both = table!("segments" => 2, "time" => "1 ms", "max" => "64 KiB", "most" => "64 KiB");
        let invalid = Tso::read(&both, &Bounds::NONE).expect_err("both");
        assert_eq!((invalid.found.as_str(), take()), ("most and max", BTreeSet::new()));
        assert_eq!(invalid.allowed, "max alone: most is its former name");
    }
}
