//! Reassembly of fragments (RFC 791, section 3.2): a datagram arrives when its last missing fragment does,
//! and not at all when one was lost.

use crate::element::{DropReason, Element, Output, Port};
use crate::packet::{Body, Ecn, Fragment, Packet};
use crate::units::{Span, Time};
use crate::view::TcpEdit;
use std::collections::BTreeMap;

/// `ipfrag_time` of ip-sysctl.rst.
const TIMEOUT: Span = Span::from_secs(30);

/// The fragments of datagrams that are not complete.
#[derive(Default)]
pub struct Reassembler {
    /// By the datagram's number.
    waiting: BTreeMap<u64, Waiting>,
}

struct Waiting {
    expires: Time,
    packets: Vec<Packet>,
    /// Payload that has arrived, without duplicates, by offset.
    parts: BTreeMap<u16, u16>,
    /// Payload of the datagram, once its last fragment has arrived.
    total: Option<u16>,
}

impl Waiting {
    fn is_complete(&self) -> bool {
        self.total.is_some_and(|total| self.parts.values().map(|&part| u32::from(part)).sum::<u32>() >= u32::from(total))
    }
}

impl Reassembler {
    /// Takes a packet. Returns it, or the datagram that it completes.
    pub fn take(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) -> Option<Packet> {
        let Body::Fragment(fragment) = out.arena.get(packet.body) else { return Some(packet) };
        let Fragment { datagram, offset, payload, last, len, kind, .. } = **fragment;
        let waiting = self.waiting.entry(datagram).or_insert_with(|| Waiting {
            expires: now + TIMEOUT,
            packets: Vec::new(),
            parts: BTreeMap::new(),
            total: None,
        });
        waiting.parts.insert(offset, payload);
        waiting.packets.push(packet);
        if last {
            waiting.total = Some(offset + payload);
        }
        if !waiting.is_complete() {
            return None;
        }
        let whole = fragment.body.clone();
        let Waiting { packets, .. } = self.waiting.remove(&datagram)?;
        // RFC 3168, section 5.3: a mark of one fragment is one of the datagram.
        let marked = packets.iter().any(|packet| packet.ecn == Ecn::Ce);
        out.merge(&packets);
        let mut whole = Packet { body: out.arena.insert(whole), len, wire_len: len, kind, ..packet };
        if marked {
            out.edit(&mut whole, &TcpEdit::ecn(Ecn::Ce));
        }
        Some(whole)
    }

    /// Drops what has waited too long.
    pub fn expire(&mut self, now: Time, out: &mut Output<'_>) {
        while let Some((&datagram, _)) = self.waiting.iter().find(|(_, waiting)| waiting.expires <= now) {
            let packets = self.waiting.remove(&datagram).map(|waiting| waiting.packets);
            packets.into_iter().flatten().for_each(|packet| out.drop(packet, DropReason::Reassembly));
        }
    }

    pub fn due(&self) -> Time {
        self.waiting.values().map(|waiting| waiting.expires).min().unwrap_or(Time::NEVER)
    }

    pub fn occupancy(&self) -> u64 {
        self.waiting.values().map(|waiting| waiting.packets.len() as u64).sum()
    }
}

/// The reassembly of a host.
#[derive(Default)]
pub struct Reassembly(Reassembler);

impl Element for Reassembly {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        if let Some(whole) = self.0.take(now, packet, out) {
            out.forward(Port(0), whole);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        self.0.expire(now, out);
    }

    fn due(&self) -> Time {
        self.0.due()
    }

    fn occupancy(&self) -> u64 {
        self.0.occupancy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::PacketCounts;
    use crate::link::{MtuCheck, MtuConfig, TunnelConfig, TunnelEntry, TunnelExit, TunnelKind};
    use crate::network::route::Handoff;
    use crate::packet::{Arena, Datagram, Kind};

    #[derive(Default)]
    struct Bench {
        arena: Arena,
        counts: PacketCounts,
        next_id: u64,
    }

    impl Bench {
        fn call(&mut self, act: impl FnOnce(&mut Output<'_>)) -> Vec<Packet> {
            let mut handoffs: Vec<Handoff> = Vec::new();
            act(&mut Output::new(&mut self.arena, &mut self.counts, &mut handoffs, &mut self.next_id));
            handoffs.into_iter().map(|handoff| handoff.packet).collect()
        }

        fn pass(&mut self, element: &mut impl Element, packets: impl IntoIterator<Item = Packet>) -> Vec<Packet> {
            packets.into_iter().flat_map(|packet| self.call(|out| element.push(Time::ZERO, Port(0), packet, out))).collect()
        }

        fn datagram(&mut self, number: u64, ecn: Ecn) -> Packet {
            let body = self.arena.insert(Body::Datagram(Datagram { number, ..Datagram::default() }));
            self.next_id += 1;
            Packet { id: self.next_id - 1, body, flow: 3, len: 1500, wire_len: 1500, ecn, class: 0, kind: Kind::DATA }
        }

        fn fragments(&mut self, number: u64, ecn: Ecn) -> Vec<Packet> {
            let datagram = self.datagram(number, ecn);
            self.pass(&mut router(600), [datagram])
        }

        fn number(&self, packet: &Packet) -> Option<u64> {
            match self.arena.get(packet.body) {
                Body::Datagram(datagram) => Some(datagram.number),
                _ => None,
            }
        }
    }

    fn router(ip: u16) -> MtuCheck {
        MtuCheck::new(Some(MtuConfig { ip, icmp: true, clamp_mss: false }), None)
    }

    #[test]
    fn datagram_arrives_with_its_last_fragment_in_any_order() {
        let mut bench = Bench::default();
        let mut host = Reassembly::default();
        let (mut a, b) = (bench.fragments(1, Ecn::NotEct), bench.fragments(2, Ecn::NotEct));
        assert_eq!((a.len(), b.len()), (3, 3));
        a.reverse();
        let mixed: Vec<Packet> = a.into_iter().zip(b).flat_map(|(a, b)| [a, b]).collect();
        assert_eq!(bench.pass(&mut host, mixed[..4].to_vec()), []);
        assert_eq!((host.occupancy(), host.due()), (4, Time::ZERO + TIMEOUT));
        let whole = bench.pass(&mut host, mixed[4..].to_vec());
        assert_eq!(
            whole.iter().map(|packet| (bench.number(packet), packet.len)).collect::<Vec<_>>(),
            [(Some(1), 1500), (Some(2), 1500)]
        );
        assert_eq!((host.occupancy(), host.due(), bench.counts.merged, bench.arena.live()), (0, Time::NEVER, 4, 2));
    }

    #[test]
    fn mark_of_one_fragment_is_one_of_the_datagram() {
        let mut bench = Bench::default();
        let mut fragments = bench.fragments(1, Ecn::Ect0);
        fragments[1].ecn = Ecn::Ce;
        let whole = bench.pass(&mut Reassembly::default(), fragments);
        assert_eq!(whole[0].ecn, Ecn::Ce);
    }

    #[test]
    fn fragments_are_dropped_when_one_is_missing_for_30_s() {
        let mut bench = Bench::default();
        let mut host = Reassembly::default();
        let mut fragments = bench.fragments(1, Ecn::NotEct);
        let lost = fragments.remove(1);
        bench.arena.release(lost.body);
        bench.pass(&mut host, fragments);
        bench.call(|out| host.wake(Time::ZERO + TIMEOUT, out));
        assert_eq!((host.occupancy(), bench.counts.dropped[DropReason::Reassembly as usize], bench.arena.live()), (0, 2, 0));
    }

    #[test]
    fn packet_leaves_a_tunnel_as_it_entered_though_the_tunnel_s_was_divided() {
        let mut bench = Bench::default();
        let config = TunnelConfig { kind: TunnelKind::Gre, mtu: 1500, df: false };
        let (mut entry, mut exit) = (TunnelEntry::new(config, 4), TunnelExit::new(4));
        let packet = bench.datagram(7, Ecn::Ect0);
        let outer = bench.pass(&mut entry, [packet]);
        assert_eq!((outer[0].len, outer[0].kind, outer[0].ecn), (1524, Kind::DATA, Ecn::Ect0));
        assert_eq!(bench.arena.tcp(&outer[0]), None);
        let other = bench.datagram(8, Ecn::NotEct);
        let other = bench.pass(&mut entry, [Packet { flow: 9, ..other }]);
        assert_eq!(bench.arena.flow_hash(&outer[0], 5), bench.arena.flow_hash(&other[0], 5));
        let mut divided = bench.pass(&mut router(1400), outer);
        assert_eq!(divided.iter().map(|packet| packet.len).collect::<Vec<_>>(), [1396, 148]);
        divided[0].ecn = Ecn::Ce;
        let inner = bench.pass(&mut exit, divided);
        assert_eq!((bench.number(&inner[0]), inner[0].len, inner[0].flow, inner[0].ecn), (Some(7), 1500, 3, Ecn::Ce));
        // What is of no tunnel, or of another one, passes.
        assert_eq!(bench.pass(&mut TunnelExit::new(5), other.clone()), other);
    }

    #[test]
    fn packet_of_a_tunnel_that_must_not_be_divided_is_reported_to_the_sender_inside() {
        let mut bench = Bench::default();
        let config = TunnelConfig { kind: TunnelKind::Gre, mtu: 1500, df: true };
        let packet = bench.datagram(7, Ecn::NotEct);
        let outer = bench.pass(&mut TunnelEntry::new(config, 0), [packet]);
        let reports = bench.pass(&mut router(1400), outer);
        assert!(matches!(bench.arena.get(reports[0].body), Body::TooBig(report) if (report.number, report.mtu) == (7, 1376)));
        assert_eq!((reports.len(), reports[0].len, bench.counts.dropped[DropReason::TooBig as usize]), (1, 576, 1));
    }
}
