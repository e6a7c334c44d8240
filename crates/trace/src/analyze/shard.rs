//! The flows of a capture, found by their keys.

use super::datagram_flows::DatagramFlows;
use super::flow_index::FlowIndex;
use super::flow_store::{CachePolicy, FlowStore, push_tight};
use super::mirror::MirrorFilter;
use super::mptcp::MptcpFlows;
use super::{PacketFilter, PacketObserver};
use crate::decode::{Datagram, Flags, Segment, Side, Skip};
use crate::flow::Flow;
use ackclock_contract::Document;
use serde::Serialize;

#[derive(Debug)]
pub struct Shard {
    index: FlowIndex,
    pub flows: FlowStore,
    /// Number in the capture of each flow's first and last packet.
    pub frames: Vec<FrameRange>,
    pub counts: DecodeCounts,
    pub datagrams: DatagramFlows,
    pub mptcp: MptcpFlows,
    /// Leaves out the copies of packets, if the capture has such.
    pub mirror: Option<MirrorFilter>,
    max_flows: usize,
    /// The flow of the last segment: half of all segments and more follow one of their own flow.
    last: u32,
}

/// Numbers of a flow's first and last packet in the capture, from 1, as Wireshark counts frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Document)]
pub struct FrameRange {
    pub first: u64,
    pub last: u64,
}

/// Packet counts after decoding.
#[derive(Debug, Clone, Copy, Default)]
pub struct DecodeCounts {
    pub tcp: u64,
    /// By [`Skip`].
    pub skipped: [u64; Skip::ALL.len()],
    pub bad_checksums: u64,
    pub malformed_options: u64,
    /// TCP segments of flows beyond the maximum number of flows.
    pub over_capacity: u64,
}

/// Maximum number of flows of one capture.
const MAX_FLOWS: usize = 1 << 23;
/// Number of flows from which a SYN adds no flow, so that a SYN flood leaves room for connections,
/// which are then added by their SYN-ACK.
const MAX_FLOWS_BY_SYN: usize = 1 << 21;

impl Shard {
    pub fn new(policy: CachePolicy) -> Shard {
        Shard {
            index: FlowIndex::default(),
            flows: FlowStore::new(policy),
            frames: Vec::new(),
            counts: DecodeCounts::default(),
            datagrams: DatagramFlows::default(),
            mptcp: MptcpFlows::default(),
            mirror: None,
            max_flows: MAX_FLOWS,
            last: 0,
        }
    }

    /// As [`Shard::add`], for segments that the fast path of the decoder rejects: compiled once.
    #[inline(never)]
    pub fn add_rare(
        &mut self,
        at: i64,
        frame: u64,
        s: &Segment<'_>,
        filter: &PacketFilter,
        observer: &mut (impl PacketObserver + ?Sized),
    ) {
        self.add(at, frame, s, filter, observer);
    }

    /// Processes a segment at time `at`, of the capture's packet with number `frame`. Compiled into the
    /// reader's loop.
    #[inline(always)]
    pub fn add(
        &mut self,
        at: i64,
        frame: u64,
        s: &Segment<'_>,
        filter: &PacketFilter,
        observer: &mut (impl PacketObserver + ?Sized),
    ) {
        if !filter.selects_flow(|| s.endpoints()) || self.mirror.as_mut().is_some_and(|mirror| mirror.is_copy(at, s)) {
            return;
        }
        self.counts.tcp += 1;
        if s.bad_checksum || s.options.malformed {
            self.counts.bad_checksums += u64::from(s.bad_checksum);
            self.counts.malformed_options += u64::from(s.options.malformed);
        }
        let flow = match self.flows.hot_mut(self.last) {
            Some(flow) if flow.has_key(&s.key) && !s.flags.has(Flags::SYN) => flow,
            _ => {
                let Some(number) = self.number_of(at, frame, s) else {
                    self.counts.over_capacity += 1;
                    return;
                };
                self.last = number;
                self.flows.get_mut(number, at)
            }
        };
        let event = flow.on_packet(at, s.from, s);
        if let Some(frames) = self.frames.get_mut(self.last as usize) {
            frames.last = frame;
        }
        observer.on_frame(frame);
        observer.on_packet(at, self.last, flow, s, &event);
    }

    /// Processes a UDP datagram; it counts among the packets that are not TCP, too.
    pub fn add_datagram(
        &mut self,
        at: i64,
        frame: u64,
        datagram: &Datagram<'_>,
        filter: &PacketFilter,
        observer: &mut (impl PacketObserver + ?Sized),
    ) {
        self.counts.skipped[Skip::NotTcp as usize] += 1;
        let ends = || [datagram.key.endpoint(Side::Low), datagram.key.endpoint(Side::High)];
        if filter.selects_flow(ends)
            && let Some(number) = self.datagrams.add(at, frame, datagram)
        {
            observer.on_datagram(at, number, datagram);
        }
    }

    /// The number of the segment's flow, which begins with the segment if there is none; none if there
    /// is no room for it.
    #[inline]
    fn number_of(&mut self, at: i64, frame: u64, s: &Segment<'_>) -> Option<u32> {
        let hash = s.key.hash(self.index.seed());
        match self.index.find(hash, |n| self.flows.has_key(n, &s.key)) {
            Some(number) if !s.flags.has(Flags::SYN) => Some(number),
            known => self.on_syn_or_new_flow(at, frame, s, hash, known),
        }
    }

    /// A segment of an unknown flow, or a SYN.
    #[cold]
    #[inline(never)]
    fn on_syn_or_new_flow(&mut self, at: i64, frame: u64, s: &Segment<'_>, hash: u32, known: Option<u32>) -> Option<u32> {
        let number = self.begin_flow(at, frame, s, hash, known)?;
        if s.flags.has(Flags::SYN) {
            self.mptcp.on_syn(number, s);
        }
        Some(number)
    }

    /// The flow of a segment without a known flow, or of a SYN, which may begin a new connection between
    /// known ends.
    fn begin_flow(&mut self, at: i64, frame: u64, s: &Segment<'_>, hash: u32, known: Option<u32>) -> Option<u32> {
        let is_reused = |flow: &Flow| s.flags.has(Flags::SYN) && flow.is_reused_by(s.from, s);
        match known {
            Some(old) if is_reused(self.flows.get_mut(old, at)) && self.frames.len() < self.max_flows => {
                let new = self.add_flow(Flow::new(s.key, s.from, at, s), frame);
                self.index.replace(hash, old, new);
                Some(new)
            }
            Some(number) => Some(number),
            None if !self.has_room(s) => None,
            None => {
                let new = self.add_flow(Flow::new(s.key, s.from, at, s), frame);
                self.index.insert(hash, new);
                Some(new)
            }
        }
    }

    fn has_room(&self, s: &Segment<'_>) -> bool {
        let is_syn = s.flags.has(Flags::SYN) && !s.flags.has(Flags::ACK);
        self.flows.len() < if is_syn { self.max_flows / (MAX_FLOWS / MAX_FLOWS_BY_SYN) } else { self.max_flows }
    }

    #[cold]
    fn add_flow(&mut self, flow: Flow, frame: u64) -> u32 {
        push_tight(&mut self.frames, FrameRange { first: frame, last: frame });
        let now = flow.first_at();
        self.flows.add(flow, now)
    }

    /// Memory of the flows and of their index in bytes.
    pub fn memory(&self) -> usize {
        self.index.memory()
            + self.flows.memory()
            + self.datagrams.memory()
            + self.mptcp.memory()
            + self.frames.capacity() * size_of::<FrameRange>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::decode_fast;
    use ackclock_pcap::read::{LinkType, Record};

    /// Adds a packet of client number `client`.
    fn pass(shard: &mut Shard, client: u8, flags: u8) {
        let mut bytes = [0; 40];
        bytes[..10].copy_from_slice(&[0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6]);
        bytes[12..24].copy_from_slice(&[10, 0, 0, client, 192, 0, 2, 1, 0x80, 0, 0, 80]);
        bytes[32..34].copy_from_slice(&[0x50, flags]);
        let record = Record { at: 0, link: LinkType(101), original_len: 40, bytes: &bytes };
        shard.add(0, 0, &decode_fast(&record).unwrap(), &PacketFilter::default(), &mut ());
    }

    #[test]
    fn shard_keeps_room_for_connections_and_counts_rejected_segments_when_syns_flood() {
        let mut shard = Shard { max_flows: 12, ..Shard::new(CachePolicy::default()) };
        let (syn, ack) = (Flags::SYN, Flags::ACK);
        let by_syn = 12 / (MAX_FLOWS / MAX_FLOWS_BY_SYN) as u8;
        (0..by_syn + 2).for_each(|client| pass(&mut shard, client, syn));
        assert_eq!((shard.flows.len() as u8, shard.counts.over_capacity), (by_syn, 2));
        (100..120).for_each(|client| pass(&mut shard, client, syn | ack));
        assert_eq!((shard.flows.len(), shard.counts.over_capacity), (12, 2 + 20 - 9));
        // Existing flows continue.
        pass(&mut shard, 0, ack);
        assert_eq!((shard.flows.len(), shard.counts.over_capacity, shard.counts.tcp), (12, 13, 3 + 2 + 20 + 1));
    }
}
