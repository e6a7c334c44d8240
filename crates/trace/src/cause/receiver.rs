//! A segment that fills a hole: the capture had seen what follows it, not itself. Either it was lost before the capture and
//! sent again, or it was overtaken on its way.

use super::{Cause, Verdict};

/// What is known when a hole is filled.
#[derive(Debug, Clone, Copy)]
pub struct Filler {
    /// Since the hole was noticed, nanoseconds.
    pub waited: i64,
    /// Shortest time in which the sender has been seen to answer: nothing that a duplicate ACK causes comes sooner.
    pub turn: Option<i64>,
    /// Time stamp values: of the filler minus of what followed the hole. Negative: it was sent earlier.
    pub stamp: Option<i32>,
    /// The same for IP identifications, where this sender counts them up.
    pub id: Option<i16>,
}

/// Reordered, or a retransmission of what was lost upstream (returned as `Fast`; the caller looks further).
pub fn filled(f: &Filler) -> Verdict {
    // The identification counts packets, so it is the finest clock there is; stamps count milliseconds.
    match (f.id, f.stamp) {
        (Some(id), _) if id < 0 => return Verdict::new(Cause::Reordered, 0.99),
        (_, Some(stamp)) if stamp < 0 => return Verdict::new(Cause::Reordered, 0.98),
        (Some(_), _) => return Verdict::new(Cause::Fast, 0.99),
        (_, Some(stamp)) if stamp > 0 => return Verdict::new(Cause::Fast, 0.97),
        _ => {}
    }
    match f.turn {
        // Half a turn allows for a path that became shorter.
        Some(turn) if f.waited < turn / 2 => Verdict::new(Cause::Reordered, 0.9),
        Some(_) => Verdict::new(Cause::Fast, 0.85),
        // Three milliseconds is tshark's bound too; without any RTT there is nothing better.
        None if f.waited < 3_000_000 => Verdict::new(Cause::Reordered, 0.6),
        None => Verdict::new(Cause::Fast, 0.6),
    }
}
