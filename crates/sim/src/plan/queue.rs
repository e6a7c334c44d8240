//! The queues of a plan: limits, AQM, and the handling of ACKs.

use super::nullable;
use serde::Deserialize;

/// Limits count queued packets without the packet in transmission. Null: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {
    Droptail {
        #[serde(deserialize_with = "nullable")]
        packets: Option<u64>,
        #[serde(deserialize_with = "nullable")]
        bytes: Option<u64>,
        /// Absent or null: no marking.
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
        /// Unit of `min` and `max`.
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
    /// `hosts`: fairness among hosts, then among flows.
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

/// Threshold above which packets are marked.
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

/// Handling of ACKs in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acks {
    /// ACKs have priority over other packets.
    pub first: bool,
    /// `front`: a full queue drops its oldest ACK for a new one.
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

/// ACK reconstruction at the end of the hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reconstruction {
    pub every: u32,
    pub within_ps: u64,
}

impl Queue {
    /// A droptail queue without marking.
    pub fn is_plain(&self) -> bool {
        matches!(self, Queue::Droptail { mark: None, drop: DropFrom::Tail, .. })
    }
}
