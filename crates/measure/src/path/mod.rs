//! What a path is made of, hop by hop and without help of the far end: probes whose hop limit ends on the way, one at a time, and the
//! routers' answers to them, as traceroute and pchar do it (van Jacobson's pathchar, 1997). `walk` decides what is sent when; the fit of a line
//! through the least round trip of each size, and what a hop's capacity follows from it, is the reader's business.

mod walk;

use crate::{MS, Nanos, SECOND};
use serde::Deserialize;
use std::net::IpAddr;
pub use walk::Walk;

/// IP and UDP headers before the payload of a probe, over IPv4 and IPv6 (RFC 791, RFC 8200, RFC 768).
pub const HEADERS_V4: u32 = 28;
pub const HEADERS_V6: u32 = 48;

/// Largest hop limit there is.
const MOST_HOPS: u8 = 64;
const MOST_SIZES: usize = 64;
const MOST_ROUNDS: u32 = 1000;
/// An IP packet's greatest length.
const MOST_BYTES: u32 = 65_535;

/// How a path is asked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// Hop limits tried, 1 to 64.
    pub most_hops: u8,
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
    pub patience_ns: Nanos,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            most_hops: 30,
            looks: 3,
            sizes: vec![64, 500, 1000, 1500],
            rounds: 8,
            every_ns: SECOND,
            brisk_ns: 20 * MS,
            patience_ns: 2 * SECOND,
        }
    }
}

impl Plan {
    /// Err says what cannot be.
    pub fn check(&self) -> Result<(), String> {
        let sizes = self.sizes.iter().all(|bytes| (HEADERS_V6..=MOST_BYTES).contains(bytes));
        let rules = [
            ((1..=MOST_HOPS).contains(&self.most_hops), "most_hops is 1 to 64"),
            ((1..=MOST_ROUNDS).contains(&self.looks), "looks is 1 to 1000"),
            (self.rounds <= MOST_ROUNDS, "rounds is at most 1000"),
            (!self.sizes.is_empty() && self.sizes.len() <= MOST_SIZES, "one to 64 sizes are needed"),
            (sizes, "a size is 48 to 65535 bytes of IP packet"),
            ((0..=60 * SECOND).contains(&self.every_ns), "every_ns is at most a minute"),
            ((0..=60 * SECOND).contains(&self.brisk_ns), "brisk_ns is at most a minute"),
            ((MS..=60 * SECOND).contains(&self.patience_ns), "patience_ns is a millisecond to a minute"),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, rule)| Err((*rule).to_owned()))
    }

    fn least(&self) -> u32 {
        self.sizes.iter().copied().min().unwrap_or(HEADERS_V6)
    }
}

/// One packet to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Counts from 0: what its answer is known by.
    pub number: u32,
    /// Hop limit it leaves with.
    pub hop: u8,
    /// Of the whole IP packet.
    pub bytes: u32,
}

/// What an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
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
pub struct Answer {
    pub number: u32,
    pub from: IpAddr,
    pub at: Nanos,
    pub meaning: Meaning,
}

/// A probe and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    pub probe: Probe,
    pub sent: Nanos,
    pub answer: Option<Answer>,
    /// Sent at an interval shorter than an ICMP rate limit allows.
    pub brisk: bool,
}
