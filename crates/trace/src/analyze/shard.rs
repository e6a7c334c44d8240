//! The flows of a part of the capture's packets: all of them, or those whose key falls to one worker.

use super::{Only, Watch};
use crate::decode::{Segment, Skip};
use crate::flow::{Flow, Key, Table};

#[derive(Debug, Default)]
pub struct Shard {
    table: Table,
    pub flows: Vec<Flow>,
    /// Of each flow the number of its first packet in the capture.
    pub born: Vec<u64>,
    pub tally: Tally,
}

/// What is counted per packet once its headers are known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub tcp: u64,
    pub skipped: [u64; Skip::ALL.len()],
    pub bad_checksums: u64,
    pub broken_options: u64,
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.tcp += other.tcp;
        self.bad_checksums += other.bad_checksums;
        self.broken_options += other.broken_options;
        self.skipped.iter_mut().zip(other.skipped).for_each(|(sum, n)| *sum += n);
    }
}

impl Shard {
    /// A segment at this time, in the capture's packet of this number.
    #[inline(always)]
    pub fn take(&mut self, at: i64, packet: u64, s: &Segment<'_>, only: &Only, watch: &mut impl Watch) {
        if !only.takes(s) {
            return;
        }
        self.tally.tcp += 1;
        self.tally.bad_checksums += u64::from(s.bad_checksum);
        self.tally.broken_options += u64::from(s.options.broken);
        let (key, from) = Key::of(s);
        let hash = key.hash();
        let number = match self.table.find(hash, |n| *self.flows[n as usize].key() == key) {
            Some(number) if self.flows[number as usize].is_over_for(from, s) => {
                let new = self.flows.len() as u32;
                self.table.replace(hash, number, new);
                self.begin(Flow::new(key, from, at, s), packet);
                new
            }
            Some(number) => number,
            None => {
                let new = self.flows.len() as u32;
                self.table.insert(hash, new);
                self.begin(Flow::new(key, from, at, s), packet);
                new
            }
        };
        let flow = &mut self.flows[number as usize];
        let passed = flow.pass(at, from, s);
        watch.passed(at, number, flow, s, &passed);
    }

    #[cold]
    fn begin(&mut self, flow: Flow, packet: u64) {
        self.flows.push(flow);
        self.born.push(packet);
    }
}
