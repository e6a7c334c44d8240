//! The classic capture file (draft-ietf-opsawg-pcap), in all its dialects.

use super::source::Source;
use super::{Damage, Found, LinkType, MAX_RECORD, Next, ReadError};
use std::io;

const HEADER: usize = 24;
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Alexey Kuznetzov's patched libpcap: eight more bytes in each record's header.
const PATCHED: u32 = 0xa1b2_cd34;

/// What the file's header says.
#[derive(Debug, Clone, Copy)]
pub struct Pcap {
    swapped: bool,
    /// Nanoseconds in one unit of the second stamp field.
    unit_ns: i64,
    record_header: usize,
    lengths: Lengths,
    link: LinkType,
}

/// Which of a record's two lengths comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lengths {
    CapturedFirst,
    /// Versions before 2.3, and DG/UX's 543.0.
    OriginalFirst,
    /// Version 2.3: both were written; the captured one is never longer.
    SmallerIsCaptured,
}

impl Pcap {
    /// True if a capture that begins with these four bytes is one of ours.
    pub fn begins(magic: [u8; 4]) -> bool {
        let value = u32::from_le_bytes(magic);
        [MICROSECONDS, NANOSECONDS, PATCHED].into_iter().any(|m| m == value || m == value.swap_bytes())
    }

    pub fn open(source: &mut Source) -> Result<Pcap, ReadError> {
        if !source.has(HEADER)? {
            return Err(ReadError::CutOffHeader);
        }
        let header = source.take(HEADER);
        let little = word(header, 0, false);
        let swapped = ![MICROSECONDS, NANOSECONDS, PATCHED].contains(&little);
        let magic = word(header, 0, swapped);
        let major = if swapped { u16::from_be_bytes([header[4], header[5]]) } else { u16::from_le_bytes([header[4], header[5]]) };
        let minor = if swapped { u16::from_be_bytes([header[6], header[7]]) } else { u16::from_le_bytes([header[6], header[7]]) };
        let lengths = match (major, minor) {
            (543, 0) | (2, 0..=2) => Lengths::OriginalFirst,
            (2, 3) => Lengths::SmallerIsCaptured,
            (2, _) => Lengths::CapturedFirst,
            _ => return Err(ReadError::Version { major, minor }),
        };
        Ok(Pcap {
            swapped,
            unit_ns: if magic == NANOSECONDS { 1 } else { 1000 },
            record_header: if magic == PATCHED { 24 } else { 16 },
            lengths,
            // The upper half has the length of a frame check sequence, which readers do not need.
            link: LinkType(word(header, 20, swapped) as u16),
        })
    }

    /// The record in front of the source, if all of it is at hand; else more has to be fetched, or nothing can be.
    #[inline]
    pub fn at_hand(&self, bytes: &[u8]) -> Option<Found> {
        let header = bytes.first_chunk::<16>()?;
        let word = |at: usize| {
            let value = u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
            if self.swapped { value.swap_bytes() } else { value }
        };
        let (first, second) = (word(8), word(12));
        let (captured, original) = match self.lengths {
            Lengths::CapturedFirst => (first, second),
            Lengths::OriginalFirst => (second, first),
            Lengths::SmallerIsCaptured => (first.min(second), first.max(second)),
        };
        let whole = self.record_header + captured as usize;
        if captured > MAX_RECORD || bytes.len() < whole {
            return None;
        }
        let at = i64::from(word(0)) * 1_000_000_000 + i64::from(word(4)) * self.unit_ns;
        Some(Found { at, link: self.link, original_len: original, whole, from: self.record_header, captured: captured as usize })
    }

    /// Fetches more, for a record that is not whole at hand.
    #[cold]
    pub fn next(&mut self, source: &mut Source) -> io::Result<Next> {
        if !source.has(self.record_header)? {
            return Ok(Next::End);
        }
        let header = source.bytes();
        let (first, second) = (word(header, 8, self.swapped), word(header, 12, self.swapped));
        let captured = match self.lengths {
            Lengths::CapturedFirst => first,
            Lengths::OriginalFirst => second,
            Lengths::SmallerIsCaptured => first.min(second),
        };
        if captured > MAX_RECORD {
            return Ok(Next::Damaged(Damage::RecordLength));
        }
        if !source.has(self.record_header + captured as usize)? {
            return Ok(Next::End);
        }
        Ok(self.at_hand(source.bytes()).map_or(Next::End, Next::Packet))
    }
}

#[inline]
fn word(bytes: &[u8], at: usize, swapped: bool) -> u32 {
    let value = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    if swapped { value.swap_bytes() } else { value }
}
