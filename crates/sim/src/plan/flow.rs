//! The flows of a plan: endpoints, hops, start and workload, of which `build/endpoints.rs` makes an
//! application for each end.

use super::{Direction, QuicHost, nullable};
use ackclock_core::app::{UniformTime, WorkloadConfig};
use ackclock_core::tcp::TcpConfig;
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    pub name: String,
    pub client: u32,
    /// The client's device, from 0; a host of its own to queues that count hosts.
    #[serde(default)]
    pub device: u32,
    pub direction: Direction,
    /// Indices of the hops that the flow crosses: contiguous, in path order from the server for
    /// both directions.
    pub hops: Vec<usize>,
    pub start: UniformTime,
    #[serde(deserialize_with = "nullable")]
    pub stop_ps: Option<u64>,
    /// Maximum of the uniform delay with which the data sender's packets leave, in order.
    pub overhead_ps: u64,
    /// The maximum until another TCP flow that shares a hop starts. Absent: `overhead_ps`.
    #[serde(default)]
    pub overhead_alone_ps: Option<u64>,
    pub workload: WorkloadConfig,
    /// Null for UDP.
    #[serde(deserialize_with = "nullable")]
    pub tcp: Option<TcpConfig>,
    /// TCP of the client, if it differs from the server's, which is then `tcp`.
    #[serde(default)]
    pub tcp_client: Option<TcpConfig>,
    /// QUIC carries the data, with the congestion control of `tcp`.
    #[serde(default)]
    pub quic: Option<QuicHost>,
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
