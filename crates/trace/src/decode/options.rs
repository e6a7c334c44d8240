//! TCP options by our own walk: what is not known is stepped over, what is broken ends the walk and spoils nothing before it.

/// Timestamps (RFC 7323, section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamps {
    pub value: u32,
    pub echo: u32,
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
}

/// The options of one segment: time stamps, which most have. The others are left as they came until somebody asks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    pub stamps: Option<Stamps>,
    /// All of them; empty where there are none but time stamps.
    all: &'a [u8],
    /// The walk ended at an option whose length cannot be.
    pub broken: bool,
}

/// Two paddings, then timestamps: what most segments have and nothing else.
const ONLY_STAMPS: [u8; 4] = [1, 1, 8, 10];

impl<'a> Options<'a> {
    #[inline(always)]
    pub fn of(bytes: &'a [u8]) -> Options<'a> {
        match <&[u8; 12]>::try_from(bytes) {
            Ok(only) if only[..4] == ONLY_STAMPS => {
                let stamps = Some(Stamps { value: word(only, 4), echo: word(only, 8) });
                Options { stamps, all: &[], broken: false }
            }
            _ if bytes.is_empty() => Options::default(),
            _ => Options::walked(bytes),
        }
    }

    #[inline(never)]
    fn walked(all: &'a [u8]) -> Options<'a> {
        let mut options = Options { all, ..Options::default() };
        options.broken = walk(all, |kind, value| {
            if (kind, value.len()) == (8, 8) {
                options.stamps = Some(Stamps { value: word(value, 0), echo: word(value, 4) });
            }
        });
        options
    }

    /// There are none but time stamps.
    #[inline]
    pub fn are_plain(&self) -> bool {
        self.all.is_empty()
    }

    /// What selective acknowledgement names (RFC 2018).
    pub fn sack(&self) -> Blocks {
        let mut blocks = Blocks::default();
        walk(self.all, |kind, value| {
            if kind == SACK {
                blocks.add(value);
            }
        });
        blocks
    }

    /// What a SYN offers.
    pub fn syn(&self) -> SynChoices {
        let mut syn = SynChoices::default();
        walk(self.all, |kind, value| match (kind, value.len()) {
            (2, 2) => syn.mss = Some(u16::from_be_bytes([value[0], value[1]])),
            (3, 1) => syn.window_scale = Some(value[0]),
            (4, 0) => syn.sack_permitted = true,
            _ => {}
        });
        syn
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
        assert_eq!((options.syn().mss, options.syn().window_scale), (Some(1460), Some(7)));
        assert!(options.broken && options.stamps.is_none());
        assert!(Options::of(&[8, 0]).broken && Options::of(&[8]).broken);
    }

    #[test]
    fn two_sack_options_give_four_blocks_at_most() {
        let three = [[5u8, 26].as_slice(), &[7; 24]].concat();
        let twice = [three.clone(), three].concat();
        let options = Options::of(&twice);
        assert_eq!(options.sack().len(), 4);
        assert_eq!(Options::of(&[5, 3, 1]).sack().len(), 0);
    }
}
