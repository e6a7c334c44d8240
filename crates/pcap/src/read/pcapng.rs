//! The pcapng format (draft-ietf-opsawg-pcapng): sections, interfaces with a timestamp resolution
//! each, packet blocks.

use super::source::Source;
use super::{Damage, LinkType, MAX_RECORD, ReadStep, RecordLayout};
use std::io;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const OPTION_TSRESOL: u16 = 9;
const OPTION_TSOFFSET: u16 = 14;
/// Block type and the block length at both ends: the length of an empty block.
const MIN_BLOCK: usize = 12;
/// More interfaces than any machine has. Limits memory when a damaged file describes millions.
const MAX_INTERFACES: usize = 1 << 16;

#[derive(Debug, Default)]
pub struct Pcapng {
    swapped: bool,
    interfaces: Vec<Interface>,
    /// Time of simple packet blocks, which have no timestamp: the previous packet's.
    last_at: i64,
}

/// Fields of an interface description block.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: LinkType,
    snap_len: u32,
    resolution: Resolution,
    offset_s: i64,
}

/// Resolution of an interface's timestamps.
#[derive(Debug, Clone, Copy)]
enum Resolution {
    /// Nanoseconds per unit: decimal resolutions from seconds to nanoseconds.
    Nanoseconds(u64),
    /// Units per second: all other resolutions.
    PerSecond(u128),
}

/// State of the block at the front of the source.
enum BlockState {
    /// All of it is buffered: its length.
    Complete(usize),
    Incomplete,
    Damaged(Damage),
}

impl Pcapng {
    /// True if `magic` is the type of a section header block.
    pub fn matches_magic(magic: [u8; 4]) -> bool {
        u32::from_le_bytes(magic) == SECTION_HEADER
    }

    /// The next packet; other blocks are skipped.
    pub fn next(&mut self, source: &mut Source) -> io::Result<ReadStep> {
        loop {
            let length = match self.block(source)? {
                BlockState::Complete(length) => length,
                BlockState::Incomplete => return Ok(ReadStep::Incomplete),
                BlockState::Damaged(damage) => return Ok(ReadStep::Damaged(damage)),
            };
            let block = &source.bytes()[..length];
            let body = &block[8..length - 4];
            let record = match self.word(block, 0) {
                ENHANCED_PACKET => self.enhanced(body).map(Some),
                OBSOLETE_PACKET => self.obsolete(body).map(Some),
                SIMPLE_PACKET => self.simple(body).map(Some),
                INTERFACE_DESCRIPTION => self.add_interface(body).map(|()| None),
                _ => Ok(None),
            };
            match record {
                Ok(Some(record)) => {
                    self.last_at = record.at;
                    let data_offset = 8 + record.data_offset;
                    return Ok(ReadStep::Packet(RecordLayout { len: length, data_offset, ..record }));
                }
                // The block length is valid, so reading continues after the block.
                Ok(None) => source.skip(length),
                Err(damage) => {
                    source.skip(length);
                    return Ok(ReadStep::Skipped(damage));
                }
            }
        }
    }

    /// Buffers the block at the front of the source. A section header sets the byte order.
    fn block(&mut self, source: &mut Source) -> io::Result<BlockState> {
        if !source.has(MIN_BLOCK)? {
            return Ok(BlockState::Incomplete);
        }
        let front = source.bytes();
        if u32::from_le_bytes([front[0], front[1], front[2], front[3]]) == SECTION_HEADER {
            self.swapped = match u32::from_le_bytes([front[8], front[9], front[10], front[11]]) {
                BYTE_ORDER_MAGIC => false,
                magic if magic.swap_bytes() == BYTE_ORDER_MAGIC => true,
                _ => return Ok(BlockState::Damaged(Damage::ByteOrder)),
            };
            self.interfaces.clear();
        }
        let length = self.word(front, 4);
        if length < MIN_BLOCK as u32 || !length.is_multiple_of(4) || length > MAX_RECORD {
            return Ok(BlockState::Damaged(Damage::RecordLength));
        }
        let length = length as usize;
        Ok(if source.has(length)? { BlockState::Complete(length) } else { BlockState::Incomplete })
    }

    /// Enhanced packet block (section 4.3): interface, timestamp, captured and original length,
    /// bytes.
    fn enhanced(&self, body: &[u8]) -> Result<RecordLayout, Damage> {
        if body.len() < 20 {
            return Err(Damage::ShortBlock);
        }
        self.packet(body, self.word(body, 0) as usize)
    }

    /// Obsolete packet block (appendix A): a 16-bit interface number and a drop count in place of
    /// the 32-bit interface number.
    fn obsolete(&self, body: &[u8]) -> Result<RecordLayout, Damage> {
        if body.len() < 20 {
            return Err(Damage::ShortBlock);
        }
        self.packet(body, usize::from(self.half(body, 0)))
    }

    fn packet(&self, body: &[u8], interface: usize) -> Result<RecordLayout, Damage> {
        let interface = self.interfaces.get(interface).ok_or(Damage::UnknownInterface)?;
        let timestamp = u64::from(self.word(body, 4)) << 32 | u64::from(self.word(body, 8));
        let captured_len = self.word(body, 12) as usize;
        if captured_len > body.len() - 20 {
            return Err(Damage::ShortBlock);
        }
        let (at, original_len) = (interface.time(timestamp), self.word(body, 16));
        Ok(RecordLayout { at, link: interface.link, original_len, len: 0, data_offset: 20, captured_len })
    }

    /// Simple packet block (section 4.4): a packet of the first interface, without a timestamp.
    fn simple(&self, body: &[u8]) -> Result<RecordLayout, Damage> {
        let interface = self.interfaces.first().ok_or(Damage::UnknownInterface)?;
        if body.len() < 4 {
            return Err(Damage::ShortBlock);
        }
        let original_len = self.word(body, 0);
        let limit = if interface.snap_len == 0 { u32::MAX } else { interface.snap_len };
        let captured_len = (original_len.min(limit) as usize).min(body.len() - 4);
        Ok(RecordLayout { at: self.last_at, link: interface.link, original_len, len: 0, data_offset: 4, captured_len })
    }

    /// Interface description block (section 4.2).
    fn add_interface(&mut self, body: &[u8]) -> Result<(), Damage> {
        if body.len() < 8 || self.interfaces.len() >= MAX_INTERFACES {
            return Err(Damage::ShortBlock);
        }
        let (link, snap_len) = (LinkType(self.half(body, 0)), self.word(body, 4));
        let mut interface = Interface { link, snap_len, resolution: Resolution::Nanoseconds(1000), offset_s: 0 };
        let mut at = 8;
        while at + 4 <= body.len() {
            let (code, len) = (self.half(body, at), usize::from(self.half(body, at + 2)));
            let Some(value) = body.get(at + 4..at + 4 + len) else { break };
            match (code, value) {
                (0, _) => break,
                (OPTION_TSRESOL, &[resolution]) => interface.resolution = Resolution::from_tsresol(resolution),
                (OPTION_TSOFFSET, value) if len == 8 => interface.offset_s = self.long(value),
                _ => {}
            }
            at += 4 + len.next_multiple_of(4);
        }
        self.interfaces.push(interface);
        Ok(())
    }

    #[inline]
    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        let value = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if self.swapped { value.swap_bytes() } else { value }
    }

    fn half(&self, bytes: &[u8], at: usize) -> u16 {
        let value = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        if self.swapped { value.swap_bytes() } else { value }
    }

    fn long(&self, bytes: &[u8]) -> i64 {
        let (first, second) = (u64::from(self.word(bytes, 0)), u64::from(self.word(bytes, 4)));
        (if self.swapped { first << 32 | second } else { second << 32 | first }) as i64
    }
}

impl Resolution {
    /// `if_tsresol`: a negative power of 10, or of 2 if the most significant bit is set.
    fn from_tsresol(value: u8) -> Resolution {
        match value {
            0..=9 => Resolution::Nanoseconds(10u64.pow(u32::from(9 - value))),
            10..=38 => Resolution::PerSecond(10u128.pow(u32::from(value))),
            // A resolution at which any 64-bit timestamp is below one nanosecond.
            39..=127 => Resolution::PerSecond(u128::MAX),
            _ => Resolution::PerSecond(1u128.checked_shl(u32::from(value & 0x7f)).unwrap_or(u128::MAX)),
        }
    }
}

impl Interface {
    /// Unix time in nanoseconds, clamped.
    #[inline]
    fn time(&self, timestamp: u64) -> i64 {
        let ns = match self.resolution {
            Resolution::Nanoseconds(unit) => i128::from(timestamp) * i128::from(unit),
            Resolution::PerSecond(units) => (u128::from(timestamp) * 1_000_000_000 / units) as i128,
        };
        let ns = ns + i128::from(self.offset_s) * 1_000_000_000;
        // A quarter of the range: the difference of any two times does not overflow.
        ns.clamp(i128::from(i64::MIN / 4), i128::from(i64::MAX / 4)) as i64
    }
}
