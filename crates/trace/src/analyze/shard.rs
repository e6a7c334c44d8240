//! The flows of a part of the capture's packets: all of them, or those whose key falls to one worker.

use super::flows::{AtHand, Flows};
use super::{Only, Watch};
use crate::decode::{Flags, Segment, Skip};
use crate::flow::{Flow, Table};

#[derive(Debug)]
pub struct Shard {
    table: Table,
    pub flows: Flows,
    /// Of each flow the number of its first packet in the capture.
    pub born: Vec<u64>,
    pub tally: Tally,
    most: usize,
}

/// What is counted per packet once its headers are known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub tcp: u64,
    pub skipped: [u64; Skip::ALL.len()],
    pub bad_checksums: u64,
    pub broken_options: u64,
    /// TCP segments of flows for which there was no room.
    pub beyond: u64,
}

/// Flows of one capture at most. From the first number on a SYN alone begins none, so that a flood of them leaves room for connections, which
/// begin with their answer; from the second on nothing does.
const MOST_BY_SYN: usize = 1 << 21;
const MOST: usize = 1 << 23;

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.tcp += other.tcp;
        self.bad_checksums += other.bad_checksums;
        self.broken_options += other.broken_options;
        self.beyond += other.beyond;
        self.skipped.iter_mut().zip(other.skipped).for_each(|(sum, n)| *sum += n);
    }
}

impl Shard {
    /// One of so many.
    pub fn new(rule: AtHand, workers: usize) -> Shard {
        let most = MOST / workers;
        Shard { table: Table::default(), flows: Flows::new(rule), born: Vec::new(), tally: Tally::default(), most }
    }

    /// A segment at this time, in the capture's packet of this number.
    #[inline]
    pub fn take(&mut self, at: i64, packet: u64, s: &Segment<'_>, only: &Only, watch: &mut impl Watch) {
        if !only.takes(s) {
            return;
        }
        self.tally.tcp += 1;
        if s.bad_checksum || s.options.broken {
            self.tally.bad_checksums += u64::from(s.bad_checksum);
            self.tally.broken_options += u64::from(s.options.broken);
        }
        let (key, from) = (&s.key, s.from);
        let hash = key.hash(self.table.seed());
        let mut number = match self.table.find(hash, |n| self.flows.is(n, key)) {
            Some(number) => number,
            None if !self.has_room(s) => {
                self.tally.beyond += 1;
                return;
            }
            None => {
                let new = self.begin(Flow::new(*key, from, at, s), packet);
                self.table.insert(hash, new);
                new
            }
        };
        let mut flow = self.flows.get_mut(number, at);
        if s.flags.has(Flags::SYN) && flow.is_over_for(from, s) && self.born.len() < self.most {
            let old = number;
            number = self.begin(Flow::new(*key, from, at, s), packet);
            self.table.replace(hash, old, number);
            flow = self.flows.get_mut(number, at);
        }
        let passed = flow.pass(at, from, s);
        watch.passed(at, number, flow, s, &passed);
    }

    #[cold]
    fn has_room(&self, s: &Segment<'_>) -> bool {
        let only_syn = s.flags.has(Flags::SYN) && !s.flags.has(Flags::ACK);
        self.flows.len() < if only_syn { self.most / (MOST / MOST_BY_SYN) } else { self.most }
    }

    #[cold]
    fn begin(&mut self, flow: Flow, packet: u64) -> u32 {
        self.born.push(packet);
        let now = flow.first_at;
        self.flows.begin(flow, now)
    }

    /// Bytes that are held for its flows.
    pub fn memory(&self) -> usize {
        self.table.memory() + self.flows.memory() + self.born.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::plain;
    use ackclock_pcap::read::{LinkType, Record};

    /// A packet of this client.
    fn pass(shard: &mut Shard, client: u8, flags: u8) {
        let mut bytes = [0; 40];
        bytes[..10].copy_from_slice(&[0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6]);
        bytes[12..24].copy_from_slice(&[10, 0, 0, client, 192, 0, 2, 1, 0x80, 0, 0, 80]);
        bytes[32..34].copy_from_slice(&[0x50, flags]);
        let record = Record { at: 0, link: LinkType(101), original_len: 40, bytes: &bytes };
        shard.take(0, 0, &plain(&record).unwrap(), &Only::default(), &mut ());
    }

    #[test]
    fn a_flood_of_syns_leaves_room_for_connections_and_what_is_beyond_is_counted() {
        let mut shard = Shard { most: 12, ..Shard::new(AtHand::default(), 1) };
        let (syn, ack) = (Flags::SYN, Flags::ACK);
        let by_syn = 12 / (MOST / MOST_BY_SYN) as u8;
        (0..by_syn + 2).for_each(|client| pass(&mut shard, client, syn));
        assert_eq!((shard.flows.len() as u8, shard.tally.beyond), (by_syn, 2));
        (100..120).for_each(|client| pass(&mut shard, client, syn | ack));
        assert_eq!((shard.flows.len(), shard.tally.beyond), (12, 2 + 20 - 9));
        // Those that are there go on.
        pass(&mut shard, 0, ack);
        assert_eq!((shard.flows.len(), shard.tally.beyond, shard.tally.tcp), (12, 13, 3 + 2 + 20 + 1));
    }
}
