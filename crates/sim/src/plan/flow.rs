//! The flows of a plan: endpoints, hops, start and workload. A workload covers both ends of a flow;
//! the core has an application for each end, with its state, which `build/endpoints.rs` makes of it.

use super::{Direction, nullable};
use ackclock_core::tcp::TcpConfig;
use serde::Deserialize;

/// Bytes of the IPv4 and UDP headers: the minimum size of a datagram.
pub const UDP_HEADER: u16 = 28;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    pub name: String,
    pub client: u32,
    pub direction: Direction,
    /// Indices of the hops that the flow crosses: contiguous, in path order from the server for
    /// both directions.
    pub hops: Vec<usize>,
    pub start: Start,
    #[serde(deserialize_with = "nullable")]
    pub stop_ps: Option<u64>,
    /// Maximum of the uniform delay with which the data sender's packets leave, in order.
    pub overhead_ps: u64,
    /// The maximum until another TCP flow that shares a hop starts. Absent: `overhead_ps`.
    #[serde(default)]
    pub overhead_alone_ps: Option<u64>,
    pub workload: Workload,
    /// Null for UDP.
    #[serde(deserialize_with = "nullable")]
    pub tcp: Option<TcpConfig>,
    /// TCP of the client, if it differs from the server's, which is then `tcp`.
    #[serde(default)]
    pub tcp_client: Option<TcpConfig>,
    /// Indices of earlier flows that must be complete before this flow starts; `start` is the pause
    /// after them. The data sender opens the connection.
    #[serde(default)]
    pub after: Vec<usize>,
    /// The job that the connection belongs to. The data sender opens the connection.
    #[serde(default)]
    pub job: Option<Job>,
}

/// A job of several connections, such as a page load: from the start of the first to the end of the
/// last.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    pub name: String,
    /// From 0.
    pub number: u32,
}

/// A uniform distribution of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    pub low_ps: u64,
    pub high_ps: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    Bulk {
        #[serde(default)]
        read_bps: Option<u64>,
    },
    Transfer {
        bytes: u64,
        #[serde(default)]
        read_bps: Option<u64>,
    },
    /// `jobs` requests and answers of these bytes on one connection, which the requester opens;
    /// `think` is the pause between an answer and the next request. The flow's direction is that of
    /// the answers.
    Exchange {
        request: u64,
        answer: u64,
        jobs: u32,
        think: Start,
    },
    /// Packets of real hosts, in an emulation only.
    Live {},
    /// Datagrams at a constant rate; `packet` is the IP size in bytes.
    Cbr {
        bps: u64,
        packet: u16,
    },
    Onoff {
        bps: u64,
        on_ps: u64,
        off_ps: u64,
        distribution: OnDistribution,
        shape: f64,
        packet: u16,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDistribution {
    Pareto,
    Exponential,
}

impl Workload {
    pub fn is_tcp(&self) -> bool {
        matches!(self, Workload::Bulk { .. } | Workload::Transfer { .. } | Workload::Exchange { .. })
    }

    /// Rate in bit/s at which the receiving application reads; none: at once.
    pub fn read_bps(&self) -> Option<u64> {
        match *self {
            Workload::Bulk { read_bps } | Workload::Transfer { read_bps, .. } => read_bps,
            Workload::Exchange { .. }
            | Workload::Cbr { .. }
            | Workload::Onoff { .. }
            | Workload::Probe { .. }
            | Workload::Live {} => None,
        }
    }
}

impl Flow {
    /// TCP of an end: `Direction::Down` is the server's, which sends down.
    pub fn tcp_at(&self, end: Direction) -> Option<&TcpConfig> {
        match end {
            Direction::Down => self.tcp.as_ref(),
            Direction::Up => self.tcp_client.as_ref().or(self.tcp.as_ref()),
        }
    }

    /// Indices of the hops that packets of this direction cross, in that order.
    pub fn path<'a>(&'a self, hops: &'a [super::Hop], direction: Direction) -> Vec<usize> {
        let allowed = self.hops.iter().copied().filter(|&h| hops[h].direction(direction).is_some());
        match direction {
            Direction::Down => allowed.collect(),
            Direction::Up => allowed.rev().collect(),
        }
    }
}
