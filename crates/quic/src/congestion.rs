//! ackclock's congestion controls in the stack, and what the stack's own do not show. The stack counts bytes and packet
//! numbers and reports losses at once, ours count segments of the largest datagram and reductions once a round trip
//! (RFC 9002, sections 7.3 and B.2).

use crate::clock::time;
use crate::delivery_rate::{DeliveryRate, SentPacket};
use ackclock_core::tcp::cc::{Ack, AnyCc, Congestion, CongestionControl, CongestionSignal, CongestionWindow};
use ackclock_core::tcp::{CaState, SlowStart, Variant};
use ackclock_core::units::{Span, Time};
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// RFC 9002, section 7.2.
const INITIAL_SEGMENTS: u64 = 10;
const INITIAL_BYTES: u64 = 14_720;
const MIN_SEGMENTS: f64 = 2.0;

/// What a control shows outside of the stack, which shows none of it: bytes in flight, the window in bytes, and whether it
/// recovers from a loss.
#[derive(Debug, Default)]
pub struct Shown {
    pub in_flight: AtomicU64,
    pub window: AtomicU64,
    /// Bytes of packets acknowledged so far.
    pub acked: AtomicU64,
    pub recovers: AtomicBool,
    /// Reductions so far.
    pub cuts: AtomicU64,
}

impl Shown {
    /// By the one control that writes it.
    fn add_acked(&self, bytes: u64) {
        self.acked.store(self.acked.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }

    fn note(&self, in_flight: u64, window: u64, recovers: bool) {
        self.in_flight.store(in_flight, Ordering::Relaxed);
        self.window.store(window, Ordering::Relaxed);
        self.recovers.store(recovers, Ordering::Relaxed);
    }
}

/// Makes controls of the stack that show what the stack keeps to itself.
pub struct WatchedControls {
    pub of_stack: Arc<dyn ControllerFactory + Send + Sync>,
    pub shown: Arc<Shown>,
}

impl ControllerFactory for WatchedControls {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let of_stack = self.of_stack.clone().build(now, mtu);
        Box::new(Watched { of_stack, in_flight: 0, recovery_start: None, shown: self.shown.clone() })
    }
}

/// A control of the stack's.
#[derive(Debug)]
struct Watched {
    of_stack: Box<dyn Controller>,
    in_flight: u64,
    /// The last reduction, until a packet sent after it is acknowledged.
    recovery_start: Option<Instant>,
    shown: Arc<Shown>,
}

impl Watched {
    fn publish(&self) {
        self.shown.note(self.in_flight, self.of_stack.window(), self.recovery_start.is_some());
    }
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest: u64) {
        self.of_stack.on_sent(now, bytes, largest);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        self.of_stack.on_packet_sent(now, bytes, number);
        self.in_flight += u64::from(bytes);
        self.publish();
    }

    fn on_cwnd_limited(&mut self) {
        self.of_stack.on_cwnd_limited();
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, number: u64, app_limited: bool, rtt: &RttEstimator) {
        self.of_stack.on_ack(now, sent, bytes, number, app_limited, rtt);
        self.shown.add_acked(bytes);
        self.recovery_start = self.recovery_start.filter(|start| sent <= *start);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.of_stack.on_end_acks(now, in_flight, app_limited, largest);
        self.in_flight = in_flight;
        self.publish();
    }

    fn on_packet_lost(&mut self, bytes: u16, number: u64, now: Instant) {
        self.of_stack.on_packet_lost(bytes, number, now);
        self.in_flight = self.in_flight.saturating_sub(u64::from(bytes));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost: u64,
    ) {
        let before = self.of_stack.window();
        self.of_stack.on_congestion_event(now, sent, is_persistent, is_ecn, lost_bytes, largest_lost);
        if self.of_stack.window() < before {
            self.recovery_start = Some(now);
            self.shown.cuts.fetch_add(1, Ordering::Relaxed);
        }
        self.publish();
    }

    fn on_spurious_congestion_event(&mut self) {
        self.of_stack.on_spurious_congestion_event();
        self.recovery_start = None;
        self.publish();
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.of_stack.on_mtu_update(mtu);
        self.publish();
    }

    fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: Duration) {
        self.of_stack.on_ack_frequency_update(threshold, max_ack_delay);
    }

    fn window(&self) -> u64 {
        self.of_stack.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.of_stack.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let of_stack = self.of_stack.clone_box();
        Box::new(Watched { of_stack, shown: self.shown.clone(), ..*self })
    }

    fn initial_window(&self) -> u64 {
        self.of_stack.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Makes the control of each connection.
#[derive(Debug, Clone)]
pub struct OurControls {
    pub variant: Variant,
    pub slow_start: SlowStart,
    pub initial_window: Option<u64>,
    /// Where the controls say how many bytes are in flight.
    pub shown: Arc<Shown>,
}

impl ControllerFactory for OurControls {
    fn build(self: Arc<Self>, _now: Instant, mtu: u16) -> Box<dyn Controller> {
        let segment = f64::from(mtu);
        let min = INITIAL_BYTES.max(2 * u64::from(mtu));
        let initial = self.initial_window.unwrap_or((INITIAL_SEGMENTS * u64::from(mtu)).min(min));
        let window = CongestionWindow { cwnd: (initial as f64 / segment).max(1.0), ssthresh: f64::INFINITY };
        let state = State {
            cc: self.variant.build(window, self.slow_start),
            before: None,
            rate: DeliveryRate::new(segment),
            recovery_start: None,
            in_recovery: false,
            established: false,
            sent_segments: 0.0,
            batch: Batch::default(),
        };
        let mut control = OurControl {
            state: Mutex::new(state),
            segment,
            window: 0,
            pacing: None,
            ssthresh: None,
            initial,
            shown: self.shown.clone(),
        };
        control.publish();
        Box::new(control)
    }
}

/// Packets that one ACK newly acknowledges.
#[derive(Debug, Clone, Copy, Default)]
struct Batch {
    bytes: u64,
    /// Of those, sent after the last reduction: the window may grow by them.
    growth: u64,
    newest: Option<SentPacket>,
    lost: f64,
    srtt: Option<Span>,
    min_rtt: Option<Span>,
}

#[derive(Clone)]
struct State {
    cc: AnyCc,
    /// The control before the last reduction, for one that was spurious.
    before: Option<AnyCc>,
    rate: DeliveryRate,
    recovery_start: Option<Time>,
    in_recovery: bool,
    established: bool,
    sent_segments: f64,
    batch: Batch,
}

/// A control of a connection. The window is kept outside: the stack asks for it with every packet.
struct OurControl {
    state: Mutex<State>,
    segment: f64,
    window: u64,
    /// Bytes per second.
    pacing: Option<u64>,
    ssthresh: Option<u64>,
    initial: u64,
    shown: Arc<Shown>,
}

impl fmt::Debug for OurControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OurControl").field("window", &self.window).finish_non_exhaustive()
    }
}

impl OurControl {
    fn state(&mut self) -> &mut State {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&mut self) {
        let segment = self.segment;
        let bytes = |segments: f64| (segments.min(1e9) * segment) as u64;
        let (in_flight, recovers) = (self.state().rate.bytes_in_flight, self.state().in_recovery);
        let cc = &self.state().cc;
        let (cwnd, ssthresh, pacing) = (cc.cwnd(), cc.ssthresh(), cc.pacing_rate());
        self.window = bytes(cwnd.max(MIN_SEGMENTS));
        self.ssthresh = ssthresh.is_finite().then(|| bytes(ssthresh));
        self.pacing = pacing.map(|segments| (segments * segment) as u64);
        self.shown.note(in_flight, self.window, recovers);
    }
}

impl State {
    fn ack(&self, now: Time) -> Ack {
        let in_flight = self.rate.bytes_in_flight as f64 / self.rate.segment;
        Ack {
            now,
            in_flight: in_flight.round() as u32,
            srtt: self.batch.srtt,
            min_rtt: self.batch.min_rtt,
            recovering: self.in_recovery,
            // Those before are acknowledged or lost, as those before TCP's first unacknowledged segment are.
            acked_total: (self.sent_segments - in_flight).max(0.0) as u64,
            sent: self.sent_segments as u64,
            ..Ack::default()
        }
    }

    fn end_batch(&mut self, now: Time, app_limited: bool) {
        let batch = std::mem::take(&mut self.batch);
        let Some(newest) = batch.newest else { return };
        let segment = self.rate.segment;
        let rtt = now.since(newest.sent);
        (self.batch.srtt, self.batch.min_rtt) = (batch.srtt, batch.min_rtt);
        let ends_recovery = self.in_recovery && self.recovery_start.is_none_or(|start| newest.sent > start);
        if ends_recovery {
            self.in_recovery = false;
            self.cc.on_recovered(now, self.cc.cwnd());
        }
        let acked = (batch.bytes as f64 / segment).max(1.0);
        let rate = self.cc.wants_delivery_rate().then(|| self.rate.sample(&newest));
        let ack = Ack {
            growth_credit: batch.growth as f64 / segment,
            acked: acked.round() as u32,
            delivered: acked.round() as u32,
            lost: batch.lost.round() as u32,
            rtt: Some(rtt),
            cwnd_limited: !app_limited,
            rate,
            ..self.ack(now)
        };
        if self.cc.follows_state() {
            if !std::mem::replace(&mut self.established, true) {
                self.cc.on_established(&ack);
            }
            self.cc.on_acked(&ack);
            if ends_recovery {
                self.cc.on_state(CaState::Open, &ack);
            }
        }
        if self.cc.wants_delivery_rate() {
            self.cc.on_delivery(&ack);
        }
        if batch.growth > 0 && (!self.in_recovery || self.cc.controls_recovery()) {
            self.cc.on_ack(&ack);
        }
    }

    fn reduce(&mut self, now: Time, signal: CongestionSignal) {
        self.before = Some(self.cc.clone());
        self.recovery_start = Some(now);
        self.in_recovery = true;
        let flight = self.rate.bytes_in_flight as f64 / self.rate.segment;
        self.cc.on_congestion(&Congestion { now, signal, flight });
        if self.cc.follows_state() {
            let state = match signal {
                CongestionSignal::Duplicates => CaState::Recovery,
                CongestionSignal::Timeout => CaState::Loss,
                CongestionSignal::Ecn => CaState::Cwr,
            };
            let ack = self.ack(now);
            self.cc.on_state(state, &ack);
        }
    }
}

impl Controller for OurControl {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, number: u64) {
        let state = self.state();
        let segments = f64::from(bytes) / state.rate.segment;
        state.sent_segments += segments;
        state.rate.on_sent(time(now), number, u64::from(bytes));
        let in_flight = state.rate.bytes_in_flight;
        self.shown.in_flight.store(in_flight, Ordering::Relaxed);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, number: u64, app_limited: bool, rtt: &RttEstimator) {
        let (now, sent) = (time(now), time(sent));
        let span = |duration: Duration| Span::from_ns(duration.as_nanos() as u64);
        self.shown.add_acked(bytes);
        let state = self.state();
        if app_limited {
            state.rate.on_app_limited();
        }
        let batch = &mut state.batch;
        (batch.srtt, batch.min_rtt) = (Some(span(rtt.get())), Some(span(rtt.min())));
        batch.bytes += bytes;
        if state.recovery_start.is_none_or(|start| sent > start) {
            batch.growth += bytes;
        }
        if let Some(packet) = state.rate.on_acked(now, number, sent)
            && state.batch.newest.is_none_or(|newest| packet.sent >= newest.sent)
        {
            state.batch.newest = Some(packet);
        }
    }

    fn on_end_acks(&mut self, now: Instant, _in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        self.state().end_batch(time(now), app_limited);
        self.publish();
    }

    fn on_packet_lost(&mut self, _bytes: u16, number: u64, now: Instant) {
        let state = self.state();
        let before = state.rate.lost;
        if let Some(loss) = state.rate.on_lost(number) {
            state.batch.lost += state.rate.lost - before;
            if state.cc.wants_delivery_rate() {
                state.cc.on_loss(time(now), &loss);
            }
        }
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent: bool,
        is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost: u64,
    ) {
        let (now, sent) = (time(now), time(sent));
        let state = self.state();
        let signal = match (is_persistent, is_ecn) {
            (true, _) => CongestionSignal::Timeout,
            (false, true) => CongestionSignal::Ecn,
            (false, false) => CongestionSignal::Duplicates,
        };
        if is_persistent || state.recovery_start.is_none_or(|start| sent > start) {
            state.reduce(now, signal);
            self.shown.cuts.fetch_add(1, Ordering::Relaxed);
        }
        self.publish();
    }

    fn on_spurious_congestion_event(&mut self) {
        let state = self.state();
        if let Some(before) = state.before.take()
            && !state.cc.undo()
        {
            state.cc = before;
        }
        state.in_recovery = false;
        self.publish();
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.segment = f64::from(mtu);
        self.state().rate.segment = f64::from(mtu);
        self.publish();
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window;
        metrics.ssthresh = self.ssthresh;
        metrics.pacing_rate = self.pacing;
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::new(OurControl { state: Mutex::new(state), shown: self.shown.clone(), ..*self })
    }

    fn initial_window(&self) -> u64 {
        self.initial
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
