//! What is acknowledged, and when: reassembly, delayed ACKs, SACK blocks and the advertised window.

use super::ack_rate::{AckControl, AckPace};
use super::autotune::WindowTuner;
use super::config::{DelayedAck, TcpConfig, WindowRule};
use super::ranges::RangeSet;
use super::sack_compression::SackHold;
use super::sender::STREAM_START;
use super::stats::ReceiverStats;
use crate::packet::{Flags, SackBlocks, Segment};
use crate::units::{Span, Time};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Receiver {
    config: Arc<TcpConfig>,
    /// First byte that has not arrived in order.
    next: u64,
    out_of_order: RangeSet,
    /// A byte of each block, the most recently changed first (RFC 2018, section 4).
    recent: Vec<u64>,
    /// What arrived twice since the last ACK (RFC 2883).
    twice: Option<(u64, u64)>,
    /// Sequence number of the peer's FIN.
    fin: Option<u64>,
    /// In-order segments since the last ACK.
    unacknowledged: u32,
    /// When an ACK may wait for more: the host's rule, or what the congestion of ACKs makes of it.
    delayed_ack: Option<DelayedAck>,
    /// Segments out of order since the last in order.
    early: u32,
    control: Option<AckControl>,
    pace: Option<AckPace>,
    /// Segments still to be acknowledged one by one.
    quick_acks: u32,
    /// None: every segment out of order is acknowledged at once.
    hold: Option<Box<SackHold>>,
    /// None: the buffer keeps its size.
    tuner: Option<Box<WindowTuner>>,
    ack_at: Time,
    ack_now: bool,
    window_scale: u8,
    /// First byte beyond the window that the last ACK advertised.
    advertised_edge: u64,
    stats: ReceiverStats,
}

impl Receiver {
    pub fn new(config: Arc<TcpConfig>) -> Receiver {
        let unit = 1 << config.window_scale().unwrap_or(0);
        let tuner = config.receive_tuning.map(|tuning| Box::new(WindowTuner::new(tuning, unit)));
        let window = tuner.as_ref().map_or(u64::from(config.receive_buffer), |t| t.opened());
        Receiver {
            next: STREAM_START,
            out_of_order: RangeSet::default(),
            recent: Vec::new(),
            twice: None,
            fin: None,
            unacknowledged: 0,
            delayed_ack: config.delayed_ack,
            early: 0,
            control: config.ack_control.map(AckControl::new),
            pace: config.acks_per_rtt.map(AckPace::new),
            quick_acks: config.quick_acks,
            hold: config.sack_compression.map(|rule| Box::new(SackHold::new(rule))),
            tuner,
            ack_at: Time::NEVER,
            ack_now: false,
            window_scale: 0,
            // The SYN says as much, unscaled.
            advertised_edge: STREAM_START + window.min(0xFFFF),
            stats: ReceiverStats::default(),
            config,
        }
    }

    /// The peer does no SACK: it counts duplicates, so each must have its own.
    pub fn do_without_sack(&mut self) {
        self.hold = None;
    }

    /// Both ends offered window scaling.
    pub fn scale_windows(&mut self, scale: u8) {
        self.window_scale = scale;
    }

    /// The window that the SYN advertised.
    pub fn first_window(&self) -> u32 {
        (self.advertised_edge - STREAM_START) as u32
    }
    pub fn next_expected(&self) -> u64 {
        self.next
    }
    pub fn arrived(&self) -> u64 {
        self.next - STREAM_START - u64::from(self.peer_closed())
    }
    pub fn peer_closed(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }
    pub fn stats(&self) -> ReceiverStats {
        self.stats
    }
    pub fn due(&self) -> Time {
        self.ack_at
    }

    /// Whether how rarely it acknowledges depends on what comes.
    #[inline]
    pub fn adapts_acks(&self) -> bool {
        self.control.is_some() || self.pace.is_some()
    }

    /// Before data is taken in: what it says of how rarely to acknowledge. `stamp` is our timestamp clock now.
    #[inline(never)]
    pub fn adapt_acks(&mut self, segment: &Segment, stamp: u32, rtt: Option<Span>) {
        if let (Some(pace), Some(rtt)) = (&mut self.pace, rtt) {
            pace.note_rtt(rtt);
        }
        if segment.payload > 0
            && let Some(control) = &mut self.control
        {
            self.delayed_ack = Some(control.on_data(segment, stamp));
        }
    }

    /// The number of the ACK that is being delayed, if one is.
    pub fn delayed(&self) -> Option<u64> {
        (self.unacknowledged > 0 && !self.ack_now).then_some(self.next)
    }

    /// Its data came marked.
    pub fn note_mark(&mut self) {
        self.stats.marked_segments += 1;
    }

    /// What came must be acknowledged at once.
    pub fn hurry(&mut self) {
        self.ack_now = true;
    }

    /// An ACK for what came before the newest segment.
    pub fn earlier_ack(&mut self, seq: u64, ack: u64) -> Segment {
        self.stats.acks_sent += 1;
        let window = self.advertised_edge.saturating_sub(ack).min(0xFFFF_u64 << self.window_scale) >> self.window_scale
            << self.window_scale;
        Segment { seq, ack, flags: Flags::ACK, window: window as u32, ..Segment::default() }
    }

    /// A segment with payload or FIN, or a probe.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        let end = segment.seq.saturating_add(segment.space());
        if segment.space() == 0 {
            // RFC 9293, section 3.10.7.4: an unacceptable segment is answered; this is how a window probe gets its answer.
            self.ack_now |= segment.seq < self.next;
            return;
        }
        if segment.flags.has(Flags::FIN) && end > self.next {
            self.fin.get_or_insert(end - 1);
        }
        if end <= self.next {
            self.stats.duplicates += 1;
            self.twice = self.config.dsack.then_some((segment.seq, end));
            self.ack_now = true;
            self.quick_acks = self.config.quick_acks;
        } else if segment.seq > self.next {
            self.keep_out_of_order(now, segment, end);
        } else {
            self.accept(now, segment, end);
        }
    }

    /// What a segment with payload tells a buffer that grows; `echo_rtt` is what its timestamp echo says.
    pub fn tune(&mut self, now: Time, segment: &Segment, echo_rtt: Option<Span>) {
        if let (Some(hold), Some(rtt)) = (&mut self.hold, echo_rtt.filter(|_| segment.payload > 0)) {
            hold.see(rtt);
        }
        if let Some(tuner) = &mut self.tuner
            && segment.payload > 0
        {
            tuner.on_data(now, echo_rtt, self.next, self.advertised_edge);
        }
    }

    fn keep_out_of_order(&mut self, now: Time, segment: &Segment, end: u64) {
        // RFC 5681, section 4.2: at once, so that duplicate ACKs tell the sender.
        match self.hold.as_mut().filter(|_| self.quick_acks == 0).and_then(|hold| hold.wait(now, self.next)) {
            Some(at) => self.ack_at = self.ack_at.min(at),
            None => self.ack_now = true,
        }
        self.early += 1;
        let room = self.next + u64::from(self.config.receive_buffer);
        if self.config.window_rule == WindowRule::Sequence && end > room {
            return;
        }
        let mut new = false;
        self.out_of_order.insert(segment.seq, end, |_, _| new = true);
        if new {
            self.stats.unique_ip_bytes += u64::from(segment.len);
        } else {
            self.stats.duplicates += 1;
            self.twice = self.config.dsack.then_some((segment.seq, end));
        }
        let (start, end) = self.out_of_order.containing(segment.seq).unwrap_or((segment.seq, end));
        self.recent.retain(|&at| at < start || at >= end);
        self.recent.insert(0, segment.seq);
        self.recent.truncate(16);
    }

    fn accept(&mut self, now: Time, segment: &Segment, end: u64) {
        self.stats.unique_ip_bytes += u64::from(segment.len);
        self.next = end;
        let had_gap = !self.out_of_order.is_empty();
        self.early = 0;
        if had_gap {
            if let Some((_, filled_to)) = self.out_of_order.containing(end).or(self.out_of_order.first().filter(|r| r.0 <= end)) {
                self.next = self.next.max(filled_to);
            }
            self.out_of_order.remove_below(self.next);
            self.recent.retain(|&at| at >= self.next);
        }
        self.stats.in_order_bytes = self.arrived();
        if let Some(tuner) = &mut self.tuner {
            tuner.on_in_order(self.config.segment);
        }
        if self.peer_closed() {
            self.stats.finished.get_or_insert(now);
        }
        self.schedule_ack(now, had_gap && self.config.immediate_ack_on_fill);
    }

    /// RFC 1122, section 4.2.3.2: every so many segments, and no later than the timer.
    fn schedule_ack(&mut self, now: Time, at_once: bool) {
        self.unacknowledged += 1;
        let at_once = at_once || self.quick_acks > 0;
        self.quick_acks = self.quick_acks.saturating_sub(1);
        let Some(delay) = self.delayed_ack.filter(|_| !at_once && !self.peer_closed()) else {
            self.ack_now = true;
            return;
        };
        if self.unacknowledged < delay.segments {
            self.ack_at = self.ack_at.min(now + delay.timer);
        } else if let Some(next) = self.pace.map(|pace| pace.next()).filter(|&next| next > now) {
            self.ack_at = self.ack_at.min(next);
        } else {
            self.ack_now = true;
        }
    }

    pub fn on_timer(&mut self, now: Time) {
        if now >= self.ack_at {
            self.ack_now = true;
        }
    }

    /// The application has read up to `read` bytes: a window that was all but shut is reopened by an ACK of its own.
    pub fn on_read(&mut self, now: Time, read: u64) {
        if let Some(tuner) = &mut self.tuner {
            tuner.on_read(now, read);
        }
        let segment = u64::from(self.config.segment);
        let edge = self.edge(read);
        let worth_telling = self.worth_telling();
        let left_to_peer = self.advertised_edge.saturating_sub(self.next);
        if left_to_peer < segment && edge >= self.advertised_edge + worth_telling {
            self.ack_now = true;
        }
    }

    /// The least by which the window's edge moves, so that no sender is tempted into small segments (RFC 9293, section 3.8.6.2.2).
    fn worth_telling(&self) -> u64 {
        let window = self.tuner.as_ref().map_or(u64::from(self.config.receive_buffer), |t| t.opened());
        u64::from(self.config.segment).min(window / 2).max(1)
    }

    /// First byte that the buffer has no room for.
    fn edge(&self, read: u64) -> u64 {
        let room = match &self.tuner {
            None => STREAM_START + read + u64::from(self.config.receive_buffer),
            Some(tuner) => (STREAM_START + read + tuner.buffer()).min(self.next + tuner.opened()),
        };
        self.next.max(room)
    }

    pub fn wants_ack(&self) -> bool {
        self.ack_now
    }

    /// An ACK goes out, alone or on data: fills in what the receiving half says.
    #[inline]
    pub fn fill(&mut self, now: Time, segment: &mut Segment, read: u64, sack: bool) {
        if let Some(pace) = &mut self.pace {
            pace.on_ack(now);
        }
        segment.ack = self.next;
        segment.flags = segment.flags.with(Flags::ACK);
        segment.window = self.advertise(read);
        if sack && (self.twice.is_some() || !self.out_of_order.is_empty()) {
            segment.sack = self.blocks();
        }
        if self.early >= self.config.dupack_threshold {
            segment.dupacks_seen = self.config.dupack_marking && self.control.is_some();
        }
        if segment.payload == 0 {
            self.stats.acks_sent += 1;
        }
        if let Some(hold) = &mut self.hold {
            hold.on_ack_sent();
        }
        self.unacknowledged = 0;
        self.ack_at = Time::NEVER;
        self.ack_now = false;
    }

    /// The window as 16 scaled bits can say it; its right edge never moves left (RFC 9293, section 3.8.6).
    fn advertise(&mut self, read: u64) -> u32 {
        let room = self.edge(read);
        let slow_reader = read < self.arrived();
        let silly = slow_reader && room < self.advertised_edge + self.worth_telling();
        let edge = if silly { self.next.max(self.advertised_edge) } else { room.max(self.advertised_edge) };
        let most = 0xFFFF_u64 << self.window_scale;
        let window = (edge - self.next).min(most) >> self.window_scale << self.window_scale;
        self.advertised_edge = self.advertised_edge.max(self.next + window);
        window as u32
    }

    /// RFC 2883, section 4: what arrived twice comes first, then the blocks.
    fn blocks(&mut self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let twice = self.twice.take();
        let held = self.recent.iter().filter_map(|&at| self.out_of_order.containing(at));
        for (start, end) in twice.into_iter().chain(held).take(self.config.max_sack_blocks()) {
            blocks.push(start, end);
        }
        blocks
    }
}
