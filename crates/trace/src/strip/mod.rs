//! A copy of a capture that can be shared: the headers alone, with other addresses, of which the analysis
//! finds the same. Lengths and times stay. The key of the addresses and of the payloads' hashes is not kept.

mod addresses;
mod headers;

pub use addresses::AddressMap;

use crate::decode::{Decoded, FragmentInfo, Layer, Layers, Skip, decode};
use ackclock_pcap::read::{Capture, LinkType, ReadError, Record};
use ackclock_pcap::siphash::SipKey;
use ackclock_pcap::write::{CapturedFrame, PcapngWriter};
use headers::Headers;
use serde::Serialize;
use std::io::{self, Write};

/// What a copy has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StrippedCopy {
    pub packets: u64,
    /// Captured bytes of the original, and of the copy.
    pub original_bytes: u64,
    pub kept_bytes: u64,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum StripError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{0}")]
    Write(io::Error),
}

/// Writes a copy of the packets of a capture in pcapng.
pub fn strip(capture: &mut Capture, out: impl Write, key: SipKey) -> Result<StrippedCopy, StripError> {
    let mut writer = PcapngWriter::without_interface(out).map_err(StripError::Write)?;
    let mut stripper = Stripper::new(key);
    let (mut links, mut copy) = (Vec::<LinkType>::new(), StrippedCopy::default());
    while let Some(record) = capture.packet()? {
        let interface = match links.iter().position(|link| *link == record.link) {
            Some(known) => known,
            None => {
                writer.add_interface(record.link.0, 0, "").map_err(StripError::Write)?;
                links.push(record.link);
                links.len() - 1
            }
        };
        let bytes = stripper.strip(&record);
        copy.packets += 1;
        copy.original_bytes += record.bytes.len() as u64;
        copy.kept_bytes += bytes.len() as u64;
        let frame = CapturedFrame { bytes, original_len: record.original_len };
        writer.write_at(interface as u32, u64::try_from(record.at).unwrap_or(0), &frame).map_err(StripError::Write)?;
    }
    writer.finish().map_err(StripError::Write)?;
    Ok(copy)
}

/// Removes payloads and changes addresses, packet by packet.
pub struct Stripper {
    key: SipKey,
    addresses: AddressMap,
    buffer: Vec<u8>,
}

impl Stripper {
    pub fn new(key: SipKey) -> Stripper {
        Stripper { key, addresses: AddressMap::new(key), buffer: Vec::new() }
    }

    /// The captured bytes of the copy.
    pub fn strip(&mut self, record: &Record<'_>) -> &[u8] {
        let mut layers = Layers::default();
        let decoded = decode(record, &mut layers);
        let kept = kept_len(record, &layers, &decoded);
        self.buffer.clear();
        self.buffer.extend(&record.bytes[..kept]);
        let segment = if let Ok(Decoded::Segment(segment)) = &decoded { Some(segment) } else { None };
        Headers {
            original: record.bytes,
            bytes: &mut self.buffer,
            addresses: &mut self.addresses,
            was_bad: segment.is_some_and(|segment| segment.bad_checksum),
            is_whole: segment.is_some_and(|segment| segment.payload == 0),
        }
        .clean(record.link, &layers);
        if let Ok(Decoded::Datagram(datagram)) = &decoded {
            ackclock_pcap::digest::append(&mut self.buffer, &self.key, datagram.captured, datagram.payload as usize);
        }
        &self.buffer
    }
}

/// Captured bytes that are headers.
fn kept_len(record: &Record<'_>, layers: &Layers, decoded: &Result<Decoded<'_>, Skip>) -> usize {
    let bytes = record.bytes;
    let last = layers.list().last().map(|&(layer, at)| (layer, at as usize));
    let end = match (decoded, last) {
        (Ok(Decoded::Segment(segment)), Some((Layer::Tcp, at))) => at + usize::from(segment.header_len),
        (Ok(Decoded::Datagram(_)), Some((Layer::Udp, at))) => at + 8,
        (Ok(Decoded::Fragment(ip, _)), _) => ip.tcp_at + tcp_header_len(bytes, ip.tcp_at, ip.fragment),
        (Err(_), _) if layers.ended_at.is_some() => layers.end as usize,
        (_, Some((Layer::Ethernet, at))) => at + 14,
        // Of a header that was cut off the addresses may be cut off, too.
        (_, Some((Layer::Ipv4, at))) => at + whole(bytes, at, usize::from(bytes.get(at).map_or(0, |b| b & 15)).max(5) * 4),
        (Err(Skip::Fragment), Some((Layer::Ipv6, at))) => at + whole(bytes, at, 48),
        (_, Some((Layer::Ipv6, at))) => at + whole(bytes, at, 40),
        (Err(Skip::BadTcp), Some((Layer::Tcp, at))) => at + 20,
        (_, Some((_, at))) => at + 8,
        (_, None) => 8,
    };
    end.min(bytes.len())
}

/// The length of a header if it was captured whole, else none of it.
fn whole(bytes: &[u8], at: usize, len: usize) -> usize {
    if bytes.len() >= at + len { len } else { 0 }
}

/// The TCP header in a first fragment.
fn tcp_header_len(bytes: &[u8], at: usize, fragment: Option<FragmentInfo>) -> usize {
    match (bytes.get(at + 12), fragment) {
        (Some(offset), Some(FragmentInfo { offset: 0, .. })) => usize::from(offset >> 4).max(5) * 4,
        _ => 0,
    }
}
