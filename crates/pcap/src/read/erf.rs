//! The Extensible Record Format of Endace's DAG cards: records without a file header. Each has a
//! header of 16 bytes, extension headers of 8 bytes, and for Ethernet two bytes before the frame.

use super::source::Source;
use super::{Damage, LinkType, ReadStep, RecordLayout, UNKNOWN_LINK};
use std::io;

const HEADER: usize = 16;
const EXTENSION: usize = 8;
/// Bytes of a record's type or of an extension header's: another extension header follows.
const MORE: u8 = 0x80;
/// Provenance metadata, with any time.
const META: u8 = 27;
const PADDING: u8 = 48;
/// Offset and padding before an Ethernet frame.
const ETHERNET_OFFSET: usize = 2;
/// Length of the frame check sequence, which the wire length includes.
const FCS: u32 = 4;
/// The format has no magic number. This many packets at the front must be valid, or the whole file, with
/// a limited number of other records among them.
const CHECKED_PACKETS: usize = 3;
const MAX_CHECKED_RECORDS: usize = 32;
/// 1990-01-01 and 2100-01-01, Unix time.
const PLAUSIBLE_SECONDS: std::ops::Range<u32> = 631_152_000..4_102_444_800;
/// Maximum difference of the times of consecutive records at the front, in seconds.
const MAX_STEP_S: u32 = 86_400;

#[derive(Debug, Clone, Copy)]
pub struct Erf {
    /// Time of the last packet, or of the first one before it is read.
    at: i64,
}

impl Erf {
    /// The reader, if the records at the front of the source are valid.
    pub fn open(source: &mut Source) -> io::Result<Option<Erf>> {
        let (mut at, mut previous, mut packets, mut first) = (0, None, 0, None);
        for _ in 0..MAX_CHECKED_RECORDS {
            if !source.has(at + HEADER)? {
                return Ok(first.filter(|_| source.bytes().len() == at));
            }
            let header = &source.bytes()[at..];
            let (kind, len) = (header[8] & !MORE, usize::from(half(header, 10)));
            let seconds = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
            let is_near = previous.is_none_or(|previous: u32| seconds.abs_diff(previous) <= MAX_STEP_S);
            let is_packet = kind != PADDING && kind != META;
            let has_time = !is_packet || PLAUSIBLE_SECONDS.contains(&seconds) && is_near;
            if !(1..=PADDING).contains(&kind) || len < HEADER || !has_time {
                return Ok(None);
            }
            if !source.has(at + len)? || payload_offset(&source.bytes()[at..at + len]).is_none() {
                return Ok(None);
            }
            if is_packet {
                first = first.or_else(|| Some(Erf { at: time(&source.bytes()[at..]) }));
                previous = Some(seconds);
                packets += 1;
            }
            at += len;
            if packets == CHECKED_PACKETS {
                break;
            }
        }
        Ok(first)
    }

    /// The next record; padding is skipped.
    pub fn next(&mut self, source: &mut Source) -> io::Result<ReadStep> {
        loop {
            if !source.has(HEADER)? {
                return Ok(ReadStep::Incomplete);
            }
            let len = usize::from(half(source.bytes(), 10));
            if len < HEADER {
                return Ok(ReadStep::Damaged(Damage::RecordLength));
            }
            if !source.has(len)? {
                return Ok(ReadStep::Incomplete);
            }
            let record = &source.bytes()[..len];
            if record[8] & !MORE == PADDING {
                source.skip(len);
                continue;
            }
            let Some(offset) = payload_offset(record) else {
                source.skip(len);
                return Ok(ReadStep::Skipped(Damage::ShortBlock));
            };
            let layout = layout(record, offset);
            // Metadata may have no time of its own.
            self.at = if record[8] & !MORE == META { self.at } else { layout.at };
            return Ok(ReadStep::Packet(RecordLayout { at: self.at, ..layout }));
        }
    }
}

fn layout(record: &[u8], data_offset: usize) -> RecordLayout {
    let (link, fcs) = link_type(record[8] & !MORE);
    let wire_len = u32::from(half(record, 14));
    let captured_len = (record.len() - data_offset).min(wire_len as usize);
    // A record that was not cut holds the frame check sequence, which is no part of the packet.
    let original_len = if link == UNKNOWN_LINK { wire_len } else { wire_len.saturating_sub(fcs) };
    let captured_len = captured_len.min(original_len as usize);
    RecordLayout { at: time(record), link, original_len, len: record.len(), data_offset, captured_len }
}

/// Seconds in the upper half, binary fractions in the lower: little endian, unlike all else.
fn time(record: &[u8]) -> i64 {
    let timestamp = u64::from_le_bytes(*record.first_chunk().expect("a record has its header"));
    let fraction = ((timestamp & 0xffff_ffff) * 1_000_000_000 + (1 << 31)) >> 32;
    (timestamp >> 32) as i64 * 1_000_000_000 + fraction as i64
}

/// Offset of the packet in a record; none if the record is shorter than its headers.
fn payload_offset(record: &[u8]) -> Option<usize> {
    let mut offset = HEADER;
    let mut kind = record[8];
    while kind & MORE != 0 {
        kind = *record.get(offset)?;
        offset += EXTENSION;
    }
    if is_ethernet(record[8] & !MORE) {
        offset += ETHERNET_OFFSET;
    }
    (offset <= record.len()).then_some(offset)
}

/// ETH, COLOR_ETH, DSM_COLOR_ETH, COLOR_HASH_ETH.
fn is_ethernet(kind: u8) -> bool {
    matches!(kind, 2 | 11 | 16 | 20)
}

/// Link type of a record type, and the length of the frame check sequence in the wire length.
fn link_type(kind: u8) -> (LinkType, u32) {
    match kind {
        _ if is_ethernet(kind) => (LinkType(1), FCS),
        // HDLC_POS, COLOR_HDLC_POS, DSM_COLOR_HDLC_POS, COLOR_HASH_POS: PPP or Cisco HDLC.
        1 | 10 | 15 | 19 => (LinkType(104), FCS),
        22 => (LinkType(228), 0),
        23 => (LinkType(229), 0),
        _ => (UNKNOWN_LINK, 0),
    }
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}
