//! The window that a receiver advertises, and when it is worth an ACK of its own.

use super::Receiver;
use crate::tcp::sender::STREAM_START;
use crate::units::Time;

impl Receiver {
    /// The application has read up to `read` bytes: a window that was all but shut is reopened by an ACK of its own.
    #[inline]
    pub fn on_read(&mut self, now: Time, read: u64) {
        if self.app_behind {
            self.catch_up();
        }
        if let Some(tuner) = &mut self.tuner {
            tuner.on_read(now, read);
        }
        let left_to_peer = self.advertised_edge.saturating_sub(self.next);
        if left_to_peer < u64::from(self.config.segment) {
            self.ack_now |= self.reopens(read);
        }
        if self.psh_pending {
            self.ack_psh(read);
        }
    }

    /// Linux acknowledges a segment with PSH as soon as nothing is left to read, in order or out of it, unless it expects an answer to
    /// carry the ACK.
    #[inline]
    fn ack_psh(&mut self, read: u64) {
        self.ack_now |= !self.pingpong && read == self.arrived() && self.out_of_order.is_empty();
    }

    #[inline(never)]
    fn reopens(&self, read: u64) -> bool {
        self.edge(read) >= self.advertised_edge + self.min_window_update()
    }

    /// The least by which the window's edge moves, so that no sender is tempted into small segments (RFC 9293, section 3.8.6.2.2).
    fn min_window_update(&self) -> u64 {
        let window = self.tuner.as_ref().map_or(u64::from(self.config.receive_buffer), |t| t.opened());
        u64::from(self.config.segment).min(window / 2).max(1)
    }

    /// First byte that the buffer has no room for.
    pub(super) fn edge(&self, read: u64) -> u64 {
        let room = match &self.tuner {
            None => STREAM_START + read + u64::from(self.config.receive_buffer),
            Some(tuner) => (STREAM_START + read + tuner.buffer()).min(self.next + tuner.opened()),
        };
        self.next.max(room)
    }

    /// The window as 16 scaled bits can say it; its right edge never moves left (RFC 9293, section 3.8.6).
    #[inline]
    pub(super) fn advertise(&mut self, read: u64) -> u32 {
        let room = self.edge(read);
        let slow_reader = read < self.arrived();
        let silly = slow_reader && room < self.advertised_edge + self.min_window_update();
        let edge = if silly { self.next.max(self.advertised_edge) } else { room.max(self.advertised_edge) };
        let most = 0xFFFF_u64 << self.window_scale;
        let window = (edge - self.next).min(most) >> self.window_scale << self.window_scale;
        self.advertised_edge = self.advertised_edge.max(self.next + window);
        self.advertised = window as u32;
        self.advertised
    }
}
