//! The retransmission timer (RFC 6298).

use crate::dialogue::script::*;
use ackclock_core::app::BulkSource;
use ackclock_core::endpoint::Endpoint;
use ackclock_core::packet::{Flags, Segment, Timestamps};
use ackclock_core::tcp::RecoveryKind::{Linux, NewReno, Sack};
use ackclock_core::tcp::cc::{Ack, Congestion, CongestionControl, UserControl, UserVariant};
use ackclock_core::tcp::{RtoFloor, RtoRestart, TcpConfig};
use ackclock_core::units::{Span, Time};
use std::sync::{Arc, Mutex};

fn one_segment() -> TcpConfig {
    TcpConfig { initial_window: 1.0, ..tcp(NewReno) }
}

/// RFC 6298, (2.2) and (5.5): the handshake's 100 ms give 100 + 4*50, doubled by every RTO.
#[test]
fn rto_doubles_up_to_the_maximum() {
    let mut d = Dialogue::sender(TcpConfig { rto_max: Span::from_secs(1), ..one_segment() });
    d.expects(0.1).data(1..1001);
    for at in [0.4, 1.0, 2.0, 3.0] {
        d.expects(at).retransmitted(1..1001);
    }
}

/// RFC 6298, (2.3) and (2.4), and Linux's rule.
#[test]
fn rto_minimum_applies_to_timeout_or_variance_and_rounds_up() {
    let rto = |min, tick, rto_floor| {
        let (rto_min, rto_tick) = (Span::from_ms(min), Span::from_ms(tick));
        TcpConfig { rto_min, rto_tick, rto_floor, ..one_segment() }
    };
    for (rto, at) in [
        (rto(1000, 1, RtoFloor::Timeout), 1.1),
        (rto(200, 1, RtoFloor::Variance), 0.4),
        (rto(400, 1, RtoFloor::Variance), 0.6),
        // 100 + 200 is three ticks; 100 + max(G, 200) is two ticks of 250, and 100 + G one of
        // slightly more than 700.
        (rto(200, 100, RtoFloor::Timeout), 0.4),
        (rto(200, 250, RtoFloor::Timeout), 0.6),
        (rto(200, 700, RtoFloor::Timeout), 1.5),
    ] {
        let mut d = Dialogue::sender(rto);
        d.expects(0.1).data(1..1001);
        d.expects(at).retransmitted(1..1001);
    }
}

/// RFC 6298, (5.3): 200 ms after 100 ms give SRTT 112.5 ms and RTTVAR 62.5 ms, so 362.5 ms, in
/// ticks 363.
#[test]
fn ack_of_new_data_restarts_the_rto_with_its_sample() {
    let mut d = Dialogue::sender(TcpConfig { initial_window: 2.0, ..tcp(NewReno) });
    d.expects_new(0.1, 1..2001);
    d.at(0.3).ack(1001);
    d.expects_new(0.3, 2001..4001);
    d.expects(0.663).retransmitted(1001..2001);
}

/// `tcp_event_new_data_sent()` of Linux: new data starts the RTO only if no segment is outstanding.
#[test]
fn rto_of_linux_expires_after_the_first_segment_when_a_larger_window_admits_another() {
    let config = TcpConfig { initial_window: 4.0, tail_loss_probe: false, ..tcp(Linux) };
    let mut d = Dialogue::sender_with(config, BulkSource::new(u64::MAX, Time::NEVER), 2000);
    d.expects_new(0.1, 1..2001);
    d.at(0.2).ack_with_window(1, 3000);
    d.expects_new(0.2, 2001..3001);
    d.expects(0.4).retransmitted(1..1001);
}

/// Four segments at 0.1, so the RTO expires at 0.4; duplicates at 0.2, 0.25 and 0.3, the third of
/// which retransmits the first segment.
#[test]
fn duplicates_or_recovery_restart_the_rto_when_configured() {
    for (restart, at) in [
        (RtoRestart::Advance, 0.4),
        (RtoRestart::Recovery, 0.6),
        (RtoRestart::Head, 0.6),
        (RtoRestart::HeadAndSack, 0.6),
        (RtoRestart::EveryAck, 0.65),
    ] {
        let config = TcpConfig { initial_window: 4.0, rto_restart: restart, ..tcp(Sack) };
        let mut d = Dialogue::sender_with(config, BulkSource::new(u64::MAX, Time::NEVER), 4000);
        d.expects_new(0.1, 1..4001);
        d.at(0.2).sack(1, &[1001..2001]);
        d.at(0.25).sack(1, &[1001..3001]);
        d.at(0.3).sack(1, &[1001..4001]);
        d.expects(0.3).retransmitted(1..1001);
        d.sends_nothing_until(0.34);
        // A pure ACK without new information.
        d.at(0.35).ack(1);
        d.sends_nothing_until(at - 0.001);
        d.expects(at).retransmitted(1..1001);
        assert_eq!(d.endpoint.sender_stats(time(at)).timeouts, 1, "{restart:?}");
    }
}

/// Six segments at 0.1, the first retransmitted at 0.3; a SACK at 0.35 reports the fifth, which was
/// sent before that.
#[test]
fn sack_of_earlier_data_restarts_the_rto_when_configured() {
    for (restart, at) in [(RtoRestart::Head, 0.6), (RtoRestart::HeadAndSack, 0.65)] {
        let config = TcpConfig { initial_window: 6.0, rto_restart: restart, ..tcp(Sack) };
        let mut d = Dialogue::sender_with(config, BulkSource::new(u64::MAX, Time::NEVER), 6000);
        d.expects_new(0.1, 1..6001);
        d.at(0.2).sack(1, &[1001..2001]);
        d.at(0.25).sack(1, &[1001..3001]);
        d.at(0.3).sack(1, &[1001..4001]);
        d.expects(0.3).retransmitted(1..1001);
        d.at(0.35).sack(1, &[1001..5001]);
        // RFC 6675's rescue retransmission, which is not of the oldest segment.
        d.expects(0.35).retransmitted(5001..6001);
        d.sends_nothing_until(at - 0.001);
        d.expects(at).retransmitted(1..1001);
    }
}

/// RFC 6298, section 3 and (5.5): the ACK of a retransmission is no sample, so the backoff stays.
#[test]
fn backoff_lasts_until_a_segment_sent_once_is_acknowledged() {
    let mut d = Dialogue::sender(one_segment());
    d.expects(0.1).data(1..1001);
    d.expects(0.4).retransmitted(1..1001);
    d.at(0.5).ack(1001);
    d.expects_new(0.5, 1001..3001);
    d.expects(1.1).retransmitted(1001..2001);
    d.at(1.2).ack(2001);
    d.expects(1.2).retransmitted(2001..3001);
    d.expects(1.2).data(3001..4001);
    d.at(1.3).ack(4001);
    d.expects_new(1.3, 4001..6001);
    // Sent once and acknowledged after 100 ms: SRTT 100, RTTVAR 37.5, RTO 250 ms.
    d.at(1.4).ack(6001);
    d.expects_new(1.4, 6001..9001);
    d.expects(1.65).retransmitted(6001..7001);
}

/// RFC 7323, section 4.1: the echo identifies the transmission that was acknowledged.
#[test]
fn ack_of_a_retransmission_is_a_sample_with_timestamps() {
    let mut d = Dialogue::client(TcpConfig { timestamps: true, ..one_segment() });
    d.expects(0.0).syn();
    d.at(0.1).syn_with(true, Some(OPTIONS), Some(Timestamps { value: 5, echo: 0 }));
    d.expects(0.1).data(1..1001).echoes(5);
    d.expects(0.4).retransmitted(1..1001);
    let timestamps = Some(Timestamps { value: 6, echo: 400 });
    d.at(0.5).segment(Segment { seq: 1, ack: 1001, window: 1 << 20, flags: Flags::ACK, timestamps, ..Segment::default() });
    d.expects(0.5).data(1001..2001);
    d.expects(0.5).data(2001..3001);
    // SRTT 100, RTTVAR 37.5: 250 ms, without backoff.
    d.expects(0.75).retransmitted(1001..2001);
}

/// RFC 6298, section 3: an ACK that covers a retransmission and more gives no sample, as the rest
/// may have waited.
#[test]
fn segment_behind_a_retransmission_is_no_sample() {
    let mut d = Dialogue::sender(TcpConfig { initial_window: 4.0, ..tcp(NewReno) });
    d.expects_new(0.1, 1..4001);
    d.at(0.2).acks(1, 3);
    d.expects(0.2).retransmitted(1..1001);
    d.at(0.3).ack(4001);
    let sample = d.endpoint.sample();
    assert_eq!(sample.srtt_ms, Some(100.0));
    assert_eq!(d.endpoint.sender_stats(time(0.3)).rtt.count(), 0);
}

/// 7/8 of 100 ms and 1/8 of 180, then 1/8 of 190; of segments SACKed together the first sent gives
/// the sample.
#[test]
fn sack_gives_an_rtt_sample_without_an_advance() {
    for (sack_rtt, expected) in [(true, [110.0, 120.0]), (false, [100.0, 100.0])] {
        let mut d = Dialogue::sender(TcpConfig { initial_window: 4.0, sack_rtt, ..tcp(Sack) });
        d.expects_new(0.1, 1..4001);
        for (at, block, srtt) in [(0.28, 1001..2001, expected[0]), (0.29, 1001..4001, expected[1])] {
            d.at(at).sack(1, &[block]);
            assert_eq!(d.endpoint.sample().srtt_ms, Some(srtt), "{sack_rtt} at {at}");
        }
    }
}

/// Notes the RTT of each delivery, in milliseconds; the window is constant.
#[derive(Debug, Clone)]
struct RttNotes(Arc<Mutex<Vec<Option<f64>>>>);

impl CongestionControl for RttNotes {
    fn on_ack(&mut self, _: &Ack) {}
    fn wants_delivery_rate(&self) -> bool {
        true
    }
    fn on_delivery(&mut self, ack: &Ack) {
        self.0.lock().unwrap().push(ack.rtt.map(|rtt| rtt.as_millis().round()));
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_recovered(&mut self, _: Time, _: f64) {}
    fn cwnd(&self) -> f64 {
        4.0
    }
    fn ssthresh(&self) -> f64 {
        4.0
    }
}

impl UserControl for RttNotes {
    fn copy(&self) -> Box<dyn UserControl> {
        Box::new(self.clone())
    }
}

/// Of segments SACKed together the last one gives the congestion control its RTT. Behind a
/// retransmission the timestamp echo does (`d.at(0.5)` echoes what the retransmission carried).
/// Without samples by SACK neither does.
#[test]
fn congestion_control_gets_the_rtt_of_the_last_sacked_segment_or_the_echo() {
    for (sack_rtt, expected) in [(true, [Some(100.0), Some(190.0), Some(200.0)]), (false, [Some(100.0), None, None])] {
        let notes = RttNotes(Arc::default());
        let user = UserVariant::new("notes", {
            let notes = notes.clone();
            move |_| Box::new(notes.clone())
        });
        let config = TcpConfig { initial_window: 4.0, user: Some(user), timestamps: true, sack_rtt, ..tcp(Sack) };
        let mut d = Dialogue::client(config);
        let timestamps = |echo| Some(Timestamps { value: 5, echo });
        d.expects(0.0).syn();
        d.at(0.1).syn_with(true, Some(OPTIONS), timestamps(0));
        let ack = |ack: u64, echo: u32| Segment {
            seq: 1,
            ack,
            flags: Flags::ACK,
            window: 60_000,
            timestamps: timestamps(echo),
            ..Segment::default()
        };
        let mut behind_a_hole = ack(1001, 100);
        behind_a_hole.sack.push(2001, 4001);
        d.expects_new(0.1, 1..4001);
        d.at(0.2).segment(ack(1001, 100));
        d.at(0.29).segment(behind_a_hole);
        d.at(0.5).segment(ack(4001, 300));
        assert_eq!(*notes.0.lock().unwrap(), expected, "{sack_rtt}");
    }
}

/// RFC 6298, (5.2).
#[test]
fn no_rto_runs_when_everything_is_acknowledged() {
    let mut d = Dialogue::sender_with(tcp(NewReno), BulkSource::new(1500, Time::NEVER), 65_535);
    d.expects(0.1).data(1..1001);
    d.expects(0.1).data(1001..1501).fin();
    d.at(0.2).ack(1502);
    assert_eq!(d.endpoint.due(), Time::NEVER);
    d.sends_nothing_until(1000.0);
}
