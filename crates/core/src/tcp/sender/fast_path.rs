//! Fast path for bulk transfer: in-order ACKs, no SACK, loss or ECN, and full segments of new data.
//! It gives the same results as `slow_path_ack` and `poll_slow`, without the checks whose outcome
//! is known.

use super::{NONE, STREAM_START, Sender, Transmit};
use crate::app::Socket;
use crate::packet::{RetransmitReason, Segment};
use crate::tcp::cc::{Ack, CongestionControl};
use crate::tcp::config::WindowRule;
use crate::tcp::recovery::{AckInfo, Recovery};
use crate::tcp::scoreboard::Acked;
use crate::tcp::stats::SendLimit;
use crate::tcp::timestamps::TimestampEcho;
use crate::units::Time;

/// Sequence numbers up to which full segments may be sent; none of them changes with a
/// transmission. cwnd counts segments and is checked apart.
struct Reach {
    /// End of what the application has written, less a segment that would carry the FIN.
    written: u64,
    peer: u64,
    buffer: u64,
}

/// The answer of the fast path to a poll.
pub enum FastPoll {
    /// A segment, and whether it is known to be the last for now.
    Send(Transmit, bool),
    Nothing,
    /// An idle period ends, or a small segment or a FIN is due: `poll_slow` decides.
    Unclear,
}

/// Why no full segment of new data can be sent.
enum Blocked {
    SendLimit(SendLimit),
    Unclear,
}

impl Sender {
    /// An ACK of new data without SACK: nothing on the scoreboard is SACKed or lost, the recovery
    /// is idle, and at most a congestion control that uses delivery rates processes it besides.
    // inline(always): it has one caller, which nearly every ACK of a bulk transfer passes.
    #[inline(always)]
    pub(super) fn fast_path_ack(&mut self, now: Time, segment: &Segment, echo: TimestampEcho) {
        // A send buffer smaller than a segment makes small segments.
        self.fast_path = self.send_buffer >= u64::from(self.segment);
        self.update_window(segment);
        let acked = self.scoreboard.ack_clean_to(segment.ack);
        self.advance(now, segment.ack, &acked, echo);
        let mut ack = self.cc_ack(now, &acked);
        if self.delivery_rate.is_some() {
            self.update_delivery_rate_fast(&mut ack, &acked);
        }
        self.cc.on_ack(&ack);
        self.tune_send_buffer();
        self.restart_timer(now);
        self.check_probe(now);
    }

    /// As `sample_delivery_rate`, then resets `ack` to what `on_ack` expects.
    #[inline(never)]
    fn update_delivery_rate_fast(&mut self, ack: &mut Ack, acked: &Acked) {
        ack.recovering = self.una <= self.rto_recovery_point;
        self.update_delivery_rate(ack, acked, &AckInfo { advanced: true, acked: acked.segments, ..AckInfo::default() });
        (ack.recovering, ack.delivered, ack.lost, ack.rate) = (false, 0, 0, None);
        ack.cwnd_limited = self.window_limited(acked);
    }

    /// A full segment of new data, if all limits allow one.
    #[inline]
    pub(super) fn poll_fast(&mut self, now: Time, socket: &mut Socket) -> FastPoll {
        // An idle period may change the window.
        if self.was_idle() {
            return FastPoll::Unclear;
        }
        let reach = self.reach(socket);
        let (window, in_flight) = (self.recovery.window(&self.cc), f64::from(self.scoreboard.len()));
        match self.can_send_full(now, &reach, socket, in_flight + 1.0 <= window) {
            Ok(()) => {}
            Err(Blocked::Unclear) => return FastPoll::Unclear,
            Err(Blocked::SendLimit(limit)) => {
                self.stop(now, limit);
                return FastPoll::Nothing;
            }
        }
        if self.burst.is_new() && self.should_defer(now, socket, self.scoreboard.len()) {
            self.stop(now, SendLimit::Cwnd);
            return FastPoll::Nothing;
        }
        let piece = self.send_full(now, socket);
        let next = self.can_send_full(now, &reach, socket, in_flight + 2.0 <= window);
        let piece = Transmit { push: self.sets_psh(socket, |_| next.is_ok()), ..piece };
        match next {
            Err(Blocked::SendLimit(limit)) => {
                self.stop(now, limit);
                FastPoll::Send(piece, true)
            }
            _ => FastPoll::Send(piece, false),
        }
    }

    #[inline]
    fn send_full(&mut self, now: Time, socket: &mut Socket) -> Transmit {
        let seq = self.next;
        self.scoreboard.push(seq, self.segment, now);
        self.next += u64::from(self.segment);
        if self.delivery_rate.is_some() {
            self.record_send(now, self.scoreboard.end_index() - 1);
        }
        if self.pacer.is_some() {
            self.pace(now);
        }
        self.count_send(now);
        self.stats.first_data.get_or_insert(now);
        socket.sent = self.next - STREAM_START;
        Transmit { seq, payload: self.segment, fin: false, push: false, retransmission: false, reason: RetransmitReason::No }
    }

    #[inline]
    fn reach(&self, socket: &Socket) -> Reach {
        let closing = socket.closed && self.fin == NONE;
        Reach {
            written: socket.written.saturating_add(STREAM_START) - u64::from(closing),
            peer: match self.config.window_rule {
                WindowRule::Sequence => self.right_edge,
                WindowRule::InFlight => self.next + self.usable_window(self.scoreboard.len()),
            },
            buffer: self.una.saturating_add(self.send_buffer),
        }
    }

    /// Whether a full segment may be sent. The limits are checked in the order of `next_piece`.
    /// `room`: cwnd allows it.
    #[inline]
    fn can_send_full(&self, now: Time, reach: &Reach, socket: &Socket, room: bool) -> Result<(), Blocked> {
        let end = self.next + u64::from(self.segment);
        if end > reach.written {
            let all_sent = self.next == reach.written && !socket.closed;
            return Err(if all_sent { Blocked::SendLimit(SendLimit::Application) } else { Blocked::Unclear });
        }
        if end > reach.peer {
            let usable = reach.peer.saturating_sub(self.next);
            let shut = usable == 0 || usable < self.largest_window / 2;
            return Err(if shut { Blocked::SendLimit(SendLimit::ReceiveWindow) } else { Blocked::Unclear });
        }
        if end > reach.buffer {
            return Err(Blocked::SendLimit(SendLimit::SendBuffer));
        }
        if !room {
            return Err(Blocked::SendLimit(SendLimit::Cwnd));
        }
        let early = !self.burst.in_progress() && self.pacer.is_some_and(|pacer| now < pacer.next());
        if early { Err(Blocked::SendLimit(SendLimit::Pacing)) } else { Ok(()) }
    }
}
