//! Delayed ACKs: an ACK is sent at once, with a later segment, or when the timer expires.

use super::{LocalEnd, Receiver};
use crate::tcp::config::DelayedAck;
use crate::units::Time;

impl Receiver {
    /// RFC 1122, section 4.2.3.2: every `segments` segments, and no later than the timer.
    #[inline]
    pub(super) fn schedule_ack(&mut self, now: Time, at_once: bool) {
        self.unacknowledged += 1;
        let at_once = at_once || (self.quick_acks > 0 && !self.pingpong);
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
        } else if let Some(next) = self.tack.as_ref().map(|tack| tack.next()).filter(|&next| next > now) {
            self.ack_at = self.ack_at.min(next);
        } else if !self.app_behind || self.has_room() {
            self.ack_now = true;
        }
    }

    /// Linux (`__tcp_ack_snd_check()`): an ACK waits for the application's read
    /// (`tcp_cleanup_rbuf()`) if unread data would narrow the window below the last advertised one.
    #[inline(never)]
    fn has_room(&self) -> bool {
        self.edge(self.read_before_batch) >= self.next + u64::from(self.advertised)
    }

    /// More segments arrive at this instant; `read` is what the application has read before.
    /// Returns whether it reads them as a batch.
    pub fn begin_batch(&mut self, read: u64) -> bool {
        if self.reads_in_batches && !self.app_behind {
            (self.app_behind, self.read_before_batch) = (true, read);
        }
        self.app_behind
    }

    /// The application has not yet read the batch of this instant.
    #[inline]
    pub fn is_app_behind(&self) -> bool {
        self.app_behind
    }

    /// The application has read the batch: an ACK that waited for it is sent.
    #[inline(never)]
    pub(super) fn end_batch(&mut self) {
        self.app_behind = false;
        self.ack_now |= self.delayed_ack.is_some_and(|delay| self.tack.is_none() && self.unacknowledged >= delay.segments);
    }

    /// The next segment, which arrived together with the last one, decides about the ACK of both.
    pub fn leave_ack_to_next(&mut self) {
        self.ack_now = false;
    }

    pub fn on_timer(&mut self, now: Time, local: &LocalEnd<'_>) {
        if now >= self.ack_at {
            match self.follows_linux {
                true => self.on_linux_timer(local),
                false => self.ack_now = true,
            }
        }
    }

    /// The number of a delayed ACK, if one is pending.
    pub fn delayed(&self) -> Option<u64> {
        (self.unacknowledged > 0 && !self.ack_now).then_some(self.next)
    }

    /// The next segment is acknowledged at once.
    pub fn ack_at_once(&mut self) {
        self.ack_now = true;
    }
}
