//! Which packets count.

use crate::decode::Segment;
use serde::Deserialize;
use std::net::IpAddr;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Only {
    /// Nanoseconds from the capture's first packet: from then on, and before then.
    pub since_ns: Option<i64>,
    pub until_ns: Option<i64>,
    /// Addresses and ports that a flow must have at one of its ends, all of them.
    pub hosts: Vec<IpAddr>,
    pub ports: Vec<u16>,
}

impl Only {
    #[inline]
    pub(super) fn takes(&self, s: &Segment<'_>) -> bool {
        let has_host = |host: &IpAddr| {
            let ip = match host {
                IpAddr::V4(v4) => u128::from(v4.to_ipv6_mapped()),
                IpAddr::V6(v6) => u128::from(*v6),
            };
            ip == s.source.ip || ip == s.destination.ip
        };
        self.hosts.iter().all(has_host) && self.ports.iter().all(|&port| port == s.source.port || port == s.destination.port)
    }

    /// A packet at this time, when the first was at that.
    #[inline]
    pub(super) fn spans(&self, at: i64, first_at: i64) -> bool {
        self.since_ns.is_none_or(|t| at >= first_at.saturating_add(t))
            && self.until_ns.is_none_or(|t| at < first_at.saturating_add(t))
    }
}
