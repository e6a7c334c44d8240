//! Segmentation offloads of hosts, as captures of a host show them. GSO and TSO hand the interface
//! one packet with several segments, and the capture of a sent packet precedes the segmentation. GRO
//! merges the received segments of one flow, and the capture of a received packet follows it
//! (Linux, Documentation/networking/segmentation-offloads.rst). A merged packet is a super-segment.

use super::FlowEnd;
use ackclock_core::packet::{Body, Flags, Packet, RetransmitReason, Segment};
use ackclock_core::{Span, Time};
use serde::Deserialize;
use std::collections::VecDeque;

/// Flags that only the last segment of a super-segment carries.
const LAST_ONLY: Flags = Flags::PSH.with(Flags::FIN);

/// Limits of super-segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OffloadConfig {
    /// Maximum IP length of a super-segment: 65,535 bytes (the field of IPv4), or less.
    pub max_bytes: u32,
    /// GRO merges segments that arrive within this time from the first one.
    #[serde(rename = "gro_ps")]
    pub gro_interval: Span,
}

/// A packet at a capture point, or a super-segment.
#[derive(Debug, Clone)]
pub struct CaptureRecord {
    /// Time of the first segment.
    pub at: Time,
    pub from: FlowEnd,
    /// Whether the host of this capture sent it.
    pub sent: bool,
    pub ip_id: u16,
    /// The first segment's packet, with the length of all.
    pub packet: Packet,
    pub body: Body,
    /// The packets' numbers and the reasons of retransmissions, segment by segment.
    pub parts: Vec<(u64, RetransmitReason)>,
}

impl CaptureRecord {
    pub fn new(at: Time, from: FlowEnd, sent: bool, ip_id: u16, packet: &Packet, body: &Body) -> CaptureRecord {
        let reason = if let Body::Segment(segment) = body { segment.reason } else { RetransmitReason::No };
        CaptureRecord { at, from, sent, ip_id, packet: *packet, body: body.clone(), parts: vec![(packet.id, reason)] }
    }
}

/// Merges the packets of one flow at one host. Records leave in the order of their times; those
/// behind a super-segment wait until it is complete.
#[derive(Debug)]
pub struct SuperSegments {
    config: OffloadConfig,
    pending: VecDeque<PendingRecord>,
}

#[derive(Debug)]
struct PendingRecord {
    record: CaptureRecord,
    /// Payload of the first segment: of every segment but the last.
    segment_bytes: u32,
    /// Latest time of a segment that may join; none if the record is complete.
    open_until: Option<Time>,
}

impl SuperSegments {
    pub fn new(config: OffloadConfig) -> SuperSegments {
        SuperSegments { config, pending: VecDeque::new() }
    }

    /// Adds a packet; times do not decrease.
    pub fn add(&mut self, record: CaptureRecord) {
        let now = record.at;
        for pending in &mut self.pending {
            pending.open_until = pending.open_until.filter(|&until| now <= until);
        }
        // A packet of the same direction that does not join ends the super-segment.
        if let Some(last) = self.pending.iter_mut().rev().find(|pending| pending.record.from == record.from) {
            if last.accepts(&record, self.config.max_bytes) {
                last.merge(&record);
                return;
            }
            last.open_until = None;
        }
        self.pending.push_back(PendingRecord::new(record, self.config.gro_interval));
    }

    /// The oldest record, if it is complete.
    pub fn pop_complete(&mut self) -> Option<CaptureRecord> {
        let complete = self.pending.front().is_some_and(|front| front.open_until.is_none());
        if complete { self.pop() } else { None }
    }

    /// The oldest record, complete or not: for the end of the capture.
    pub fn pop(&mut self) -> Option<CaptureRecord> {
        self.pending.pop_front().map(|front| front.record)
    }
}

impl PendingRecord {
    fn new(record: CaptureRecord, gro_interval: Span) -> PendingRecord {
        let (segment_bytes, ends) = match &record.body {
            Body::Segment(segment) => (segment.payload, segment.flags.any(LAST_ONLY.with(Flags::SYN).with(Flags::RST))),
            _ => (0, true),
        };
        // A host builds a super-segment at one instant.
        let until = if record.sent { record.at } else { record.at + gro_interval };
        PendingRecord { record, segment_bytes, open_until: Some(until).filter(|_| segment_bytes > 0 && !ends) }
    }

    fn accepts(&self, next: &CaptureRecord, max_bytes: u32) -> bool {
        let (Body::Segment(own), Body::Segment(segment)) = (&self.record.body, &next.body) else { return false };
        let header = u32::from(segment.len).saturating_sub(segment.payload);
        self.open_until.is_some()
            && (1..=self.segment_bytes).contains(&segment.payload)
            && own.payload.is_multiple_of(self.segment_bytes)
            && segment.seq == own.seq + u64::from(own.payload)
            && header + own.payload + segment.payload <= max_bytes
            && same_headers(own, segment)
            && self.record.packet.ecn == next.packet.ecn
            // A host retransmits for one reason at a time; the receiver does not know the reasons.
            && (!next.sent || own.reason == segment.reason && own.window == segment.window)
    }

    fn merge(&mut self, next: &CaptureRecord) {
        let (Body::Segment(own), Body::Segment(segment)) = (&mut self.record.body, &next.body) else { return };
        own.payload += segment.payload;
        own.len = own.len.saturating_add(segment.payload as u16);
        own.flags = own.flags.with(segment.flags);
        self.record.packet.len = own.len;
        self.record.parts.extend(&next.parts);
        if segment.flags.any(LAST_ONLY) || segment.payload < self.segment_bytes {
            self.open_until = None;
        }
    }
}

/// The headers of all segments of a super-segment are equal except for sequence number, length, PSH
/// and FIN.
fn same_headers(one: &Segment, other: &Segment) -> bool {
    let common = |segment: &Segment| segment.flags.0 & !LAST_ONLY.0;
    common(one) == common(other)
        && one.ack == other.ack
        && one.timestamps == other.timestamps
        && one.sack == other.sack
        && one.rare_option == other.rare_option
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::packet::{Arena, Ecn, Kind, Timestamps};

    const CONFIG: OffloadConfig = OffloadConfig { max_bytes: 65_535, gro_interval: Span::from_us(100) };

    struct Script {
        arena: Arena,
        super_segments: SuperSegments,
        count: u64,
    }

    impl Script {
        fn new() -> Script {
            Script { arena: Arena::default(), super_segments: SuperSegments::new(CONFIG), count: 0 }
        }

        /// Adds a segment of the server at a time in microseconds.
        fn add(&mut self, us: u64, sent: bool, segment: Segment) {
            let segment = Segment { len: (52 + segment.payload) as u16, ..segment };
            let body = Body::Segment(segment);
            let id = self.arena.insert(body.clone());
            let (ecn, kind) = (Ecn::NotEct, Kind::TCP);
            let packet =
                Packet { id: self.count, body: id, flow: 0, len: segment.len, wire_len: segment.len, ecn, class: 0, kind };
            self.count += 1;
            let from = if sent { FlowEnd::Server } else { FlowEnd::Client };
            self.super_segments.add(CaptureRecord::new(Time::ZERO + Span::from_us(us), from, sent, 0, &packet, &body));
        }

        fn data(&mut self, us: u64, sent: bool, seq: u64) {
            self.add(us, sent, segment(seq));
        }

        /// Sequence number, payload and number of segments of each record.
        fn records(mut self) -> Vec<(u64, u32, usize)> {
            let mut records = Vec::new();
            while let Some(record) = self.super_segments.pop() {
                let Body::Segment(segment) = record.body else { unreachable!("segments only") };
                records.push((segment.seq, segment.payload, record.parts.len()));
            }
            records
        }
    }

    fn segment(seq: u64) -> Segment {
        Segment { seq, payload: 1000, flags: Flags::ACK, ..Segment::default() }
    }

    #[test]
    fn sent_burst_is_one_super_segment_when_contiguous_at_one_instant() {
        let mut script = Script::new();
        for (us, seq) in [(0, 0), (0, 1000), (0, 2000), (5, 3000), (5, 5000)] {
            script.data(us, true, seq);
        }
        assert_eq!(script.records(), [(0, 3000, 3), (3000, 1000, 1), (5000, 1000, 1)]);
    }

    #[test]
    fn received_segments_merge_within_the_interval_from_the_first() {
        let mut script = Script::new();
        for (us, seq) in [(0, 0), (60, 1000), (100, 2000), (101, 3000), (190, 4000), (302, 5000)] {
            script.data(us, false, seq);
        }
        assert_eq!(script.records(), [(0, 3000, 3), (3000, 2000, 2), (5000, 1000, 1)]);
    }

    #[test]
    fn psh_and_a_short_segment_end_a_super_segment() {
        let mut script = Script::new();
        script.data(0, true, 0);
        script.add(0, true, Segment { flags: Flags::ACK.with(Flags::PSH), ..segment(1000) });
        script.data(0, true, 2000);
        script.add(0, true, Segment { payload: 400, ..segment(3000) });
        script.add(0, true, Segment { payload: 400, ..segment(3400) });
        assert_eq!(script.records(), [(0, 2000, 2), (2000, 1400, 2), (3400, 400, 1)]);
    }

    #[test]
    fn segments_with_other_headers_or_reasons_stay_apart() {
        let stamped = |value| Some(Timestamps { value, echo: 0 });
        for other in [
            Segment { ack: 1, ..segment(1000) },
            Segment { timestamps: stamped(2), ..segment(1000) },
            Segment { flags: Flags::ACK.with(Flags::ECE), ..segment(1000) },
            Segment { reason: RetransmitReason::Fast, ..segment(1000) },
            Segment { payload: 1001, ..segment(1000) },
            Segment { payload: 0, ..segment(1000) },
        ] {
            let mut script = Script::new();
            script.data(0, true, 0);
            script.add(0, true, other);
            assert_eq!(script.records().len(), 2, "{other:?}");
        }
    }

    #[test]
    fn super_segment_is_at_most_64_kib() {
        let mut script = Script::new();
        for number in 0..100 {
            script.add(0, true, Segment { seq: number * 1448, payload: 1448, ..segment(0) });
        }
        assert_eq!(script.records(), [(0, 65_160, 45), (65_160, 65_160, 45), (130_320, 14_480, 10)]);
    }

    #[test]
    fn ack_behind_an_open_super_segment_waits_for_its_end() {
        let mut script = Script::new();
        script.data(0, false, 0);
        script.add(10, true, Segment { payload: 0, ack: 1000, ..segment(0) });
        assert!(script.super_segments.pop_complete().is_none());
        script.data(20, false, 1000);
        assert!(script.super_segments.pop_complete().is_none());
        script.data(500, false, 2000);
        let times = std::iter::from_fn(|| script.super_segments.pop_complete()).map(|record| (record.at, record.parts.len()));
        assert_eq!(times.collect::<Vec<_>>(), [(Time::ZERO, 2), (Time::ZERO + Span::from_us(10), 1)]);
    }
}
