//! Filter of the packets to analyze, by time and by endpoints.

use super::flow_index::FlowIndex;
use crate::decode::{EndpointAddress, Key, Side, fast_mix};
use ackclock_pcap::read::Record;
use serde::Deserialize;
use std::net::IpAddr;

/// Selects packets. The field names are those of the JSON that the Python package passes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PacketFilter {
    /// Nanoseconds after the capture's first packet; earlier packets are ignored.
    pub since_ns: Option<i64>,
    /// Nanoseconds after the capture's first packet; packets from then on are ignored.
    pub until_ns: Option<i64>,
    /// Flows whose endpoints match; all flows if none.
    pub ends: Option<EndpointExpr>,
    /// Flows of this set only; all flows if none.
    #[serde(skip)]
    pub flows: Option<FlowSet>,
}

/// Condition on the two endpoints of a flow. It does not depend on which end sent a packet, so that
/// it selects entire flows.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndpointExpr {
    /// One end has an address in this network: prefix and prefix length.
    Net(IpAddr, u8),
    /// One end has a port in this range, both limits included.
    Ports(u16, u16),
    All(Vec<EndpointExpr>),
    Any(Vec<EndpointExpr>),
    Not(Box<EndpointExpr>),
}

/// Flows by their ends, found by a hash: a list of expressions is compared with each packet one by one.
#[derive(Debug, Clone)]
pub struct FlowSet {
    index: FlowIndex,
    keys: Vec<Key>,
    /// The bits of the flows' addresses and ports: most other flows have another one.
    bits: [u64; BIT_WORDS],
}

const BIT_WORDS: usize = 64;

impl Default for FlowSet {
    fn default() -> FlowSet {
        FlowSet { index: FlowIndex::default(), keys: Vec::new(), bits: [0; BIT_WORDS] }
    }
}

impl FlowSet {
    /// Adds the flow between these ends.
    pub fn add(&mut self, ends: &[EndpointAddress; 2]) {
        let (key, _) = key_of(ends);
        if !self.contains(&key) {
            self.index.insert(key.hash(self.index.seed()), self.keys.len() as u32);
            self.keys.push(key);
            let (word, bit) = bit_of(key.mix());
            self.bits[word] |= bit;
        }
    }

    /// False if no flow of the set has this [`Key::mix`].
    #[inline(always)]
    fn may_contain(&self, mix: u64) -> bool {
        let (word, bit) = bit_of(mix);
        self.bits[word] & bit != 0
    }

    #[inline]
    fn contains(&self, key: &Key) -> bool {
        self.index.find(key.hash(self.index.seed()), |number| self.keys[number as usize] == *key).is_some()
    }
}

/// The word and the bit of a mix of addresses and ports.
#[inline(always)]
fn bit_of(mix: u64) -> (usize, u64) {
    let number = mix.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
    ((number >> 6) as usize, 1 << (number & 63))
}

fn key_of(ends: &[EndpointAddress; 2]) -> (Key, Side) {
    Key::of(ends.map(|end| end.ip), ends.map(|end| end.port))
}

impl EndpointExpr {
    fn matches(&self, ends: &[EndpointAddress; 2]) -> bool {
        match self {
            EndpointExpr::Net(net, bits) => {
                let (prefix, bits) = match net {
                    IpAddr::V4(v4) => (u128::from(v4.to_ipv6_mapped()), bits.saturating_add(96)),
                    IpAddr::V6(v6) => (u128::from(*v6), *bits),
                };
                let host_bits = 128u32.saturating_sub(u32::from(bits));
                let network = |ip: u128| ip.checked_shr(host_bits).unwrap_or(0);
                ends.iter().any(|end| network(end.ip) == network(prefix))
            }
            EndpointExpr::Ports(from, to) => ends.iter().any(|end| (*from..=*to).contains(&end.port)),
            EndpointExpr::All(of) => of.iter().all(|expr| expr.matches(ends)),
            EndpointExpr::Any(of) => of.iter().any(|expr| expr.matches(ends)),
            EndpointExpr::Not(expr) => !expr.matches(ends),
        }
    }
}

impl PacketFilter {
    /// True if a flow between these ends matches.
    #[inline]
    pub(super) fn selects_flow(&self, ends: impl FnOnce() -> [EndpointAddress; 2]) -> bool {
        if self.ends.is_none() && self.flows.is_none() {
            return true;
        }
        let ends = ends();
        self.flows.as_ref().is_none_or(|flows| flows.contains(&key_of(&ends).0))
            && self.ends.as_ref().is_none_or(|expr| expr.matches(&ends))
    }

    /// True if the packet has the fast path's form and is of no flow of the set: it need not be decoded.
    #[inline(always)]
    pub(super) fn excludes(&self, record: &Record<'_>) -> bool {
        self.flows.as_ref().is_some_and(|flows| fast_mix(record).is_some_and(|mix| !flows.may_contain(mix)))
    }

    /// True if a packet at time `at` lies in the interval; the capture's first packet was at
    /// `first_at`.
    #[inline]
    pub(super) fn selects_time(&self, at: i64, first_at: i64) -> bool {
        self.since_ns.is_none_or(|t| at >= first_at.saturating_add(t))
            && self.until_ns.is_none_or(|t| at < first_at.saturating_add(t))
    }
}

#[cfg(test)]
mod tests {
    use super::{EndpointExpr, FlowSet, PacketFilter};
    use crate::decode::EndpointAddress;
    use ackclock_pcap::read::{LinkType, Record};
    use std::net::IpAddr;

    fn matches(json: &str, ends: [(&str, u16); 2]) -> bool {
        let end = |(ip, port): (&str, u16)| {
            let ip = match ip.parse::<IpAddr>().unwrap() {
                IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                IpAddr::V6(v6) => v6,
            };
            EndpointAddress { ip: u128::from(ip), port }
        };
        serde_json::from_str::<EndpointExpr>(json).unwrap().matches(&ends.map(end))
    }

    #[test]
    fn endpoint_expr_matches_either_end() {
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
            assert_eq!(matches(json, flow), expected, "{json}");
            assert_eq!(matches(json, [flow[1], flow[0]]), expected, "{json}, ends swapped");
        }
        assert!(matches(r#"{"net":["2001:db8::",32]}"#, [("2001:db8::7", 1), ("2001:db9::1", 2)]));
    }

    #[test]
    fn flow_set_selects_its_flows_in_both_directions_and_no_other() {
        let end = |host: u128, port: u16| EndpointAddress { ip: 0xffff_0a00_0000 + host, port };
        let mut flows = FlowSet::default();
        for port in 0..300 {
            flows.add(&[end(1, 1000 + port), end(2, 80)]);
        }
        flows.add(&[end(1, 1000), end(2, 80)]);
        let filter = PacketFilter { flows: Some(flows), ..PacketFilter::default() };
        let selects = |ends| filter.selects_flow(|| ends);
        assert!((0..300).all(|port| selects([end(1, 1000 + port), end(2, 80)])));
        assert!(selects([end(2, 80), end(1, 1299)]));
        assert!(!selects([end(1, 80), end(2, 1000)]) && !selects([end(1, 1300), end(2, 80)]));
    }

    #[test]
    fn filter_excludes_packets_of_no_flow_of_the_set_but_no_fragments() {
        let end = |host: u128, port: u16| EndpointAddress { ip: 0xffff_0a00_0000 + host, port };
        let mut flows = FlowSet::default();
        flows.add(&[end(1, 1000), end(2, 80)]);
        let filter = PacketFilter { flows: Some(flows), ..PacketFilter::default() };
        let excludes = |from: (u8, u16), to: (u8, u16), fragment: u8| {
            let mut frame = [0; 54];
            frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, 0, 40, 0, 0, 0, fragment, 64, 6]);
            frame[26..34].copy_from_slice(&[10, 0, 0, from.0, 10, 0, 0, to.0]);
            frame[34..36].copy_from_slice(&from.1.to_be_bytes());
            frame[36..38].copy_from_slice(&to.1.to_be_bytes());
            filter.excludes(&Record { at: 0, link: LinkType(1), original_len: 54, bytes: &frame })
        };
        assert!(!excludes((1, 1000), (2, 80), 0) && !excludes((2, 80), (1, 1000), 0));
        assert!(excludes((1, 1001), (2, 80), 0) && excludes((3, 80), (1, 1000), 0));
        assert!(!excludes((1, 1001), (2, 80), 1), "what precedes the fragment has the ports");
    }
}
