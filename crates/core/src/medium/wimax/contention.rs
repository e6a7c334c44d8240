//! The contention region: its size in the uplink, and the back-off (IEEE 802.16-2004, 6.3.8).

use super::config::{MAX_COUNT, check_count};
use super::phy::{Channel, Technique};
use crate::config_check::{Checked, ensure};
use crate::rng::Rng;

/// Size of the region. "Contention size 5" has several interpretations; only the last two leave
/// data slots in a 6:1 split at 7 MHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionLayout {
    /// As many ranging as request opportunities, at this MCS, each in whole symbols.
    Whole { mcs: u8 },
    /// As `Whole`, but only each region ends on a whole symbol.
    Fractional { mcs: u8 },
    /// Request opportunities only, with one symbol of preamble and one of payload each.
    RequestOnly,
    /// A number of slot columns (OFDMA: ranging codes, CQI and HARQ feedback together).
    Columns { columns: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Request opportunities per frame (OFDMA: codes).
    pub opportunities: u32,
    pub layout: RegionLayout,
}

/// Preamble symbols and payload bytes: of a ranging opportunity (RNG-REQ with header), and of a
/// request (a header).
const RANGING: (u32, u32) = (2, 19);
const REQUEST: (u32, u32) = (1, 6);
/// Empty symbols after each region.
const GAP: u32 = 1;

impl Region {
    /// Columns of the uplink that the region occupies.
    pub fn columns(&self, channel: Channel) -> u32 {
        match self.layout {
            RegionLayout::Columns { columns } => columns,
            _ if self.opportunities == 0 => 0,
            RegionLayout::RequestOnly => 2 * self.opportunities + GAP,
            _ => self.columns_before_requests(channel) + self.columns_of(channel, REQUEST) + GAP,
        }
    }

    /// Columns of the region before its request opportunities: those of ranging.
    pub fn columns_before_requests(&self, channel: Channel) -> u32 {
        match self.columns_of(channel, RANGING) {
            0 => 0,
            columns => columns + GAP,
        }
    }

    /// Columns of the opportunities of one kind, `(preamble symbols, payload bytes)` each.
    fn columns_of(&self, channel: Channel, (preamble, payload): (u32, u32)) -> u32 {
        let n = self.opportunities;
        let bytes = |mcs: u8| {
            let set = channel.set();
            channel.slot_bytes(&set[usize::from(mcs).min(set.len() - 1)]).max(1)
        };
        match self.layout {
            RegionLayout::Columns { .. } | RegionLayout::RequestOnly => 0,
            RegionLayout::Whole { mcs } => n * (preamble + payload.div_ceil(bytes(mcs))),
            RegionLayout::Fractional { mcs } => n * preamble + (n * payload).div_ceil(bytes(mcs)),
        }
    }

    /// Its elements in the UL-MAP.
    pub fn elements(&self) -> u32 {
        match self.layout {
            RegionLayout::RequestOnly => u32::from(self.opportunities > 0),
            RegionLayout::Columns { columns } => columns.min(1),
            _ => 2 * u32::from(self.opportunities > 0),
        }
    }

    /// True if the layout belongs to this technique.
    pub fn fits(layout: RegionLayout, technique: Technique) -> bool {
        matches!(layout, RegionLayout::Columns { .. }) == matches!(technique, Technique::Ofdma { .. })
    }
}

/// Truncated binary exponential back-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffConfig {
    /// The window is 2^start opportunities at first and doubles up to 2^end.
    pub start: u32,
    pub end: u32,
    /// Attempts before the packet is dropped.
    pub tries: u32,
}

impl BackoffConfig {
    /// Returns the error in the configuration, if any.
    pub(super) fn check(&self) -> Checked {
        let BackoffConfig { start, end, tries } = *self;
        check_count("contention.tries", tries, MAX_COUNT)?;
        ensure(start <= end && end <= 15, || format!("a back-off from 2^{start} to 2^{end}: exponents rise, to 15 at most"))
    }
}

/// Back-off state of one station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContentionBackoff {
    /// Opportunities to skip; `None` outside contention.
    remaining: Option<u32>,
    /// Failed requests so far.
    failed: u32,
}

impl ContentionBackoff {
    pub fn is_active(&self) -> bool {
        self.remaining.is_some()
    }

    pub fn start(&mut self, config: &BackoffConfig, rng: &mut Rng) {
        let window = 1u64 << (config.start + self.failed).min(config.end).min(32);
        self.remaining = Some((rng.uniform() * window as f64) as u32);
    }

    /// Counts down by a frame of `opportunities`; returns the opportunity to use in it, if any.
    pub fn next_frame(&mut self, opportunities: u32) -> Option<u32> {
        let remaining = self.remaining?;
        self.remaining = if remaining < opportunities { None } else { Some(remaining - opportunities) };
        (remaining < opportunities).then_some(remaining)
    }

    /// The request failed. False if the attempts are exhausted; the next start uses the initial
    /// window.
    pub fn on_timeout(&mut self, config: &BackoffConfig) -> bool {
        self.failed += 1;
        if self.failed < config.tries {
            return true;
        }
        self.failed = 0;
        false
    }

    /// A grant arrived.
    pub fn reset(&mut self) {
        *self = ContentionBackoff::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: BackoffConfig = BackoffConfig { start: 2, end: 6, tries: 16 };

    #[test]
    fn backoff_window_doubles_from_4_to_64_opportunities() {
        let mut rng = Rng::for_element(1, "backoff");
        let mut backoff = ContentionBackoff::default();
        for window in [4, 8, 16, 32, 64, 64, 64] {
            let mut seen = vec![0; window];
            for _ in 0..2000 {
                backoff.start(&CONFIG, &mut rng);
                let at = backoff.remaining.unwrap() as usize;
                assert!(at < window, "{at} in a window of {window}");
                seen[at] += 1;
            }
            assert!(seen.iter().all(|&n| n > 0), "every opportunity of {window} is drawn");
            assert!(backoff.on_timeout(&CONFIG));
        }
    }

    #[test]
    fn backoff_counts_down_over_frames() {
        let mut backoff = ContentionBackoff { remaining: Some(7), failed: 0 };
        assert_eq!([backoff.next_frame(5), backoff.next_frame(5), backoff.next_frame(5)], [None, Some(2), None]);
    }

    #[test]
    fn backoff_ends_after_the_last_attempt() {
        let mut backoff = ContentionBackoff::default();
        let tries = (0..CONFIG.tries).map(|_| backoff.on_timeout(&CONFIG)).collect::<Vec<_>>();
        assert_eq!((tries.iter().filter(|&&on| on).count(), tries.last()), (15, Some(&false)));
    }
}
