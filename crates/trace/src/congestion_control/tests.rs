//! A sender over a droptail queue, ACK by ACK, whose log is examined. Its congestion controls are those
//! of the papers, not the kernel's in integers, with which the replays begin.

use super::flight_log::{FlightEntry, FlightEvent, FlightLog, LoggedDirection};
use super::script::Script;
use super::{CcFamily, identify};
use crate::decode::{EndpointAddress, Side};
use ackclock_core::tcp::cc::slow_start::{ClassicSlowStart, SlowStart};
use ackclock_core::tcp::cc::{Ack, AnyCc, Congestion, CongestionControl, CongestionSignal, CongestionWindow, Variant};
use ackclock_core::units::{Span, Time};
use std::collections::VecDeque;

const MSS: u32 = 1448;
const BASE_RTT: i64 = 40_000_000;
/// Nanoseconds of a segment at the bottleneck.
const SERVICE: i64 = 1_000_000;

/// A segment in flight, and its ACK's time; none if the queue dropped it.
struct Segment {
    sent_at: i64,
    acked_at: Option<i64>,
}

struct Sender {
    cc: AnyCc,
    /// Maximum flight in segments: of a send buffer.
    buffer: u32,
    queue: i64,
    /// Every segment of so many is lost on the path.
    loss_interval: u64,
    free_at: i64,
    flight: VecDeque<Segment>,
    sent: u64,
    acked: u64,
    recover: Option<u64>,
    entries: Vec<FlightEntry>,
}

fn log(variant: Variant, seconds: i64, queue_segments: i64, buffer: u32) -> FlightLog {
    lossy_log(variant, seconds, queue_segments, buffer, u64::MAX)
}

fn lossy_log(variant: Variant, seconds: i64, queue_segments: i64, buffer: u32, loss_interval: u64) -> FlightLog {
    let window = CongestionWindow { cwnd: 10.0, ssthresh: f64::INFINITY };
    let mut sender = Sender {
        cc: variant.build(window, SlowStart::Classic(ClassicSlowStart)),
        buffer,
        queue: queue_segments * SERVICE,
        loss_interval,
        free_at: 0,
        flight: VecDeque::new(),
        sent: 0,
        acked: 0,
        recover: None,
        entries: Vec::new(),
    };
    sender.fill(1_000_000_000);
    while let Some(at) = sender.flight.iter().find_map(|segment| segment.acked_at) {
        if at > seconds * 1_000_000_000 {
            break;
        }
        sender.on_ack(at);
    }
    flight_log(true, sender.entries)
}

fn flight_log(is_at_sender: bool, entries: Vec<FlightEntry>) -> FlightLog {
    let end = EndpointAddress { ip: 0, port: 0 };
    let of = LoggedDirection { flow: 0, first_frame: 1, ends: [end, end], side: Side::Low, mss: MSS, is_at_sender };
    let mut log = FlightLog::new(of);
    log.entries = entries;
    log
}

impl Sender {
    fn push(&mut self, at: i64, event: FlightEvent, segments: u32, rtt: i64) {
        self.entries.push(FlightEntry {
            at,
            event,
            marked: false,
            window_full: false,
            bytes: segments * MSS,
            in_flight: self.flight.len() as u32 * MSS,
            rtt_us: (rtt / 1000) as u32,
        });
    }

    fn send(&mut self, at: i64, event: FlightEvent) {
        let arrives = at + BASE_RTT / 2;
        let departs = self.free_at.max(arrives) + SERVICE;
        let fits = departs - arrives - SERVICE <= self.queue && !(self.sent + 1).is_multiple_of(self.loss_interval);
        if fits {
            self.free_at = departs;
        }
        self.flight.push_back(Segment { sent_at: at, acked_at: fits.then_some(departs + BASE_RTT / 2) });
        self.sent += 1;
        self.push(at, event, 1, 0);
    }

    fn fill(&mut self, at: i64) {
        while (self.flight.len() as f64) < self.cc.cwnd().floor() && self.flight.len() < self.buffer as usize {
            self.send(at, FlightEvent::Sent);
        }
    }

    /// The ACK of the first segment that was not dropped: those before it are lost.
    fn on_ack(&mut self, at: i64) {
        let now = Time(at as u64 * 1000);
        let flight = self.flight.len() as f64;
        let lost = self.flight.iter().take_while(|segment| segment.acked_at.is_none()).count() as u32;
        if lost > 0 && self.recover.is_none() {
            self.recover = Some(self.sent);
            self.cc.on_congestion(&Congestion { now, signal: CongestionSignal::Duplicates, flight });
            self.push(at, FlightEvent::Retransmitted, lost, 0);
        }
        self.flight.drain(..lost as usize);
        let rtt = self.flight.pop_front().map_or(0, |segment| at - segment.sent_at);
        self.acked += u64::from(lost) + 1;
        self.push(at, FlightEvent::Acked, lost + 1, rtt);
        if self.recover.is_some_and(|recover| self.acked >= recover) {
            self.recover = None;
            let ssthresh = self.cc.ssthresh();
            self.cc.on_recovered(now, ssthresh);
        }
        let is_limited = self.flight.len() + 1 < self.buffer as usize;
        let ack = Ack {
            now,
            growth_credit: 1.0,
            acked: 1,
            delivered: 1,
            rtt: Some(Span::from_ns(rtt as u64)),
            srtt: Some(Span::from_ns(rtt as u64)),
            min_rtt: Some(Span::from_ns(BASE_RTT as u64)),
            cwnd_limited: is_limited,
            acked_total: self.acked,
            sent: self.sent,
            ..Ack::default()
        };
        if self.cc.wants_delivery_rate() {
            self.cc.on_delivery(&ack);
        }
        if self.recover.is_none() {
            self.cc.on_ack(&ack);
        }
        self.fill(at);
    }
}

#[test]
fn family_is_stated_when_losses_reduce_the_window_often_enough() {
    for (variant, family) in [
        (Variant::Reno, CcFamily::RenoLike),
        (Variant::Cubic, CcFamily::CubicLike),
        (Variant::Bic, CcFamily::CubicLike),
        (Variant::WestwoodPlus, CcFamily::AckRateBased),
        (Variant::Vegas, CcFamily::DelayBased),
    ] {
        let found = identify(&log(variant, 60, 25, u32::MAX));
        assert_eq!((found.family, found.is_confident), (family, true), "{variant:?}: {:?}", found.candidates);
        let sum: f64 = found.candidates.iter().map(|candidate| candidate.1).sum();
        assert!((0.9..=1.0 + 1e-9).contains(&sum), "{sum}");
    }
}

/// Where no queue stands, Vegas of the papers grows by a segment in every other round trip, Reno in each.
#[test]
fn vegas_of_the_papers_is_no_reno_when_losses_leave_no_queue() {
    for (variant, family) in [(Variant::Vegas, CcFamily::DelayBased), (Variant::Reno, CcFamily::RenoLike)] {
        let found = identify(&lossy_log(variant, 60, 60, u32::MAX, 397));
        assert_eq!((found.family, found.is_confident), (family, true), "{variant:?}: {:?}", found.candidates);
    }
}

#[test]
fn family_is_unknown_when_the_send_buffer_limits_the_flight() {
    for variant in [Variant::Reno, Variant::Cubic, Variant::Vegas] {
        let found = identify(&log(variant, 60, 25, 30));
        assert_eq!((found.family, found.is_confident), (CcFamily::Unknown, false), "{:?}", found.candidates);
    }
}

#[test]
fn family_is_unknown_when_the_transfer_is_short() {
    let found = identify(&log(Variant::Reno, 3, 25, u32::MAX));
    assert_eq!((found.family, found.is_confident), (CcFamily::Unknown, false));
}

#[test]
fn family_is_unknown_at_the_receiver_when_there_are_no_timestamps() {
    let found = identify(&flight_log(false, Vec::new()));
    assert_eq!((found.family, found.is_confident), (CcFamily::Unknown, false));
}

/// Twenty segments and a recovery, in which the first new segment comes after a gap of `lost` segments; then
/// another retransmission.
fn reductions_at_the_receiver(lost: u32) -> u32 {
    let entry = |event, segments: u32, in_flight: u32| FlightEntry {
        at: 0,
        event,
        marked: false,
        window_full: false,
        bytes: segments * MSS,
        in_flight: in_flight * MSS,
        rtt_us: 0,
    };
    let sent = (1..=20).map(|flight| entry(FlightEvent::Sent, 1, flight));
    let recovery = [
        entry(FlightEvent::Retransmitted, 1, 20),
        entry(FlightEvent::Sent, 1 + lost, 20),
        entry(FlightEvent::Acked, 20, 1 + lost),
        entry(FlightEvent::Retransmitted, 1, 1 + lost),
    ];
    Script::of(&flight_log(false, sent.chain(recovery).collect())).reductions
}

#[test]
fn reduction_is_one_when_the_last_segments_before_it_are_lost_unseen() {
    assert_eq!(reductions_at_the_receiver(2), 1);
}

#[test]
fn reductions_are_two_when_a_segment_is_lost_after_the_recovery() {
    assert_eq!(reductions_at_the_receiver(0), 2);
}

#[test]
fn every_family_has_a_variant() {
    for family in CcFamily::ALL.iter().filter(|family| **family != CcFamily::Unknown) {
        assert!(Variant::ALL.iter().any(|variant| super::family_of(*variant) == *family), "{}", family.name());
    }
}
