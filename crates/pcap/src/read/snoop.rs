//! The snoop format (RFC 1761, version 2): a big-endian file header, then records with a header of
//! 24 bytes each, padded to a multiple of 4.

use super::source::Source;
use super::{Damage, LinkType, MAX_RECORD, ReadError, ReadStep, RecordLayout, UNKNOWN_LINK};
use std::io;

const MAGIC: &[u8; 8] = b"snoop\0\0\0";
const FILE_HEADER: usize = 16;
const RECORD_HEADER: usize = 24;
const VERSION: u32 = 2;
/// Maximum padding of a record. RFC 1761 pads to 4 bytes; some writers pad to more.
const MAX_PADDING: u32 = 1 << 16;

/// The file header.
#[derive(Debug, Clone, Copy)]
pub struct Snoop {
    link: LinkType,
}

impl Snoop {
    /// True if `magic` begins the identification pattern.
    pub fn matches_magic(magic: [u8; 4]) -> bool {
        MAGIC.starts_with(&magic)
    }

    pub fn open(source: &mut Source) -> Result<Snoop, ReadError> {
        if !source.has(FILE_HEADER)? {
            return Err(ReadError::CutOffHeader);
        }
        let header = source.take(FILE_HEADER);
        if header[..8] != MAGIC[..] {
            return Err(ReadError::NotACapture("\"snoop\", but not with the identification pattern of RFC 1761".to_owned()));
        }
        match word(header, 8) {
            VERSION => Ok(Snoop { link: link_type(word(header, 12)) }),
            version => Err(ReadError::SnoopVersion(version)),
        }
    }

    /// The next record; buffers all of it first.
    pub fn next(&mut self, source: &mut Source) -> io::Result<ReadStep> {
        if !source.has(RECORD_HEADER)? {
            return Ok(ReadStep::Incomplete);
        }
        let header = source.bytes();
        let [original_len, captured, len] = [0, 4, 8].map(|at| word(header, at));
        let at = i64::from(word(header, 16)) * 1_000_000_000 + i64::from(word(header, 20)) * 1000;
        let content = captured.saturating_add(RECORD_HEADER as u32);
        if captured > MAX_RECORD || len < content || len - content > MAX_PADDING {
            return Ok(ReadStep::Damaged(Damage::RecordLength));
        }
        let (len, captured_len) = (len as usize, captured as usize);
        if !source.has(len)? {
            return Ok(ReadStep::Incomplete);
        }
        let data_offset = RECORD_HEADER;
        Ok(ReadStep::Packet(RecordLayout { at, link: self.link, original_len, len, data_offset, captured_len }))
    }
}

/// The link type of a datalink type: those of RFC 1761, and the DLPI types of Solaris for IP.
fn link_type(datalink: u32) -> LinkType {
    match datalink {
        0 | 4 => LinkType(1),
        0x8000_0001 => LinkType(228),
        0x8000_0002 => LinkType(229),
        _ => UNKNOWN_LINK,
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
