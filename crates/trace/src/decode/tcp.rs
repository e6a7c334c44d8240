//! The TCP header (RFC 9293, section 3.1).

use super::{EndpointAddress, IpHeader, Key, Options, Side, Skip};
use ackclock_pcap::checksum::is_valid;
use ackclock_pcap::read::Record;

/// TCP flags: FIN, SYN, RST, PSH, ACK, URG, ECE, CWR from bit 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    pub const FIN: u8 = 1;
    pub const SYN: u8 = 2;
    pub const RST: u8 = 4;
    pub const PSH: u8 = 8;
    pub const ACK: u8 = 16;
    pub const ECE: u8 = 64;
    pub const CWR: u8 = 128;

    #[inline]
    pub fn has(self, bits: u8) -> bool {
        self.0 & bits != 0
    }
}

/// One TCP segment.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    pub key: Key,
    pub from: Side,
    pub seq: u32,
    pub ack: u32,
    pub flags: Flags,
    /// The window field, not scaled.
    pub window: u16,
    /// Length of the payload on the wire.
    pub payload: u32,
    /// Length of the IP datagram on the wire.
    pub ip_len: u32,
    pub ip_id: Option<u16>,
    pub ttl: u8,
    pub ecn: u8,
    pub options: Options<'a>,
    pub header_len: u8,
    pub bad_checksum: bool,
    /// The captured bytes of the payload.
    pub captured: &'a [u8],
}

impl Segment<'_> {
    pub fn source(&self) -> EndpointAddress {
        self.key.endpoint(self.from)
    }

    /// Both endpoints, in the order of the key.
    pub fn endpoints(&self) -> [EndpointAddress; 2] {
        [self.key.endpoint(Side::Low), self.key.endpoint(Side::High)]
    }

    /// SEG.LEN (RFC 9293, section 3.4): payload, plus one for each of SYN and FIN.
    #[inline]
    pub fn seq_len(&self) -> u32 {
        self.payload + u32::from(self.flags.has(Flags::SYN)) + u32::from(self.flags.has(Flags::FIN))
    }
}

#[inline]
pub fn segment<'a>(record: &Record<'a>, ip: &IpHeader) -> Result<Segment<'a>, Skip> {
    // Bytes after the datagram are link-layer padding.
    let bytes = record.bytes.get(ip.tcp_at..).ok_or(Skip::CutOff)?;
    let bytes = &bytes[..bytes.len().min(ip.tcp_len as usize)];
    let Some(header) = bytes.first_chunk::<20>() else {
        return Err(if ip.tcp_len < 20 { Skip::BadTcp } else { Skip::CutOff });
    };
    let header_len = usize::from(header[12] >> 4) * 4;
    if header_len < 20 || header_len as u32 > ip.tcp_len {
        return Err(Skip::BadTcp);
    }
    let half = |i: usize| u16::from_be_bytes([header[i], header[i + 1]]);
    let word = |i: usize| u32::from_be_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
    // Options that the snapshot length cut off are not malformed.
    let mut options = Options::of(&bytes[20..header_len.min(bytes.len())]);
    options.malformed &= bytes.len() >= header_len;
    let (key, from) = Key::of([ip.source, ip.destination], [half(0), half(2)]);
    Ok(Segment {
        key,
        from,
        seq: word(4),
        ack: word(8),
        flags: Flags(header[13]),
        window: half(14),
        payload: ip.tcp_len - header_len as u32,
        ip_len: ip.total_len,
        ip_id: ip.id,
        ttl: ip.ttl,
        ecn: ip.ecn,
        options,
        header_len: header_len as u8,
        bad_checksum: ip.bad_checksum || (bytes.len() == ip.tcp_len as usize && !is_valid(pseudo_header(ip), bytes)),
        captured: &bytes[header_len.min(bytes.len())..],
    })
}

/// Sum of the pseudo-header (RFC 9293, section 3.1) in 32-bit words. The prefix ::ffff of a mapped
/// IPv4 address is zero in one's complement arithmetic.
fn pseudo_header(ip: &IpHeader) -> u64 {
    const TCP: u64 = 6;
    let words = |address: u128| {
        let (high, low) = ((address >> 64) as u64, address as u64);
        (high >> 32) + (high & 0xffff_ffff) + (low >> 32) + (low & 0xffff_ffff)
    };
    words(ip.source) + words(ip.destination) + TCP + u64::from(ip.tcp_len)
}
