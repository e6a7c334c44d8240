//! The programs, compiled for the host, and the simulator's variants hear the same ACKs and losses, and are asked for their windows
//! after each.

#[path = "support/socket.rs"]
mod socket;

use ackclock_core::tcp::cc::slow_start::{Classic, SlowStart};
use ackclock_core::tcp::cc::{Ack, AnyCc, Congestion, CongestionControl, CongestionSignal, CongestionWindow, Variant};
use ackclock_core::units::{Span, Time};
use socket::{Connection, NO_THRESHOLD, Operations};

/// Both ends of the comparison, and the path between.
struct Pair {
    program: Connection,
    model: AnyCc,
    now_us: u64,
    acked_total: u64,
    sent: u64,
    dice: u64,
}

/// What may differ: windows by so many segments, as the program's numbers are whole.
struct Tolerance {
    segments: f64,
    share: f64,
}

const EXACT: Tolerance = Tolerance { segments: 0.0, share: 0.0 };

impl Pair {
    fn new(control: &'static Operations, variant: &str, seed: u64) -> Pair {
        let window = CongestionWindow { cwnd: 10.0, ssthresh: f64::INFINITY };
        let model = Variant::from_name(variant).expect("one of the five").build(window, SlowStart::Classic(Classic));
        Pair { program: Connection::new(control, 10), model, now_us: 1_000_000, acked_total: 0, sent: 0, dice: seed }
    }

    /// A number below `faces`: the same for every run of a seed (xorshift, Marsaglia 2003).
    fn roll(&mut self, faces: u64) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice % faces
    }

    fn time(&self) -> Time {
        Time::ZERO + Span::from_us(self.now_us)
    }

    /// One ACK of so many segments, `gap_us` after the last. In a recovery it only tells of arrivals.
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
        for _ in 0..self.roll(20) {
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

    /// A loss that was none: both are where they were.
    fn spurious(&mut self) {
        let (before, ssthresh, congestion) =
            (self.model.clone(), self.program.socket.ssthresh, self.congestion(CongestionSignal::Duplicates));
        let counted = self.program.socket.counted;
        self.program.lose();
        self.model.on_congestion(&congestion);
        self.program.undo(ssthresh);
        // The kernel begins to count anew, the simulator goes on; for this comparison both go on.
        self.program.socket.counted = counted;
        self.model = before;
    }

    /// One ACK of a path of about 50 ms with a queue that grows with the window, or seldom something worse.
    fn step(&mut self) {
        let waiting = u64::from(self.program.socket.cwnd) * 400;
        let rtt = 50_000 + waiting + self.roll(3000);
        let gap = (rtt / u64::from(self.program.socket.cwnd)).max(1) + self.roll(200);
        self.program.socket.limited = u32::from(self.roll(50) != 0);
        let segments = 1 + u32::from(self.roll(3) == 0);
        let sampled = self.roll(20) != 0;
        self.ack(segments, gap, sampled.then_some(rtt as u32), false);
        match self.roll(2000) {
            0..=3 => self.recovery(),
            4 => self.timeout(),
            5 => self.spurious(),
            _ => {}
        }
    }

    fn assert_together(&self, name: &str, step: usize, tolerance: &Tolerance) {
        let near = |ours: u32, theirs: f64| (f64::from(ours) - theirs).abs() <= tolerance.segments + tolerance.share * theirs;
        let ours = &self.program.socket;
        let threshold = if self.model.ssthresh().is_finite() { self.model.ssthresh() } else { f64::from(NO_THRESHOLD) };
        let (cwnd, ssthresh) = (self.model.cwnd(), threshold);
        assert!(
            near(ours.cwnd, cwnd) && near(ours.ssthresh, ssthresh),
            "{name}, step {step}: program {} of {}, model {cwnd} of {ssthresh}",
            ours.cwnd,
            ours.ssthresh,
        );
    }
}

fn run(control: &'static Operations, variant: &str, tolerance: &Tolerance) {
    for seed in [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        let mut pair = Pair::new(control, variant, seed);
        for step in 0..20_000 {
            pair.step();
            pair.assert_together(variant, step, tolerance);
        }
    }
}

#[test]
fn vegas_in_the_kernel_is_the_simulators() {
    run(unsafe { &socket::vegas_control }, "vegas", &EXACT);
}

#[test]
fn veno_in_the_kernel_is_the_simulators() {
    run(unsafe { &socket::veno_control }, "veno", &EXACT);
}

#[test]
fn westwood_plus_in_the_kernel_is_the_simulators() {
    run(unsafe { &socket::westwood_control }, "westwood+", &EXACT);
}

#[test]
fn bic_in_the_kernel_is_the_simulators() {
    run(unsafe { &socket::bic_control }, "bic", &EXACT);
}

#[test]
fn biad_in_the_kernel_is_the_simulators() {
    run(unsafe { &socket::biad_control }, "biad", &EXACT);
}
