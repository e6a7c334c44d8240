//! Compares each program, compiled for the host, with the simulator's variant: both process the
//! same ACKs and losses, and must have the same window after each.

#[path = "support/socket.rs"]
mod socket;

use ackclock_core::tcp::cc::slow_start::{ClassicSlowStart, SlowStart};
use ackclock_core::tcp::cc::{Ack, AnyCc, Congestion, CongestionControl, CongestionSignal, CongestionWindow, Variant};
use ackclock_core::units::{Span, Time};
use socket::{Connection, NO_THRESHOLD, Operations};

/// A program, its model, and the state of the connection that drives both.
struct Lockstep {
    program: Connection,
    model: AnyCc,
    now_us: u64,
    acked_total: u64,
    sent: u64,
    /// State of the random number generator.
    random: u64,
}

/// Maximum difference of the windows: absolute, and relative to the model's.
struct Tolerance {
    segments: f64,
    share: f64,
}

const EXACT: Tolerance = Tolerance { segments: 0.0, share: 0.0 };

impl Lockstep {
    fn new(control: &'static Operations, variant: &str, seed: u64) -> Lockstep {
        let window = CongestionWindow { cwnd: 10.0, ssthresh: f64::INFINITY };
        let model = Variant::from_name(variant).expect("one of the five").build(window, SlowStart::Classic(ClassicSlowStart));
        Lockstep { program: Connection::new(control, 10), model, now_us: 1_000_000, acked_total: 0, sent: 0, random: seed }
    }

    /// A pseudo-random number below `bound` (xorshift, Marsaglia 2003).
    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound
    }

    fn time(&self) -> Time {
        Time::ZERO + Span::from_us(self.now_us)
    }

    /// Processes an ACK of `segments` segments, `gap_us` after the last ACK. During recovery it
    /// only counts as delivery.
    fn ack(&mut self, segments: u32, gap_us: u64, rtt_us: Option<u32>, recovering: bool) {
        self.now_us += gap_us;
        self.sent = self.sent.max(self.acked_total + u64::from(self.program.socket.cwnd));
        self.program.socket.now_us = self.now_us;
        self.program.send_to(self.sent as u32);
        self.acked_total += u64::from(segments);
        self.sent = self.sent.max(self.acked_total);
        let ack = Ack {
            now: self.time(),
            growth_credit: f64::from(segments),
            acked: segments,
            delivered: segments,
            rtt: rtt_us.map(|us| Span::from_us(u64::from(us))),
            cwnd_limited: self.program.socket.limited != 0,
            acked_total: self.acked_total,
            sent: self.sent,
            ..Ack::default()
        };
        self.model.on_delivery(&ack);
        if recovering {
            self.program.deliver(segments, rtt_us);
        } else {
            self.program.acknowledge(segments, rtt_us);
            self.model.on_ack(&ack);
        }
    }

    fn congestion(&self, signal: CongestionSignal) -> Congestion {
        Congestion { now: self.time(), signal, flight: self.model.cwnd() }
    }

    fn recovery(&mut self) {
        let congestion = self.congestion(CongestionSignal::Duplicates);
        self.program.lose();
        self.model.on_congestion(&congestion);
        for _ in 0..self.below(20) {
            self.ack(1, 1000, None, true);
        }
        self.program.recovered();
        self.model.on_recovered(self.time(), self.model.cwnd());
    }

    fn timeout(&mut self) {
        let congestion = self.congestion(CongestionSignal::Timeout);
        self.program.time_out();
        self.model.on_congestion(&congestion);
    }

    /// A spurious loss: the cut is undone in both.
    fn spurious(&mut self) {
        let (before, ssthresh, congestion) =
            (self.model.clone(), self.program.socket.ssthresh, self.congestion(CongestionSignal::Duplicates));
        let counted = self.program.socket.counted;
        self.program.lose();
        self.model.on_congestion(&congestion);
        self.program.undo(ssthresh);
        // The kernel resets snd_cwnd_cnt, the simulator keeps its count: for the comparison both
        // keep it.
        self.program.socket.counted = counted;
        self.model = before;
    }

    /// One ACK on a path of 50 ms with a queueing delay proportional to the window; rarely followed
    /// by a loss, an RTO or a spurious loss.
    fn step(&mut self) {
        let queueing = u64::from(self.program.socket.cwnd) * 400;
        let rtt = 50_000 + queueing + self.below(3000);
        let gap = (rtt / u64::from(self.program.socket.cwnd)).max(1) + self.below(200);
        self.program.socket.limited = u32::from(self.below(50) != 0);
        let segments = 1 + u32::from(self.below(3) == 0);
        let has_sample = self.below(20) != 0;
        self.ack(segments, gap, has_sample.then_some(rtt as u32), false);
        match self.below(2000) {
            0..=3 => self.recovery(),
            4 => self.timeout(),
            5 => self.spurious(),
            _ => {}
        }
    }

    fn assert_equal(&self, name: &str, step: usize, tolerance: &Tolerance) {
        let near = |program: u32, model: f64| (f64::from(program) - model).abs() <= tolerance.segments + tolerance.share * model;
        let socket = &self.program.socket;
        let threshold = if self.model.ssthresh().is_finite() { self.model.ssthresh() } else { f64::from(NO_THRESHOLD) };
        let (cwnd, ssthresh) = (self.model.cwnd(), threshold);
        assert!(
            near(socket.cwnd, cwnd) && near(socket.ssthresh, ssthresh),
            "{name}, step {step}: program cwnd {} ssthresh {}, model cwnd {cwnd} ssthresh {ssthresh}",
            socket.cwnd,
            socket.ssthresh,
        );
    }
}

fn run(control: &'static Operations, variant: &str, tolerance: &Tolerance) {
    for seed in [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        let mut lockstep = Lockstep::new(control, variant, seed);
        for step in 0..20_000 {
            lockstep.step();
            lockstep.assert_equal(variant, step, tolerance);
        }
    }
}

#[test]
fn vegas_program_has_the_models_windows_after_every_ack() {
    run(unsafe { &socket::vegas_control }, "vegas", &EXACT);
}

#[test]
fn veno_program_has_the_models_windows_after_every_ack() {
    run(unsafe { &socket::veno_control }, "veno", &EXACT);
}

#[test]
fn westwood_plus_program_has_the_models_windows_after_every_ack() {
    run(unsafe { &socket::westwood_control }, "westwood+", &EXACT);
}

#[test]
fn bic_program_has_the_models_windows_after_every_ack() {
    run(unsafe { &socket::bic_control }, "bic", &EXACT);
}

#[test]
fn biad_program_has_the_models_windows_after_every_ack() {
    run(unsafe { &socket::biad_control }, "biad", &EXACT);
}
