//! TCP options by our own walk: what is not known is stepped over, what is broken ends the walk and spoils nothing before it.

/// Timestamps (RFC 7323, section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamps {
    pub value: u32,
    pub echo: u32,
}

/// Selective acknowledgement (RFC 2018): up to four blocks, left and right edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sack {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl Sack {
    #[inline]
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

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
pub struct Options {
    pub stamps: Option<Stamps>,
    pub sack: Sack,
    pub syn: SynChoices,
    /// The walk ended at an option whose length cannot be.
    pub broken: bool,
}

/// Two paddings, then timestamps: what most segments have and nothing else.
const ONLY_STAMPS: [u8; 4] = [1, 1, 8, 10];

impl Options {
    #[inline]
    pub fn of(bytes: &[u8]) -> Options {
        let mut options = Options::default();
        match bytes.first_chunk::<12>() {
            Some(front) if front[..4] == ONLY_STAMPS => {
                options.stamps = Some(Stamps { value: word(front, 4), echo: word(front, 8) });
                if bytes.len() > 12 {
                    options.walk(&bytes[12..]);
                }
            }
            _ => options.walk(bytes),
        }
        options
    }

    fn walk(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(&kind) = rest.first() {
            match kind {
                0 => return,
                1 => rest = &rest[1..],
                _ => {
                    let len = rest.get(1).map_or(0, |&len| usize::from(len));
                    if len < 2 || len > rest.len() {
                        self.broken = true;
                        return;
                    }
                    self.option(kind, &rest[2..len]);
                    rest = &rest[len..];
                }
            }
        }
    }

    fn option(&mut self, kind: u8, value: &[u8]) {
        match (kind, value.len()) {
            (2, 2) => self.syn.mss = Some(u16::from_be_bytes([value[0], value[1]])),
            (3, 1) => self.syn.window_scale = Some(value[0]),
            (4, 0) => self.syn.sack_permitted = true,
            (5, _) => {
                // A second SACK option in one segment may bring more than there is room for.
                let room = &mut self.sack.blocks[usize::from(self.sack.count)..];
                for (place, block) in room.iter_mut().zip(value.chunks_exact(8)) {
                    *place = (word(block, 0), word(block, 4));
                    self.sack.count += 1;
                }
            }
            (8, 8) => self.stamps = Some(Stamps { value: word(value, 0), echo: word(value, 4) }),
            (30, _) => self.syn.mptcp = true,
            (34, _) => self.syn.fast_open = true,
            _ => {}
        }
    }
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
        let options = Options::of(&[three.clone(), three].concat());
        assert_eq!(options.sack.blocks().len(), 4);
        assert_eq!(Options::of(&[5, 3, 1]).sack.blocks().len(), 0);
    }
}
