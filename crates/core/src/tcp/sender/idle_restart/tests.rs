//! Idle periods and unused windows: RFC 5681, RFC 2861 and RFC 7661, with numbers worked out from
//! each rule.

use super::*;
use crate::app::Socket;
use crate::packet::{Flags, SackBlocks, Segment};
use crate::tcp::cc::CongestionControl;
use crate::tcp::sender::Sender;
use crate::tcp::timestamps::TimestampEcho;
use crate::tcp::{TcpConfig, WindowValidation};

const RTT: Span = Span::from_ms(100);

/// A sender with a window of 32 segments of 1000 bytes in slow start; the RTO is between 200 and
/// 300 ms.
struct IdleSender {
    tcp: Sender,
    socket: Socket,
    now: Time,
}

impl IdleSender {
    fn new(config: TcpConfig) -> IdleSender {
        let config = TcpConfig { segment: 1000, initial_window: 4.0, timestamps: false, ..config };
        let mut tcp = Sender::new(config.into());
        tcp.on_peer_syn(1000, 1 << 30);
        tcp.establish(Time::ZERO, Some(RTT), false, false);
        let mut sender = IdleSender { tcp, socket: Socket { established: true, ..Socket::default() }, now: Time::ZERO };
        sender.round(4);
        sender.tcp.cc.on_recovered(sender.now, 32.0);
        sender
    }

    /// The application writes `segments`, which are acknowledged an RTT after they are sent.
    /// Returns the number sent at once.
    fn round(&mut self, segments: u64) -> u64 {
        self.socket.written += segments * 1000;
        let before = self.tcp.next_seq();
        while self.tcp.poll(self.now, &mut self.socket).is_some() {}
        let sent = (self.tcp.next_seq() - before) / 1000;
        self.now += RTT;
        for _ in 0..sent {
            let ack = Segment { ack: self.tcp.una + 1000, window: 1 << 30, flags: Flags::ACK, ..Segment::default() };
            self.tcp.on_segment(self.now, &ack, TimestampEcho::default());
        }
        sent
    }

    fn pause(&mut self, time: Span) {
        self.now += time;
    }

    fn window(&self) -> (f64, f64) {
        (self.tcp.cc.cwnd(), self.tcp.cc.ssthresh())
    }
}

fn with_rule(idle_restart: IdleRestart) -> IdleSender {
    IdleSender::new(TcpConfig { idle_restart, ..TcpConfig::default() })
}

#[test]
fn window_is_kept_over_idle_without_a_rule() {
    let mut sender = with_rule(IdleRestart::Off);
    sender.pause(Span::from_secs(10));
    assert_eq!(sender.round(100), 32);
}

/// RFC 5681, section 4.1: the restart window is the initial window, and ssthresh stays.
#[test]
fn idle_longer_than_rto_restarts_from_the_initial_window() {
    let mut sender = with_rule(IdleRestart::Restart);
    sender.pause(Span::from_secs(10));
    assert_eq!(sender.round(100), 4);
    assert_eq!(sender.window(), (8.0, f64::INFINITY));
}

#[test]
fn idle_shorter_than_rto_keeps_the_window() {
    for rule in [IdleRestart::Restart, IdleRestart::Decay] {
        let mut sender = with_rule(rule);
        sender.pause(Span::from_ms(50));
        assert_eq!(sender.round(100), 32, "{rule:?}");
    }
}

/// RFC 2861, section 3.1: half per RTO; ssthresh keeps three quarters, and is never lowered.
#[test]
fn window_is_halved_per_rto_down_to_the_initial_window() {
    let rto = Span::from_ms(200);
    for (timeouts, cwnd) in [(1, 16.0), (2, 8.0), (3, 4.0), (50, 4.0)] {
        let idle = rto.saturating_mul(timeouts) + Span::from_ms(1);
        let window = decayed(CongestionWindow { cwnd: 32.0, ssthresh: 10.0 }, 4.0, idle, rto);
        assert_eq!((window.cwnd, window.ssthresh), (cwnd, 24.0), "{timeouts}");
    }
}

#[test]
fn window_below_the_initial_window_is_not_raised() {
    let window = decayed(CongestionWindow { cwnd: 2.0, ssthresh: 10.0 }, 4.0, Span::from_secs(9), Span::from_ms(200));
    assert_eq!(window.cwnd, 2.0);
}

/// RFC 2861, section 3.2: 10 of 32 in use for an RTO: (32 + 10) / 2 = 21, then (21 + 10) / 2 = 15.
#[test]
fn unused_window_moves_halfway_to_the_used_window() {
    let mut sender = IdleSender::new(TcpConfig { window_validation: WindowValidation::Rfc2861, ..TcpConfig::default() });
    let mut seen = vec![];
    for _ in 0..8 {
        sender.round(10);
        seen.push(sender.window().0);
    }
    seen.dedup();
    assert_eq!(seen[..3], [32.0, 21.0, 15.0]);
}

#[test]
fn used_window_is_kept() {
    let mut sender = IdleSender::new(TcpConfig { window_validation: WindowValidation::Rfc2861, ..TcpConfig::default() });
    for _ in 0..8 {
        sender.round(1000);
    }
    assert!(sender.window().0 > 32.0);
}

fn new_validation(idle_restart: IdleRestart) -> IdleSender {
    IdleSender::new(TcpConfig { idle_restart, window_validation: WindowValidation::Rfc7661, ..TcpConfig::default() })
}

impl IdleSender {
    /// Sends `segments`, of which the first is lost and retransmitted. Returns the window after the
    /// reduction, and at the end of the recovery.
    fn lose_first_of(&mut self, segments: u64) -> (f64, f64) {
        self.socket.written += segments * 1000;
        while self.tcp.poll(self.now, &mut self.socket).is_some() {}
        self.now += RTT;
        let una = self.tcp.una;
        let mut sack = SackBlocks::default();
        sack.push(una + 1000, self.tcp.next_seq());
        let ack = Segment { ack: una, window: 1 << 30, flags: Flags::ACK, sack, ..Segment::default() };
        self.tcp.on_segment(self.now, &ack, TimestampEcho::default());
        let cut = self.tcp.cc.cwnd();
        while self.tcp.poll(self.now, &mut self.socket).is_some() {}
        self.now += RTT;
        let ack = Segment { ack: self.tcp.next_seq(), window: 1 << 30, flags: Flags::ACK, ..Segment::default() };
        self.tcp.on_segment(self.now, &ack, TimestampEcho::default());
        (cut, self.tcp.cc.cwnd())
    }
}

/// RFC 7661, sections 4.3 and 4.4: with 10 of 32 in use the window neither grows nor shrinks.
#[test]
fn window_used_by_less_than_half_stays() {
    let mut sender = new_validation(IdleRestart::Off);
    for round in 0..60 {
        sender.round(10);
        assert_eq!(sender.window().0, 32.0, "round {round}");
    }
}

/// Section 4.3: 20 in use validate a window of up to 40, which each ACK grows by one in slow start.
#[test]
fn window_grows_to_twice_the_used_window() {
    let mut sender = new_validation(IdleRestart::Off);
    for _ in 0..20 {
        sender.round(20);
    }
    assert_eq!(sender.window().0, 41.0);
}

/// Section 4.4 replaces the host's rule for idle periods.
#[test]
fn window_is_kept_over_idle_and_grows_once_validated() {
    for rule in [IdleRestart::Off, IdleRestart::Restart, IdleRestart::Decay] {
        let mut sender = new_validation(rule);
        sender.round(32);
        let before = sender.window().0;
        sender.pause(Span::from_secs(10));
        assert_eq!(sender.round(1000), before as u64, "{rule:?}");
        // The ACKs of the first RTT validate the window; the last of them is the first to grow it.
        assert!(sender.window().0 <= before + 1.0, "{rule:?} {}", sender.window().0);
        sender.round(1000);
        assert!(sender.window().0 >= 1.9 * before, "{rule:?}");
    }
}

/// Section 4.4.3: five minutes.
#[test]
fn idle_of_five_minutes_halves_the_window_once() {
    let mut sender = new_validation(IdleRestart::Off);
    sender.pause(Span::from_secs(400));
    sender.round(1);
    assert_eq!(sender.window(), (16.0, f64::INFINITY));
}

/// Section 4.4.1, by hand: 10 of 32 in use: 10/2, then (10 - 1)/2 in whole segments. After an idle
/// period: 32 in flight, 32/2, (32 - 1)/2.
#[test]
fn loss_reduces_to_the_used_window_less_retransmissions() {
    let mut used = new_validation(IdleRestart::Off);
    for _ in 0..20 {
        used.round(10);
    }
    assert_eq!(used.lose_first_of(10), (5.0, 4.0));
    let mut paused = new_validation(IdleRestart::Off);
    paused.pause(Span::from_secs(10));
    assert_eq!(paused.lose_first_of(32), (16.0, 15.0));
}

/// Section 4.3: a validated window is reduced by RFC 5681.
#[test]
fn loss_in_a_validated_window_reduces_by_rfc_5681() {
    let mut sender = new_validation(IdleRestart::Off);
    for _ in 0..3 {
        sender.round(1000);
    }
    let before = sender.window().0;
    let (cut, after) = sender.lose_first_of(before as u64);
    assert_eq!((cut, after), ((before / 2.0).floor(), (before / 2.0).floor()));
}
