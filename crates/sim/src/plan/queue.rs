//! The queues of a plan: limits, AQM, and the handling of ACKs.

use super::nullable;
use ackclock_core::queue::ack::AckFilterConfig;
use ackclock_core::queue::{AqmSignal, Candidates, DropFrom, QueueUnit, Threshold};
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
        mark: Option<Threshold>,
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
        amount: QueueUnit,
        min: f64,
        max: f64,
        weight: f64,
        max_p: f64,
        gentle: bool,
        signal: AqmSignal,
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
        signal: AqmSignal,
    },
    #[serde(rename = "fq-codel")]
    FqCoDel { packets: u64, bytes: u64, flows: u32, quantum: u32, target_ps: u64, interval_ps: u64, mtu: u32, signal: AqmSignal },
    /// `hosts`: fairness among hosts, then among flows.
    Cake {
        packets: u64,
        bytes: u64,
        flows: u32,
        quantum: u32,
        target_ps: u64,
        interval_ps: u64,
        mtu: u32,
        signal: AqmSignal,
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
        signal: AqmSignal,
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

/// Handling of ACKs in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acks {
    /// ACKs have priority over other packets.
    pub first: bool,
    /// `front`: a full queue drops its oldest ACK for a new one.
    pub drop: DropFrom,
    #[serde(deserialize_with = "nullable")]
    pub filter: Option<AckFilterConfig>,
}

impl Queue {
    /// A droptail queue without marking.
    pub fn is_plain(&self) -> bool {
        matches!(self, Queue::Droptail { mark: None, drop: DropFrom::Tail, .. })
    }
}
