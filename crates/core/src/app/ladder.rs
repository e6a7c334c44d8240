//! The packaged ladders of videos.

use crate::score::LadderStep;
use serde::{Deserialize, Serialize};

/// A packaged ladder: bitrates of the video alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LadderName {
    /// H.264 up to 1080p: the fixed ladder that Netflix published ("Per-Title Encode Optimization",
    /// Netflix Technology Blog, 14 December 2015).
    #[serde(rename = "netflix-2015")]
    Netflix2015,
    /// HEVC up to 2160p: the average bit rates of SDR at 16:9 and 30 frames a second in Apple's "HLS Authoring
    /// Specification for Apple Devices".
    AppleHevc,
}

const fn step(kbps: u64, lines: u32) -> LadderStep {
    LadderStep { bps: 1000 * kbps, lines }
}

const NETFLIX_2015: [LadderStep; 10] = [
    step(235, 240),
    step(375, 288),
    step(560, 384),
    step(750, 384),
    step(1050, 480),
    step(1750, 480),
    step(2350, 720),
    step(3000, 720),
    step(4300, 1080),
    step(5800, 1080),
];

const APPLE_HEVC: [LadderStep; 12] = [
    step(145, 360),
    step(300, 432),
    step(600, 540),
    step(900, 540),
    step(1600, 540),
    step(2400, 720),
    step(3400, 720),
    step(4500, 1080),
    step(5800, 1080),
    step(8100, 1440),
    step(11_600, 2160),
    step(16_800, 2160),
];

impl LadderName {
    /// Ascending.
    pub fn steps(self) -> &'static [LadderStep] {
        match self {
            LadderName::Netflix2015 => &NETFLIX_2015,
            LadderName::AppleHevc => &APPLE_HEVC,
        }
    }
}
