//! The queues of a plan: where packets wait, and who is dropped or marked.

use super::nullable;
use serde::Deserialize;

/// Limits count what waits; the packet being sent does not.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {
    Droptail {
        #[serde(deserialize_with = "nullable")]
        packets: Option<u64>,
        #[serde(deserialize_with = "nullable")]
        bytes: Option<u64>,
        /// Absent or null: nobody is marked.
        #[serde(default)]
        mark: Option<Mark>,
        /// Absent: `tail`.
        #[serde(default)]
        drop: DropFrom,
    },
}

/// Beyond what packets are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Mark {
    Packets { packets: u64 },
    Bytes { bytes: u64 },
    Time { ps: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropFrom {
    #[default]
    Tail,
    Front,
}

impl Queue {
    /// A queue that is nothing but a limit.
    pub fn is_plain(&self) -> bool {
        matches!(self, Queue::Droptail { mark: None, drop: DropFrom::Tail, .. })
    }
}
