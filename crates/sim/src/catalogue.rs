//! The catalogue: everything that a plan can name, with a summary and a source.

use ackclock_contract::Document;
use ackclock_core::queue::QueueConfig;
use ackclock_core::tcp::{LinuxRule, RecoveryKind, SlowStart, Variant};
use serde::Serialize;

#[derive(Debug, Clone, Serialize, Document)]
pub struct Catalogue {
    pub variants: Vec<Entry>,
    pub recoveries: Vec<Entry>,
    pub slow_starts: Vec<Entry>,
    pub queues: Vec<Entry>,
    pub linux_rules: Vec<Entry>,
}

#[derive(Debug, Clone, Serialize, Document)]
pub struct Entry {
    pub name: &'static str,
    pub summary: &'static str,
    /// RFC, paper or implementation.
    pub source: &'static str,
}

/// The complete catalogue.
pub fn catalogue() -> Catalogue {
    let entry = |(name, summary, source)| Entry { name, summary, source };
    Catalogue {
        variants: Variant::ALL.iter().map(|v| entry((v.name(), v.summary(), v.source()))).collect(),
        recoveries: RecoveryKind::ALL.iter().map(|r| entry((r.name(), r.summary(), r.source()))).collect(),
        slow_starts: SlowStart::TABLE.iter().copied().map(entry).collect(),
        queues: QueueConfig::KINDS.into_iter().map(entry).collect(),
        linux_rules: LinuxRule::ALL.iter().map(|r| entry((r.name(), r.summary(), r.source()))).collect(),
    }
}
