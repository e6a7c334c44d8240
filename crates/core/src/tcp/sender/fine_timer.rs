//! Vegas's retransmission by the time each segment left (Brakmo and Peterson 1995, section 3.1): the first or second duplicate ACK, and
//! the first two ACKs after a retransmission, send the first segment again if its fine-grained timeout has passed.

use super::Sender;
use crate::tcp::recovery::AckInfo;
use crate::tcp::scoreboard::Index;
use crate::units::Time;

/// ACKs after a retransmission that look at the segment's age.
const ACKS_AFTER_RESEND: u32 = 2;

/// ACKs of new data since the last retransmission.
#[derive(Clone, Copy, Debug)]
pub struct FineTimer {
    acks: u32,
    /// The retransmission that they have called for.
    due: Option<Index>,
}

impl Default for FineTimer {
    fn default() -> FineTimer {
        FineTimer { acks: ACKS_AFTER_RESEND, due: None }
    }
}

impl FineTimer {
    pub fn on_resend(&mut self) {
        (self.acks, self.due) = (0, None);
    }

    pub fn take_due(&mut self) -> Option<Index> {
        self.due.take()
    }
}

impl Sender {
    /// Whether a duplicate shows a loss before the third. A loss that an ACK after a retransmission shows belongs to a window that has
    /// been cut for already, so it is only repaired ("only if the retransmitted segment was sent after the last decrease").
    #[inline(never)]
    pub(super) fn check_fine_timer(&mut self, now: Time, info: &AckInfo) -> bool {
        let Some(timer) = &mut self.fine_timer else { return false };
        let after_resend = info.advanced && timer.acks < ACKS_AFTER_RESEND;
        timer.acks = timer.acks.saturating_add(u32::from(info.advanced));
        let fine_timer_expired = self.scoreboard.first().is_some_and(|head| {
            let waits = !head.is_resent() && !head.is_lost() && !head.is_sacked();
            waits && self.rtt.fine_timeout().is_some_and(|timeout| now - head.sent_at > timeout)
        });
        if fine_timer_expired && after_resend {
            self.scoreboard.mark_lost(self.scoreboard.first_index());
            timer.due = Some(self.scoreboard.first_index());
        }
        fine_timer_expired && info.duplicate
    }
}
