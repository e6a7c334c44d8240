//! ARQ: packets are cut into numbered blocks, and blocks that do not arrive are sent again (IEEE 802.16-2004, 6.3.4).
//!
//! Each block of a piece breaks on its own. A packet is handed on when all its blocks are there, in order; when a block's attempts are used
//! up its packet is given up, as the standard's block lifetime would have it. What is lost of acknowledgements is left out.

/// What a connection under ARQ is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArqConfig {
    /// Bytes of a block.
    pub block: u32,
    /// Blocks that may be out at once (at most 1024 in the standard).
    pub window: u32,
    /// Frames after which a block that did not arrive is sent again.
    pub timer: u64,
    /// Transmissions of one block, the first included.
    pub attempts: u32,
}

impl ArqConfig {
    /// Blocks that `bytes` take.
    pub fn blocks(&self, bytes: u32) -> u32 {
        bytes.div_ceil(self.block.max(1))
    }
}
