//! Which flow of one capture is which of the other: by what their packets hold, so that translated addresses do not matter and
//! four numbers used again do not confuse.

use super::fingerprint::{FingerprintRecorder, PacketFingerprint};
use std::collections::{BTreeMap, HashMap};

/// A flow in both captures, by its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowMatch {
    pub first: usize,
    pub second: usize,
    /// The addresses sort the other way round in the second capture.
    pub turned: bool,
}

impl FlowMatch {
    /// The second capture's side for a side of the first's.
    pub fn side(&self, side: usize) -> usize {
        if self.turned { 1 - side } else { side }
    }
}

/// Of each list the first packets, and of the rest one in sixteen, chosen by content: the same ones in both captures.
const FRONT: usize = 64;
const ONE_IN: u64 = 16;

fn sample(list: &[PacketFingerprint]) -> impl Iterator<Item = u64> + '_ {
    list.iter().enumerate().filter(|(i, m)| *i < FRONT || m.hash % ONE_IN == 0).map(|(_, m)| m.hash)
}

/// Flows of the first capture with their partners, in its order. Each flow of either has one at most: the one with most in common.
pub fn match_flows(first: &FingerprintRecorder, second: &FingerprintRecorder) -> Vec<FlowMatch> {
    let mut owner: HashMap<u64, (usize, usize)> = HashMap::new();
    for (number, lists) in first.flows.iter().enumerate() {
        for (side, list) in lists.iter().enumerate() {
            for hash in sample(list) {
                owner.entry(hash).or_insert((number, side));
            }
        }
    }
    let mut votes: BTreeMap<(usize, usize, bool), u32> = BTreeMap::new();
    for (number, lists) in second.flows.iter().enumerate() {
        for (side, list) in lists.iter().enumerate() {
            for hash in sample(list) {
                if let Some(&(theirs, their_side)) = owner.get(&hash) {
                    *votes.entry((theirs, number, side != their_side)).or_default() += 1;
                }
            }
        }
    }
    let mut ranked: Vec<_> = votes.into_iter().collect();
    ranked.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    let (mut taken, mut given) = (vec![false; first.flows.len()], vec![false; second.flows.len()]);
    let mut all = Vec::new();
    for ((a, b, turned), _) in ranked {
        if !taken[a] && !given[b] {
            (taken[a], given[b]) = (true, true);
            all.push(FlowMatch { first: a, second: b, turned });
        }
    }
    all.sort_by_key(|p| p.first);
    all
}
