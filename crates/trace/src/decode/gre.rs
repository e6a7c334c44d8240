//! GRE (RFC 2784, 2890), over IP or over UDP (RFC 8086), and ERSPAN in it.

use super::layers::{Layer, Layers, Tunnel};
use super::link::{self, NetworkProtocol};
use super::protocol::Protocol;
use super::{Skip, u16_at};

const CHECKSUM: u16 = 0x8000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
/// Bits that are zero in a header of version 0 without routing.
const RESERVED: u16 = !(CHECKSUM | KEY | SEQUENCE);

const ETHERNET: u16 = 0x6558;
const ERSPAN_2: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;

/// The network header after GRE's header at `at`, and what the tunnel is: `carrier`, or ERSPAN.
pub fn payload(bytes: &[u8], at: usize, carrier: Tunnel, layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    let flags = u16_at(bytes, at).ok_or(Skip::CutOff)?;
    // Version 1 is PPTP's (RFC 2637), which carries PPP.
    if flags & 7 != 0 {
        return Err(layers.end(Protocol::Pptp, at + 2, Skip::NotTcp));
    }
    let kind = u16_at(bytes, at + 2).ok_or(Skip::CutOff)?;
    let words = [CHECKSUM, KEY, SEQUENCE].into_iter().filter(|bit| flags & bit != 0).count();
    let inner = at + 4 + 4 * words;
    let (tunnel, frame) = match kind {
        ETHERNET => (carrier, Some(inner)),
        // Type I has neither sequence numbers nor a header of its own.
        ERSPAN_2 if flags & SEQUENCE == 0 => (Tunnel::Erspan(1), Some(inner)),
        ERSPAN_2 => (Tunnel::Erspan(2), Some(inner + 8)),
        ERSPAN_3 => {
            // The last bit of the header says that a subheader of 8 bytes follows.
            let has_more = bytes.get(inner + 11).ok_or(Skip::CutOff)? & 1 != 0;
            (Tunnel::Erspan(3), Some(inner + 12 + if has_more { 8 } else { 0 }))
        }
        _ => (carrier, None),
    };
    layers.add(Layer::Tunnel(tunnel), at);
    match frame {
        Some(frame) => link::ethernet(bytes, frame, layers),
        None => link::by_ethertype(bytes, Some(kind), inner, layers),
    }
}

/// True for flags of version 0 without reserved bits.
pub fn is_plain(flags: u16) -> bool {
    flags & RESERVED == 0
}
