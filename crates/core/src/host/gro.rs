//! Generic receive offload: contiguous segments that arrive within a short time reach TCP together.
//!
//! The conditions are those of Linux's `tcp_gro_receive()`: the same ACK number and window, full
//! segments but the last, no flags beside ACK but a PSH that ends the merged packet.

use crate::element::{Element, Output, Port};
use crate::packet::{Arena, Body, Flags, Packet, Segment};
use crate::units::{Span, Time};

/// IP length of a merged packet.
const MAX_BYTES: u32 = 65_535;

/// What the next segment must be to be merged.
#[derive(Clone, Debug)]
struct Held {
    /// When the packet is passed on, at the latest.
    due: Time,
    packets: Vec<Packet>,
    /// Sequence number that continues the last segment.
    next: u64,
    payload: u32,
    ack: u64,
    window: u32,
    bytes: u32,
}

/// Merges the segments of flows; a packet that is not merged passes at once, after those held.
pub struct Gro {
    /// By flow: the time after the first segment, none without merging.
    spans: Vec<Option<Span>>,
    /// By flow.
    held: Vec<Option<Held>>,
    due: Time,
}

impl Gro {
    /// By flow: the time in which its segments are merged.
    pub fn new(spans: Vec<Option<Span>>) -> Gro {
        Gro { held: vec![None; spans.len()], spans, due: Time::NEVER }
    }

    pub(crate) fn set_span(&mut self, flow: u32, span: Span) {
        let flow = flow as usize;
        if self.spans.len() <= flow {
            self.spans.resize(flow + 1, None);
            self.held.resize(flow + 1, None);
        }
        self.spans[flow] = Some(span);
    }

    fn flush(&mut self, flow: usize, out: &mut Output<'_>) {
        if let Some(held) = self.held[flow].take() {
            held.packets.into_iter().for_each(|packet| out.forward(Port(0), packet));
        }
    }

    fn update_due(&mut self) {
        self.due = self.held.iter().flatten().map(|held| held.due).min().unwrap_or(Time::NEVER);
    }

    fn take(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) {
        let flow = packet.flow as usize;
        let Some(span) = self.spans.get(flow).copied().flatten() else { return out.forward(Port(0), packet) };
        let Some(segment) = mergeable(out.arena, &packet).cloned() else {
            self.flush(flow, out);
            return out.forward(Port(0), packet);
        };
        if !self.held[flow].as_ref().is_some_and(|held| held.continues(&segment)) {
            self.flush(flow, out);
        }
        let held = self.held[flow].get_or_insert_with(|| Held {
            due: now + span,
            packets: Vec::new(),
            next: segment.seq,
            payload: segment.payload,
            ack: segment.ack,
            window: segment.window,
            bytes: segment.len.into(),
        });
        if !held.packets.is_empty() {
            held.bytes += segment.payload;
        }
        held.next = segment.seq + u64::from(segment.payload);
        held.packets.push(packet);
        if segment.flags.has(Flags::PSH) || segment.payload < held.payload {
            self.flush(flow, out);
        }
    }
}

impl Held {
    fn continues(&self, segment: &Segment) -> bool {
        segment.seq == self.next
            && segment.payload <= self.payload
            && segment.ack == self.ack
            && segment.window == self.window
            && self.bytes + segment.payload <= MAX_BYTES
    }
}

/// The segment of a packet, if it has payload and neither SACK blocks nor flags that end a merged
/// packet.
fn mergeable<'a>(arena: &'a Arena, packet: &Packet) -> Option<&'a Segment> {
    let Body::Segment(segment) = arena.get(packet.body) else { return None };
    let plain = !segment.flags.any(Flags::SYN.with(Flags::FIN).with(Flags::RST).with(Flags::ECE).with(Flags::CWR));
    (plain && segment.payload > 0 && segment.sack.is_empty()).then_some(segment)
}

impl Element for Gro {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        self.take(now, packet, out);
        self.update_due();
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        if now < self.due {
            return;
        }
        for flow in 0..self.held.len() {
            if self.held[flow].as_ref().is_some_and(|held| held.due <= now) {
                self.flush(flow, out);
            }
        }
        self.update_due();
    }

    fn due(&self) -> Time {
        self.due
    }

    fn occupancy(&self) -> u64 {
        self.held.iter().flatten().map(|held| held.packets.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::PacketCounts;
    use crate::network::route::Handoff;
    use crate::packet::{Ecn, Kind};

    const FULL: u32 = 1448;

    struct Bench {
        gro: Gro,
        arena: Arena,
        counts: PacketCounts,
        next_id: u64,
        id: u64,
    }

    impl Bench {
        fn new() -> Bench {
            let gro = Gro::new(vec![Some(Span::from_us(20))]);
            Bench { gro, arena: Arena::default(), counts: PacketCounts::default(), next_id: 0, id: 0 }
        }

        /// Calls the element; returns how many packets left.
        fn call(&mut self, act: impl FnOnce(&mut Gro, &mut Output<'_>)) -> usize {
            let mut handoffs: Vec<Handoff> = Vec::new();
            let mut out = Output::new(&mut self.arena, &mut self.counts, &mut handoffs, &mut self.next_id);
            act(&mut self.gro, &mut out);
            handoffs.len()
        }

        fn arrive(&mut self, us: u64, segment: Segment) -> usize {
            let body = self.arena.insert(Body::Segment(segment));
            self.id += 1;
            let (len, kind) = (segment.len, Kind::tcp(segment.payload > 0, false));
            let packet = Packet { id: self.id, body, flow: 0, len, wire_len: len, ecn: Ecn::NotEct, class: 0, kind };
            self.call(|gro, out| gro.push(Time::ZERO + Span::from_us(us), Port(0), packet, out))
        }

        fn wake(&mut self, us: u64) -> usize {
            self.call(|gro, out| gro.wake(Time::ZERO + Span::from_us(us), out))
        }
    }

    fn data(number: u64) -> Segment {
        Segment {
            seq: 1 + number * u64::from(FULL),
            payload: FULL,
            flags: Flags::ACK,
            len: 1500,
            window: 100,
            ..Segment::default()
        }
    }

    #[test]
    fn contiguous_segments_wait_for_the_time_after_the_first() {
        let mut bench = Bench::new();
        assert_eq!([bench.arrive(0, data(0)), bench.arrive(12, data(1)), bench.wake(19)], [0, 0, 0]);
        assert_eq!(bench.gro.due(), Time::ZERO + Span::from_us(20));
        assert_eq!([bench.wake(20), bench.wake(21)], [2, 0]);
        assert_eq!(bench.gro.due(), Time::NEVER);
    }

    #[test]
    fn push_or_a_short_segment_ends_the_merging() {
        for last in [Segment { flags: Flags::ACK.with(Flags::PSH), ..data(1) }, Segment { payload: 100, len: 152, ..data(1) }] {
            let mut bench = Bench::new();
            assert_eq!([bench.arrive(0, data(0)), bench.arrive(1, last)], [0, 2]);
        }
    }

    #[test]
    fn segment_that_does_not_continue_passes_on_the_others_first() {
        for other in [data(2), Segment { ack: 7, ..data(1) }, Segment { window: 99, ..data(1) }] {
            let mut bench = Bench::new();
            assert_eq!([bench.arrive(0, data(0)), bench.arrive(1, other)], [0, 1]);
            assert_eq!(bench.gro.occupancy(), 1);
        }
        let mut bench = Bench::new();
        let pure_ack = Segment { payload: 0, len: 52, ..data(1) };
        assert_eq!([bench.arrive(0, data(0)), bench.arrive(1, pure_ack)], [0, 2]);
    }

    #[test]
    fn merged_packet_has_no_more_bytes_than_ip_allows() {
        let mut bench = Bench::new();
        let left: usize = (0..60).map(|number| bench.arrive(0, data(number))).sum();
        assert_eq!(left, 45, "45 * 1448 + 52 bytes");
    }
}
