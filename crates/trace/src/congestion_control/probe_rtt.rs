//! ProbeRTT of BBR: at fixed intervals, without a loss, the flight falls to a floor for 200 ms and is
//! then restored. Version 1 (draft-cardwell-iccrg-bbr-congestion-control-00, section 4.3.5) falls to
//! four segments every 10 s; version 3 (draft-ietf-ccwg-bbr-06, section 5.3.4) to half of the BDP every
//! 5 s.

use super::script::{BIN, Script};

/// Falls of the flight that may be a ProbeRTT.
#[derive(Clone, Debug, Default)]
pub struct ProbeRttSigns {
    /// Falls to four segments, and intervals between two that are those of version 1.
    pub to_floor: u32,
    pub floor_intervals: u32,
    /// Falls to half, and intervals between two that are those of version 3.
    pub to_half: u32,
    pub half_intervals: u32,
    /// Four segments are far below half of the flight.
    pub is_floor_low: bool,
}

/// A fall of the flight: when it began, in bins, and the flight that it left.
#[derive(Clone, Copy, Debug)]
struct Fall {
    at: usize,
    level: f64,
}

/// Share of the median flight below which it has fallen, and above which it has not.
const FALLEN: f64 = 0.66;
const RESTORED: f64 = 0.8;
/// Bins of a fall without the RTTs in which the flight falls and rises.
const FALL_BINS: usize = 8;
/// The flight in a ProbeRTT of version 1, in segments: four, of which some may be acknowledged at once.
const FLOOR: std::ops::RangeInclusive<f64> = 2.5..=5.5;
/// Of version 3, as a share of the median.
const HALF: std::ops::RangeInclusive<f64> = 0.36..=0.6;
/// Intervals in seconds, to which two RTTs are added: the age of the minimum RTT, and the ProbeRTT.
const FLOOR_INTERVAL: std::ops::RangeInclusive<f64> = 9.8..=10.8;
const HALF_INTERVAL: std::ops::RangeInclusive<f64> = 4.9..=5.8;
/// Median flight, in segments, from which four are far below half of it.
const LOW_FLOOR: f64 = 16.0;
/// Below this, in segments, the floor is no fall.
const MIN_MEDIAN: f64 = 8.0;

impl ProbeRttSigns {
    pub fn of(script: &Script) -> ProbeRttSigns {
        let (median, rtt) = (script.median_flight, f64::from(script.min_rtt_us) * 1e-6);
        if median < MIN_MEDIAN {
            return ProbeRttSigns::default();
        }
        let falls = falls(script, (rtt / (BIN as f64 * 1e-9)).ceil() as usize);
        let floor: Vec<usize> = falls.iter().filter(|fall| FLOOR.contains(&fall.level)).map(|fall| fall.at).collect();
        let is_half = |level: f64| HALF.contains(&(level / median));
        let half: Vec<usize> = falls.iter().filter(|fall| is_half(fall.level)).map(|fall| fall.at).collect();
        let intervals = |of: &[usize], range: &std::ops::RangeInclusive<f64>| {
            let seconds = |pair: &[usize]| (pair[1] - pair[0]) as f64 * BIN as f64 * 1e-9;
            let fits = |s: f64| s >= *range.start() && s <= *range.end() + 2.0 * rtt;
            of.windows(2).filter(|pair| fits(seconds(pair))).count() as u32
        };
        // Falls at other intervals are something else.
        let periodic = |of: &[usize], range| Some(intervals(of, range)).filter(|&fit| 3 * fit as usize >= of.len()).unwrap_or(0);
        ProbeRttSigns {
            to_floor: floor.len() as u32,
            floor_intervals: periodic(&floor, &FLOOR_INTERVAL),
            to_half: half.len() as u32,
            half_intervals: periodic(&half, &HALF_INTERVAL),
            is_floor_low: median >= LOW_FLOOR,
        }
    }
}

fn falls(script: &Script, rtt_bins: usize) -> Vec<Fall> {
    let (bins, median) = (&script.bins, script.median_flight);
    let is_low = |bin: &f64| *bin <= FALLEN * median;
    let is_high = |range: &[f64]| range.iter().any(|bin| *bin >= RESTORED * median);
    let mut found = Vec::new();
    let mut at = 0;
    while at < bins.len() {
        if !is_low(&bins[at]) {
            at += 1;
            continue;
        }
        let length = bins[at..].iter().take_while(|bin| is_low(bin)).count();
        let end = at + length;
        let before = &bins[at.saturating_sub(rtt_bins + 1)..at];
        let after = &bins[end..bins.len().min(end + rtt_bins + 3)];
        let near = |bin: &usize| *bin + 2 * rtt_bins + 2 >= at && *bin < end;
        let pairs = bins[at..end].windows(2).map(|pair| pair[0].max(pair[1]));
        let level = pairs.fold(f64::INFINITY, f64::min);
        // Losses reduce no window to four segments.
        let repairs = if FLOOR.contains(&level) { &script.timed_out_at } else { &script.recovering_at };
        let fits = (2..=FALL_BINS + 3 * rtt_bins).contains(&length);
        if fits && is_high(before) && is_high(after) && !repairs.iter().any(near) {
            found.push(Fall { at, level });
        }
        at = end;
    }
    found
}
