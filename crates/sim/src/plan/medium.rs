//! What clients contend for on a hop, in both directions.

use super::wimax::WimaxPlan;
use serde::Deserialize;

/// One medium for both directions and all clients.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Medium {
    /// One frame at a time in either direction, with perfect arbitration.
    HalfDuplex {
        bps: u64,
        /// Before another radio sends than the last time.
        turnaround_ps: u64,
    },
    /// An 802.16 cell.
    Wimax(Box<WimaxPlan>),
}
