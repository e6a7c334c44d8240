//! What a path is made of, hop by hop and without help of the far end: probes whose hop limit ends on the way, one at a time, and the
//! routers' answers to them, as traceroute and pchar do it (van Jacobson's pathchar, 1997). `walk` decides what is sent when; the fit of a line
//! through the least round trip of each size, and what a hop's capacity follows from it, is the reader's business.

mod hop_prober;

use crate::{MS, Nanos, SECOND};
pub use hop_prober::HopProber;
use serde::Deserialize;
use std::net::IpAddr;

/// IP and UDP headers before the payload of a probe, over IPv4 and IPv6 (RFC 791, RFC 8200, RFC 768).
pub const IPV4_UDP_HEADERS: u32 = 28;
pub const IPV6_UDP_HEADERS: u32 = 48;

/// Largest hop limit there is.
const MAX_HOPS: u8 = 64;
const MAX_SIZES: usize = 64;
const MAX_ROUNDS: u32 = 1000;
/// An IP packet's greatest length.
const MAX_BYTES: u32 = 65_535;

/// How a path is asked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PathConfig {
    /// Hop limits tried, 1 to 64.
    #[serde(rename = "most_hops")]
    pub max_hops: u8,
    /// Probes for each hop while the path is looked for, at least 1.
    pub looks: u32,
    /// IP packet lengths in bytes, each 48 to 65,535; the shortest looks for the path.
    pub sizes: Vec<u32>,
    /// How often each size asks each hop; 0 looks for the path only.
    pub rounds: u32,
    /// Minimum interval between probes to a hop with an ICMP rate limit: Linux's routers answer once a second, others not much more often
    /// (RFC 1812, 4.3.2.8).
    pub every_ns: Nanos,
    /// Interval between probes to any other hop: until a probe stays unanswered, no rate limit is assumed.
    pub brisk_ns: Nanos,
    /// Who has not answered after this is not going to.
    #[serde(rename = "patience_ns")]
    pub timeout_ns: Nanos,
}

impl Default for PathConfig {
    fn default() -> PathConfig {
        PathConfig {
            max_hops: 30,
            looks: 3,
            sizes: vec![64, 500, 1000, 1500],
            rounds: 8,
            every_ns: SECOND,
            brisk_ns: 20 * MS,
            timeout_ns: 2 * SECOND,
        }
    }
}

impl PathConfig {
    /// Err says what cannot be.
    pub fn check(&self) -> Result<(), String> {
        let sizes = self.sizes.iter().all(|bytes| (IPV6_UDP_HEADERS..=MAX_BYTES).contains(bytes));
        let rules = [
            ((1..=MAX_HOPS).contains(&self.max_hops), "most_hops is 1 to 64"),
            ((1..=MAX_ROUNDS).contains(&self.looks), "looks is 1 to 1000"),
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

/// One packet to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathProbe {
    /// Counts from 0: what its answer is known by.
    pub number: u32,
    /// Hop limit it leaves with.
    pub hop: u8,
    /// Of the whole IP packet.
    pub bytes: u32,
}

/// What an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    /// Its hop limit ended there (ICMP time exceeded).
    Expired,
    /// The far end has it (ICMP port unreachable).
    Reached,
    /// A hop's packets are shorter (ICMP fragmentation needed, packet too big), or this host's.
    TooBig,
    /// It goes no further, for another reason.
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeReply {
    pub number: u32,
    pub from: IpAddr,
    pub at: Nanos,
    pub kind: ReplyKind,
}

/// A probe and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeRecord {
    pub probe: PathProbe,
    pub sent: Nanos,
    pub answer: Option<ProbeReply>,
    /// Sent at an interval shorter than an ICMP rate limit allows.
    pub brisk: bool,
}
