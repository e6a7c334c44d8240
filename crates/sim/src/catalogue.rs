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

const QUEUES: [(&str, &str, &str); 7] = [
    (
        "droptail",
        "first in, first out; what finds no room is dropped; may mark beyond a threshold",
        "RFC 7567, section 2; RFC 8257, section 3.1",
    ),
    ("red", "random early detection: signals with a probability that rises with the average queue", "Floyd and Jacobson 1993"),
    ("codel", "signals when packets have waited too long for too long, ever more often", "RFC 8289"),
    ("fq-codel", "a queue for each flow, served in turns, new flows first, with CoDel in each", "RFC 8290"),
    (
        "cake",
        "a queue for each flow, fair to hosts first, with CoDel and BLUE in each",
        "Høiland-Jørgensen, Täht and Morton 2018",
    ),
    ("pie", "a controller holds the delay near a target by dropping or marking arrivals at random", "RFC 8033"),
    ("dualpi2", "a very short queue for L4S traffic beside a classic one, coupled so that flows share evenly", "RFC 9332"),
];

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
