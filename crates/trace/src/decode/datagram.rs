//! The UDP header (RFC 768).

use super::{IpHeader, Key, Side, Skip, u16_at};
use ackclock_pcap::read::Record;

/// One UDP datagram.
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    pub key: Key,
    pub from: Side,
    /// Length of the IP datagram on the wire.
    pub ip_len: u32,
    pub ip_id: Option<u16>,
    pub ecn: u8,
    /// Length of the payload on the wire.
    pub payload: u32,
    /// The captured bytes of the payload.
    pub captured: &'a [u8],
}

const HEADER: usize = 8;

/// The datagram whose header is `ip`; a first fragment counts as the whole.
pub fn datagram<'a>(record: &Record<'a>, ip: &IpHeader) -> Result<Datagram<'a>, Skip> {
    let bytes = record.bytes;
    let (source, destination) = u16_at(bytes, ip.tcp_at).zip(u16_at(bytes, ip.tcp_at + 2)).ok_or(Skip::CutOff)?;
    let (key, from) = Key::of([ip.source, ip.destination], [source, destination]);
    let captured = bytes.get(ip.tcp_at + HEADER..).unwrap_or_default();
    let payload = ip.tcp_len.saturating_sub(HEADER as u32);
    let captured = &captured[..captured.len().min(payload as usize)];
    Ok(Datagram { key, from, ip_len: ip.total_len, ip_id: ip.id, ecn: ip.ecn, payload, captured })
}
