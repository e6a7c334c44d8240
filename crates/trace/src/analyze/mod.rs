//! Analysis of a capture in one pass: records in, flows out. Memory depends on the number of flows,
//! not of packets.

mod datagram_flows;
mod encapsulation;
mod filter;
mod flow_index;
mod flow_list;
mod flow_store;
mod mirror;
mod mptcp;
mod observer;
mod reassembly;
mod shard;

pub use datagram_flows::{DatagramFlow, QuicFlow, SpinBit};
pub use encapsulation::{Encapsulation, TunnelUse};
pub use filter::{EndpointExpr, FlowSet, PacketFilter};
pub use flow_list::FlowList;
pub use flow_store::{CachePolicy, FlowRef};
pub use mptcp::SubflowOf;
pub use observer::PacketObserver;
pub use reassembly::FragmentCounts;
pub use shard::{DecodeCounts, FrameRange};

use crate::decode::{Decoded, Layers, Skip, decode, decode_fast};
use ackclock_pcap::read::{Capture, ReadError, Record, RecordVisitor};
use mirror::{MirrorFilter, MirrorProbe, filter_of};
use reassembly::{ReassembledSegment, Reassembly};
use shard::Shard;

/// CaptureTotals of a capture.
#[derive(Debug, Clone, Copy, Default)]
pub struct CaptureTotals {
    /// Records of the file so far, those outside of the filter's interval too: the number of the
    /// last one, as Wireshark counts frames.
    pub frames: u64,
    pub packets: u64,
    pub bytes: u64,
    pub first_at: Option<i64>,
    pub last_at: i64,
    /// Packets of which fewer bytes were captured than were on the wire.
    pub truncated: u64,
    /// Packets with an earlier timestamp than their predecessor's.
    pub backwards: u64,
    /// Maximum by which a timestamp is before an earlier packet's, nanoseconds.
    pub max_step_back: i64,
    latest_at: i64,
}

/// All flows of a capture.
#[derive(Debug)]
pub struct Analysis {
    shard: Shard,
    reassembly: Reassembly,
    encapsulation: Encapsulation,
    pub totals: CaptureTotals,
    filter: PacketFilter,
    /// The first packets, until they show whether the capture has each packet twice.
    probe: Option<MirrorProbe>,
}

impl Analysis {
    pub fn new(filter: PacketFilter) -> Analysis {
        Analysis::with_policy(filter, CachePolicy::default())
    }

    /// As [`Analysis::new`], with a policy for freezing flows. The result does not depend on it.
    pub fn with_policy(filter: PacketFilter, policy: CachePolicy) -> Analysis {
        Analysis {
            shard: Shard::new(policy),
            reassembly: Reassembly::default(),
            encapsulation: Encapsulation::default(),
            totals: CaptureTotals::default(),
            filter,
            probe: Some(MirrorProbe::default()),
        }
    }

    pub fn filter(&self) -> &PacketFilter {
        &self.filter
    }

    /// All flows, in the order of their first packets.
    pub fn flows(&self) -> FlowList<'_> {
        FlowList { shard: &self.shard }
    }

    /// Memory of all flows and of their index in bytes.
    pub fn memory(&self) -> usize {
        self.shard.memory() + self.encapsulation.memory()
    }

    pub fn counts(&self) -> DecodeCounts {
        let mut counts = self.shard.counts;
        counts.skipped[Skip::Fragment as usize] += self.fragment_counts().unused;
        counts
    }

    /// Counts of IP fragments with TCP in them.
    pub fn fragment_counts(&self) -> FragmentCounts {
        self.reassembly.counts()
    }

    /// [`Analysis::read`] for observers that do much: compiled once, with all else that runs per packet
    /// inlined, where a copy for each observer would call it.
    #[inline(never)]
    pub fn read_observed(
        &mut self,
        capture: &mut Capture,
        observer: &mut dyn PacketObserver,
        max: u64,
    ) -> Result<u64, ReadError> {
        self.read(capture, observer, max)
    }

    /// Analyzes up to `max` of the packets that are available now; returns their number. The
    /// observer is called in packet order.
    pub fn read(
        &mut self,
        capture: &mut Capture,
        observer: &mut (impl PacketObserver + ?Sized),
        max: u64,
    ) -> Result<u64, ReadError> {
        let held = self.hold(capture, max)?;
        if let Some(probe) = self.probe.take_if(|probe| probe.missing() == 0 || held < max) {
            self.end_probe(&probe, observer);
        }
        Ok(held + capture.packets(max - held, RecordAnalyzer { analysis: self, observer })?)
    }

    /// Holds packets for the probe, if it needs any; returns their number, at most `max`.
    fn hold(&mut self, capture: &mut Capture, max: u64) -> Result<u64, ReadError> {
        let Some(probe) = &mut self.probe else { return Ok(0) };
        capture.packets(probe.missing().min(max), |record: &Record<'_>| probe.hold(record))
    }

    /// The probe has all its packets, or no more are available.
    fn end_probe(&mut self, probe: &MirrorProbe, observer: &mut (impl PacketObserver + ?Sized)) {
        let packets = probe.packets();
        self.shard.mirror = filter_of(&packets);
        for packet in packets {
            if self.totals.add(&packet.record, &self.filter) {
                self.decoded(&packet.record, packet.decoded, &packet.layers, observer);
            }
        }
    }

    /// The tunnels, and the protocols that were not decoded.
    pub fn encapsulation(&self) -> &Encapsulation {
        &self.encapsulation
    }

    /// Packets that were left out as copies of others.
    pub fn mirrored(&self) -> u64 {
        self.shard.mirror.as_ref().map_or(0, MirrorFilter::copies)
    }

    /// What the flow with this number, from 0, is to a connection of MPTCP; none for other flows.
    pub fn mptcp(&self, number: usize) -> Option<SubflowOf> {
        self.shard.mptcp.of_flow(number as u32)
    }

    /// The UDP flows, in the order of their first datagrams.
    pub fn datagram_flows(&self) -> &[DatagramFlow] {
        self.shard.datagrams.flows()
    }

    /// UDP datagrams of flows beyond the maximum number of flows.
    pub fn udp_left_out(&self) -> u64 {
        self.shard.datagrams.left_out
    }

    #[inline(always)]
    fn record(&mut self, record: &Record<'_>, observer: &mut (impl PacketObserver + ?Sized)) {
        if !self.totals.add(record, &self.filter) || self.filter.excludes(record) {
            return;
        }
        let (frame, shard) = (self.totals.frames, &mut self.shard);
        let Some(segment) = decode_fast(record) else { return self.slow_path(record, observer) };
        shard.add(record.at, frame, &segment, &self.filter, observer);
    }

    /// A packet that the fast path of the decoder rejects.
    #[inline(never)]
    fn slow_path(&mut self, record: &Record<'_>, observer: &mut (impl PacketObserver + ?Sized)) {
        let mut layers = Layers::default();
        self.decoded(record, decode(record, &mut layers), &layers, observer);
    }

    fn decoded(
        &mut self,
        record: &Record<'_>,
        decoded: Result<Decoded<'_>, Skip>,
        layers: &Layers,
        observer: &mut (impl PacketObserver + ?Sized),
    ) {
        let (at, frame, shard) = (record.at, self.totals.frames, &mut self.shard);
        self.encapsulation.add(&decoded, layers);
        match decoded {
            Ok(Decoded::Segment(segment)) => shard.add_rare(at, frame, &segment, &self.filter, observer),
            Ok(Decoded::Datagram(datagram)) => shard.add_datagram(at, frame, &datagram, &self.filter, observer),
            Ok(Decoded::Fragment(ip, bytes)) => {
                let Some(fragment) = ip.fragment else { return };
                if let Some(reassembled) = self.reassembly.add(at, &ip, fragment, bytes) {
                    shard.add_reassembled(at, frame, &reassembled, &self.filter, observer);
                }
            }
            Err(skip) => shard.counts.skipped[skip as usize] += 1,
        }
    }
}

/// Analyzes records, and calls the observer.
struct RecordAnalyzer<'a, O: ?Sized> {
    analysis: &'a mut Analysis,
    observer: &'a mut O,
}

impl<O: PacketObserver + ?Sized> RecordVisitor for RecordAnalyzer<'_, O> {
    #[inline(always)]
    fn visit(&mut self, record: &Record<'_>) {
        self.analysis.record(record, self.observer);
    }
}

impl CaptureTotals {
    /// Counts a packet; returns false if it lies outside the filter's interval.
    #[inline(always)]
    fn add(&mut self, record: &Record<'_>, filter: &PacketFilter) -> bool {
        self.frames += 1;
        let first_at = *self.first_at.get_or_insert(record.at);
        if !filter.selects_time(record.at, first_at) {
            return false;
        }
        self.packets += 1;
        self.bytes += u64::from(record.original_len);
        self.truncated += u64::from(record.bytes.len() < record.original_len as usize);
        if record.at >= self.latest_at {
            self.latest_at = record.at;
        } else if self.packets > 1 {
            self.max_step_back = self.max_step_back.max(self.latest_at.saturating_sub(record.at));
        }
        self.backwards += u64::from(record.at < self.last_at && self.last_at != 0);
        self.last_at = record.at;
        true
    }
}

impl Shard {
    fn add_reassembled(
        &mut self,
        at: i64,
        frame: u64,
        reassembled: &ReassembledSegment,
        filter: &PacketFilter,
        observer: &mut (impl PacketObserver + ?Sized),
    ) {
        match reassembled.segment() {
            Some(segment) => self.add_rare(at, frame, &segment, filter, observer),
            None => self.counts.skipped[Skip::BadTcp as usize] += 1,
        }
    }
}
