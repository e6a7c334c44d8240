//! The files of host stacks: the default of every key of [tcp].

use super::keys::TcpKeys;
use crate::Keys;
use crate::invalid::{Invalid, Read};
use crate::keys::{Bounds, KeyValue};
use crate::schema::Definitions;
use crate::sources::sources;
use crate::value::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A host stack. [tcp] has every key, [words] the values of "auto" and true, [tuning] the growth of
/// a "tuned" buffer, [variant.X] and [recovery.X] the keys that X sets.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct HostFile {
    /// What it is, in a few words.
    pub title: String,
    /// Where its values come from.
    pub source: String,
    /// Every key.
    pub tcp: TcpKeys,
    /// The values of "auto" and true.
    pub words: TcpKeys,
    /// The growth of a "tuned" buffer.
    pub tuning: Option<TcpKeys>,
    /// The keys that a congestion control sets.
    pub variant: KeysByName,
    /// The keys that a recovery sets.
    pub recovery: KeysByName,
}

/// Tables by a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeysByName(BTreeMap<String, TcpKeys>);

impl KeysByName {
    pub fn get(&self, name: &str) -> Option<&TcpKeys> {
        self.0.get(name)
    }
}

impl KeyValue for KeysByName {
    const OPTIONAL: bool = true;

    fn read(value: &Value, bounds: &Bounds) -> Read<KeysByName> {
        let Value::Table(entries) = value else { return Err(Invalid::value(value, "tables by name")) };
        let read = |(name, table): &(String, Value)| {
            TcpKeys::read(table, bounds).map(|keys| (name.clone(), keys)).map_err(|invalid| invalid.at(name))
        };
        entries.iter().map(read).collect::<Read<_>>().map(KeysByName)
    }

    fn write(&self, _: Option<&Value>) -> Value {
        Value::Table(self.0.iter().map(|(name, keys)| (name.clone(), keys.write(None))).collect())
    }

    fn unit() -> &'static str {
        "tables"
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        Value::table([("type", "object".into()), ("additionalProperties", TcpKeys::schema(bounds, definitions))])
    }

    fn absent() -> Option<Self> {
        Some(KeysByName::default())
    }
}

impl HostFile {
    /// The host stack of this name; its file is read once.
    pub fn named(name: &str) -> Read<Arc<HostFile>> {
        static FILES: Mutex<BTreeMap<String, Arc<HostFile>>> = Mutex::new(BTreeMap::new());
        if let Some(file) = FILES.lock().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Ok(Arc::clone(file));
        }
        // Not under the lock: a source may run Python.
        let text = sources().host(name)?;
        let in_file = |invalid: Invalid| invalid.at(name);
        let file = Arc::new(HostFile::read(&text, &Bounds::NONE).map_err(in_file)?);
        FILES.lock().unwrap_or_else(PoisonError::into_inner).insert(name.into(), Arc::clone(&file));
        Ok(file)
    }
}
