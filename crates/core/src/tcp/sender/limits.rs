//! The limits of transmission: windows, buffers, pacing and the application.

use super::{NONE, STREAM_START, Sender};
use crate::app::{SmallSegments, Socket};
use crate::packet::SendRoom;
use crate::tcp::cc::{CongestionControl, Phase};
use crate::tcp::config::WindowRule;
use crate::tcp::pacer::{self, Pacer};
use crate::tcp::recovery::Recovery;
use crate::tcp::stats::SendLimit;
use crate::units::Time;

impl Sender {
    /// The window allows another segment beside those `in_flight`.
    #[inline]
    pub(super) fn room(&self, in_flight: u32) -> bool {
        f64::from(in_flight) + 1.0 <= self.window()
    }

    #[inline]
    pub(super) fn window(&self) -> f64 {
        if self.ecn.is_some()
            && let Some(window) = self.cwr_window()
        {
            window
        } else {
            self.recovery.window(&self.cc)
        }
    }

    /// The window falls after a mark.
    pub(in crate::tcp) fn is_reducing_for_mark(&self) -> bool {
        self.cwr_window().is_some()
    }

    /// The window during CWR, unless a fast recovery sets it.
    fn cwr_window(&self) -> Option<f64> {
        let ecn = self.ecn.as_ref().filter(|_| !self.recovery.active())?;
        ecn.cwr_window(&self.cc)
    }

    /// Bytes of the window that the peer advertised last.
    pub fn peer_window(&self) -> u64 {
        self.peer_window
    }

    /// Segments that may still be sent once everything up to this segment is acknowledged
    /// (`asymmetry`, ACK congestion control).
    pub fn room_left(&self, socket: &Socket) -> SendRoom {
        let segment = u64::from(self.segment);
        let count = |segments: u64| u16::try_from(segments).unwrap_or(u16::MAX);
        let window = (self.window() as u64).min(self.peer_window / segment);
        let left = socket.written.saturating_add(STREAM_START).saturating_sub(self.next).div_ceil(segment);
        SendRoom { window: count(window), left: count(left) }
    }

    /// The window to report.
    pub(in crate::tcp) fn reported_window(&self) -> f64 {
        self.cwr_window().unwrap_or_else(|| self.recovery.reported_window(&self.cc))
    }

    /// Pacing rate in segments per second; of an unpaced flow, the rate that Linux would pace at.
    /// None before the first RTT sample.
    pub(super) fn rate(&self) -> Option<f64> {
        self.cc.pacing_rate().or_else(|| {
            let pacer = self.pacer.as_ref();
            let srtt = pacer.and_then(Pacer::srtt).or(self.rtt.srtt())?;
            if pacer.is_some_and(|p| p.bursts()) {
                return Some(self.window() / srtt.as_secs());
            }
            Some(pacer::window_rate(self.cc.cwnd(), srtt, self.cc.phase() == Phase::SlowStart))
        })
    }

    pub(super) fn rate_or_infinite(&self) -> f64 {
        self.rate().unwrap_or(f64::INFINITY)
    }

    /// The window has room and there is something to send, but the pacer holds it back.
    #[inline(never)]
    pub(super) fn is_pacing_limited(&self, now: Time, socket: &Socket) -> bool {
        !self.burst.in_progress()
            && !self.is_in_burst()
            && self.pacer.is_some_and(|p| now < p.next())
            && (self.scoreboard.unsent_losses() || self.new_piece(now, socket, self.recovery.in_flight(&self.scoreboard)).is_ok())
    }

    /// Payload and FIN of the next segment of new data, as far as application, receive window and
    /// send buffer allow.
    #[inline]
    pub(super) fn new_piece(&self, now: Time, socket: &Socket, in_flight: u32) -> Result<(u32, bool), SendLimit> {
        if let Some(writes) = &self.writes {
            if writes.burst.end > self.next {
                return Ok(self.next_of_burst(&writes.burst));
            }
            return self.plan_burst(now, socket, in_flight).map(|plan| self.next_of_burst(&plan));
        }
        let end = socket.written.saturating_add(STREAM_START);
        let unsent = end.saturating_sub(self.next);
        let fin = socket.closed && self.fin == NONE;
        if unsent == 0 && !fin {
            return Err(SendLimit::Application);
        }
        // A send buffer smaller than a segment makes small segments.
        let payload = unsent.min(u64::from(self.segment)).min(self.send_buffer.max(1));
        let closes = fin && payload == unsent;
        if payload < u64::from(self.segment) && !closes && self.holds_small_segment(socket) {
            return Err(SendLimit::Application);
        }
        let usable = self.usable_window(in_flight);
        let payload = if payload <= usable {
            payload
        } else if usable > 0 && usable >= self.largest_window / 2 {
            // RFC 9293, section 3.8.6.2.1: half of the largest window justifies a small segment.
            usable
        } else {
            return Err(SendLimit::ReceiveWindow);
        };
        if self.next - self.una + payload > self.send_buffer {
            return Err(SendLimit::SendBuffer);
        }
        Ok((payload as u32, fin && payload == unsent))
    }

    /// Nagle's algorithm or TCP_CORK holds back a segment that is not full.
    #[inline]
    pub(super) fn holds_small_segment(&self, socket: &Socket) -> bool {
        if self.in_packets && self.writes.as_ref().is_some_and(|writes| writes.holds_more) {
            return true;
        }
        match socket.small_segments {
            SmallSegments::AtOnce => false,
            SmallSegments::OneAtATime => self.small_end > self.una,
            SmallSegments::Never => true,
        }
    }

    /// Autotuning grows the send buffer with cwnd and never shrinks it.
    #[inline(always)]
    pub(super) fn tune_send_buffer(&mut self) {
        if let Some(tuning) = &self.config.send_tuning {
            let cwnd = self.cc.cwnd();
            // Only whole segments of cwnd count.
            if cwnd >= self.tunes_from {
                self.tunes_from = libm::floor(cwnd) + 1.0;
                self.send_buffer = self.send_buffer.max(tuning.payload(cwnd, self.segment));
            }
        }
    }

    /// Bytes that the peer's window still allows.
    #[inline]
    pub(super) fn usable_window(&self, in_flight: u32) -> u64 {
        match self.config.window_rule {
            WindowRule::Sequence => self.right_edge.saturating_sub(self.next),
            WindowRule::InFlight => self.peer_window.saturating_sub(u64::from(in_flight) * u64::from(self.segment)),
        }
    }

    #[inline]
    pub(super) fn note_limit(&mut self, now: Time, limit: SendLimit) {
        if limit == SendLimit::ReceiveWindow && self.limit == limit {
            if !self.stats.limiting_window.continues(self.peer_window, self.rtt.srtt().unwrap_or_default()) {
                self.note_window(now);
            }
            return;
        }
        if self.limit == SendLimit::ReceiveWindow || limit == SendLimit::ReceiveWindow {
            self.note_window(now);
        }
        if limit != self.limit {
            self.stats.limited[self.limit as usize] = self.stats.limited[self.limit as usize] + (now - self.limit_since);
            self.limit_since = now;
            self.limit = limit;
        }
    }

    /// The receive window limits until `now`, or from then on, or both with what has changed.
    #[cold]
    fn note_window(&mut self, now: Time) {
        if self.limit == SendLimit::ReceiveWindow {
            self.stats.limiting_window.extend(now);
        }
        self.stats.limiting_window.begin(now, self.peer_window, self.rtt.srtt().unwrap_or_default());
    }
}
