//! The block-structured capture file (draft-ietf-opsawg-pcapng): sections, interfaces with clocks of their own, packets.

use super::source::Source;
use super::{Damage, Found, LinkType, MAX_RECORD, Next};
use std::io;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const OPTION_TSRESOL: u16 = 9;
const OPTION_TSOFFSET: u16 = 14;
/// Type, length, and the length again at the end.
const FRAME: usize = 12;
/// More interfaces than any machine has; a damaged file may describe millions.
const MAX_INTERFACES: usize = 1 << 16;

#[derive(Debug, Default)]
pub struct Pcapng {
    swapped: bool,
    interfaces: Vec<Interface>,
    /// For packets without a time of their own (simple packet blocks).
    last_at: i64,
}

/// What is needed of an interface description.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: LinkType,
    snap_len: u32,
    ticks: Ticks,
    offset_s: i64,
}

/// What one unit of a time stamp is.
#[derive(Debug, Clone, Copy)]
enum Ticks {
    /// Nanoseconds in one unit: decimal resolutions from seconds to nanoseconds.
    Nanoseconds(u64),
    /// Units in one second: anything else.
    PerSecond(u128),
}

/// A block as it lies at the front of the source.
enum Block {
    Whole(usize),
    Unfinished,
    Damaged(Damage),
}

impl Pcapng {
    pub fn begins(magic: [u8; 4]) -> bool {
        u32::from_le_bytes(magic) == SECTION_HEADER
    }

    pub fn next(&mut self, source: &mut Source) -> io::Result<Next> {
        loop {
            let length = match self.block(source)? {
                Block::Whole(length) => length,
                Block::Unfinished => return Ok(Next::End),
                Block::Damaged(damage) => return Ok(Next::Damaged(damage)),
            };
            let block = &source.bytes()[..length];
            let body = &block[8..length - 4];
            let found = match self.word(block, 0) {
                ENHANCED_PACKET => self.enhanced(body).map(Some),
                OBSOLETE_PACKET => self.obsolete(body).map(Some),
                SIMPLE_PACKET => self.simple(body).map(Some),
                INTERFACE_DESCRIPTION => self.describe(body).map(|()| None),
                _ => Ok(None),
            };
            match found {
                Ok(Some(found)) => {
                    self.last_at = found.at;
                    return Ok(Next::Packet(Found { whole: length, from: 8 + found.from, ..found }));
                }
                // The block's frame is sound, so reading goes on behind it.
                Ok(None) => source.skip(length),
                Err(damage) => {
                    source.skip(length);
                    return Ok(Next::Bad(damage));
                }
            }
        }
    }

    /// The length of the block in front, once all of it is at hand. A section header sets the byte order.
    fn block(&mut self, source: &mut Source) -> io::Result<Block> {
        if !source.has(FRAME)? {
            return Ok(Block::Unfinished);
        }
        let front = source.bytes();
        if u32::from_le_bytes([front[0], front[1], front[2], front[3]]) == SECTION_HEADER {
            self.swapped = match u32::from_le_bytes([front[8], front[9], front[10], front[11]]) {
                BYTE_ORDER_MAGIC => false,
                magic if magic.swap_bytes() == BYTE_ORDER_MAGIC => true,
                _ => return Ok(Block::Damaged(Damage::ByteOrder)),
            };
            self.interfaces.clear();
        }
        let length = self.word(front, 4);
        if length < FRAME as u32 || !length.is_multiple_of(4) || length > MAX_RECORD {
            return Ok(Block::Damaged(Damage::RecordLength));
        }
        let length = length as usize;
        Ok(if source.has(length)? { Block::Whole(length) } else { Block::Unfinished })
    }

    /// Section 4.3: interface, time, captured and original length, bytes.
    fn enhanced(&self, body: &[u8]) -> Result<Found, Damage> {
        if body.len() < 20 {
            return Err(Damage::ShortBlock);
        }
        self.packet(body, self.word(body, 0) as usize)
    }

    /// Appendix A: as above, with a shorter interface number and a count of drops beside it.
    fn obsolete(&self, body: &[u8]) -> Result<Found, Damage> {
        if body.len() < 20 {
            return Err(Damage::ShortBlock);
        }
        self.packet(body, usize::from(self.half(body, 0)))
    }

    fn packet(&self, body: &[u8], interface: usize) -> Result<Found, Damage> {
        let interface = self.interfaces.get(interface).ok_or(Damage::UnknownInterface)?;
        let stamp = u64::from(self.word(body, 4)) << 32 | u64::from(self.word(body, 8));
        let captured = self.word(body, 12) as usize;
        if captured > body.len() - 20 {
            return Err(Damage::ShortBlock);
        }
        let (at, original_len) = (interface.time(stamp), self.word(body, 16));
        Ok(Found { at, link: interface.link, original_len, whole: 0, from: 20, captured })
    }

    /// Section 4.4: of the first interface, without a time.
    fn simple(&self, body: &[u8]) -> Result<Found, Damage> {
        let interface = self.interfaces.first().ok_or(Damage::UnknownInterface)?;
        if body.len() < 4 {
            return Err(Damage::ShortBlock);
        }
        let original_len = self.word(body, 0);
        let limit = if interface.snap_len == 0 { u32::MAX } else { interface.snap_len };
        let captured = (original_len.min(limit) as usize).min(body.len() - 4);
        Ok(Found { at: self.last_at, link: interface.link, original_len, whole: 0, from: 4, captured })
    }

    /// Section 4.2.
    fn describe(&mut self, body: &[u8]) -> Result<(), Damage> {
        if body.len() < 8 || self.interfaces.len() >= MAX_INTERFACES {
            return Err(Damage::ShortBlock);
        }
        let (link, snap_len) = (LinkType(self.half(body, 0)), self.word(body, 4));
        let mut interface = Interface { link, snap_len, ticks: Ticks::Nanoseconds(1000), offset_s: 0 };
        let mut at = 8;
        while at + 4 <= body.len() {
            let (code, len) = (self.half(body, at), usize::from(self.half(body, at + 2)));
            let Some(value) = body.get(at + 4..at + 4 + len) else { break };
            match (code, value) {
                (0, _) => break,
                (OPTION_TSRESOL, &[resolution]) => interface.ticks = Ticks::of(resolution),
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

impl Ticks {
    /// `if_tsresol`: a negative power of 10, or of 2 where the highest bit is set.
    fn of(resolution: u8) -> Ticks {
        match resolution {
            0..=9 => Ticks::Nanoseconds(10u64.pow(u32::from(9 - resolution))),
            10..=38 => Ticks::PerSecond(10u128.pow(u32::from(resolution))),
            // Finer than any clock: the stamp is below one nanosecond whatever it says.
            39..=127 => Ticks::PerSecond(u128::MAX),
            _ => Ticks::PerSecond(1u128.checked_shl(u32::from(resolution & 0x7f)).unwrap_or(u128::MAX)),
        }
    }
}

impl Interface {
    /// Nanoseconds of Unix time, held within what 64 bits can say.
    #[inline]
    fn time(&self, stamp: u64) -> i64 {
        let ns = match self.ticks {
            Ticks::Nanoseconds(each) => i128::from(stamp) * i128::from(each),
            Ticks::PerSecond(units) => (u128::from(stamp) * 1_000_000_000 / units) as i128,
        };
        let ns = ns + i128::from(self.offset_s) * 1_000_000_000;
        // A quarter of the range, so that differences of any two times are safe too.
        ns.clamp(i128::from(i64::MIN / 4), i128::from(i64::MAX / 4)) as i64
    }
}
