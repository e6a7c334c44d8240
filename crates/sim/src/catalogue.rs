//! What a plan may name, with a line on each.

use ackclock_core::tcp::{RecoveryKind, SlowStart, Variant};
use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct Catalogue {
    pub variants: Vec<Entry>,
    pub recoveries: Vec<Entry>,
    pub slow_starts: Vec<Entry>,
    pub queues: Vec<Entry>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    pub name: &'static str,
    pub summary: &'static str,
    /// Where it is defined.
    pub source: &'static str,
}

const QUEUES: [(&str, &str, &str); 1] =
    [("droptail", "first in, first out; what finds no room, in packets or in bytes, is dropped", "RFC 7567, section 2")];

/// Everything there is.
pub fn catalogue() -> Catalogue {
    let entry = |(name, summary, source)| Entry { name, summary, source };
    Catalogue {
        variants: Variant::ALL.iter().map(|v| entry((v.name(), v.summary(), v.source()))).collect(),
        recoveries: RecoveryKind::ALL.iter().map(|r| entry((r.name(), r.summary(), r.source()))).collect(),
        slow_starts: SlowStart::TABLE.iter().copied().map(entry).collect(),
        queues: QUEUES.into_iter().map(entry).collect(),
    }
}
