//! TCP option parser. Unknown options are skipped; a malformed option ends parsing but keeps the
//! options before it.

/// Timestamps option (RFC 7323, section 3): TSval and TSecr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamps {
    pub value: u32,
    pub echo: u32,
}

/// Up to four SACK blocks (RFC 2018), left and right edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl std::ops::Deref for SackBlocks {
    type Target = [(u32, u32)];

    #[inline]
    fn deref(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

impl SackBlocks {
    /// A single block.
    #[cfg(test)]
    pub fn one(left: u32, right: u32) -> SackBlocks {
        SackBlocks { blocks: [(left, right); 4], count: 1 }
    }

    /// Appends the blocks of an option. Blocks beyond the fourth, possible with a second SACK
    /// option, are ignored.
    fn add(&mut self, value: &[u8]) {
        let free = &mut self.blocks[usize::from(self.count)..];
        for (slot, block) in free.iter_mut().zip(value.chunks_exact(8)) {
            *slot = (word(block, 0), word(block, 4));
            self.count += 1;
        }
    }
}

const NOP: u8 = 1;
const SACK: u8 = 5;
const MPTCP: u8 = 30;

/// Options of a SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SynOptions {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    /// Maximum number of NOPs in a row.
    pub nops: u8,
}

/// The MPTCP option of a SYN or a SYN-ACK (RFC 8684, sections 3.1 and 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mptcp {
    /// MP_CAPABLE, with the sender's key from the SYN-ACK on.
    Capable { version: u8, key: Option<[u8; 8]> },
    /// MP_JOIN: the receiver's token in a SYN; zero in a SYN-ACK, which has none.
    Join { token: u32 },
}

/// The options of one segment. Timestamps, which most segments have, are parsed at once, other
/// options on demand.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    pub timestamps: Option<Timestamps>,
    /// The option bytes; empty if there are no options but timestamps.
    bytes: &'a [u8],
    /// Parsing ended at an option with an invalid length.
    pub malformed: bool,
}

/// NOP, NOP, timestamps: the only options of most segments.
const TIMESTAMPS_PREFIX: [u8; 4] = [1, 1, 8, 10];

impl<'a> Options<'a> {
    #[inline(always)]
    pub fn of(bytes: &'a [u8]) -> Options<'a> {
        match <&[u8; 12]>::try_from(bytes) {
            Ok(option) if option[..4] == TIMESTAMPS_PREFIX => {
                let timestamps = Some(Timestamps { value: word(option, 4), echo: word(option, 8) });
                Options { timestamps, bytes: &[], malformed: false }
            }
            _ if bytes.is_empty() => Options::default(),
            _ => Options::parse(bytes),
        }
    }

    #[inline(never)]
    fn parse(bytes: &'a [u8]) -> Options<'a> {
        let mut options = Options { bytes, ..Options::default() };
        options.malformed = for_each_option(bytes, |kind, value| {
            if (kind, value.len()) == (8, 8) {
                options.timestamps = Some(Timestamps { value: word(value, 0), echo: word(value, 4) });
            }
        });
        options
    }

    /// True if the segment has no options but timestamps.
    #[inline]
    pub fn only_timestamps(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The SACK blocks (RFC 2018).
    pub fn sack(&self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        for_each_option(self.bytes, |kind, value| {
            if kind == SACK {
                blocks.add(value);
            }
        });
        blocks
    }

    /// MPTCP's option, as a SYN or a SYN-ACK has it.
    pub fn mptcp(&self) -> Option<Mptcp> {
        let mut found = None;
        for_each_option(self.bytes, |kind, value| {
            if kind == MPTCP {
                found = found.or(match *value {
                    [first, _, ref rest @ ..] if first >> 4 == 0 => {
                        Some(Mptcp::Capable { version: first & 15, key: rest.first_chunk().copied() })
                    }
                    [first, _, a, b, c, d, _, _, _, _] if first >> 4 == 1 => {
                        Some(Mptcp::Join { token: u32::from_be_bytes([a, b, c, d]) })
                    }
                    [first, ..] if first >> 4 == 1 => Some(Mptcp::Join { token: 0 }),
                    _ => None,
                });
            }
        });
        found
    }

    /// The options that only a SYN carries.
    pub fn syn(&self) -> SynOptions {
        let (mut syn, mut run) = (SynOptions::default(), 0);
        for_each_option(self.bytes, |kind, value| {
            run = if kind == NOP { run + 1 } else { 0 };
            syn.nops = syn.nops.max(run);
            match (kind, value.len()) {
                (2, 2) => syn.mss = Some(u16::from_be_bytes([value[0], value[1]])),
                (3, 1) => syn.window_scale = Some(value[0]),
                (4, 0) => syn.sack_permitted = true,
                _ => {}
            }
        });
        syn
    }
}

/// Calls `each` with kind and value of every option, NOPs included. Returns true if an option has an invalid
/// length; parsing ends there.
#[inline]
fn for_each_option(bytes: &[u8], mut each: impl FnMut(u8, &[u8])) -> bool {
    let mut rest = bytes;
    while let Some(&kind) = rest.first() {
        match kind {
            0 => return false,
            NOP => {
                each(NOP, &[]);
                rest = &rest[1..];
            }
            _ => {
                let len = rest.get(1).map_or(0, |&len| usize::from(len));
                if len < 2 || len > rest.len() {
                    return true;
                }
                each(kind, &rest[2..len]);
                rest = &rest[len..];
            }
        }
    }
    false
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_keep_earlier_options_when_an_option_is_unknown_or_malformed() {
        let bytes = [253, 6, 1, 2, 3, 4, 2, 4, 5, 0xb4, 3, 3, 7, 8, 99];
        let options = Options::of(&bytes);
        assert_eq!((options.syn().mss, options.syn().window_scale), (Some(1460), Some(7)));
        assert!(options.malformed && options.timestamps.is_none());
        assert!(Options::of(&[8, 0]).malformed && Options::of(&[8]).malformed);
    }

    #[test]
    fn mptcp_is_read_from_syn_and_syn_ack() {
        let capable = |key: &[u8]| [&[30, 4 + key.len() as u8, 0x01, 0x81][..], key].concat();
        assert_eq!(Options::of(&capable(&[])).mptcp(), Some(Mptcp::Capable { version: 1, key: None }));
        let key = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(Options::of(&capable(&key)).mptcp(), Some(Mptcp::Capable { version: 1, key: Some(key) }));
        let join = [30, 12, 0x10, 2, 0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4];
        assert_eq!(Options::of(&join).mptcp(), Some(Mptcp::Join { token: 0xdead_beef }));
        let answer = [&[30, 16, 0x10, 2][..], &[7; 12]].concat();
        assert_eq!(Options::of(&answer).mptcp(), Some(Mptcp::Join { token: 0 }));
        assert_eq!(Options::of(&[30, 4, 0x20, 1]).mptcp(), None, "DSS");
        assert_eq!(Options::of(&[2, 4, 5, 0xb4]).mptcp(), None);
    }

    #[test]
    fn sack_returns_at_most_four_blocks_when_there_are_two_options() {
        let three = [[5u8, 26].as_slice(), &[7; 24]].concat();
        let twice = [three.clone(), three].concat();
        let options = Options::of(&twice);
        assert_eq!(options.sack().len(), 4);
        assert_eq!(Options::of(&[5, 3, 1]).sack().len(), 0);
    }
}
