//! Which segments carry PSH: the last that there is to send, and, of a host that hands its interface chunks, the last of each.

use super::{STREAM_START, Sender};
use crate::app::Socket;
use crate::tcp::config::Push;
use crate::tcp::recovery::Recovery;
use crate::units::{Span, Time};

/// `tcp_tso_win_divisor` (ip-sysctl.rst).
const TSO_WIN_DIVISOR: u64 = 3;
/// After a pause of this length what may go goes.
const LONG_AGO: Span = Span::from_ms(1);

impl Sender {
    /// A segment of new data has just gone: whether it carries PSH. `more`: the windows let another full one go at once.
    #[inline]
    pub(super) fn sets_psh(&mut self, socket: &Socket, more: impl FnOnce(&Sender) -> bool) -> bool {
        if self.config.push == Push::Every {
            return true;
        }
        self.psh_segments += 1;
        let done = self.next.saturating_sub(STREAM_START) >= socket.written;
        let push = done || (self.psh_segments > 1 && (self.burst_is_full() || !more(self)));
        if push {
            self.psh_segments = 0;
        }
        push
    }

    /// A segment goes out again: alone, so it carries PSH only as the last of all. (A chunk of which nothing arrived goes out again
    /// whole in Linux; here each segment by itself.)
    pub(super) fn sets_psh_on_retransmit(&mut self, socket: &Socket, end: u64) -> bool {
        self.psh_segments = 0;
        self.config.push == Push::Every || end.saturating_sub(STREAM_START) >= socket.written
    }

    /// What may go now is less than a chunk, and the ACK that makes it one will not be long: Linux waits for it (`tcp_tso_should_defer()`).
    /// Not while losses are repaired, nor if nothing has gone for a millisecond, nor for a third of the window or all that is buffered,
    /// nor with half a round trip to wait. Only of what is not paced: a pace has its own times.
    #[inline]
    pub(super) fn should_defer(&self, now: Time, socket: &Socket, in_flight: u32) -> bool {
        let recent = self.last_send.is_some_and(|last| now < last + LONG_AGO);
        recent && self.config.push == Push::Chunks && self.pacer.is_none() && self.is_worth_deferring(now, socket, in_flight)
    }

    fn is_worth_deferring(&self, now: Time, socket: &Socket, in_flight: u32) -> bool {
        let (Some(tso), Some(srtt)) = (self.config.tso, self.rtt.srtt()) else { return false };
        if self.recovery.active() {
            return false;
        }
        let segment = u64::from(self.segment);
        let peer = self.usable_window(in_flight) / segment;
        let room = ((self.window() as u64).saturating_sub(u64::from(in_flight))).min(peer);
        let buffered = self.una.saturating_add(self.send_buffer);
        let left = socket.written.saturating_add(STREAM_START).min(buffered).saturating_sub(self.next);
        let third = (self.window() as u64).min(self.peer_window / segment) / TSO_WIN_DIVISOR;
        let tso_burst = u64::from(tso.chunk(self.rate().unwrap_or(f64::INFINITY), self.segment));
        let oldest = self.scoreboard.get(self.scoreboard.first_index()).map(|oldest| now - oldest.sent_at);
        room < tso_burst.min(third) && left > room * segment && oldest.is_some_and(|age| age.saturating_mul(2) >= srtt)
    }

    /// The interface takes no more at once. What is paced counts for itself.
    fn burst_is_full(&self) -> bool {
        if self.pacer.is_some() {
            return self.tso_burst == 0;
        }
        let Some(tso) = self.config.tso else { return false };
        self.psh_segments >= tso.segments && self.psh_segments >= tso.chunk(self.rate().unwrap_or(f64::INFINITY), self.segment)
    }
}
