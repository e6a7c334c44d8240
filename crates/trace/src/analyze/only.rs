//! Which packets count.

use crate::decode::{Endpoint, Segment};
use serde::Deserialize;
use std::net::IpAddr;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Only {
    /// Nanoseconds from the capture's first packet: from then on, and before then.
    pub since_ns: Option<i64>,
    pub until_ns: Option<i64>,
    /// Flows whose ends fit; all of them without one.
    pub ends: Option<Ends>,
}

/// What the two ends of a flow must be. Which of them sent a packet does not matter, so a flow counts whole or not at all.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ends {
    /// One end has an address of this network: its number, and how many bits count.
    Net(IpAddr, u8),
    /// One end has a port from the first to the second.
    Ports(u16, u16),
    All(Vec<Ends>),
    Any(Vec<Ends>),
    Not(Box<Ends>),
}

impl Ends {
    fn fit(&self, ends: &[Endpoint; 2]) -> bool {
        match self {
            Ends::Net(net, bits) => {
                let (number, bits) = match net {
                    IpAddr::V4(v4) => (u128::from(v4.to_ipv6_mapped()), bits.saturating_add(96)),
                    IpAddr::V6(v6) => (u128::from(*v6), *bits),
                };
                let beside = 128u32.saturating_sub(u32::from(bits));
                let front = |ip: u128| ip.checked_shr(beside).unwrap_or(0);
                ends.iter().any(|end| front(end.ip) == front(number))
            }
            Ends::Ports(from, to) => ends.iter().any(|end| (*from..=*to).contains(&end.port)),
            Ends::All(of) => of.iter().all(|one| one.fit(ends)),
            Ends::Any(of) => of.iter().any(|one| one.fit(ends)),
            Ends::Not(one) => !one.fit(ends),
        }
    }
}

impl Only {
    #[inline]
    pub(super) fn takes(&self, s: &Segment<'_>) -> bool {
        self.ends.as_ref().is_none_or(|ends| ends.fit(&s.ends()))
    }

    /// A packet at this time, when the first was at that.
    #[inline]
    pub(super) fn spans(&self, at: i64, first_at: i64) -> bool {
        self.since_ns.is_none_or(|t| at >= first_at.saturating_add(t))
            && self.until_ns.is_none_or(|t| at < first_at.saturating_add(t))
    }
}

#[cfg(test)]
mod tests {
    use super::Ends;
    use crate::decode::Endpoint;
    use std::net::IpAddr;

    fn fits(json: &str, ends: [(&str, u16); 2]) -> bool {
        let end = |(ip, port): (&str, u16)| {
            let ip = match ip.parse::<IpAddr>().unwrap() {
                IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                IpAddr::V6(v6) => v6,
            };
            Endpoint { ip: u128::from(ip), port }
        };
        serde_json::from_str::<Ends>(json).unwrap().fit(&ends.map(end))
    }

    #[test]
    fn networks_ports_and_what_joins_them_ask_either_end() {
        let flow = [("10.1.2.3", 443), ("192.0.2.1", 50_000)];
        for (json, expected) in [
            (r#"{"net":["10.1.0.0",16]}"#, true),
            (r#"{"net":["10.2.0.0",16]}"#, false),
            (r#"{"net":["192.0.2.1",32]}"#, true),
            (r#"{"net":["0.0.0.0",0]}"#, true),
            (r#"{"net":["::",0]}"#, true),
            (r#"{"net":["2001:db8::",32]}"#, false),
            (r#"{"ports":[440,443]}"#, true),
            (r#"{"ports":[80,80]}"#, false),
            (r#"{"all":[{"ports":[443,443]},{"not":{"net":["10.1.2.3",32]}}]}"#, false),
            (r#"{"any":[{"ports":[80,80]},{"net":["10.0.0.0",8]}]}"#, true),
            (r#"{"not":{"any":[]}}"#, true),
        ] {
            assert_eq!(fits(json, flow), expected, "{json}");
            assert_eq!(fits(json, [flow[1], flow[0]]), expected, "{json} turned");
        }
        assert!(fits(r#"{"net":["2001:db8::",32]}"#, [("2001:db8::7", 1), ("2001:db9::1", 2)]));
    }
}
