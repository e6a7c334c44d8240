//! The queues of a plan: where packets wait, who is dropped or marked, and what is done to ACKs.

use super::nullable;
use serde::Deserialize;

/// Limits count what waits; the packet being sent does not. Null is unlimited.
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
    Red {
        #[serde(deserialize_with = "nullable")]
        packets: Option<u64>,
        #[serde(deserialize_with = "nullable")]
        bytes: Option<u64>,
        /// What `min` and `max` count.
        amount: Amount,
        min: f64,
        max: f64,
        weight: f64,
        max_p: f64,
        gentle: bool,
        signal: Signal,
        only: Candidates,
        mean_packet: u32,
    },
    #[serde(rename = "codel")]
    CoDel {
        #[serde(deserialize_with = "nullable")]
        packets: Option<u64>,
        #[serde(deserialize_with = "nullable")]
        bytes: Option<u64>,
        target_ps: u64,
        interval_ps: u64,
        mtu: u32,
        signal: Signal,
    },
    #[serde(rename = "fq-codel")]
    FqCoDel { packets: u64, bytes: u64, flows: u32, quantum: u32, target_ps: u64, interval_ps: u64, mtu: u32, signal: Signal },
    /// `hosts`: fair to hosts before flows.
    Cake {
        packets: u64,
        bytes: u64,
        flows: u32,
        quantum: u32,
        target_ps: u64,
        interval_ps: u64,
        mtu: u32,
        signal: Signal,
        hosts: bool,
    },
    Pie {
        #[serde(deserialize_with = "nullable")]
        packets: Option<u64>,
        #[serde(deserialize_with = "nullable")]
        bytes: Option<u64>,
        target_ps: u64,
        update_ps: u64,
        alpha: f64,
        beta: f64,
        burst_ps: u64,
        signal: Signal,
        mark_up_to: f64,
        mean_packet: u32,
    },
    #[serde(rename = "dualpi2")]
    DualPi2 {
        #[serde(deserialize_with = "nullable")]
        packets: Option<u64>,
        #[serde(deserialize_with = "nullable")]
        bytes: Option<u64>,
        target_ps: u64,
        update_ps: u64,
        alpha: f64,
        beta: f64,
        coupling: f64,
        step_ps: u64,
        overload: f64,
        classic_share: f64,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    Packets,
    Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    Mark,
    Drop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Candidates {
    All,
    Data,
}

/// What a queue does to ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acks {
    /// They go before everything else.
    pub first: bool,
    /// Where there is no room, the oldest one goes.
    pub drop: DropFrom,
    #[serde(deserialize_with = "nullable")]
    pub filter: Option<AckFilter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AckFilter {
    pub keep: u32,
    pub occupancy: u64,
    pub probability: f64,
    pub survivor: Survivor,
    pub window: bool,
    pub sack: SackGuard,
    pub signs: bool,
    pub duplicates: Duplicates,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Survivor {
    Tail,
    Head,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SackGuard {
    Off,
    Covered,
    New,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    Keep,
    Below,
    Sacked,
    Mark,
}

/// ACKs put in again where the hop ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reconstruction {
    pub every: u32,
    pub within_ps: u64,
}

impl Queue {
    /// A queue that is nothing but a limit.
    pub fn is_plain(&self) -> bool {
        matches!(self, Queue::Droptail { mark: None, drop: DropFrom::Tail, .. })
    }
}
