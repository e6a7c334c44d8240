//! When Linux acknowledges: quick ACKs, ping-pong mode, a delayed ACK whose delay follows the
//! intervals of the data, and PSH (tcp_input.c, tcp_timer.c; `struct inet_connection_sock`,
//! `icsk_ack`).

use crate::packet::{Flags, Segment};
use crate::tcp::config::{DelayedAck, TcpConfig};
use crate::tcp::linux_rules::LinuxRule;
use crate::units::{Span, Time};

/// Payload that a segment has at most until one shows more (`TCP_MSS_DEFAULT`), and the smallest
/// that counts (`TCP_MIN_MSS`).
const FIRST_SEGMENT: u32 = 536;
const SMALLEST_SEGMENT: u32 = 88;
/// Maximum of the delay (`TCP_DELACK_MAX`), and without an RTT sample or a sign that no more data
/// comes (HZ/2).
const MAX_DELAY: Span = Span::from_ms(200);
const MAX_FREE_DELAY: Span = Span::from_ms(500);
/// Quick ACKs of a window below two segments.
const FEWEST_QUICK_ACKS: u32 = 2;

/// What is to be done about the ACK of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayVerdict {
    Now,
    At(Time),
}

/// Data since the last ACK asks for one as soon as everything is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Pushed {
    #[default]
    No,
    /// A small segment, or one with PSH (`ICSK_ACK_PUSHED`).
    Once,
    /// A small segment after such a one (`ICSK_ACK_PUSHED2`).
    Again,
}

/// Fields have the kernel's names.
#[derive(Clone, Copy, Debug)]
pub struct LinuxAcks {
    /// The host follows this rule, and nothing replaces its delayed ACKs.
    on: bool,
    /// Something has arrived that no ACK has reported (`ICSK_ACK_SCHED`).
    scheduled: bool,
    /// `ICSK_ACK_NOW`.
    now: bool,
    /// The timer of the delayed ACK runs (`ICSK_ACK_TIMER`).
    timer: bool,
    pingpong: bool,
    ping_pong_mode: bool,
    pushed: Pushed,
    /// Quick ACKs left, and the maximum that is granted at once.
    quick: u32,
    max_quick: u32,
    /// An ACK when more than this many full segments have arrived.
    segments: u32,
    pub rcv_mss: u32,
    last_seg_size: u32,
    /// rcv.nxt of the last ACK.
    pub rcv_wup: u64,
    /// The delay; zero before the first data.
    ato: Span,
    min_ato: Span,
    /// Of the host's timers.
    tick: Span,
    /// Arrival of the last data.
    lrcvtime: Time,
}

impl LinuxAcks {
    pub fn new(config: &TcpConfig, start: u64) -> LinuxAcks {
        let rule = config.delayed_ack.unwrap_or(DelayedAck::new(2, Span::from_ms(40)));
        let has_rule = config.delayed_ack.is_some() && rule.push && rule.per_rtt.is_none() && config.ack_control.is_none();
        LinuxAcks {
            on: has_rule && config.linux_rules.has(LinuxRule::DelayedAcks),
            scheduled: false,
            now: false,
            timer: false,
            pingpong: false,
            ping_pong_mode: config.ping_pong,
            pushed: Pushed::No,
            quick: 0,
            max_quick: config.quick_acks,
            segments: rule.segments.saturating_sub(1),
            rcv_mss: FIRST_SEGMENT,
            last_seg_size: 0,
            rcv_wup: start,
            ato: Span::ZERO,
            min_ato: rule.timer,
            tick: config.rto_tick,
            lrcvtime: Time::ZERO,
        }
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        self.on
    }

    #[inline]
    pub fn schedule(&mut self) {
        self.scheduled = true;
    }

    /// An ACK is due at the next check, once.
    pub fn want_now(&mut self) {
        self.scheduled = true;
        self.now = true;
    }

    pub fn end_quick_acks(&mut self) {
        self.quick = 0;
    }

    /// The window has opened: an odd number of quick ACKs is left (`tcp_grow_window()`).
    pub fn on_window_opened(&mut self) {
        self.quick |= 1;
    }

    /// The size of the peer's full segments (`tcp_measure_rcv_mss()`), of a packet merged on arrival the
    /// one known or a `full` one. Returns whether it is new.
    #[inline]
    pub fn measure(&mut self, segment: &Segment, advmss: u32, full: u32) -> bool {
        let last_size = std::mem::take(&mut self.last_seg_size);
        let merged = segment.payload > advmss;
        let len = if merged { self.rcv_mss.max(full) } else { segment.payload };
        if len >= self.rcv_mss {
            let new = len != self.rcv_mss;
            self.rcv_mss = len.min(advmss);
            if segment.flags.has(Flags::PSH) {
                self.pushed = self.pushed.max(Pushed::Once);
            }
            return new;
        }
        self.measure_small(segment, last_size);
        false
    }

    /// Two equal segments below the size so far show a smaller one; others end what was written.
    fn measure_small(&mut self, segment: &Segment, last_size: u32) {
        let len = segment.payload;
        let may_be_full = len >= SMALLEST_SEGMENT && !segment.flags.any(Flags::PSH.with(Flags::FIN));
        if len >= FIRST_SEGMENT || may_be_full {
            self.last_seg_size = len;
            if len == last_size {
                self.rcv_mss = len;
                return;
            }
        }
        self.pushed = if self.pushed == Pushed::No { Pushed::Once } else { Pushed::Again };
    }

    /// In-order data has arrived; `window` is the last advertised one (`tcp_event_data_recv()`).
    #[inline]
    pub fn on_data(&mut self, now: Time, window: u32, rto: impl Fn() -> Span) {
        self.scheduled = true;
        if self.ato == Span::ZERO {
            self.grant_quick_acks(window);
            self.ato = self.min_ato;
        } else {
            let interval = now - self.lrcvtime;
            if interval <= Span(self.min_ato.0 / 2) {
                self.ato = Span(self.ato.0 / 2 + self.min_ato.0 / 2);
            } else if interval < self.ato {
                self.ato = Span(self.ato.0 / 2 + interval.0).min(rto());
            } else if interval > rto() {
                // The peer restarts its window after so long a pause.
                self.grant_quick_acks(window);
            }
        }
        self.lrcvtime = now;
    }

    /// Half of the window's segments, at most `max_quick` (`tcp_incr_quickack()`).
    #[inline(never)]
    fn grant_quick_acks(&mut self, window: u32) {
        let segments = window / (2 * self.rcv_mss.max(1));
        let granted = if segments == 0 { FEWEST_QUICK_ACKS } else { segments };
        self.quick = self.quick.max(granted.min(self.max_quick));
    }

    /// `tcp_enter_quickack_mode()`.
    pub fn enter_quick_mode(&mut self, window: u32) {
        self.grant_quick_acks(window);
        self.pingpong = false;
        self.ato = self.min_ato;
    }

    /// The peer's FIN: data of ours will carry its ACK (`tcp_fin()`).
    pub fn enter_pingpong(&mut self) {
        self.pingpong = self.ping_pong_mode;
    }

    #[inline]
    pub fn in_quick_mode(&self) -> bool {
        self.quick > 0 && !self.pingpong
    }

    /// Whether anything waits for an ACK.
    #[inline]
    pub fn is_scheduled(&self) -> bool {
        self.scheduled
    }

    /// More than a full segment has arrived since the last ACK.
    #[inline]
    pub fn is_behind(&self, next: u64) -> bool {
        next - self.rcv_wup > u64::from(self.segments) * u64::from(self.rcv_mss)
    }

    /// Quick ACKs, or an ACK that is due once.
    #[inline]
    pub fn is_urgent(&self) -> bool {
        self.in_quick_mode() || self.now
    }

    /// When the delayed ACK is sent (`tcp_send_delayed_ack()`).
    #[inline(never)]
    pub fn delay(&mut self, now: Time, due: Time, srtt: impl Fn() -> Option<Span>) -> DelayVerdict {
        let mut ato = self.ato;
        if ato > self.min_ato {
            let mut max = if self.pingpong || self.pushed > Pushed::No { MAX_DELAY } else { MAX_FREE_DELAY };
            if let Some(srtt) = srtt() {
                max = max.min(srtt.max(self.min_ato));
            }
            ato = ato.min(max);
        }
        let ato = ato.min(MAX_DELAY);
        if self.timer && due <= now + Span(ato.0 / 4) {
            return DelayVerdict::Now;
        }
        // Without data so far the timer has no delay, and expires one or two ticks later.
        let soon = Time(now.0 / self.tick.0.max(1) * self.tick.0.max(1)) + Span(self.tick.0 * 3 / 2);
        let at = if ato == Span::ZERO { soon } else { now + ato };
        let at = if self.timer { due.min(at) } else { at };
        self.timer = true;
        DelayVerdict::At(at)
    }

    /// The timer of the delayed ACK has expired. Returns whether an ACK is sent
    /// (`tcp_delack_timer_handler()`).
    pub fn on_timer(&mut self, rto: Span) -> bool {
        if !std::mem::take(&mut self.timer) || !self.scheduled {
            return false;
        }
        if std::mem::take(&mut self.pingpong) {
            self.ato = self.min_ato;
        } else {
            self.ato = Span(self.ato.0.saturating_mul(2)).min(rto);
        }
        true
    }

    /// The application has read something; `empty`: all that has arrived (`tcp_cleanup_rbuf()`).
    /// Returns whether that asks for an ACK.
    #[inline]
    pub fn on_read(&self, next: u64, empty: bool) -> bool {
        let pushed = self.pushed == Pushed::Again || (self.pushed == Pushed::Once && !self.pingpong);
        self.scheduled && (self.is_behind(next) || (pushed && empty))
    }

    /// An ACK of everything up to `next` is sent, alone or with data (`tcp_event_ack_sent()`).
    #[inline]
    pub fn on_ack_sent(&mut self, next: u64) {
        if self.quick > 0 && self.scheduled {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.min_ato;
            }
        }
        (self.scheduled, self.now, self.timer, self.pushed) = (false, false, false, Pushed::No);
        self.rcv_wup = next;
    }

    /// Data is sent: soon after received data it is an answer (`tcp_event_data_sent()`).
    #[inline]
    pub fn on_data_sent(&mut self, now: Time) {
        if now - self.lrcvtime < self.ato {
            self.pingpong = self.ping_pong_mode;
        }
    }
}
