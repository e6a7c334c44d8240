//! What links and scenarios of the page name outside of themselves: host stacks, and recordings of rates.

use ackclock_core::units::Span;
use ackclock_scenario::invalid::{Invalid, Read, format_value};
use ackclock_scenario::sources::{Recording, Sources};
use ackclock_scenario::value::Value;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub struct PageSources;

/// Host stacks as their files have them, and the times of recordings in ms, by their paths.
#[derive(Debug, Default, Deserialize)]
pub struct Names {
    hosts: BTreeMap<String, Value>,
    recordings: BTreeMap<String, Vec<u64>>,
}

static NAMES: Mutex<Option<Names>> = Mutex::new(None);

/// Replaces what `PageSources` knows.
pub fn install(names: Names) {
    *NAMES.lock().unwrap_or_else(PoisonError::into_inner) = Some(names);
}

fn with_names<T>(take: impl FnOnce(&Names) -> T) -> T {
    take(NAMES.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

fn unknown(name: &str, allowed: &str) -> Invalid {
    Invalid::new(format_value(&name.into()), allowed)
}

impl Sources for PageSources {
    fn hosts(&self) -> Vec<String> {
        with_names(|names| names.hosts.keys().cloned().collect())
    }

    fn host(&self, name: &str) -> Read<Value> {
        with_names(|names| names.hosts.get(name).cloned()).ok_or_else(|| unknown(name, "a host stack that the page was given"))
    }

    fn check_class(&self, name: &str) -> Read<()> {
        Err(unknown(name, "a variant of the engine: a page has no Python"))
    }

    fn recording_period(&self, path: &str) -> Read<Span> {
        let last_ms = self.recording(path)?.times_ms.last().copied().unwrap_or_default();
        Ok(Span(last_ms.saturating_mul(1_000_000_000)))
    }

    /// In place of a digest the recording has its path: a page stores no plan.
    fn recording(&self, path: &str) -> Read<Arc<Recording>> {
        let times_ms = with_names(|names| names.recordings.get(path).cloned());
        let times_ms = times_ms.ok_or_else(|| unknown(path, "a recording that the page was given"))?;
        Ok(Arc::new(Recording { digest: path.into(), times_ms }))
    }
}
