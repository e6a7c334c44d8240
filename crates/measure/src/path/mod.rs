//! Hop-by-hop probing of a path without a far end, as in traceroute and pchar (Van Jacobson's
//! pathchar, 1997): one probe at a time, with a hop limit that expires at a router, and the
//! router's ICMP reply. `hop_prober` schedules the probes. The fit of a line through the minimum
//! RTT of each size, and the capacity of each hop, are computed in Python.

mod hop_prober;

use crate::test_spec::IPV6_UDP_HEADERS;
use crate::{MS, Nanos, SECOND};
pub use hop_prober::HopProber;
use serde::Deserialize;
use std::net::IpAddr;

/// Maximum hop limit.
const MAX_HOPS: u8 = 64;
const MAX_SIZES: usize = 64;
const MAX_ROUNDS: u32 = 1000;
/// Maximum length of an IP packet.
const MAX_BYTES: u32 = 65_535;

/// Configuration of the probing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PathConfig {
    /// Maximum hop limit of the discovery, 1 to 64.
    #[serde(rename = "most_hops")]
    pub max_hops: u8,
    /// Probes of each hop in the discovery, 1 or more.
    #[serde(rename = "looks")]
    pub discovery_probes: u32,
    /// IP packet lengths in bytes, each 48 to 65,535. The discovery uses the shortest.
    pub sizes: Vec<u32>,
    /// Number of probes of each size to each hop; 0: discovery only.
    pub rounds: u32,
    /// Interval between probes to a hop with an ICMP rate limit. Linux routers reply once per
    /// second, others not much more often (RFC 1812, 4.3.2.8).
    pub every_ns: Nanos,
    /// Interval between probes to any other hop. A rate limit is assumed once a probe remains
    /// unanswered.
    pub brisk_ns: Nanos,
    /// Timeout of a reply.
    #[serde(rename = "patience_ns")]
    pub timeout_ns: Nanos,
}

impl Default for PathConfig {
    fn default() -> PathConfig {
        PathConfig {
            max_hops: 30,
            discovery_probes: 3,
            sizes: vec![64, 500, 1000, 1500],
            rounds: 8,
            every_ns: SECOND,
            brisk_ns: 20 * MS,
            timeout_ns: 2 * SECOND,
        }
    }
}

impl PathConfig {
    /// Err: the rule that the configuration violates.
    pub fn check(&self) -> Result<(), String> {
        let sizes = self.sizes.iter().all(|bytes| (IPV6_UDP_HEADERS..=MAX_BYTES).contains(bytes));
        let rules = [
            ((1..=MAX_HOPS).contains(&self.max_hops), "most_hops is 1 to 64"),
            ((1..=MAX_ROUNDS).contains(&self.discovery_probes), "looks is 1 to 1000"),
            (self.rounds <= MAX_ROUNDS, "rounds is at most 1000"),
            (!self.sizes.is_empty() && self.sizes.len() <= MAX_SIZES, "one to 64 sizes are needed"),
            (sizes, "a size is 48 to 65535 bytes of IP packet"),
            ((0..=60 * SECOND).contains(&self.every_ns), "every_ns is at most a minute"),
            ((0..=60 * SECOND).contains(&self.brisk_ns), "brisk_ns is at most a minute"),
            ((MS..=60 * SECOND).contains(&self.timeout_ns), "patience_ns is a millisecond to a minute"),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, rule)| Err((*rule).to_owned()))
    }

    fn min_size(&self) -> u32 {
        self.sizes.iter().copied().min().unwrap_or(IPV6_UDP_HEADERS)
    }
}

/// A packet to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathProbe {
    /// Counts from 0; identifies the reply.
    pub number: u32,
    /// Hop limit of the packet.
    pub hop: u8,
    /// Length of the IP packet.
    pub bytes: u32,
}

/// Meaning of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    /// Time exceeded: the router where the hop limit expired.
    Expired,
    /// Port unreachable: the target.
    Reached,
    /// Fragmentation needed or packet too big, from a router or from this host.
    TooBig,
    /// Another ICMP error.
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeReply {
    pub number: u32,
    pub from: IpAddr,
    pub at: Nanos,
    pub kind: ReplyKind,
}

/// A probe and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeRecord {
    pub probe: PathProbe,
    pub sent: Nanos,
    pub reply: Option<ProbeReply>,
    /// Sent at an interval shorter than an ICMP rate limit allows.
    pub brisk: bool,
}
