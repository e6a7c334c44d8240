//! Link-layer framing: the bytes that a line carries for a packet. SLIP (RFC 1055) sends the packet
//! as it is, CSLIP (RFC 1144) compresses the TCP/IP header, other link layers add bytes to each packet
//! and may fill whole cells. The arithmetic of those is tc-cake(8)'s, so that a shaper with
//! the same overhead counts the same bytes.

use crate::packet::{Kind, Packet};
use serde::{Deserialize, Serialize};

/// With the names of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Framing {
    /// No framing overhead.
    #[default]
    None,
    /// The whole packet (RFC 1055). The END character and escapes are not modelled.
    Slip,
    /// Van Jacobson header compression (RFC 1144).
    Cslip,
    /// ATM adaptation layer 5: `overhead` bytes of encapsulation and an 8-byte trailer per packet,
    /// in whole cells.
    Atm { overhead: u16 },
    /// Any overhead, as tc-cake(8) counts it.
    LinkLayer(LinkLayer),
}

/// What a line adds to an IP packet, in the order of tc-cake(8): `overhead` first, then the minimum
/// `mpu`, then cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LinkLayer {
    pub cells: Cells,
    /// Bytes in addition to the IP packet; over ATM the trailer of AAL5 is among them.
    pub overhead: u16,
    /// Minimum of packet and overhead in bytes.
    pub mpu: u16,
}

/// How a line divides the bytes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cells {
    /// It does not.
    #[default]
    None,
    /// Cells of 53 bytes, 48 of them payload (ADSL).
    Atm,
    /// A byte of synchronisation with each 64 bytes or part of them (VDSL2; IEEE 802.3, section
    /// 61.3).
    Ptm,
}

/// Bytes that RFC 1144 saves per TCP segment: 40 bytes of IP and TCP header become 6; options are
/// unchanged. `asymmetry` counts 40 B as 6 B, and 52 B (with timestamps) as 18 B.
const CSLIP_SAVES: u16 = 34;

/// AAL5 (RFC 2684, section 4): 48 of a cell's 53 bytes are payload, and the last 8 bytes of a
/// packet's payload are the trailer.
const CELL: u32 = 53;
const CELL_PAYLOAD: u32 = 48;
pub const AAL5_TRAILER: u16 = 8;
/// Payload bytes of a PTM codeword, which has 65.
const PTM_PAYLOAD: u32 = 64;

impl LinkLayer {
    /// Length on the link of an IP packet of `len` bytes; at most what a packet's length can say.
    #[inline]
    pub fn on_wire(self, len: u16) -> u16 {
        let bytes = (u32::from(len) + u32::from(self.overhead)).max(u32::from(self.mpu));
        let bytes = match self.cells {
            Cells::None => bytes,
            Cells::Atm => bytes.div_ceil(CELL_PAYLOAD) * CELL,
            Cells::Ptm => bytes + bytes.div_ceil(PTM_PAYLOAD),
        };
        u16::try_from(bytes).unwrap_or(u16::MAX)
    }
}

impl Framing {
    /// Length on the link in bytes. SYN, FIN and RST are never compressed (RFC 1144, section
    /// 3.2.3).
    #[inline]
    pub fn wire_len(self, packet: &Packet) -> u16 {
        match self {
            Framing::Cslip if !packet.kind.has(Kind::TCP) || packet.kind.has(Kind::CONTROL) => packet.len,
            _ => self.on_wire(packet.len),
        }
    }

    /// Length on the link of a TCP packet of `len` bytes that is no SYN, FIN or RST.
    #[inline]
    pub fn on_wire(self, len: u16) -> u16 {
        match self {
            Framing::None | Framing::Slip => len,
            Framing::Cslip => len.saturating_sub(CSLIP_SAVES).max(1),
            Framing::Atm { overhead } => {
                LinkLayer { cells: Cells::Atm, overhead: overhead.saturating_add(AAL5_TRAILER), mpu: 0 }.on_wire(len)
            }
            Framing::LinkLayer(link_layer) => link_layer.on_wire(len),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Arena, Body, Datagram, Ecn, Flags, Segment};
    use proptest::prelude::*;

    fn packet(kind: Kind, len: u16) -> Packet {
        let body = Arena::default().insert(Body::Datagram(Datagram { number: 0, ..Datagram::default() }));
        Packet { id: 0, body, flow: 0, len, wire_len: len, ecn: Ecn::NotEct, class: 0, kind }
    }

    #[test]
    fn atm_takes_2_cells_for_an_ack_and_32_for_a_full_packet() {
        // PPPoA with VC multiplexing adds the 2 bytes of PPP: 52 + 2 + 8 = 62 bytes, and 1500 + 10
        // = 1510.
        for (len, cells) in [(38, 1), (39, 2), (52, 2), (1500, 32)] {
            assert_eq!(Framing::Atm { overhead: 2 }.wire_len(&packet(Kind::TCP, len)), cells * 53, "{len} B");
        }
        assert_eq!(Framing::Atm { overhead: 2 }.wire_len(&packet(Kind::TCP, 65_535)), u16::MAX, "as much as a packet can say");
    }

    /// Sizes on both sides of each step: of the minimum, of a cell, of a codeword.
    const SIZES: [u16; 40] = [
        0, 1, 20, 21, 25, 26, 27, 28, 33, 34, 35, 39, 40, 41, 45, 46, 47, 52, 63, 64, 65, 79, 80, 88, 89, 98, 99, 100, 128, 129,
        256, 512, 576, 577, 1000, 1280, 1470, 1492, 1499, 1500,
    ];

    /// tc-cake(8): the overhead is added to the size, the sum is rounded up to mpu, and ATM's cells of
    /// 53 bytes carry 48 each, counted here cell by cell; PTM sends 65 bytes for 64.
    fn by_the_manual(link_layer: LinkLayer, len: u16) -> u64 {
        let mut left = i64::from(len) + i64::from(link_layer.overhead);
        if left < i64::from(link_layer.mpu) {
            left = link_layer.mpu.into();
        }
        let mut sent = if link_layer.cells == Cells::Atm { 0 } else { left };
        while link_layer.cells != Cells::None && left > 0 {
            let (payload, bytes) = if link_layer.cells == Cells::Atm { (48, 53) } else { (64, 1) };
            left -= payload;
            sent += bytes;
        }
        u64::try_from(sent).unwrap()
    }

    #[test]
    fn link_layer_counts_40_sizes_by_the_manual_of_cake() {
        let layer = |cells, overhead, mpu| LinkLayer { cells, overhead, mpu };
        for link_layer in [
            layer(Cells::Atm, 10, 0),
            layer(Cells::Atm, 48, 0),
            layer(Cells::Atm, 40, 96),
            layer(Cells::Ptm, 30, 0),
            layer(Cells::Ptm, 22, 64),
            layer(Cells::None, 18, 64),
            layer(Cells::None, 38, 84),
            layer(Cells::None, 0, 0),
        ] {
            for len in SIZES {
                assert_eq!(u64::from(link_layer.on_wire(len)), by_the_manual(link_layer, len), "{link_layer:?}, {len} B");
            }
        }
        // Worked out by hand: 1500 + 32 B are 32 cells; 1500 + 30 B are 24 codewords; 40 + 38 B are short of 84.
        assert_eq!(layer(Cells::Atm, 32, 0).on_wire(1500), 32 * 53);
        assert_eq!(layer(Cells::Ptm, 30, 0).on_wire(1500), 1530 + 24);
        assert_eq!([40, 46, 47].map(|len| layer(Cells::None, 38, 84).on_wire(len)), [84, 84, 85]);
        assert_eq!(layer(Cells::Atm, 1000, 0).on_wire(u16::MAX), u16::MAX, "as much as a packet can say");
    }

    #[test]
    fn atm_framing_has_the_trailer_beside_its_overhead() {
        for len in SIZES {
            let link_layer = LinkLayer { cells: Cells::Atm, overhead: 40, mpu: 0 };
            assert_eq!(Framing::Atm { overhead: 32 }.on_wire(len), Framing::LinkLayer(link_layer).on_wire(len), "{len} B");
        }
        assert_eq!(Framing::Atm { overhead: u16::MAX }.on_wire(1), u16::MAX);
    }

    proptest! {
        #[test]
        fn longer_packet_takes_no_fewer_bytes(
            cells in prop::sample::select(vec![Cells::None, Cells::Atm, Cells::Ptm]),
            overhead in 0u16..1100, mpu in 0u16..1100, len in 0u16..u16::MAX, more in 0u16..200,
        ) {
            let framing = Framing::LinkLayer(LinkLayer { cells, overhead, mpu });
            let longer = framing.on_wire(len.saturating_add(more));
            prop_assert!(framing.on_wire(len) <= longer && longer >= mpu.min(len) && framing.on_wire(len) >= len);
        }
    }

    #[test]
    fn cslip_lengths_match_rfc_1144_and_asymmetry() {
        let kind = |flags, payload| Segment { flags, payload, ..Segment::default() }.kind();
        let (ack, syn, fin, rst) = (Flags::ACK, Flags::SYN, Flags::FIN, Flags::RST);
        for (what, kind, len, wire_len) in [
            ("an ACK", kind(ack, 0), 40, 6),
            ("an ACK with timestamps", kind(ack, 0), 52, 18),
            ("1024 B of data", kind(ack, 1024), 1064, 1030),
            ("a SYN", kind(syn, 0), 40, 40),
            ("a SYN-ACK with options", kind(syn.with(ack), 0), 60, 60),
            ("a FIN", kind(fin.with(ack), 0), 40, 40),
            ("a FIN with data", kind(fin.with(ack), 10), 50, 50),
            ("a RST", kind(rst, 0), 40, 40),
            ("UDP", Kind::default(), 1000, 1000),
            ("less than a header", kind(ack, 0), 20, 1),
        ] {
            let packet = packet(kind, len);
            assert_eq!(Framing::Cslip.wire_len(&packet), wire_len, "{what}");
            assert_eq!(Framing::None.wire_len(&packet), len, "{what}");
        }
    }
}
