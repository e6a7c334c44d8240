//! Received data where ACKs are Linux's (`tcp_data_queue()`, `tcp_fin()`,
//! `__tcp_ack_snd_check()`).

use super::Receiver;
use super::linux_acks::DelayVerdict;
use crate::packet::{Flags, Segment};
use crate::tcp::rtt::RttEstimator;
use crate::tcp::timestamps::TimestampEcho;
use crate::units::Time;

/// What the receiving half asks of its own end.
#[derive(Clone, Copy, Debug)]
pub struct LocalEnd<'a> {
    pub rtt: &'a RttEstimator,
    /// The application writes nothing more: the end is in FIN-WAIT, CLOSING or LAST-ACK.
    pub closed: bool,
}

impl Receiver {
    /// A segment with payload or FIN, acceptable by its sequence numbers.
    #[inline]
    pub fn on_linux_data(&mut self, now: Time, segment: &Segment, echo: TimestampEcho, local: &LocalEnd<'_>) {
        self.window_may_change = true;
        self.duplicate_range = None;
        if let (Some(sack_compressor), Some(rtt)) = (&mut self.sack_compressor, echo.rtt()) {
            sack_compressor.on_rtt(rtt);
        }
        if let Some(memory) = &mut self.memory {
            memory.on_echo(echo, segment.payload >= self.linux.rcv_mss, self.next);
        }
        let end = segment.seq + segment.seq_len();
        if segment.seq == self.next && end > self.next && self.advertised_edge > self.next {
            self.queue_in_order(now, segment, end, local);
        } else {
            self.take_linux(now, segment, end, local);
        }
        self.check_ack(now, local);
    }

    /// Data that is not next, or that finds the window closed.
    #[inline(never)]
    fn take_linux(&mut self, now: Time, segment: &Segment, end: u64, local: &LocalEnd<'_>) {
        let closed_window = self.advertised_edge <= self.next;
        let bare_fin = segment.payload == 0 && segment.flags.has(Flags::FIN);
        if end <= self.next {
            self.stats.duplicates += 1;
            self.duplicate_range = self.config.dsack.then_some((segment.seq, end));
            self.answer_at_once();
        } else if segment.seq == self.next {
            match bare_fin {
                true => self.queue_in_order(now, segment, end, local),
                false => self.answer_at_once(),
            }
        } else if segment.seq >= self.advertised_edge {
            self.answer_at_once();
        } else if segment.seq < self.next {
            self.note_duplicate_part(segment.seq, end);
            match closed_window {
                true => self.answer_at_once(),
                false => self.queue_in_order(now, segment, end, local),
            }
        } else {
            self.queue_out_of_order(segment, end);
        }
    }

    /// A duplicate, or a segment outside the window (`tcp_data_queue()`, out_of_window).
    fn answer_at_once(&mut self) {
        self.linux.enter_quick_mode(self.advertised);
        self.linux.schedule();
    }

    /// The segment is next, or begins below rcv.nxt.
    #[inline]
    fn queue_in_order(&mut self, now: Time, segment: &Segment, end: u64, local: &LocalEnd<'_>) {
        let start = self.next;
        self.stats.unique_ip_bytes += u64::from(segment.len);
        self.unacknowledged += 1;
        self.out_of_order_segments = 0;
        self.next = end;
        if segment.payload > 0 {
            self.measure_segment(segment);
            if let Some(memory) = &mut self.memory {
                let header = self.header_bytes;
                memory.hold(start, start + u64::from(segment.payload), header);
                memory.on_arrival(now, end, end + u64::from(self.advertised));
            }
            self.linux.on_data(now, self.advertised, || local.rtt.rto());
            self.open_window(segment.payload);
        }
        if segment.flags.has(Flags::FIN) || !self.out_of_order.is_empty() {
            self.fill_or_close(now, segment, end, local);
        }
    }

    #[inline]
    fn measure_segment(&mut self, segment: &Segment) {
        let full = self.own_mss - (self.header_bytes - self.config.header).min(self.own_mss);
        let new = self.linux.measure(segment, self.own_mss, full);
        if new && let Some(memory) = &mut self.memory {
            memory.on_new_size(self.linux.rcv_mss, self.header_bytes, self.advertised);
        }
    }

    #[inline]
    fn open_window(&mut self, payload: u32) {
        if let Some(memory) = &mut self.memory
            && memory.open_window(payload, self.header_bytes, self.linux.rcv_mss)
        {
            self.linux.on_window_opened();
        }
    }

    #[inline(never)]
    fn fill_or_close(&mut self, now: Time, segment: &Segment, end: u64, local: &LocalEnd<'_>) {
        if segment.flags.has(Flags::FIN) {
            self.fin = end - 1;
        } else {
            if let Some(part) = self.out_of_order.first_overlap(segment.seq, end).filter(|_| self.config.dsack) {
                self.duplicate_range.get_or_insert(part);
            }
            self.next = self.filled_to(end);
            if self.out_of_order.is_empty() && self.config.immediate_ack_on_fill {
                self.linux.want_now();
            }
            if let Some(memory) = &mut self.memory {
                memory.fill_gap(self.next);
            }
        }
        if self.peer_closed() {
            self.on_linux_fin(now, local);
        }
    }

    /// `tcp_fin()`: an end that has closed answers at once, another's data will carry the ACK.
    #[cold]
    fn on_linux_fin(&mut self, now: Time, local: &LocalEnd<'_>) {
        self.duplicate_range = None;
        self.out_of_order.clear();
        self.recent.clear();
        if let Some(memory) = &mut self.memory {
            memory.drop_out_of_order();
        }
        self.stats.finished.get_or_insert(now);
        self.linux.schedule();
        if local.closed {
            self.send_linux_ack();
        } else {
            self.linux.enter_pingpong();
        }
    }

    fn queue_out_of_order(&mut self, segment: &Segment, end: u64) {
        self.measure_segment(segment);
        self.linux.schedule();
        if segment.flags.has(Flags::FIN) && self.fin == u64::MAX {
            self.fin = end - 1;
        }
        self.out_of_order_segments += 1;
        self.store_out_of_order(segment, end);
        let ahead = self.ahead();
        if let Some(memory) = &mut self.memory {
            memory.hold_out_of_order(segment.seq, end, self.header_bytes, ahead);
        }
        if self.sack {
            self.open_window(segment.payload);
        }
    }

    /// Bytes above rcv.nxt up to the end of the last segment.
    pub(super) fn ahead(&self) -> u64 {
        self.out_of_order.last().map_or(0, |(_, end)| end - self.next)
    }

    /// `__tcp_ack_snd_check()`: at once in quick-ACK mode, or when more than a segment has arrived
    /// and the window does not narrow; else with a later segment or the timer.
    #[inline]
    fn check_ack(&mut self, now: Time, local: &LocalEnd<'_>) {
        if self.ack_now || !self.linux.is_scheduled() {
            return;
        }
        if (self.linux.is_behind(self.next) && self.keeps_window()) || self.linux.is_urgent() {
            return self.send_linux_ack();
        }
        self.delay_linux_ack(now, local);
    }

    #[inline(never)]
    fn delay_linux_ack(&mut self, now: Time, local: &LocalEnd<'_>) {
        if self.out_of_order.is_empty() {
            return match self.linux.delay(now, self.ack_at, || local.rtt.srtt()) {
                DelayVerdict::Now => self.send_linux_ack(),
                DelayVerdict::At(at) => self.ack_at = at,
            };
        }
        let next = self.next;
        match self.sack_compressor.as_mut().and_then(|compressor| compressor.wait(now, next)) {
            Some(at) => self.ack_at = self.ack_at.min(at),
            None => self.send_linux_ack(),
        }
    }

    /// The window now is as wide as the last one: otherwise the ACK waits for the application's
    /// read.
    fn keeps_window(&mut self) -> bool {
        if self.memory.is_some() {
            let window = self.memory_window();
            return window >= self.advertised;
        }
        self.edge(self.copied) >= self.next + u64::from(self.advertised)
    }

    /// An ACK leaves before the application reads, with the window of this moment.
    fn send_linux_ack(&mut self) {
        self.ack_now = true;
        if self.memory.is_some() {
            self.window_at_ack = Some(self.memory_window());
        }
    }

    /// `__tcp_select_window()`.
    pub(super) fn memory_window(&mut self) -> u32 {
        let Some(memory) = &self.memory else { return 0 };
        let (window, short) = memory.window(self.linux.rcv_mss, self.window_scale, self.advertised);
        if short {
            self.linux.end_quick_acks();
        }
        window
    }

    /// The application has read up to `read` bytes (`tcp_cleanup_rbuf()`).
    #[inline(never)]
    pub(super) fn on_linux_read(&mut self, now: Time, read: u64) {
        self.app_behind = false;
        if read <= self.copied {
            return;
        }
        self.copied = read;
        let arrived = self.arrived();
        let ahead = self.ahead();
        let empty = match &mut self.memory {
            None => read == arrived && self.out_of_order.is_empty(),
            Some(memory) => {
                memory.on_read(now, read, arrived, ahead);
                memory.is_empty()
            }
        };
        if !self.ack_now && (self.linux.on_read(self.next, empty) || self.has_reopened(read)) {
            self.ack_now = true;
            self.window_at_ack = None;
        }
    }

    /// The read has at least doubled a window of less than half.
    fn has_reopened(&mut self, read: u64) -> bool {
        let left = self.advertised_edge.saturating_sub(self.next);
        match &self.memory {
            None => left < u64::from(self.config.segment) && self.reopens(read),
            _ if self.peer_closed() => false,
            Some(memory) if 2 * left > u64::from(memory.window_clamp()) => false,
            Some(_) => {
                let window = u64::from(self.memory_window());
                window > 0 && window >= 2 * left
            }
        }
    }

    /// The timer of a delayed or compressed ACK has expired.
    #[cold]
    pub(super) fn on_linux_timer(&mut self, local: &LocalEnd<'_>) {
        let compressed = self.sack_compressor.as_ref().is_some_and(|compressor| compressor.is_waiting());
        self.ack_at = Time::NEVER;
        self.ack_now |= compressed || self.linux.on_timer(local.rtt.rto());
        self.window_at_ack = None;
    }

    /// The first check of RFC 9293, section 3.10.7.4 (`tcp_sequence()`): the segment is neither wholly
    /// below what was acknowledged nor beyond the window.
    #[inline]
    pub fn accepts_sequence(&self, segment: &Segment) -> bool {
        let end = segment.seq + segment.seq_len();
        end >= self.linux.rcv_wup && (end <= self.advertised_edge.max(self.next) || self.accepts_beyond(segment))
    }

    /// A segment that crosses the window's edge is accepted if the application has read everything; a
    /// FIN may be beyond the edge.
    #[cold]
    fn accepts_beyond(&self, segment: &Segment) -> bool {
        let edge = self.advertised_edge.max(self.next);
        segment.seq + u64::from(segment.payload) <= edge || (segment.seq <= edge && self.copied >= self.arrived())
    }

    /// A segment with a sequence number that is not acceptable (`tcp_send_dupack()`).
    #[cold]
    pub fn on_unacceptable(&mut self, segment: &Segment) {
        if segment.seq_len() > 0 && segment.seq < self.next {
            self.stats.duplicates += 1;
            self.linux.enter_quick_mode(self.advertised);
            let end = (segment.seq + segment.seq_len()).min(self.next);
            self.duplicate_range = (self.config.dsack && self.sack).then_some((segment.seq, end));
        }
    }
}
