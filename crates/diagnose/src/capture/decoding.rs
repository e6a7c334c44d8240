//! Packets of protocols that are not decoded: a capture of nothing else has no flow, and says why.

use ackclock_trace::report::Report;

/// Share of the packets from which those that carry data and are not decoded are a finding.
pub const SHARE: f64 = 0.1;

/// Packets that may carry data are a tenth of all and more, or nothing at all was decoded.
pub fn not_decoded(capture: &Report) -> bool {
    let data: u64 = capture.not_decoded.iter().filter(|kind| kind.carries_data).map(|kind| kind.packets).sum();
    let is_share = data > 0 && data as f64 >= SHARE * capture.packets as f64;
    // Of all packets, not of those that a filter selects.
    let fragments = capture.skipped.get("fragment").copied().unwrap_or(0);
    let not_decoded = capture.not_decoded.iter().map(|kind| kind.packets).sum::<u64>() + capture.malformed + fragments;
    is_share || (capture.packets > 0 && not_decoded >= capture.packets)
}
