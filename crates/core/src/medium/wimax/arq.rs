//! ARQ: packets are divided into numbered blocks, and missing blocks are retransmitted (IEEE
//! 802.16-2004, 6.3.4).
//!
//! Each block of a piece has independent errors. A packet is delivered in order once all its blocks
//! have arrived, and dropped when the attempts of a block are exhausted, which corresponds to the
//! block lifetime of the standard. Loss of ARQ feedback is not modelled.

/// ARQ configuration of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArqConfig {
    /// Block size in bytes.
    pub block: u32,
    /// Window in blocks (at most 1024 in the standard).
    pub window: u32,
    /// Frames until a missing block is retransmitted.
    pub timer: u64,
    /// Transmissions of a block, the first included.
    pub attempts: u32,
}

impl ArqConfig {
    /// Number of blocks for `bytes`.
    pub fn blocks(&self, bytes: u32) -> u32 {
        bytes.div_ceil(self.block.max(1))
    }
}
