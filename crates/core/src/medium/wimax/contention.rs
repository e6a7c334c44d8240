//! The contention region: what asking costs the uplink, and who wins when several requests (IEEE 802.16-2004, 6.3.8).

use super::phy::{Channel, Technique};
use crate::rng::Rng;

/// How much of the uplink the region takes. "Contention size 5" has several readings, of which only the last two leave a 6:1 split at
/// 7 MHz any data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionLayout {
    /// As many ranging opportunities as for requests, at this modulation, each in whole symbols.
    Whole { mcs: u8 },
    /// The same, opportunities packed: a region ends on a whole symbol, an opportunity need not.
    Fractional { mcs: u8 },
    /// Requests only, a symbol of preamble and one of payload each.
    RequestOnly,
    /// So many columns of slots (OFDMA: ranging codes, channel quality and HARQ feedback together).
    Columns { columns: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Request opportunities in each frame (OFDMA: codes).
    pub opportunities: u32,
    pub layout: RegionLayout,
}

/// A ranging opportunity: two symbols of preamble, an RNG-REQ with its header. A request: one symbol, and a header that is the request.
const RANGING: (u32, u32) = (2, 19);
const REQUEST: (u32, u32) = (1, 6);
/// Left empty after each region, in symbols.
const GAP: u32 = 1;

impl Region {
    /// Columns of the uplink that it takes.
    pub fn columns(&self, channel: Channel) -> u32 {
        let n = self.opportunities;
        let bytes = |mcs: u8| {
            let set = channel.set();
            channel.slot_bytes(&set[usize::from(mcs).min(set.len() - 1)]).max(1)
        };
        match self.layout {
            RegionLayout::Columns { columns } => columns,
            _ if n == 0 => 0,
            RegionLayout::RequestOnly => 2 * n + GAP,
            RegionLayout::Whole { mcs } => {
                let opportunity = |(preamble, payload): (u32, u32)| n * (preamble + payload.div_ceil(bytes(mcs)));
                opportunity(RANGING) + opportunity(REQUEST) + 2 * GAP
            }
            RegionLayout::Fractional { mcs } => {
                let packed = |(preamble, payload): (u32, u32)| n * preamble + (n * payload).div_ceil(bytes(mcs));
                packed(RANGING) + packed(REQUEST) + 2 * GAP
            }
        }
    }

    /// Its elements in the uplink map.
    pub fn elements(&self) -> u32 {
        match self.layout {
            RegionLayout::RequestOnly => u32::from(self.opportunities > 0),
            RegionLayout::Columns { columns } => columns.min(1),
            _ => 2 * u32::from(self.opportunities > 0),
        }
    }

    /// Whether a layout is one of this technique's.
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
    /// Attempts before the packet is given up.
    pub tries: u32,
}

/// One station's place in the contention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backoff {
    /// Opportunities to let pass; none while it does not contend.
    remaining: Option<u32>,
    /// Requests in vain so far.
    failed: u32,
}

impl Backoff {
    pub fn is_active(&self) -> bool {
        self.remaining.is_some()
    }

    pub fn start(&mut self, config: &BackoffConfig, rng: &mut Rng) {
        let window = 1u64 << (config.start + self.failed).min(config.end).min(32);
        self.remaining = Some((rng.uniform() * window as f64) as u32);
    }

    /// A frame offers `opportunities`: the one that it takes, if any.
    pub fn next_frame(&mut self, opportunities: u32) -> Option<u32> {
        let remaining = self.remaining?;
        self.remaining = if remaining < opportunities { None } else { Some(remaining - opportunities) };
        (remaining < opportunities).then_some(remaining)
    }

    /// No grant came. False when all tries are used up, and the next start is a first one again.
    pub fn on_timeout(&mut self, config: &BackoffConfig) -> bool {
        self.failed += 1;
        if self.failed < config.tries {
            return true;
        }
        self.failed = 0;
        false
    }

    /// A grant came, from whatever request.
    pub fn reset(&mut self) {
        *self = Backoff::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: BackoffConfig = BackoffConfig { start: 2, end: 6, tries: 16 };

    #[test]
    fn the_window_doubles_from_4_to_64_opportunities() {
        let mut rng = Rng::for_element(1, "backoff");
        let mut backoff = Backoff::default();
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
    fn opportunities_count_down_over_frames() {
        let mut backoff = Backoff { remaining: Some(7), failed: 0 };
        assert_eq!([backoff.next_frame(5), backoff.next_frame(5), backoff.next_frame(5)], [None, Some(2), None]);
    }

    #[test]
    fn after_the_last_try_the_packet_is_given_up() {
        let mut backoff = Backoff::default();
        let tries = (0..CONFIG.tries).map(|_| backoff.on_timeout(&CONFIG)).collect::<Vec<_>>();
        assert_eq!((tries.iter().filter(|&&on| on).count(), tries.last()), (15, Some(&false)));
    }
}
