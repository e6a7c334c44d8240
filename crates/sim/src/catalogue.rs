//! The catalogue: everything that a plan can name, with a summary and a source.

use ackclock_contract::Document;
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

const QUEUES: [(&str, &str, &str); 7] = [
    (
        "droptail",
        "first in, first out; drops arrivals when full; may mark above a threshold",
        "RFC 7567, section 2; RFC 8257, section 3.1",
    ),
    ("red", "random early detection: signals with a probability that rises with the average queue", "Floyd and Jacobson 1993"),
    ("codel", "signals with rising frequency while the queueing delay stays above a target", "RFC 8289"),
    ("fq-codel", "a queue for each flow, served by deficit round robin, new flows first, with CoDel in each", "RFC 8290"),
    (
        "cake",
        "a queue for each flow, fair to hosts first, with CoDel and BLUE in each",
        "Høiland-Jørgensen, Täht and Morton 2018",
    ),
    ("pie", "a controller holds the delay near a target by dropping or marking arrivals at random", "RFC 8033"),
    ("dualpi2", "a very short queue for L4S traffic beside a classic one, coupled so that flows share evenly", "RFC 9332"),
];

/// The complete catalogue.
pub fn catalogue() -> Catalogue {
    let entry = |(name, summary, source)| Entry { name, summary, source };
    Catalogue {
        variants: Variant::ALL.iter().map(|v| entry((v.name(), v.summary(), v.source()))).collect(),
        recoveries: RecoveryKind::ALL.iter().map(|r| entry((r.name(), r.summary(), r.source()))).collect(),
        slow_starts: SlowStart::TABLE.iter().copied().map(entry).collect(),
        queues: QUEUES.into_iter().map(entry).collect(),
        linux_rules: LinuxRule::ALL.iter().map(|r| entry((r.name(), r.summary(), r.source()))).collect(),
    }
}
