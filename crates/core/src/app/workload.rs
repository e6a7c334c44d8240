//! What a flow sends.

use super::{Adaptation, LadderName};
use crate::config_form::is_default;
use serde::{Deserialize, Serialize};

/// Bytes of the IPv4 and UDP headers: the minimum size of a datagram.
pub const UDP_HEADER: u16 = 28;

/// A uniform distribution of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UniformTime {
    pub low_ps: u64,
    pub high_ps: u64,
}

/// What a flow sends, with the keys of a plan: it covers both ends, each of which has an application
/// or a UDP endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WorkloadConfig {
    Bulk {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        read_bps: Option<u64>,
    },
    Transfer {
        bytes: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        read_bps: Option<u64>,
    },
    /// `jobs` requests and answers of these bytes on one connection, which the requester opens;
    /// `think` is the pause between an answer and the next request. The flow's direction is that of
    /// the answers.
    Exchange {
        request: u64,
        answer: u64,
        jobs: u32,
        think: UniformTime,
    },
    /// Packets of real hosts, in an emulation only.
    Live {},
    /// Datagrams at a constant rate; `packet` is the IP size in bytes. Each interval is drawn uniformly
    /// from 1 - `spread` to 1 + `spread` times that of the rate.
    Cbr {
        bps: u64,
        packet: u16,
        #[serde(default, skip_serializing_if = "is_default")]
        spread: f64,
    },
    Onoff {
        bps: u64,
        on_ps: u64,
        off_ps: u64,
        distribution: OnDistribution,
        shape: f64,
        packet: u16,
    },
    /// packets of speech in both directions, each `gap_ps` one of `packet` bytes. The codec is that of the
    /// E-model ([`crate::score::Codec`]).
    Call {
        gap_ps: u64,
        packet: u16,
        impairment: f64,
        loss_robustness: f64,
    },
    /// The client sends a packet each `gap_ps`, and the server answers it with another of its size;
    /// after `deadline_ps` an answer is late.
    Game {
        gap_ps: u64,
        packet: u16,
        deadline_ps: u64,
    },
    /// A connection of a load of a page, which is in the plan's list of pages. The client opens it.
    Page {
        page: u32,
        /// The load, from 0, which all its connections name.
        load: u32,
        /// From 0.
        connection: u32,
    },
    /// A video that the client plays: it requests segments of `segment_ps` one by one, up to `buffer_ps` in
    /// its buffer, starts with `start_threshold_ps` in it, and after a stall goes on with
    /// `resume_threshold_ps`. `handshake` as in [`super::PageConfig`].
    Video {
        ladder: LadderName,
        adaptation: Adaptation,
        segment_ps: u64,
        buffer_ps: u64,
        start_threshold_ps: u64,
        resume_threshold_ps: u64,
        request: u64,
        handshake: [u64; 2],
    },
    /// Media from the flow's sender, and from the other end if `both_directions`, whose rate Google Congestion Control
    /// sets; rates include IP headers.
    Conference {
        frame_rate: u32,
        min_bps: u64,
        start_bps: u64,
        max_bps: u64,
        both_directions: bool,
    },
    /// Probes with IP sizes of `first`, `first + step`, .. up to `last` bytes, one of each size a
    /// round. A reply has `reply` bytes, or quotes the probe up to `max_reply` bytes.
    Probe {
        first: u16,
        last: u16,
        step: u16,
        rounds: u32,
        gap_ps: u64,
        timeout_ps: u64,
        reply: u16,
        #[serde(default, rename = "reply_most")]
        max_reply: u16,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDistribution {
    Pareto,
    Exponential,
}

impl WorkloadConfig {
    pub fn is_tcp(&self) -> bool {
        matches!(
            self,
            WorkloadConfig::Bulk { .. }
                | WorkloadConfig::Transfer { .. }
                | WorkloadConfig::Exchange { .. }
                | WorkloadConfig::Page { .. }
                | WorkloadConfig::Video { .. }
        )
    }

    /// Rate in bit/s at which the receiving application reads; none: at once.
    pub fn read_bps(&self) -> Option<u64> {
        match *self {
            WorkloadConfig::Bulk { read_bps } | WorkloadConfig::Transfer { read_bps, .. } => read_bps,
            WorkloadConfig::Exchange { .. }
            | WorkloadConfig::Page { .. }
            | WorkloadConfig::Video { .. }
            | WorkloadConfig::Call { .. }
            | WorkloadConfig::Game { .. }
            | WorkloadConfig::Conference { .. }
            | WorkloadConfig::Cbr { .. }
            | WorkloadConfig::Onoff { .. }
            | WorkloadConfig::Probe { .. }
            | WorkloadConfig::Live {} => None,
        }
    }
}
