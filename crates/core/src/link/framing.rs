//! Link-layer framing: SLIP (RFC 1055) sends the packet as it is, CSLIP (RFC 1144) compresses the
//! TCP/IP header, ATM fills whole cells.

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
}

/// Bytes that RFC 1144 saves per TCP segment: 40 bytes of IP and TCP header become 6; options are
/// unchanged. `asymmetry` counts 40 B as 6 B, and 52 B (with timestamps) as 18 B.
const CSLIP_SAVES: u16 = 34;

/// AAL5 (RFC 2684, section 4): 48 of a cell's 53 bytes are payload, and the last 8 bytes of a
/// packet's payload are the trailer.
const CELL: u32 = 53;
const CELL_PAYLOAD: u32 = 48;
pub const AAL5_TRAILER: u32 = 8;

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
                let bytes = u32::from(len) + u32::from(overhead) + AAL5_TRAILER;
                u16::try_from(bytes.div_ceil(CELL_PAYLOAD) * CELL).unwrap_or(u16::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Arena, Body, Datagram, Ecn, Flags, Segment};

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
