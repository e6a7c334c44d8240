//! The classic pcap format (draft-ietf-opsawg-pcap) in all its variants: both byte orders,
//! microseconds and nanoseconds, old versions, and the patched libpcap's longer record header.

use super::source::Source;
use super::{Damage, LinkType, MAX_RECORD, ReadError, ReadStep, Record, RecordLayout, RecordVisitor};
use std::io;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// Record header of the patched libpcap.
const PATCHED_RECORD_HEADER: usize = 24;
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Alexey Kuznetsov's patched libpcap: eight more bytes in each record header.
const PATCHED: u32 = 0xa1b2_cd34;

/// The file header.
#[derive(Debug, Clone, Copy)]
pub struct Pcap {
    swapped: bool,
    /// Nanoseconds per unit of the timestamp's second field.
    unit_ns: i64,
    record_header: usize,
    length_order: LengthOrder,
    link: LinkType,
    /// Little endian, with 16-byte record headers and the captured length first. Nearly all files;
    /// [`Pcap::parse_records`] reads only these.
    is_standard: bool,
}

/// Order of a record's two lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LengthOrder {
    CapturedFirst,
    /// Versions before 2.3, and DG/UX's 543.0.
    OriginalFirst,
    /// Version 2.3: writers used either order; the captured length is the smaller one.
    SmallerIsCaptured,
}

impl Pcap {
    /// True if `magic` is a pcap magic number.
    pub fn matches_magic(magic: [u8; 4]) -> bool {
        let value = u32::from_le_bytes(magic);
        [MICROSECONDS, NANOSECONDS, PATCHED].into_iter().any(|m| m == value || m == value.swap_bytes())
    }

    pub fn open(source: &mut Source) -> Result<Pcap, ReadError> {
        if !source.has(FILE_HEADER)? {
            return Err(ReadError::CutOffHeader);
        }
        let header = source.take(FILE_HEADER);
        let little = word(header, 0, false);
        let swapped = ![MICROSECONDS, NANOSECONDS, PATCHED].contains(&little);
        let magic = word(header, 0, swapped);
        let major = if swapped { u16::from_be_bytes([header[4], header[5]]) } else { u16::from_le_bytes([header[4], header[5]]) };
        let minor = if swapped { u16::from_be_bytes([header[6], header[7]]) } else { u16::from_le_bytes([header[6], header[7]]) };
        let length_order = match (major, minor) {
            (543, 0) | (2, 0..=2) => LengthOrder::OriginalFirst,
            (2, 3) => LengthOrder::SmallerIsCaptured,
            (2, _) => LengthOrder::CapturedFirst,
            _ => return Err(ReadError::Version { major, minor }),
        };
        Ok(Pcap {
            is_standard: !swapped && magic != PATCHED && length_order == LengthOrder::CapturedFirst,
            swapped,
            unit_ns: if magic == NANOSECONDS { 1 } else { 1000 },
            record_header: if magic == PATCHED { PATCHED_RECORD_HEADER } else { RECORD_HEADER },
            length_order,
            // The upper half is the length of the frame check sequence, which is not used.
            link: LinkType(word(header, 20, swapped) as u16),
        })
    }

    /// The record at the front of `bytes`; none if it is incomplete or longer than [`MAX_RECORD`].
    pub fn parse_record(&self, bytes: &[u8]) -> Option<RecordLayout> {
        let header = bytes.first_chunk::<RECORD_HEADER>()?;
        let word = |at: usize| word(header, at, self.swapped);
        let (captured, original_len) = self.captured_and_original(word(8), word(12));
        let len = self.record_header + captured as usize;
        if captured > MAX_RECORD || bytes.len() < len {
            return None;
        }
        let at = i64::from(word(0)) * 1_000_000_000 + i64::from(word(4)) * self.unit_ns;
        let captured_len = captured as usize;
        Some(RecordLayout { at, link: self.link, original_len, len, data_offset: self.record_header, captured_len })
    }

    /// Captured and original length of a record, from its two length fields.
    fn captured_and_original(&self, first: u32, second: u32) -> (u32, u32) {
        match self.length_order {
            LengthOrder::CapturedFirst => (first, second),
            LengthOrder::OriginalFirst => (second, first),
            LengthOrder::SmallerIsCaptured => (first.min(second), first.max(second)),
        }
    }

    /// Parses up to `max` consecutive records of a standard file; stops at the first that
    /// [`Pcap::parse_record`] rejects. Returns the unparsed bytes and the number of records.
    #[inline(always)]
    pub fn parse_records<'a>(&self, bytes: &'a [u8], max: u64, visitor: &mut impl RecordVisitor) -> (&'a [u8], u64) {
        let (mut rest, mut count) = (bytes, 0);
        if !self.is_standard {
            return (rest, count);
        }
        while count < max
            && let Some((header, data)) = rest.split_first_chunk::<RECORD_HEADER>()
        {
            let word = |at: usize| word(header, at, false);
            let captured = word(8);
            if captured > MAX_RECORD {
                break;
            }
            let Some((packet, next)) = data.split_at_checked(captured as usize) else { break };
            let at = i64::from(word(0)) * 1_000_000_000 + i64::from(word(4)) * self.unit_ns;
            visitor.visit(&Record { at, link: self.link, original_len: word(12).max(captured), bytes: packet });
            (rest, count) = (next, count + 1);
        }
        (rest, count)
    }

    /// The next record; buffers all of it first.
    #[cold]
    pub fn next(&mut self, source: &mut Source) -> io::Result<ReadStep> {
        if !source.has(self.record_header)? {
            return Ok(ReadStep::Incomplete);
        }
        let header = source.bytes();
        let (captured, _) = self.captured_and_original(word(header, 8, self.swapped), word(header, 12, self.swapped));
        if captured > MAX_RECORD {
            return Ok(ReadStep::Damaged(Damage::RecordLength));
        }
        if !source.has(self.record_header + captured as usize)? {
            return Ok(ReadStep::Incomplete);
        }
        Ok(self.parse_record(source.bytes()).map_or(ReadStep::Incomplete, ReadStep::Packet))
    }
}

#[inline]
fn word(bytes: &[u8], at: usize, swapped: bool) -> u32 {
    let value = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    if swapped { value.swap_bytes() } else { value }
}
