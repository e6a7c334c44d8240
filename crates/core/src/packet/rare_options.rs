//! TCP options of few stacks. A segment carries at most one of them, in a compact form, since every
//! segment reserves the space.

/// A 24-bit counter as in the AccECN option.
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
    /// Smallest increment of `count` that gives these low bits; 0 if they are behind `count` (by
    /// less than 2^23).
    pub fn ahead_of(self, count: u64) -> u32 {
        let [a, b, c] = self.0;
        let ahead = u32::from_be_bytes([0, a, b, c]).wrapping_sub(count as u32) & 0x00FF_FFFF;
        if ahead < 0x0080_0000 { ahead } else { 0 }
    }
}

/// Payload bytes received with each codepoint (RFC 9768, section 3.2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AccEcn {
    pub ect0: U24,
    pub ce: U24,
    pub ect1: U24,
}

/// What the sender may still send, in segments. ACK congestion control of `asymmetry` requires it,
/// so that a window never waits for a delayed ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SendRoom {
    /// Segments that the window allows after this one.
    pub window: u16,
    /// Segments that the application has queued after this one.
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
    /// Bytes in the header, padding included.
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
    fn u24_counter_ignores_older_values() {
        assert_eq!(U24::new(1000).ahead_of(400), 600);
        assert_eq!(U24::new(0x0100_0010).ahead_of(0x00FF_FFF0), 0x20);
        assert_eq!(U24::new(400).ahead_of(1000), 0);
    }
}
