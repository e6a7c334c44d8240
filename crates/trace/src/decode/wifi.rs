//! IEEE 802.11 frames, bare or after a radio header: radiotap, PPI, Prism, AVS.

use super::Skip;
use super::layers::{Layer, Layers};
use super::link::{self, NetworkProtocol};
use super::protocol::{Protocol, WifiFrame};

/// Link type of 802.11 without a radio header.
const BARE: u32 = 105;
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const MORE_FRAGMENTS: u8 = 0x04;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;
/// Bits of a data frame's subtype: QoS control field; no data.
const QOS: u8 = 8;
const NO_DATA: u8 = 4;
/// Bit of the QoS control field: an A-MSDU.
const AGGREGATE: u8 = 0x80;
/// LLC and SNAP with an EtherType.
const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
/// Bytes of the initialization vector and key number of CCMP, GCMP and TKIP; of WEP.
const CIPHER_HEADERS: [usize; 2] = [8, 4];

/// Radiotap: version, length, words that say which fields are present, fields.
pub fn radiotap(bytes: &[u8], layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    let header: &[u8; 8] = bytes.first_chunk().ok_or(Skip::CutOff)?;
    let len = usize::from(u16::from_le_bytes([header[2], header[3]]));
    if header[0] != 0 || len < 8 {
        return Err(Skip::BadLink);
    }
    frame(bytes, len, has_padding(bytes), layers)
}

/// Whether the driver has padded the 802.11 header to four bytes: bit 5 of the flags, which follow the
/// time (8 bytes, aligned).
fn has_padding(bytes: &[u8]) -> bool {
    const EXTENDED: u32 = 1 << 31;
    const PADDED: u8 = 0x20;
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let Some(present) = word(4) else { return false };
    let (mut last, mut at) = (present, 8);
    while last & EXTENDED != 0 {
        let Some(next) = word(at) else { return false };
        (last, at) = (next, at + 4);
    }
    let at = if present & 1 != 0 { at.next_multiple_of(8) + 8 } else { at };
    present & 2 != 0 && bytes.get(at).is_some_and(|flags| flags & PADDED != 0)
}

/// PPI: version, flags, length and link type, little endian.
pub fn ppi(bytes: &[u8], layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    let header: &[u8; 8] = bytes.first_chunk().ok_or(Skip::CutOff)?;
    let len = usize::from(u16::from_le_bytes([header[2], header[3]]));
    match u32::from_le_bytes([header[4], header[5], header[6], header[7]]) {
        BARE => frame(bytes, len, false, layers),
        other => Err(layers.end(Protocol::Link(other as u16), 8, Skip::UnknownLink)),
    }
}

/// Prism's and AVS's headers: a number, then the length, of which the byte order is that of the host.
pub fn prism(bytes: &[u8], layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    let raw = bytes.get(4..8).ok_or(Skip::CutOff)?;
    let len = u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]);
    let len = if len > 0xffff { len.swap_bytes() } else { len };
    if !(8..=0xffff).contains(&len) {
        return Err(Skip::BadLink);
    }
    frame(bytes, len as usize, false, layers)
}

/// A frame (IEEE 802.11-2020, section 9.2): of data frames, the packet after LLC and SNAP.
pub fn frame(bytes: &[u8], at: usize, padded: bool, layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    let &[control, flags] = bytes.get(at..at + 2).and_then(|b| b.first_chunk()).ok_or(Skip::CutOff)?;
    let (kind, subtype) = (control >> 2 & 3, control >> 4);
    let not_data = match (control & 3, kind) {
        (0, 0) => Some(WifiFrame::Management),
        (0, 1) => Some(WifiFrame::Control),
        (0, 2) => None,
        _ => Some(WifiFrame::Other),
    };
    if let Some(kind) = not_data {
        return Err(layers.end(Protocol::Wifi(kind), at + 2, Skip::NotIp));
    }
    let has_four = flags & (TO_DS | FROM_DS) == TO_DS | FROM_DS;
    layers.add(Layer::Wifi(3 + u8::from(has_four)), at);
    let mut header = 24 + if has_four { 6 } else { 0 };
    let mut is_aggregate = false;
    if subtype & QOS != 0 {
        is_aggregate = bytes.get(at + header).ok_or(Skip::CutOff)? & AGGREGATE != 0;
        header += 2 + if flags & ORDER != 0 { 4 } else { 0 };
    }
    if padded {
        header = header.next_multiple_of(4);
    }
    let body = at + header;
    let is_snap = |at: usize| bytes.get(at..at + 6) == Some(&SNAP);
    let is_fragment = flags & MORE_FRAGMENTS != 0 || bytes.get(at + 22).ok_or(Skip::CutOff)? & 15 != 0;
    let (body, unread) = if subtype & NO_DATA != 0 {
        (body, Some(WifiFrame::NoData))
    } else if flags & PROTECTED != 0 {
        // The driver may have decrypted the frame and left the bit, and the cipher's header.
        let decrypted = [0].iter().chain(&CIPHER_HEADERS).map(|skipped| body + skipped).find(|&at| is_snap(at));
        (decrypted.unwrap_or(body), decrypted.is_none().then_some(WifiFrame::Protected))
    } else if is_fragment {
        (body, Some(WifiFrame::Fragment))
    } else {
        (body, is_aggregate.then_some(WifiFrame::Aggregate))
    };
    match unread {
        Some(kind) => Err(layers.end(Protocol::Wifi(kind), body, Skip::NotIp)),
        None => link::llc(bytes, body, layers),
    }
}
