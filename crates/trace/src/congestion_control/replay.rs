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

/// What a sender knows when a packet is sent or acknowledged.
#[derive(Clone, Copy, Default)]
struct SenderState {
    now: Time,
    /// Whole segments.
    acked: u64,
    sent: u64,
    srtt: Option<Span>,
    min_rtt: Option<Span>,
    recovering: bool,
    window_full: bool,
}

/// An ACK of a log. In segments.
struct AckOfLog {
    state: SenderState,
    /// Number of the entry.
    entry: usize,
    acked: u32,
    delivered: u32,
    in_flight: u32,
    rtt: Option<Span>,
    marked: bool,
    /// The window may grow.
    grows: bool,
}

/// What reaches a congestion control along a log: the same for all of them.
pub struct Course<'a> {
    script: &'a Script,
    mss: u32,
    /// None without entries.
    established: Option<SenderState>,
    acks: Vec<AckOfLog>,
    /// For each step of the script.
    states: Vec<SenderState>,
}

/// A congestion control along a log.
struct Replay<'a> {
    cc: AnyCc,
    follows_state: bool,
    /// The window at the end of the last recovery.
    recovered: f64,
    course: &'a Course<'a>,
    /// Number of steps that were made, and the entry of the next.
    made: usize,
    due: usize,
    comparisons: Vec<Comparison>,
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
pub fn replay(course: &Course<'_>, variant: Variant, form: Form) -> Vec<Comparison> {
    let config = TcpConfig {
        variant,
        slow_start: SlowStart::Hystart(Hystart::LINUX),
        first_climb: 0.05,
        segment: course.mss,
        rto_tick: Span::from_ms(4),
        linux_rules: LinuxRules::all(),
        ..TcpConfig::default()
    };
    let window = CongestionWindow { cwnd: 10.0, ssthresh: f64::INFINITY };
    let linux = (form == Form::Linux).then(|| variant.build_linux(window, &config)).flatten();
    let cc = linux.unwrap_or_else(|| variant.build(window, SlowStart::Classic(ClassicSlowStart)));
    let follows_state = cc.follows_state();
    Replay { cc, follows_state, recovered: 0.0, course, made: 0, due: course.due(0), comparisons: Vec::new() }.run()
}

impl Course<'_> {
    pub fn of<'a>(log: &FlightLog, script: &'a Script) -> Course<'a> {
        let mss = log.of.mss;
        let mut course = Course { script, mss, established: None, acks: Vec::new(), states: Vec::new() };
        let mut state = SenderState::default();
        // Bytes acknowledged, and delivered, that are no whole segment yet.
        let (mut unacked_part, mut undelivered_part, mut in_flight) = (0, 0, 0_u32);
        let (mut acked_bytes, mut sent_bytes) = (0, 0);
        let origin = log.entries.first().map_or(0, |first| first.at);
        let mut steps = script.steps.iter().peekable();
        for (number, entry) in log.entries.iter().enumerate() {
            state.now = Time(((entry.at - origin).max(0) as u64 + 1_000_000_000) * 1000);
            course.established.get_or_insert(state);
            let mut acked_now = 0;
            match entry.event {
                FlightEvent::Sent => sent_bytes += u64::from(entry.bytes),
                FlightEvent::Retransmitted | FlightEvent::TimedOut => {}
                FlightEvent::Acked => {
                    let is_data = sent_bytes > 0;
                    acked_bytes += u64::from(entry.bytes);
                    sent_bytes = sent_bytes.max(acked_bytes);
                    state.acked = acked_bytes / u64::from(mss);
                    state.sent = sent_bytes / u64::from(mss);
                    let acked = take_segments(&mut unacked_part, entry.bytes, mss);
                    // What SACK has reported before was delivered then.
                    let delivered = take_segments(&mut undelivered_part, in_flight.saturating_sub(entry.in_flight), mss);
                    state.window_full = entry.window_full;
                    // The RTT of the SYN-ACK is none of the data's.
                    let rtt = (entry.rtt_us > 0 && is_data).then(|| Span::from_us(entry.rtt_us.into()));
                    if let Some(rtt) = rtt {
                        state.srtt = Some(state.srtt.map_or(rtt, |srtt| Span(srtt.0 - srtt.0 / 8 + rtt.0 / 8)));
                        state.min_rtt = Some(state.min_rtt.map_or(rtt, |min| min.min(rtt)));
                    }
                    let in_flight = entry.in_flight / mss;
                    let marked = entry.marked;
                    course.acks.push(AckOfLog { state, entry: number, acked, delivered, in_flight, rtt, marked, grows: false });
                    acked_now = acked;
                }
            }
            in_flight = entry.in_flight;
            state.sent = sent_bytes / u64::from(mss);
            while let Some(step) = steps.next_if(|step| step.entry <= number) {
                course.states.push(state);
                match step.action {
                    Action::Reduce { signal, .. } => state.recovering = signal != CongestionSignal::Timeout,
                    Action::Recovered => state.recovering = false,
                    _ => {}
                }
            }
            if let Some(ack) = course.acks.last_mut().filter(|_| acked_now > 0) {
                ack.grows = !state.recovering;
            }
        }
        course
    }

    /// The entry of the step with this number; the maximum after the last one.
    fn due(&self, number: usize) -> usize {
        if number < self.states.len() { self.script.steps[number].entry } else { usize::MAX }
    }
}

impl SenderState {
    fn ack(&self, segments: u32, rtt: Option<Span>) -> Ack {
        Ack {
            now: self.now,
            growth_credit: f64::from(segments),
            acked: segments,
            delivered: segments,
            rtt,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            cwnd_limited: !self.window_full,
            recovering: self.recovering,
            acked_total: self.acked,
            sent: self.sent,
            ..Ack::default()
        }
    }
}

impl Replay<'_> {
    fn run(mut self) -> Vec<Comparison> {
        let course = self.course;
        let (counts_marks, wants_rate) = (self.cc.ecn_response() != EcnResponse::Cut, self.cc.wants_delivery_rate());
        if let Some(established) = course.established {
            self.cc.on_established(&established.ack(0, None));
        }
        for found in &course.acks {
            // What the congestion control learns of every packet, in recovery or not, before it acts.
            self.act_until(found.entry);
            let AckOfLog { acked, delivered, in_flight, .. } = *found;
            let mut ack = Ack { acked, delivered, in_flight, ..found.state.ack(delivered.min(acked), found.rtt) };
            if counts_marks {
                let marked = if found.marked { f64::from(acked) } else { 0.0 };
                self.cc.on_marks(&Ack { delivered: acked, marked, ..ack });
            }
            if self.follows_state {
                self.cc.on_acked(&ack);
            }
            if wants_rate {
                self.cc.on_delivery(&ack);
            }
            self.act_until(found.entry + 1);
            if found.grows {
                ack.recovering = false;
                self.cc.on_ack(&ack);
            }
        }
        self.act_until(usize::MAX);
        self.comparisons
    }

    /// The steps before this entry.
    #[inline]
    fn act_until(&mut self, entry: usize) {
        while self.due < entry {
            self.act_next();
        }
    }

    #[inline(never)]
    fn act_next(&mut self) {
        let (step, state) = (&self.course.script.steps[self.made], &self.course.states[self.made]);
        let comparison = self.act(state, step.action);
        self.comparisons.extend(comparison);
        self.made += 1;
        self.due = self.course.due(self.made);
    }

    fn act(&mut self, state: &SenderState, action: Action) -> Option<Comparison> {
        let now = state.now;
        match action {
            Action::Reduce { signal, before } => {
                self.cc.set_cwnd(now, before);
                let ca_state = match signal {
                    CongestionSignal::Timeout => CaState::Loss,
                    CongestionSignal::Ecn => CaState::Cwr,
                    CongestionSignal::Duplicates => CaState::Recovery,
                };
                self.set_state(state, ca_state);
                self.cc.on_congestion(&Congestion { now, signal, flight: before });
                if signal == CongestionSignal::Timeout {
                    self.set_state(&SenderState { recovering: false, ..*state }, CaState::Open);
                }
                None
            }
            Action::Recovered => {
                let ssthresh = self.cc.ssthresh();
                self.cc.on_recovered(now, ssthresh);
                self.set_state(&SenderState { recovering: false, ..*state }, CaState::Open);
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

    fn set_state(&mut self, state: &SenderState, ca_state: CaState) {
        if self.follows_state {
            self.cc.on_state(ca_state, &state.ack(0, None));
        }
    }
}

/// The whole segments in `bytes` and in the rest of those before.
fn take_segments(rest: &mut u32, bytes: u32, mss: u32) -> u32 {
    let all = *rest + bytes;
    *rest = all % mss;
    all / mss
}
