//! Matching of flows between two captures by packet content: independent of address translation and
//! of reused ports.

use super::fingerprint::{FingerprintRecorder, FlowFingerprints, PacketFingerprint};
use std::collections::{BTreeMap, HashMap};

/// A flow in both captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowMatch {
    pub is_udp: bool,
    /// Number in the first capture.
    pub first: usize,
    /// Number in the second capture.
    pub second: usize,
    /// The endpoints are in the opposite order in the second capture's key.
    pub swapped: bool,
}

impl FlowMatch {
    /// The flow's packets in the first capture.
    pub fn in_first<'a>(&self, first: &'a FingerprintRecorder) -> &'a FlowFingerprints {
        if self.is_udp { &first.datagram_flows[self.first] } else { &first.flows[self.first] }
    }

    /// The flow's packets in the second capture, by that capture's sides.
    pub fn in_second<'a>(&self, second: &'a FingerprintRecorder) -> &'a FlowFingerprints {
        if self.is_udp { &second.datagram_flows[self.second] } else { &second.flows[self.second] }
    }

    /// The side in the second capture's key that corresponds to `side` in the first's.
    pub fn side(&self, side: usize) -> usize {
        if self.swapped { 1 - side } else { side }
    }
}

/// Number of first packets of each direction that are compared.
const FIRST_PACKETS: usize = 64;
/// Of the others one in this number is compared, selected by hash: the same packets in both
/// captures.
const ONE_IN: u64 = 16;

fn sample(list: &[PacketFingerprint]) -> impl Iterator<Item = u64> + '_ {
    list.iter().enumerate().filter(|(i, m)| *i < FIRST_PACKETS || m.hash % ONE_IN == 0).map(|(_, m)| m.hash)
}

/// Number of compared packets in common by flow of the first capture, flow of the second, and whether
/// the endpoints are in the opposite order.
fn common_by_flow(first: &[FlowFingerprints], second: &[FlowFingerprints]) -> BTreeMap<(usize, usize, bool), u32> {
    let mut owner: HashMap<u64, (usize, usize)> = HashMap::new();
    for (number, lists) in first.iter().enumerate() {
        for (side, list) in lists.iter().enumerate() {
            for hash in sample(list) {
                owner.entry(hash).or_insert((number, side));
            }
        }
    }
    let mut common: BTreeMap<(usize, usize, bool), u32> = BTreeMap::new();
    for (number, lists) in second.iter().enumerate() {
        for (side, list) in lists.iter().enumerate() {
            for hash in sample(list) {
                if let Some(&(first_number, first_side)) = owner.get(&hash) {
                    *common.entry((first_number, number, side != first_side)).or_default() += 1;
                }
            }
        }
    }
    common
}

/// Number of compared packets that are in both captures.
pub fn common_packets(first: &FingerprintRecorder, second: &FingerprintRecorder) -> u64 {
    let of = |first: &[FlowFingerprints], second: &[FlowFingerprints]| -> u64 {
        common_by_flow(first, second).into_values().map(u64::from).sum()
    };
    of(&first.flows, &second.flows) + of(&first.datagram_flows, &second.datagram_flows)
}

/// Matches flows: those of TCP, then those of UDP, each in the order of the first capture. Each flow is
/// matched to at most one other: the one with the most packets in common.
pub fn match_flows(first: &FingerprintRecorder, second: &FingerprintRecorder) -> Vec<FlowMatch> {
    let mut matches = matches_of(&first.flows, &second.flows, false);
    let datagrams = matches_of(&first.datagram_flows, &second.datagram_flows, true);
    matches.extend(
        datagrams.into_iter().filter(|m| m.in_first(first).iter().chain(m.in_second(second)).all(|list| is_distinct(list))),
    );
    matches
}

/// Whether the packets are known by their payloads: those of a program that sends the same again and again
/// are not, and which of them is lost does not show.
fn is_distinct(list: &[PacketFingerprint]) -> bool {
    let mut hashes: Vec<u64> = list.iter().map(|packet| packet.hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    2 * hashes.len() >= list.len()
}

fn matches_of(first: &[FlowFingerprints], second: &[FlowFingerprints], is_udp: bool) -> Vec<FlowMatch> {
    let mut ranked: Vec<_> = common_by_flow(first, second).into_iter().collect();
    ranked.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    let (mut matched_first, mut matched_second) = (vec![false; first.len()], vec![false; second.len()]);
    let mut matches = Vec::new();
    for ((a, b, swapped), _) in ranked {
        if !matched_first[a] && !matched_second[b] {
            (matched_first[a], matched_second[b]) = (true, true);
            matches.push(FlowMatch { is_udp, first: a, second: b, swapped });
        }
    }
    matches.sort_by_key(|m| m.first);
    matches
}
