//! Taking back a cut that was made for nothing: D-SACK for all retransmissions (RFC 2883, section 5; RFC 3708), or a timestamp that says
//! the original had arrived (the Eifel algorithm, RFC 3522; the answer after RFC 4015).

use super::Sender;
use super::ack::reported_twice;
use crate::packet::Segment;
use crate::tcp::cc::AnyCc;
use crate::tcp::recovery::Recovery;
use crate::tcp::timestamps::timestamp;
use crate::units::{Span, Time};

/// What the last cut may be taken back to.
#[derive(Clone, Debug, Default)]
pub struct Undo {
    before: Option<AnyCc>,
    /// What had not been acknowledged, and what had been sent, at the cut.
    from: u64,
    to: u64,
    timeout: bool,
    /// When the first retransmission went out.
    first_resent: Option<Time>,
    /// Retransmissions that no D-SACK has reported.
    outstanding: u32,
    /// The first ACK after the retransmission decides by timestamp, and no other.
    answered: bool,
}

impl Undo {
    pub fn remember(&mut self, cc: &AnyCc, (from, to): (u64, u64), timeout: bool) {
        *self = Undo { before: Some(cc.clone()), from, to, timeout, ..Undo::default() };
    }

    pub fn on_resend(&mut self, now: Time) {
        self.first_resent.get_or_insert(now);
        self.outstanding += 1;
    }

    /// RFC 2883: everything that was sent again has arrived twice.
    fn all_twice(&mut self, block: Option<(u64, u64)>) -> bool {
        let Some((start, end)) = block.filter(|b| b.0 >= self.from && b.1 <= self.to) else { return false };
        if start < end && self.outstanding > 0 {
            self.outstanding -= 1;
            return self.outstanding == 0;
        }
        false
    }

    /// RFC 3522, section 3.2, steps 4 and 5: the first ACK that moves echoes something older than the retransmission.
    fn echoes_original(&mut self, now: Time, echo: Option<Span>, advanced: bool) -> bool {
        let Some(resent) = self.first_resent.filter(|_| advanced && !self.answered) else { return false };
        self.answered = true;
        let since = Span::from_ms(u64::from(timestamp(now).wrapping_sub(timestamp(resent))).max(1));
        echo.is_some_and(|echo| echo > since)
    }
}

impl Sender {
    /// If this ACK shows that the last cut was for nothing, everything is as it was before it.
    pub(super) fn take_back(&mut self, now: Time, segment: &Segment, echo: Option<Span>, advanced: bool) {
        let Some(undo) = self.undo.as_deref_mut().filter(|u| u.before.is_some()) else { return };
        let spurious = undo.echoes_original(now, echo, advanced) || undo.all_twice(reported_twice(segment));
        if spurious && let Some(before) = undo.before.take() {
            let timeout = undo.timeout;
            self.cc = before;
            let (recovery, mut repair) = self.split(now);
            recovery.abandon(&mut repair);
            if timeout {
                self.board.forgive_losses();
                self.timed_out_to = 0;
                self.rtt.forget_backoff();
            }
        } else if segment.ack > undo.to {
            // A D-SACK takes a round trip more than the end of the recovery; by now it would have come.
            undo.before = None;
        }
    }
}
