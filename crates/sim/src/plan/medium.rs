//! The shared medium of a hop.

use super::grants::GrantsPlan;
use super::wimax::WimaxPlan;
use super::wlan::WlanPlan;
use serde::Deserialize;

/// One medium for both directions and all clients.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Medium {
    /// One frame at a time in either direction, with perfect arbitration.
    HalfDuplex {
        bps: u64,
        /// Pause before a radio sends that was not the last sender.
        turnaround_ps: u64,
    },
    /// An 802.16 cell.
    Wimax(Box<WimaxPlan>),
    /// A chain of half-duplex radios.
    PacketRadio(PacketRadio),
    /// An 802.11 access point and its stations.
    Wlan(Box<WlanPlan>),
    /// A channel shared by requests and grants.
    Grants(Box<GrantsPlan>),
}

impl Medium {
    /// Connections of each station beyond its first.
    pub fn connections(&self) -> u32 {
        if let Medium::Wimax(cell) = self { cell.connections.len() as u32 } else { 0 }
    }
}

/// See `docs/models/packet-radio.md`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketRadio {
    pub hops: u32,
    pub bps: u64,
    pub latency_ps: u64,
    /// Turnaround from transmit to receive, and back.
    pub to_receive_ps: u64,
    pub to_send_ps: u64,
    pub rts_bytes: u32,
    pub cts_bytes: u32,
    pub header_bytes: u32,
    pub ack_bytes: u32,
    pub backoff_base_ps: u64,
    pub backoff_cap_ps: u64,
    pub defer_by_backoff: bool,
    pub nack_cts: bool,
    pub piggyback: bool,
    pub ack_timeout_ps: u64,
    pub tries: u32,
    pub relay_packets: u64,
    /// Frame error rate.
    pub frame_error: FrameError,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameError {
    pub down: f64,
    pub up: f64,
}
