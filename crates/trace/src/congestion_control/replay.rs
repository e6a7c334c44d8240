//! One congestion control run along a script: its window beside the one seen.

use super::flight_log::{FlightEvent, FlightLog};
use super::script::{Action, Script};
use ackclock_core::tcp::TcpConfig;
use ackclock_core::tcp::cc::slow_start::{ClassicSlowStart, Hystart, SlowStart};
use ackclock_core::tcp::cc::{
    Ack, AnyCc, Congestion, CongestionControl, CongestionSignal, CongestionWindow, EcnResponse, Variant,
};
use ackclock_core::tcp::{CaState, LinuxRules};
use ackclock_core::units::{Span, Time};

/// A window that a congestion control would have had, and the one seen. In segments.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    pub predicted: f64,
    pub seen: f64,
    /// The flight before the reduction, or the window from which it grew.
    pub since: f64,
    /// After a reduction; else at the end of a round of growth.
    pub is_reduction: bool,
    /// Such a reduction of a window that grew in slow start.
    pub from_slow_start: bool,
    /// The last of those that are weighed together.
    pub is_last: bool,
}

/// Deviation from the window seen beyond which a replay begins again with it: a share, and in segments.
const FAR: f64 = 0.1;
const FAR_SEGMENTS: f64 = 1.5;

/// A congestion control along a log.
struct Replay<'a> {
    cc: AnyCc,
    log: &'a FlightLog,
    acked: u64,
    sent: u64,
    /// Bytes acknowledged, and delivered, that are no whole segment yet.
    unacked_part: u32,
    undelivered_part: u32,
    in_flight: u32,
    /// The window at the end of the last recovery.
    recovered: f64,
    srtt: Option<Span>,
    min_rtt: Option<Span>,
    recovering: bool,
    window_full: bool,
}

/// How a congestion control is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// As Linux 6 does, in its integers; as by its paper where Linux has it not.
    Linux,
    /// By its paper, or as the Linux of the papers did.
    Papers,
}

/// All comparisons of a congestion control, in order.
pub fn replay(log: &FlightLog, script: &Script, variant: Variant, form: Form) -> Vec<Comparison> {
    let config = TcpConfig {
        variant,
        slow_start: SlowStart::Hystart(Hystart::LINUX),
        first_climb: 0.05,
        segment: log.of.mss,
        rto_tick: Span::from_ms(4),
        linux_rules: LinuxRules::all(),
        ..TcpConfig::default()
    };
    let window = CongestionWindow { cwnd: 10.0, ssthresh: f64::INFINITY };
    let linux = (form == Form::Linux).then(|| variant.build_linux(window, &config)).flatten();
    let cc = linux.unwrap_or_else(|| variant.build(window, SlowStart::Classic(ClassicSlowStart)));
    let mut replay = Replay {
        cc,
        log,
        acked: 0,
        sent: 0,
        unacked_part: 0,
        undelivered_part: 0,
        in_flight: 0,
        recovered: 0.0,
        srtt: None,
        min_rtt: None,
        recovering: false,
        window_full: false,
    };
    replay.run(script)
}

impl Replay<'_> {
    fn run(&mut self, script: &Script) -> Vec<Comparison> {
        let mut comparisons = Vec::new();
        if !self.log.entries.is_empty() {
            let established = self.ack(self.now(0), 0, None);
            self.cc.on_established(&established);
        }
        let mut steps = script.steps.iter().peekable();
        for number in 0..self.log.entries.len() {
            let ack = self.observe(number);
            while let Some(step) = steps.next_if(|step| step.entry <= number) {
                comparisons.extend(self.act(number, step.action));
            }
            if let Some(ack) = ack.filter(|ack| !self.recovering && ack.acked > 0) {
                self.cc.on_ack(&Ack { recovering: false, ..ack });
            }
        }
        comparisons
    }

    fn now(&self, number: usize) -> Time {
        let origin = self.log.entries[0].at;
        Time(((self.log.entries[number].at - origin).max(0) as u64 + 1_000_000_000) * 1000)
    }

    fn act(&mut self, number: usize, action: Action) -> Option<Comparison> {
        let now = self.now(number);
        match action {
            Action::Reduce { signal, before } => {
                self.cc.set_cwnd(now, before);
                let state = match signal {
                    CongestionSignal::Timeout => CaState::Loss,
                    CongestionSignal::Ecn => CaState::Cwr,
                    CongestionSignal::Duplicates => CaState::Recovery,
                };
                self.set_state(now, state);
                self.cc.on_congestion(&Congestion { now, signal, flight: before });
                self.recovering = signal != CongestionSignal::Timeout;
                if signal == CongestionSignal::Timeout {
                    self.set_state(now, CaState::Open);
                }
                None
            }
            Action::Recovered => {
                let ssthresh = self.cc.ssthresh();
                self.cc.on_recovered(now, ssthresh);
                self.recovering = false;
                self.set_state(now, CaState::Open);
                self.recovered = self.cc.cwnd();
                None
            }
            Action::Follow { window } => {
                self.cc.set_cwnd(now, window);
                None
            }
            Action::LeaveSlowStart { window } => {
                self.cc.on_restart(now, CongestionWindow { cwnd: window, ssthresh: window });
                None
            }
            Action::CompareReduction { before, window, from_slow_start } => {
                // It has grown in the round, part of which the flight does not show.
                let predicted = (self.recovered + self.cc.cwnd()) / 2.0;
                self.begin_again(now, window);
                Some(Comparison { predicted, seen: window, since: before, is_reduction: true, from_slow_start, is_last: false })
            }
            Action::CompareGrowth { since, window, is_last } => {
                let predicted = self.cc.cwnd();
                if is_last && (predicted - window).abs() > (FAR * window).max(FAR_SEGMENTS) {
                    self.begin_again(now, window);
                }
                Some(Comparison { predicted, seen: window, since, is_reduction: false, from_slow_start: false, is_last })
            }
        }
    }

    /// In congestion avoidance, with this window.
    fn begin_again(&mut self, now: Time, window: f64) {
        let ssthresh = self.cc.ssthresh().min(window);
        self.cc.on_restart(now, CongestionWindow { cwnd: window, ssthresh });
    }

    fn set_state(&mut self, now: Time, state: CaState) {
        if self.cc.follows_state() {
            let ack = self.ack(now, 0, None);
            self.cc.on_state(state, &ack);
        }
    }

    fn ack(&self, now: Time, segments: u32, rtt: Option<Span>) -> Ack {
        Ack {
            now,
            growth_credit: f64::from(segments),
            acked: segments,
            delivered: segments,
            rtt,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            cwnd_limited: !self.window_full,
            recovering: self.recovering,
            acked_total: self.acked / u64::from(self.log.of.mss),
            sent: self.sent / u64::from(self.log.of.mss),
            ..Ack::default()
        }
    }

    /// What the congestion control learns of every packet, in recovery or not, before it acts. Returns
    /// the ACK.
    fn observe(&mut self, number: usize) -> Option<Ack> {
        let entry = self.log.entries[number];
        let ack = match entry.event {
            FlightEvent::Sent => {
                self.sent += u64::from(entry.bytes);
                None
            }
            FlightEvent::Retransmitted | FlightEvent::TimedOut => None,
            FlightEvent::Acked => Some(self.on_ack(number)),
        };
        self.in_flight = entry.in_flight;
        ack
    }

    fn on_ack(&mut self, number: usize) -> Ack {
        let entry = self.log.entries[number];
        let mss = self.log.of.mss;
        let now = self.now(number);
        let is_data = self.sent > 0;
        self.acked += u64::from(entry.bytes);
        self.sent = self.sent.max(self.acked);
        let acked = take_segments(&mut self.unacked_part, entry.bytes, mss);
        // What SACK has reported before was delivered then.
        let delivered = take_segments(&mut self.undelivered_part, self.in_flight.saturating_sub(entry.in_flight), mss);
        self.window_full = entry.window_full;
        // The RTT of the SYN-ACK is none of the data's.
        let rtt = (entry.rtt_us > 0 && is_data).then(|| Span::from_us(entry.rtt_us.into()));
        if let Some(rtt) = rtt {
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| Span(srtt.0 - srtt.0 / 8 + rtt.0 / 8)));
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        let ack = Ack { acked, delivered, in_flight: entry.in_flight / mss, ..self.ack(now, delivered.min(acked), rtt) };
        if self.cc.ecn_response() != EcnResponse::Cut {
            let marked = if entry.marked { f64::from(acked) } else { 0.0 };
            self.cc.on_marks(&Ack { delivered: acked, marked, ..ack });
        }
        if self.cc.follows_state() {
            self.cc.on_acked(&ack);
        }
        if self.cc.wants_delivery_rate() {
            self.cc.on_delivery(&ack);
        }
        ack
    }
}

/// The whole segments in `bytes` and in the rest of those before.
fn take_segments(rest: &mut u32, bytes: u32, mss: u32) -> u32 {
    let all = *rest + bytes;
    *rest = all % mss;
    all / mss
}
