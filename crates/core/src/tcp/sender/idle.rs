//! What a window is worth that has not been used: after a pause (RFC 5681, section 4.1, or RFC 2861), and while the application sends
//! less than it allows (RFC 2861, section 3.2). A variant that paces itself has its own measure of the path and keeps it.

use super::Sender;
use crate::tcp::cc::{CongestionControl, Window};
use crate::tcp::config::IdleRestart;
use crate::tcp::recovery::Recovery;
use crate::tcp::stats::Limit;
use crate::units::{Span, Time};

/// RFC 2861, section 3.2: the threshold remembers three quarters of a window that is given up.
const REMEMBERED: f64 = 0.75;

/// How much of the window has been in use since it last was all of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// W_used, in segments.
    used: f64,
    since: Time,
}

/// RFC 2861, section 3.1: half for each timeout that passed without a segment, down to the restart window.
fn decayed(window: Window, restart: f64, idle: Span, rto: Span) -> Window {
    let ssthresh = window.ssthresh.max(REMEMBERED * window.cwnd);
    let least = restart.min(window.cwnd);
    let halvings = (idle.0 / rto.0.max(1)).min(64);
    let cwnd = (0..halvings).fold(window.cwnd, |cwnd, _| libm::floor(cwnd / 2.0).max(least));
    Window { cwnd, ssthresh }
}

impl Sender {
    /// Nothing was in flight because the application had nothing to send, and now it has.
    #[inline(never)]
    pub(super) fn end_idle(&mut self, now: Time) {
        let Some(idle) = self.last_send.map(|last| now - last) else { return };
        self.cc.on_idle(now, idle);
        let rto = self.rtt.rto();
        if idle <= rto || self.cc.pacing_rate().is_some() {
            return;
        }
        let window = Window { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh() };
        let restart = self.config.initial_window;
        match self.config.idle_restart {
            IdleRestart::Off => {}
            IdleRestart::Restart => self.cc.on_restart(now, Window { cwnd: restart.min(window.cwnd), ..window }),
            IdleRestart::Decay => self.cc.on_restart(now, decayed(window, restart, idle, rto)),
        }
    }

    /// Sending stops, held back by `limit`. RFC 2861, section 3.2: a window that has not been full for a timeout goes half way to what
    /// was used of it. A full send buffer is not the application's doing.
    #[inline(never)]
    pub(super) fn validate_window(&mut self, now: Time, limit: Limit) {
        let unused = matches!(limit, Limit::Application | Limit::ReceiveWindow);
        let flight = f64::from(self.board.in_flight());
        let repairing = self.recovery.active() || self.una <= self.timed_out_to;
        let Some(usage) = &mut self.usage else { return };
        if !unused || repairing {
            self.usage = Some(Usage { used: 0.0, since: now });
            return;
        }
        usage.used = usage.used.max(flight);
        if now - usage.since < self.rtt.rto() {
            return;
        }
        let used = usage.used.max(self.config.initial_window);
        self.usage = Some(Usage { used: 0.0, since: now });
        let (cwnd, ssthresh) = (self.cc.cwnd(), self.cc.ssthresh());
        if used < cwnd && self.cc.pacing_rate().is_none() {
            let window = Window { cwnd: libm::floor((cwnd + used) / 2.0), ssthresh: ssthresh.max(REMEMBERED * cwnd) };
            self.cc.on_restart(now, window);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Socket;
    use crate::packet::{Flags, Segment};
    use crate::tcp::TcpConfig;

    const RTT: Span = Span::from_ms(100);

    /// A sender with a window of 32 segments of 1000 bytes in slow start; the RTO is between 200 and 300 ms.
    struct Stage {
        sender: Sender,
        socket: Socket,
        now: Time,
    }

    impl Stage {
        fn new(config: TcpConfig) -> Stage {
            let config = TcpConfig { segment: 1000, initial_window: 4.0, timestamps: false, ..config };
            let mut sender = Sender::new(config.into());
            sender.meet(1000, 1 << 30);
            sender.establish(Time::ZERO, Some(RTT), false);
            let mut stage = Stage { sender, socket: Socket { established: true, ..Socket::default() }, now: Time::ZERO };
            stage.round(4);
            stage.sender.cc.on_recovered(stage.now, 32.0);
            stage
        }

        /// The application writes so many segments, which go out and are acknowledged a round trip later. How many went out at once.
        fn round(&mut self, segments: u64) -> u64 {
            self.socket.written += segments * 1000;
            let before = self.sender.next_seq();
            while self.sender.poll(self.now, &mut self.socket).is_some() {}
            let sent = (self.sender.next_seq() - before) / 1000;
            self.now += RTT;
            for _ in 0..sent {
                let ack = Segment { ack: self.sender.una + 1000, window: 1 << 30, flags: Flags::ACK, ..Segment::default() };
                self.sender.on_segment(self.now, &ack, None);
            }
            sent
        }

        fn pause(&mut self, time: Span) {
            self.now += time;
        }

        fn window(&self) -> (f64, f64) {
            (self.sender.cc.cwnd(), self.sender.cc.ssthresh())
        }
    }

    fn with(idle_restart: IdleRestart) -> Stage {
        Stage::new(TcpConfig { idle_restart, ..TcpConfig::default() })
    }

    #[test]
    fn without_a_rule_a_pause_is_followed_by_the_whole_window() {
        let mut stage = with(IdleRestart::Off);
        stage.pause(Span::from_secs(10));
        assert_eq!(stage.round(100), 32);
    }

    /// RFC 5681, section 4.1: the restart window is the initial one, and the threshold stays.
    #[test]
    fn after_more_than_a_timeout_sending_starts_with_the_initial_window() {
        let mut stage = with(IdleRestart::Restart);
        stage.pause(Span::from_secs(10));
        assert_eq!(stage.round(100), 4);
        assert_eq!(stage.window(), (8.0, f64::INFINITY));
    }

    #[test]
    fn a_pause_shorter_than_the_timeout_changes_nothing() {
        for rule in [IdleRestart::Restart, IdleRestart::Decay] {
            let mut stage = with(rule);
            stage.pause(Span::from_ms(50));
            assert_eq!(stage.round(100), 32, "{rule:?}");
        }
    }

    /// RFC 2861, section 3.1: half for each timeout, three quarters remembered (the threshold, here infinite, is never lowered).
    #[test]
    fn a_window_decays_by_half_for_each_timeout_down_to_the_initial_one() {
        let rto = Span::from_ms(200);
        for (timeouts, cwnd) in [(1, 16.0), (2, 8.0), (3, 4.0), (50, 4.0)] {
            let idle = rto.saturating_mul(timeouts) + Span::from_ms(1);
            let window = decayed(Window { cwnd: 32.0, ssthresh: 10.0 }, 4.0, idle, rto);
            assert_eq!((window.cwnd, window.ssthresh), (cwnd, 24.0), "{timeouts}");
        }
    }

    #[test]
    fn a_window_below_the_initial_one_is_not_raised() {
        let window = decayed(Window { cwnd: 2.0, ssthresh: 10.0 }, 4.0, Span::from_secs(9), Span::from_ms(200));
        assert_eq!(window.cwnd, 2.0);
    }

    /// RFC 2861, section 3.2: 10 of 32 used for a timeout: (32 + 10) / 2 = 21, then (21 + 10) / 2 = 15.
    #[test]
    fn a_window_that_is_not_used_goes_half_way_to_what_is() {
        let mut stage = Stage::new(TcpConfig { window_validation: true, ..TcpConfig::default() });
        let mut seen = vec![];
        for _ in 0..8 {
            stage.round(10);
            seen.push(stage.window().0);
        }
        seen.dedup();
        assert_eq!(seen[..3], [32.0, 21.0, 15.0]);
    }

    #[test]
    fn a_window_that_is_used_is_kept() {
        let mut stage = Stage::new(TcpConfig { window_validation: true, ..TcpConfig::default() });
        for _ in 0..8 {
            stage.round(1000);
        }
        assert!(stage.window().0 > 32.0);
    }
}
