//! Vegas's fine-grained retransmission (Brakmo and Peterson 1995, section 3.1): on the first or
//! second duplicate ACK, and on the first two ACKs after a retransmission, the first segment is
//! retransmitted if its fine-grained RTO has passed.

use crate::tcp::recovery::AckInfo;
use crate::tcp::rtt::RttEstimator;
use crate::tcp::scoreboard::{Index, Scoreboard};
use crate::units::Time;

/// ACKs of new data after a retransmission that check the age of the first segment.
const ACKS_AFTER_RETRANSMISSION: u32 = 2;

#[derive(Clone, Copy, Debug)]
pub struct FineTimer {
    /// ACKs of new data since the last retransmission.
    acks: u32,
    /// The retransmission that such an ACK has triggered.
    due: Option<Index>,
}

impl Default for FineTimer {
    fn default() -> FineTimer {
        FineTimer { acks: ACKS_AFTER_RETRANSMISSION, due: None }
    }
}

impl FineTimer {
    pub fn on_retransmission(&mut self) {
        (self.acks, self.due) = (0, None);
    }

    pub fn take_due(&mut self) -> Option<Index> {
        self.due.take()
    }

    /// Returns whether a duplicate ACK shows a loss before the third. A loss found by an ACK after
    /// a retransmission is only repaired: its window has been reduced already ("only if the
    /// retransmitted segment was sent after the last decrease").
    #[inline(never)]
    pub fn on_ack(&mut self, now: Time, info: &AckInfo, scoreboard: &mut Scoreboard, rtt: &RttEstimator) -> bool {
        let after_retransmission = info.advanced && self.acks < ACKS_AFTER_RETRANSMISSION;
        self.acks = self.acks.saturating_add(u32::from(info.advanced));
        let expired = scoreboard.first().is_some_and(|head| {
            let outstanding = !head.is_retransmitted() && !head.is_lost() && !head.is_sacked();
            outstanding && rtt.fine_timeout().is_some_and(|timeout| now - head.sent_at > timeout)
        });
        if expired && after_retransmission {
            scoreboard.mark_lost(scoreboard.first_index());
            self.due = Some(scoreboard.first_index());
        }
        expired && info.duplicate
    }
}
