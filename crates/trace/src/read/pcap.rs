//! The classic capture file (draft-ietf-opsawg-pcap), in all its dialects.

use super::source::Source;
use super::{Damage, Found, LinkType, MAX_RECORD, Next, ReadError, Record};
use std::io;

const HEADER: usize = 24;
/// Of a record.
const PLAIN_HEADER: usize = 16;
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
    /// In the machine's order of bytes (as far as we go: little endian), with plain records and the captured length first: nearly all.
    usual: bool,
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
            usual: !swapped && magic != PATCHED && lengths == Lengths::CapturedFirst,
            swapped,
            unit_ns: if magic == NANOSECONDS { 1 } else { 1000 },
            record_header: if magic == PATCHED { 24 } else { PLAIN_HEADER },
            lengths,
            // The upper half has the length of a frame check sequence, which readers do not need.
            link: LinkType(word(header, 20, swapped) as u16),
        })
    }

    /// The record in front of the source, if all of it is at hand; else more has to be fetched, or nothing can be.
    pub fn at_hand(&self, bytes: &[u8]) -> Option<Found> {
        let header = bytes.first_chunk::<PLAIN_HEADER>()?;
        let word = |at: usize| word(header, at, self.swapped);
        let (captured, original_len) = self.lengths_of(word(8), word(12));
        let whole = self.record_header + captured as usize;
        if captured > MAX_RECORD || bytes.len() < whole {
            return None;
        }
        let at = i64::from(word(0)) * 1_000_000_000 + i64::from(word(4)) * self.unit_ns;
        Some(Found { at, link: self.link, original_len, whole, from: self.record_header, captured: captured as usize })
    }

    /// Captured and original, of a record's two lengths.
    fn lengths_of(&self, first: u32, second: u32) -> (u32, u32) {
        match self.lengths {
            Lengths::CapturedFirst => (first, second),
            Lengths::OriginalFirst => (second, first),
            Lengths::SmallerIsCaptured => (first.min(second), first.max(second)),
        }
    }

    /// The same as [`Pcap::at_hand`], one record after the other, where all are of the usual form: what is left of `bytes`, and how many of `most`
    /// were there.
    #[inline(always)]
    pub fn run<'a>(&self, bytes: &'a [u8], most: u64, mut each: impl FnMut(&Record<'a>)) -> (&'a [u8], u64) {
        let (mut rest, mut taken) = (bytes, 0);
        if !self.usual {
            return (rest, taken);
        }
        while taken < most
            && let Some((header, behind)) = rest.split_first_chunk::<PLAIN_HEADER>()
        {
            let word = |at: usize| word(header, at, false);
            let captured = word(8);
            if captured > MAX_RECORD {
                break;
            }
            let Some((packet, behind)) = behind.split_at_checked(captured as usize) else { break };
            let at = i64::from(word(0)) * 1_000_000_000 + i64::from(word(4)) * self.unit_ns;
            each(&Record { at, link: self.link, original_len: word(12).max(captured), bytes: packet });
            (rest, taken) = (behind, taken + 1);
        }
        (rest, taken)
    }

    /// Fetches more, for a record that is not whole at hand.
    #[cold]
    pub fn next(&mut self, source: &mut Source) -> io::Result<Next> {
        if !source.has(self.record_header)? {
            return Ok(Next::End);
        }
        let header = source.bytes();
        let (captured, _) = self.lengths_of(word(header, 8, self.swapped), word(header, 12, self.swapped));
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
