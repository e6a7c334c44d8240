//! When an ACK goes out: at once, with the next segment, or when the timer says so.

use super::Receiver;
use crate::tcp::config::DelayedAck;
use crate::units::Time;

impl Receiver {
    /// RFC 1122, section 4.2.3.2: every so many segments, and no later than the timer.
    #[inline]
    pub(super) fn schedule_ack(&mut self, now: Time, at_once: bool) {
        self.unacknowledged += 1;
        let at_once = at_once || (self.quick_acks > 0 && !self.talking);
        self.quick_acks = self.quick_acks.saturating_sub(1);
        match self.delayed_ack.filter(|_| !at_once) {
            None => self.ack_now = true,
            Some(delay) => self.delay_ack(now, delay),
        }
    }

    #[inline(never)]
    fn delay_ack(&mut self, now: Time, delay: DelayedAck) {
        if self.unacknowledged < delay.segments {
            self.ack_at = self.ack_at.min(now + delay.timer);
        } else if let Some(next) = self.pace.as_ref().map(|pace| pace.next()).filter(|&next| next > now) {
            self.ack_at = self.ack_at.min(next);
        } else {
            self.ack_now = true;
        }
    }

    pub fn on_timer(&mut self, now: Time) {
        if now >= self.ack_at {
            self.ack_now = true;
        }
    }

    /// The number of the ACK that is being delayed, if one is.
    pub fn delayed(&self) -> Option<u64> {
        (self.unacknowledged > 0 && !self.ack_now).then_some(self.next)
    }

    /// What came must be acknowledged at once.
    pub fn hurry(&mut self) {
        self.ack_now = true;
    }
}
