//! TCP options by our own walk: what is not known is stepped over, what is broken ends the walk and spoils nothing before it.

/// Timestamps (RFC 7323, section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamps {
    pub value: u32,
    pub echo: u32,
}

/// Selective acknowledgement (RFC 2018): left as it came until somebody asks, as most segments have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sack<'a> {
    /// All options of a segment that has such a one; else empty.
    options: &'a [u8],
}

/// Up to four blocks, left and right edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Blocks {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl std::ops::Deref for Blocks {
    type Target = [(u32, u32)];

    #[inline]
    fn deref(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

impl Sack<'_> {
    #[inline]
    pub fn blocks(&self) -> Blocks {
        let mut blocks = Blocks::default();
        if !self.options.is_empty() {
            walk(self.options, |kind, value| {
                if kind == SACK {
                    blocks.add(value);
                }
            });
        }
        blocks
    }
}

impl Blocks {
    /// A second SACK option in one segment may bring more than there is room for.
    fn add(&mut self, value: &[u8]) {
        let room = &mut self.blocks[usize::from(self.count)..];
        for (place, block) in room.iter_mut().zip(value.chunks_exact(8)) {
            *place = (word(block, 0), word(block, 4));
            self.count += 1;
        }
    }
}

const SACK: u8 = 5;

/// What a SYN offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SynChoices {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    pub fast_open: bool,
    pub mptcp: bool,
}

/// The options of one segment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    pub stamps: Option<Stamps>,
    pub sack: Sack<'a>,
    pub syn: SynChoices,
    /// The walk ended at an option whose length cannot be.
    pub broken: bool,
}

/// Two paddings, then timestamps: what most segments have and nothing else.
const ONLY_STAMPS: [u8; 4] = [1, 1, 8, 10];

impl<'a> Options<'a> {
    #[inline]
    pub fn of(bytes: &'a [u8]) -> Options<'a> {
        let mut options = Options::default();
        match bytes.first_chunk::<12>() {
            Some(front) if front[..4] == ONLY_STAMPS => {
                options.stamps = Some(Stamps { value: word(front, 4), echo: word(front, 8) });
                if bytes.len() > 12 {
                    options.rest(bytes, &bytes[12..]);
                }
            }
            _ if bytes.is_empty() => {}
            _ => options.rest(bytes, bytes),
        }
        options
    }

    fn rest(&mut self, all: &'a [u8], rest: &[u8]) {
        self.broken = walk(rest, |kind, value| {
            if kind == SACK {
                self.sack = Sack { options: all };
            } else {
                self.option(kind, value);
            }
        });
    }

    fn option(&mut self, kind: u8, value: &[u8]) {
        match (kind, value.len()) {
            (2, 2) => self.syn.mss = Some(u16::from_be_bytes([value[0], value[1]])),
            (3, 1) => self.syn.window_scale = Some(value[0]),
            (4, 0) => self.syn.sack_permitted = true,
            (8, 8) => self.stamps = Some(Stamps { value: word(value, 0), echo: word(value, 4) }),
            (30, _) => self.syn.mptcp = true,
            (34, _) => self.syn.fast_open = true,
            _ => {}
        }
    }
}

/// Each option with its value, up to the end or to one whose length cannot be: true if there was such a one.
#[inline]
fn walk(bytes: &[u8], mut each: impl FnMut(u8, &[u8])) -> bool {
    let mut rest = bytes;
    while let Some(&kind) = rest.first() {
        match kind {
            0 => return false,
            1 => rest = &rest[1..],
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
    fn unknown_options_are_stepped_over_and_a_broken_one_keeps_what_came_before() {
        let bytes = [253, 6, 1, 2, 3, 4, 2, 4, 5, 0xb4, 3, 3, 7, 8, 99];
        let options = Options::of(&bytes);
        assert_eq!((options.syn.mss, options.syn.window_scale), (Some(1460), Some(7)));
        assert!(options.broken && options.stamps.is_none());
        assert!(Options::of(&[8, 0]).broken && Options::of(&[8]).broken);
    }

    #[test]
    fn two_sack_options_give_four_blocks_at_most() {
        let three = [[5u8, 26].as_slice(), &[7; 24]].concat();
        let twice = [three.clone(), three].concat();
        let options = Options::of(&twice);
        assert_eq!(options.sack.blocks().len(), 4);
        assert_eq!(Options::of(&[5, 3, 1]).sack.blocks().len(), 0);
    }
}
