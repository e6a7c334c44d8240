//! The advertised window and window updates.

use super::Receiver;
use crate::tcp::sender::STREAM_START;
use crate::units::Time;

impl Receiver {
    /// The application has read up to `read` bytes. A window that was nearly closed is reopened by
    /// a window update.
    #[inline]
    pub fn on_read(&mut self, now: Time, read: u64) {
        self.window_may_change = true;
        if self.follows_linux {
            return self.on_linux_read(now, read);
        }
        if self.app_behind {
            self.end_batch();
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

    /// Linux acknowledges a segment with PSH as soon as all data is read and none is out of order,
    /// except in ping-pong mode, where data carries the ACK.
    #[inline]
    fn ack_psh(&mut self, read: u64) {
        self.ack_now |= !self.pingpong && read == self.arrived() && self.out_of_order.is_empty();
    }

    #[inline(never)]
    pub(super) fn reopens(&self, read: u64) -> bool {
        self.edge(read) >= self.advertised_edge + self.min_window_update()
    }

    /// The minimum advance of the window's edge, against silly windows (RFC 9293, section
    /// 3.8.6.2.2).
    fn min_window_update(&self) -> u64 {
        let window = self.tuner.as_ref().map_or(u64::from(self.config.receive_buffer), |t| t.rcv_ssthresh());
        u64::from(self.config.segment).min(window / 2).max(1)
    }

    /// The sequence number is in the advertised window.
    pub fn is_in_window(&self, seq: u64) -> bool {
        seq >= self.next && seq < self.advertised_edge
    }

    /// First byte beyond the buffer.
    pub(super) fn edge(&self, read: u64) -> u64 {
        let room = match &self.tuner {
            None => STREAM_START + read + u64::from(self.config.receive_buffer),
            Some(tuner) => (STREAM_START + read + tuner.buffer()).min(self.next + tuner.rcv_ssthresh()),
        };
        self.next.max(room)
    }

    /// The window in 16 scaled bits. Its right edge never moves left (RFC 9293, section 3.8.6), so a
    /// scaled window is rounded up (RFC 7323, section 2.4; Linux, `__tcp_select_window()`). A window
    /// of segments in flight, as in ns-2, is rounded down. Without data since the last call it is
    /// that of the last call.
    #[inline]
    pub(super) fn advertise(&mut self, read: u64) -> u32 {
        if !self.window_may_change {
            return self.advertised;
        }
        self.window_may_change = false;
        let room = self.edge(read);
        let slow_reader = read < self.arrived();
        let silly = slow_reader && room < self.advertised_edge + self.min_window_update();
        let edge = if silly { self.next.max(self.advertised_edge) } else { room.max(self.advertised_edge) };
        let max_window = 0xFFFF_u64 << self.window_scale;
        let rounding = if self.rounds_window_up { (1 << self.window_scale) - 1 } else { 0 };
        let window = (edge - self.next + rounding).min(max_window) >> self.window_scale << self.window_scale;
        self.advertised_edge = self.advertised_edge.max(self.next + window);
        self.advertised = window as u32;
        self.advertised
    }

    /// As `advertise`, of a buffer that counts the memory of packets (`tcp_select_window()`): the window
    /// never shrinks, and what is left of it is rounded up.
    pub(super) fn advertise_memory(&mut self) -> u32 {
        if !self.window_may_change {
            return self.advertised;
        }
        self.window_may_change = false;
        let window = self.window_at_ack.take().unwrap_or_else(|| self.memory_window());
        let left = self.advertised_edge.saturating_sub(self.next) as u32;
        let window = if window < left { left.next_multiple_of(1 << self.window_scale) } else { window };
        self.advertised_edge = self.next + u64::from(window);
        self.advertised = window.min(0xFFFF << self.window_scale) >> self.window_scale << self.window_scale;
        self.advertised
    }
}
