//! Options that few stacks use. A segment carries one of them at most, in few bytes, as every segment has room for it.

/// A counter of 24 bits, as the AccECN option carries it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct U24([u8; 3]);

impl U24 {
    /// The low 24 bits.
    pub fn new(count: u64) -> U24 {
        let [_, _, _, _, _, a, b, c] = count.to_be_bytes();
        U24([a, b, c])
    }
    pub fn bytes(self) -> [u8; 3] {
        self.0
    }
    /// How far `count` must go forward to have these low bits; 0 if that is less than halfway back.
    pub fn ahead_of(self, count: u64) -> u32 {
        let [a, b, c] = self.0;
        let ahead = u32::from_be_bytes([0, a, b, c]).wrapping_sub(count as u32) & 0x00FF_FFFF;
        if ahead < 0x0080_0000 { ahead } else { 0 }
    }
}

/// Payload bytes that came with each codepoint (RFC 9768, section 3.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AccEcn {
    pub ect0: U24,
    pub ce: U24,
    pub ect1: U24,
}

/// What a sender may still send, in segments: what `asymmetry`'s ACK congestion control asks of a sender, so that a window never waits
/// for an ACK that is being saved up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SendRoom {
    /// Segments that the window allows from the first byte not acknowledged to its end, counted from the end of this segment.
    pub window: u16,
    /// Segments that the application has left after this one.
    pub left: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RareOption {
    #[default]
    None,
    AccEcn(AccEcn),
    SendRoom(SendRoom),
}

impl RareOption {
    /// What it takes in a header, with its padding.
    pub fn wire_bytes(self) -> u16 {
        match self {
            RareOption::None => 0,
            RareOption::AccEcn(_) => 12,
            RareOption::SendRoom(_) => 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::U24;

    #[test]
    fn a_counter_of_24_bits_is_told_from_one_that_is_late() {
        assert_eq!(U24::new(1000).ahead_of(400), 600);
        assert_eq!(U24::new(0x0100_0010).ahead_of(0x00FF_FFF0), 0x20);
        assert_eq!(U24::new(400).ahead_of(1000), 0);
    }
}
