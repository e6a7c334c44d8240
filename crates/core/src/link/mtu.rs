//! MTU of a hop: the router before it divides a longer packet that may be divided. Another one is dropped,
//! and the router reports that to the
//! sender with the MTU (ICMP "fragmentation needed", RFC 792 and RFC 1191, section 4; ICMPv6 "packet
//! too big", RFC 4443), or drops it silently: a black hole (RFC 2923, section 2.1).

use super::fragments::forward_in_fragments;
use crate::config_check::{Checked, ensure};
use crate::config_form::is_default;
use crate::element::{DropReason, Element, Output, Port};
use crate::packet::{Flags, Kind, Packet};
use crate::units::Time;
use crate::view::TcpEdit;
use serde::{Deserialize, Serialize};

/// With the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MtuConfig {
    /// IP length in bytes of the longest packet.
    pub ip: u16,
    /// The router reports what it drops.
    pub icmp: bool,
    /// SYNs in both directions of the hop offer at most the MSS that fits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clamp_mss: bool,
}

/// Every network carries packets of this length (RFC 791, section 3.2).
pub const MIN_MTU: u16 = 68;

impl MtuConfig {
    pub fn check(&self) -> Checked {
        ensure(self.ip >= MIN_MTU, || format!("mtu.ip is {} bytes: at least {MIN_MTU} (RFC 791)", self.ip))
    }
}

/// The port through which reports leave, back to the sender.
pub const REPORT_PORT: Port = Port(1);

/// The router before a hop. Packets leave at once.
pub struct MtuCheck {
    /// None: nothing is too long.
    config: Option<MtuConfig>,
    /// SYNs are clamped to this MTU: the smaller one of both directions.
    clamp: Option<u16>,
}

impl MtuCheck {
    /// `clamp` of None: SYNs pass as they are.
    pub fn new(config: Option<MtuConfig>, clamp: Option<u16>) -> MtuCheck {
        MtuCheck { config, clamp }
    }
}

/// The MTU without the headers of IP and TCP (RFC 6691, section 2; for IPv6 RFC 8200, section 8.3).
fn mss_of(mtu: u16, is_ipv6: bool) -> u16 {
    mtu.saturating_sub(if is_ipv6 { 60 } else { 40 })
}

impl Element for MtuCheck {
    fn push(&mut self, _now: Time, _port: Port, mut packet: Packet, out: &mut Output<'_>) {
        if let Some(config) = self.config.filter(|config| packet.len > config.ip) {
            if out.arena.may_fragment(&packet) {
                return forward_in_fragments(&packet, config.ip, out);
            }
            if config.icmp {
                out.report_too_big(REPORT_PORT, &packet, config.ip);
            }
            return out.drop(packet, DropReason::TooBig);
        }
        if let Some(mtu) = self.clamp.filter(|_| packet.kind.has(Kind::TCP.with(Kind::CONTROL)))
            && out.arena.tcp(&packet).is_some_and(|tcp| tcp.flags.has(Flags::SYN))
        {
            let mss = mss_of(mtu, out.arena.is_ipv6(&packet));
            out.edit(&mut packet, &TcpEdit { mss: Some(mss), ..TcpEdit::NOTHING });
        }
        out.forward(Port(0), packet);
    }

    fn wake(&mut self, _now: Time, _out: &mut Output<'_>) {}

    fn due(&self) -> Time {
        Time::NEVER
    }

    fn occupancy(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::PacketCounts;
    use crate::network::route::Handoff;
    use crate::packet::{Arena, Body, Ecn, Segment, SynOptions};

    /// The packets that leave, with their ports.
    fn pass(check: &mut MtuCheck, arena: &mut Arena, packet: Packet) -> Vec<Handoff> {
        let (mut counts, mut handoffs, mut next_id) = (PacketCounts::default(), Vec::new(), 9);
        check.push(Time::ZERO, Port(0), packet, &mut Output::new(arena, &mut counts, &mut handoffs, &mut next_id));
        handoffs
    }

    fn packet(arena: &mut Arena, body: Body, len: u16, kind: Kind) -> Packet {
        Packet { id: 0, body: arena.insert(body), flow: 0, len, wire_len: len, ecn: Ecn::NotEct, class: 0, kind }
    }

    fn router(ip: u16, icmp: bool) -> MtuCheck {
        MtuCheck::new(Some(MtuConfig { ip, icmp, clamp_mss: false }), None)
    }

    #[test]
    fn segment_longer_than_the_mtu_is_reported_with_its_sequence_number() {
        let mut arena = Arena::default();
        for (icmp, reports) in [(true, 1), (false, 0)] {
            let segment = Segment { seq: 77, payload: 1348, len: 1400, ..Segment::default() };
            let long = packet(&mut arena, Body::Segment(segment), 1401, Kind::tcp(true, false));
            let left = pass(&mut router(1400, icmp), &mut arena, long);
            assert_eq!(left.len(), reports);
            if let Some(report) = left.first() {
                assert_eq!((report.port, report.packet.len, report.packet.kind), (REPORT_PORT, 576, Kind::DATA));
                let body = arena.get(report.packet.body);
                assert!(matches!(body, Body::TooBig(report) if (report.number, report.mtu) == (77, 1400)), "{body:?}");
            }
        }
        let fits = packet(&mut arena, Body::Segment(Segment::default()), 1400, Kind::tcp(true, false));
        assert_eq!(pass(&mut router(1400, true), &mut arena, fits)[0].packet, fits);
    }

    #[test]
    fn syn_offers_at_most_the_mss_of_the_clamp() {
        let mut arena = Arena::default();
        for (offered, expected) in [(1460, 1360), (1000, 1000)] {
            let options = SynOptions { mss: offered, window_scale: None, sack_permitted: true };
            let segment = Segment { flags: Flags::SYN, syn: Some(options), ..Segment::default() };
            let syn = packet(&mut arena, Body::Segment(segment), 60, Kind::tcp(false, true));
            let left = pass(&mut MtuCheck::new(None, Some(1400)), &mut arena, syn);
            let Body::Segment(segment) = arena.get(left[0].packet.body) else { panic!("a segment") };
            assert_eq!(segment.syn.map(|options| options.mss), Some(expected));
        }
    }

    #[test]
    fn real_syn_keeps_a_right_checksum_when_its_mss_is_clamped() {
        // Ports 1 and 2, sequence number 3, SYN, window 5, MSS 1460; addresses 10.0.0.1 and 10.0.0.2.
        let mut bytes = vec![0x45, 0, 0, 44, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        bytes.extend([0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0x60, 2, 0, 5, 0, 0, 0, 0, 2, 4, 5, 180]);
        let sum = |bytes: &[u8]| {
            let words = bytes[12..].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
            let total = words.sum::<u32>() + 6 + 24;
            (total & 0xFFFF) + (total >> 16)
        };
        let checksum = !(sum(&bytes) as u16);
        bytes[36..38].copy_from_slice(&checksum.to_be_bytes());
        let mut arena = Arena::default();
        let syn = packet(&mut arena, Body::Raw(bytes.into()), 44, Kind::tcp(false, true));
        let left = pass(&mut MtuCheck::new(None, Some(1400)), &mut arena, syn);
        let Body::Raw(bytes) = arena.get(left[0].packet.body) else { panic!("bytes") };
        assert_eq!((&bytes[40..], sum(bytes)), (&[2, 4, 5, 80][..], 0xFFFF));
    }
}
