//! ARQ: packets are divided into numbered blocks, and missing blocks are retransmitted (IEEE
//! 802.16-2004, 6.3.4).
//!
//! Each block of a piece has independent errors. A packet is delivered in order once all its blocks
//! have arrived, and dropped when the attempts of a block are exhausted, which corresponds to the
//! block lifetime of the standard. Loss of ARQ feedback is not modelled.

use super::config::{check_count, check_frames};
use crate::config_check::{Checked, ensure};
use serde::{Deserialize, Serialize};

/// ARQ configuration of a connection, with the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ArqConfig {
    /// Block size in bytes.
    pub block: u32,
    /// Window in blocks (at most 1024 in the standard).
    pub window: u32,
    /// Frames until a missing block is retransmitted.
    #[serde(rename = "timer_frames")]
    pub timer: u64,
    /// Transmissions of a block, the first included.
    pub attempts: u32,
}

impl ArqConfig {
    /// Returns the error in the configuration, if any.
    pub(super) fn check(&self) -> Checked {
        check_frames("arq.timer_frames", self.timer)?;
        check_count("arq.block", self.block, 2040)?;
        check_count("arq.window", self.window, 1024)?;
        ensure(self.block >= 16 && self.window > 0 && self.timer > 0 && self.attempts > 0, || {
            "arq.block is 16 bytes at least; window, timer_frames and attempts are 1 at least".into()
        })
    }

    /// Number of blocks for `bytes`.
    pub fn blocks(&self, bytes: u32) -> u32 {
        bytes.div_ceil(self.block.max(1))
    }
}
