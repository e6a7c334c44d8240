//! A timer that runs out in the middle of a recovery sends what a recovery might have sent. What follows tells them apart: a recovery goes on with
//! the acknowledgements that come in (RFC 6675, section 5; RFC 6937), the loss window of a timeout stays shut until something is acknowledged
//! (RFC 5681, section 3.1).

use super::doubt::is_soon;
use super::half::Half;
use super::seq::seq_lt;
use super::view::View;
use crate::compact::compact;
use crate::decode::Segment;
use crate::flow::classify::Classification;

/// A repair that may have been a timer's.
#[derive(Debug, Clone, Copy)]
pub struct Suspect {
    pub at: i64,
    /// Pure ACKs that the other end had sent by then, and how many of them were still on their way to the sender.
    acks: u32,
    pending: u32,
}

compact!(Suspect { at, acks, pending });

/// So many acknowledgements without an answer are no accident: a recovery answers at least every other.
const UNANSWERED: u32 = 8;

impl Half {
    /// The lowest number not acknowledged is sent once more, for a reason that leaves its sender free to go on.
    pub(super) fn suspects(&mut self, now: i64, s: &Segment<'_>, verdict: Classification, again: bool, acks: u32) {
        let Some(trouble) = self.trouble.as_deref().filter(|t| !t.repairing_timeout(self.una)) else { return };
        let again = again && verdict.kind.is_recovery();
        let (una, pending) = match trouble.episode().told.as_deref() {
            Some(told) => match told.known() {
                Some(word) => (word.una, told.pending()),
                None => return,
            },
            None => (self.una, 0),
        };
        // Whoever has nothing more to send, or may not, is silent anyway.
        let free = !self.emptied && self.in_flight() + 2 * self.largest_segment() < self.window;
        let suspect = (again && una == s.seq && free).then_some(Suspect { at: now, acks, pending });
        if suspect.is_some() || trouble.episode().suspect.is_some() {
            self.trouble_mut().episode_mut().suspect = suspect;
        }
    }

    /// The first packet with data after it passes. New data would not follow a timeout, and what a slow link spaces is no silence.
    pub(super) fn falls_silent(&mut self, now: i64, s: &Segment<'_>, other: &Half) {
        let Some(suspect) = self.trouble.as_deref_mut().and_then(|t| t.open_episode()).and_then(|e| e.suspect.take()) else {
            return;
        };
        let spaced = self.trouble.as_ref().map_or(0, |trouble| trouble.episode().gap).saturating_mul(2);
        if !seq_lt(s.seq, self.next) || now - suspect.at < spaced {
            return;
        }
        let view = View::of(self, other);
        let heard = other.counts.pure_acks.wrapping_sub(suspect.acks);
        let unanswered = if self.at_sender(&view) { heard } else { suspect.pending };
        if is_soon(now - suspect.at, self.least_around(&view)) || unanswered < UNANSWERED {
            return;
        }
        let repairs = self.trouble.iter().flat_map(|trouble| &trouble.repairs);
        if let Some(at) = repairs.enumerate().filter(|(_, r)| r.at == suspect.at).map(|(i, _)| i).last() {
            self.was_timers(at, false);
        }
    }
}
