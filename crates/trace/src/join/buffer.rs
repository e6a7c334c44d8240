//! How large the bottleneck's buffer is, from what it does to delays (papers: `wibro`): time in a full buffer times the rate at which it empties.

use super::losses::Fate;
use super::marks::Mark;
use super::stream::Stream;
use super::verdict::{Blame, Verdict};

/// Bytes of IP packets.
#[derive(Debug, Clone, Copy)]
pub struct Buffer {
    /// From the least delay met next to an overflow, less the least of all.
    pub min_based: Option<f64>,
    /// From the greatest delay.
    pub max_based: Option<f64>,
    /// Bits a second that arrived while a queue stood.
    pub rate_bps: Option<f64>,
    /// Something overflowed, so that `max_based` is the buffer and not only what was used of it.
    pub filled: bool,
}

const NONE: Buffer = Buffer { min_based: None, max_based: None, rate_bps: None, filled: false };
/// A queue stands from this share of the way to the greatest delay.
const STANDING: f64 = 0.3;

pub fn estimate(sent: &[Mark], fates: &[Fate], verdict: &Verdict, stream: &Stream) -> Buffer {
    let delay = |fate: &Fate| if let Fate::Arrived(d) = fate { Some(*d) } else { None };
    let arrived: Vec<(usize, i64)> = fates.iter().enumerate().filter_map(|(i, f)| Some((i, delay(f)?))).collect();
    // Packets of the usual size only: a small one waits as long and takes less time on the link.
    let Some(usual) = usual_len(sent) else { return NONE };
    let alike = |i: usize| u64::from(sent[i].ip_len) * 10 >= u64::from(usual) * 9;
    let Some(least) = arrived.iter().filter(|a| alike(a.0)).map(|a| a.1).min() else { return NONE };
    let Some(most) = arrived.iter().filter(|a| alike(a.0)).map(|a| a.1).max() else { return NONE };
    let Some(rate) = stream.rate(least + ((most - least) as f64 * STANDING) as i64) else { return NONE };
    // What waits ahead of a packet, and the packet.
    let bytes = |delay: i64| (delay - least) as f64 * 1e-9 * rate / 8.0 + f64::from(usual);
    let filled = matches!(verdict.blame, Blame::Congestion | Blame::Both) && verdict.at_peaks > 0;
    let beside_loss = fates.windows(2).enumerate().filter_map(|(i, w)| match w {
        [Fate::Arrived(d), Fate::Lost] if alike(i) && *d >= verdict.edge => Some(*d),
        _ => None,
    });
    let min_based = if filled { beside_loss.min().map(bytes) } else { None };
    Buffer { min_based, max_based: Some(bytes(most)), rate_bps: Some(rate), filled }
}

/// The middle one of the lengths.
fn usual_len(sent: &[Mark]) -> Option<u32> {
    let mut all: Vec<u32> = sent.iter().map(|m| m.ip_len).collect();
    let middle = all.len() / 2;
    (!all.is_empty()).then(|| *all.select_nth_unstable(middle).1)
}
