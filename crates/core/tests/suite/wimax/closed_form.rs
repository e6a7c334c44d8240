//! Capacity of a frame, derived from the standard's numbers, against the throughput of the
//! schedulers.

use crate::wimax::drive::{Drive, down, nist, up};
use ackclock_core::medium::wimax::mcs::OFDM;
use ackclock_core::units::{Span, Time};

/// Frames per second.
const FRAMES: f64 = 200.0;
/// Symbols in a frame of 5 ms with a symbol of 34 us and gaps of 5 us each: floor((5000 - 10)/34).
const SYMBOLS: f64 = 146.0;
/// Preamble and frame control header, the maps in two symbols of 16-QAM 1/2, and the gap before the
/// burst.
const OVERHEAD_DOWN: f64 = 3.0 + 2.0 + 1.0;
/// Five request opportunities of two symbols, and the gap after them.
const OVERHEAD_UP: f64 = 5.0 * 2.0 + 1.0;
/// Generic header and CRC of a packet; SUBHEADER is that of a fragment.
const AROUND: f64 = 10.0;
const SUBHEADER: f64 = 2.0;
/// A piggybacked request.
const PIGGYBACK: f64 = 2.0;

/// Bytes of an OFDM symbol: 192 carriers * bits * code rate / 8.
const SYMBOL_BYTES: [f64; 7] = [12.0, 24.0, 36.0, 48.0, 72.0, 96.0, 108.0];

/// IP bit rate for packets of `len` when each frame has `bytes` for data. Each frame ends within a
/// packet, which costs another header, CRC and subheader, and each fragmented packet costs another
/// subheader, however often it is cut: with n packets per frame, bytes = n*(len + around) + around
/// + subheader + min(1, n)*subheader.
fn capacity(bytes: f64, len: f64) -> f64 {
    let bytes = bytes - AROUND - SUBHEADER;
    let many = (bytes - SUBHEADER) / (len + AROUND);
    let n = if many >= 1.0 { many } else { bytes / (len + AROUND + SUBHEADER) };
    8.0 * len * n * FRAMES
}

fn measured(ratio: u32, mcs: u8, stream: ackclock_core::medium::Stream, len: u16) -> f64 {
    let mut drive = Drive::new(nist(ratio, 1, mcs), 1, 1);
    let second = Time::ZERO + Span::from_secs(1);
    drive.saturate(&[stream], len, second);
    drive.saturate(&[stream], len, second + Span::from_secs(3));
    drive.rate(stream, second)
}

#[test]
fn saturated_downlink_reaches_the_closed_form_for_each_ratio_and_mcs() {
    for ratio in 1..=6 {
        let symbols = (SYMBOLS * f64::from(ratio) / f64::from(ratio + 1)).floor() - OVERHEAD_DOWN;
        for (mcs, bytes) in (0..).zip(SYMBOL_BYTES) {
            let expected = capacity(symbols * bytes, 1052.0);
            let got = measured(ratio, mcs, down(0), 1052);
            let off = got / expected - 1.0;
            assert!(off.abs() < 0.02, "{ratio}:1 {}: {got:.0} instead of {expected:.0}", OFDM[usize::from(mcs)].name);
        }
    }
}

#[test]
fn saturated_uplink_reaches_the_closed_form_for_each_ratio_and_mcs() {
    for ratio in 1..=6 {
        let symbols = SYMBOLS - (SYMBOLS * f64::from(ratio) / f64::from(ratio + 1)).floor() - OVERHEAD_UP;
        for (mcs, bytes) in (0..).zip(SYMBOL_BYTES) {
            let expected = capacity(symbols * bytes - PIGGYBACK, 1052.0);
            let got = measured(ratio, mcs, up(0), 1052);
            let off = got / expected - 1.0;
            assert!(off.abs() < 0.02, "{ratio}:1 {}: {got:.0} instead of {expected:.0}", OFDM[usize::from(mcs)].name);
        }
    }
}

#[test]
fn stations_share_a_saturated_cell_equally_in_both_directions() {
    let mut drive = Drive::new(nist(1, 1, 6), 6, 1);
    let streams: Vec<_> = (0..6).flat_map(|s| [down(s), up(s)]).collect();
    drive.saturate(&streams, 1052, Time::ZERO + Span::from_secs(6));
    let from = Time::ZERO + Span::from_secs(1);
    for direction in [down, up] {
        let rates: Vec<f64> = (0..6).map(|s| drive.rate(direction(s), from)).collect();
        let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|r| r * r).sum::<f64>());
        assert!(sum * sum / (6.0 * squares) > 0.9999, "Jain's index of {rates:?}");
        let symbols = if direction(0) == down(0) { 73.0 - OVERHEAD_DOWN } else { 73.0 - OVERHEAD_UP };
        let bits = 8.0 * symbols * 108.0 * FRAMES;
        assert!(sum > 0.95 * bits * 1052.0 / 1062.0, "{sum} of {bits}");
    }
}
