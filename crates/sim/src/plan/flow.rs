//! The flows of a plan: who sends what to whom, when, and over which hops.

use super::{Direction, Tcp, nullable};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    pub name: String,
    pub client: u32,
    pub direction: Direction,
    /// Indices of the hops it crosses, contiguous, server first whatever the direction.
    pub hops: Vec<usize>,
    pub start: Start,
    #[serde(deserialize_with = "nullable")]
    pub stop_ps: Option<u64>,
    /// Each of the data sender's packets leaves it after a uniform [0, overhead] delay, in order.
    pub overhead_ps: u64,
    pub workload: Workload,
    /// Null for UDP.
    #[serde(deserialize_with = "nullable")]
    pub tcp: Option<Tcp>,
    /// Flows named before it, by index, that must be complete before it starts; `start` counts from there. Who sends opens.
    #[serde(default)]
    pub after: Vec<usize>,
    /// The job of which it is a connection. Who sends opens.
    #[serde(default)]
    pub job: Option<Job>,
}

/// What a user waits for: it begins with its first connection and is done with its last.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    pub name: String,
    /// From 0.
    pub number: u32,
}

/// Drawn uniformly.
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
    /// `jobs` requests and answers of these bytes by turns on one connection that the asker opens; `think` lies between an answer
    /// and the next request. The flow's direction is that of the answers.
    Exchange {
        request: u64,
        answer: u64,
        jobs: u32,
        think: Start,
    },
    /// Real hosts send and receive: an emulation's own. A simulator refuses it.
    Live {},
    /// `packet` is the IP size in bytes.
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
    /// Probes of `first`, `first + step`, .. up to `last` bytes of IP, one of each a round, each answered with `reply` bytes, or more
    /// of the probe quoted, up to `reply_most`.
    Probe {
        first: u16,
        last: u16,
        step: u16,
        rounds: u32,
        gap_ps: u64,
        timeout_ps: u64,
        reply: u16,
        #[serde(default)]
        reply_most: u16,
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

    /// Bits per second at which the reader reads; none reads at once.
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
    /// The indices of the hops its packets meet on their way `direction` an end, in that order.
    pub fn path<'a>(&'a self, hops: &'a [super::Hop], direction: Direction) -> Vec<usize> {
        let allowed = self.hops.iter().copied().filter(|&h| hops[h].direction(direction).is_some());
        match direction {
            Direction::Down => allowed.collect(),
            Direction::Up => allowed.rev().collect(),
        }
    }
}
