//! A dialogue with one endpoint: what arrives at it, and what it must send. Times are in seconds,
//! windows in segments, the rest in bytes.

pub use crate::dialogue::sent_segment::SegmentCheck;
use ackclock_core::app::{AnyApp, BulkSource, Responder, Sink};
use ackclock_core::endpoint::Endpoint;
use ackclock_core::packet::{Arena, Body, Ecn, Flags, SackBlocks, Segment, SynOptions, Timestamps};
use ackclock_core::tcp::{RecoveryKind, TcpConfig, TcpEndpoint, WindowRule};
use ackclock_core::units::{Rate, Span, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// Payload of a full segment: segment n is bytes 1000 n + 1 to 1000 (n + 1).
pub const SEGMENT: u64 = 1000;

/// A plain TCP: no timestamps, an ACK for every segment, RTO of at least 200 ms, initial window of
/// ten segments.
pub fn tcp(recovery: RecoveryKind) -> TcpConfig {
    TcpConfig {
        recovery,
        segment: SEGMENT as u32,
        sack: recovery.uses_sack(),
        timestamps: false,
        window_rule: WindowRule::Sequence,
        initial_window: 10.0,
        rto_initial: Span::from_secs(1),
        ..TcpConfig::default()
    }
}

pub fn time(seconds: f64) -> Time {
    Time(Span::from_secs_f64(seconds).0)
}

pub struct Dialogue {
    pub endpoint: TcpEndpoint,
    arena: Arena,
    now: Time,
    sent: VecDeque<(Time, Segment)>,
    /// The window that `ack` advertises.
    pub window: u32,
}

impl Dialogue {
    fn new(endpoint: TcpEndpoint) -> Dialogue {
        let arena = Arena::default();
        Dialogue { endpoint, arena, now: Time::ZERO, sent: VecDeque::new(), window: 65_535 }
    }

    /// A client that connects at 0 and sends without end.
    pub fn client(config: TcpConfig) -> Dialogue {
        Self::client_with(config, BulkSource::new(u64::MAX, Time::NEVER))
    }

    pub fn client_with(config: TcpConfig, source: BulkSource) -> Dialogue {
        Self::new(TcpEndpoint::client(config, AnyApp::BulkSource(source), Time::ZERO))
    }

    /// A server that reads at once (or no faster than `rate`).
    pub fn server(config: TcpConfig, rate: Option<Rate>) -> Dialogue {
        Self::new(TcpEndpoint::server(config, AnyApp::Sink(Sink::new(rate))))
    }

    /// A server that answers each `request` bytes with `answer` bytes; its handshake took from 0 to
    /// 0.1.
    pub fn answering(config: TcpConfig, request: u64, answer: u64) -> Dialogue {
        let mut d = Self::new(TcpEndpoint::server(config, AnyApp::Responder(Responder::new(request, answer))));
        d.at(0.0).syn();
        d.expects(0.0).syn();
        d.at(0.1).ack(1);
        d
    }

    /// A sender whose handshake took from 0 to 0.1, so that SRTT is 100 ms and RTO 300 ms; its
    /// first window is sent at 0.1.
    pub fn sender(config: TcpConfig) -> Dialogue {
        Self::sender_with(config, BulkSource::new(u64::MAX, Time::NEVER), 65_535)
    }

    pub fn sender_with(config: TcpConfig, source: BulkSource, window: u32) -> Dialogue {
        let mut d = Self::client_with(config, source);
        d.window = window;
        d.expects(0.0).syn();
        d.at(0.1).syn_ack();
        d
    }

    /// A receiver whose handshake took from 0 to 0.1.
    pub fn receiver(config: TcpConfig, rate: Option<Rate>) -> Dialogue {
        let mut d = Self::server(config, rate);
        d.at(0.0).syn();
        d.expects(0.0).syn();
        d.at(0.1).ack(1);
        d
    }

    fn drain(&mut self) {
        for _ in 0..100_000 {
            let Some(out) = self.endpoint.poll(self.now, &mut self.arena) else { return };
            if let Body::Segment(segment) = self.arena.get(out.body) {
                assert_eq!(out.len, segment.len);
                self.sent.push_back((self.now, *segment));
            }
            self.arena.release(out.body);
        }
        panic!("endpoint does not stop sending at {:?}", self.now);
    }

    /// Runs timers that are due up to and including `to`.
    fn run_to(&mut self, to: Time) {
        while self.endpoint.due() <= to {
            let due = self.endpoint.due().max(self.now);
            self.now = due;
            self.endpoint.on_timer(due);
            self.drain();
            assert!(self.endpoint.due() > due, "due again at {due:?}");
        }
        self.now = self.now.max(to);
    }

    /// An arrival at the endpoint at this time.
    pub fn at(&mut self, seconds: f64) -> Arrival<'_> {
        self.run_to(time(seconds));
        Arrival(self)
    }

    /// The next segment, which the endpoint must send at this time.
    pub fn expects(&mut self, seconds: f64) -> SegmentCheck {
        let at = time(seconds);
        if self.sent.is_empty() {
            self.run_to(at);
        }
        let Some((when, segment)) = self.sent.pop_front() else {
            panic!("nothing sent at {seconds} s, due {:?}", self.endpoint.due())
        };
        assert!(when.since(at).max(at.since(when)) < Span::from_us(1), "{segment:?} at {when:?}, not {seconds} s");
        SegmentCheck(segment)
    }

    /// Full segments of new data that together are these bytes, all sent at this time.
    pub fn expects_new(&mut self, seconds: f64, bytes: Range<u64>) {
        let mut seq = bytes.start;
        while seq < bytes.end {
            self.expects(seconds).data(seq..(seq + SEGMENT).min(bytes.end));
            seq += SEGMENT;
        }
    }

    /// Nothing has been sent and nothing is sent until this time.
    pub fn sends_nothing_until(&mut self, seconds: f64) {
        self.run_to(time(seconds));
        assert!(self.sent.is_empty(), "sent {:?}", self.sent);
    }

    /// Runs to this time and ignores segments sent.
    pub fn run_until(&mut self, seconds: f64) {
        self.run_to(time(seconds));
        self.sent.clear();
    }

    /// An RTT: everything in flight is acknowledged, `segments_per_ack` per ACK. Segments sent are
    /// ignored.
    pub fn round(&mut self, seconds: f64, segments_per_ack: u64) {
        let sample = self.endpoint.sample();
        let una = sample.delivered_bytes + 1;
        let end = una + sample.flight_bytes;
        let mut ack = una;
        while ack < end {
            ack = (ack + segments_per_ack * SEGMENT).min(end);
            self.at(seconds).ack(ack);
        }
        self.sent.clear();
    }

    /// All segments sent since the last call.
    pub fn all_sent(&mut self) -> Vec<Segment> {
        self.sent.drain(..).map(|(_, segment)| segment).collect()
    }

    /// cwnd and ssthresh in segments.
    pub fn window_is(&self, cwnd: f64, ssthresh: f64) {
        let sample = self.endpoint.sample();
        let bytes = SEGMENT as f64;
        assert_eq!((sample.cwnd_bytes / bytes, sample.ssthresh_bytes / bytes), (cwnd, ssthresh), "cwnd and ssthresh");
    }

    pub fn cwnd(&self) -> f64 {
        self.endpoint.sample().cwnd_bytes / SEGMENT as f64
    }
}

/// An arrival at the endpoint.
pub struct Arrival<'a>(&'a mut Dialogue);

impl Arrival<'_> {
    pub fn segment(self, segment: Segment) {
        self.segment_as(Ecn::NotEct, segment);
    }
    /// A segment in a packet with this codepoint.
    pub fn segment_as(self, ecn: Ecn, segment: Segment) {
        self.0.endpoint.receive(self.0.now, &Body::Segment(segment), ecn);
        self.0.drain();
    }

    pub fn syn_with_flags(self, flags: Flags) {
        let window = self.0.window.min(65_535);
        self.segment(Segment { flags: Flags::SYN.with(flags), window, syn: Some(OPTIONS), ..Segment::default() });
    }
    pub fn syn_ack_with_flags(self, flags: Flags) {
        let window = self.0.window.min(65_535);
        let flags = Flags::SYN.with(Flags::ACK).with(flags);
        self.segment(Segment { ack: 1, flags, window, syn: Some(OPTIONS), ..Segment::default() });
    }
    pub fn ack_with_flags(self, ack: u64, flags: Flags) {
        let window = self.0.window;
        self.segment(Segment { seq: 1, ack, window, flags: Flags::ACK.with(flags), ..Segment::default() });
    }
    pub fn data_with_flags(self, bytes: Range<u64>, flags: Flags) {
        self.segment(piece(bytes, Flags::ACK.with(flags)));
    }
    /// Data with more data behind it at the same instant.
    pub fn data_before_more(self, bytes: Range<u64>) {
        self.0.endpoint.receive_more_coming(self.0.now, &Body::Segment(piece(bytes, Flags::ACK)), Ecn::NotEct);
        self.0.drain();
    }
    /// Data marked CE by a queue.
    pub fn marked_data(self, bytes: Range<u64>) {
        self.segment_as(Ecn::Ce, piece(bytes, Flags::ACK));
    }

    pub fn syn_with(self, answer: bool, syn: Option<SynOptions>, timestamps: Option<Timestamps>) {
        let flags = if answer { Flags::SYN.with(Flags::ACK) } else { Flags::SYN };
        let window = self.0.window.min(65_535);
        self.segment(Segment { ack: u64::from(answer), flags, window, syn, timestamps, ..Segment::default() });
    }
    pub fn syn(self) {
        self.syn_with(false, Some(OPTIONS), None);
    }
    pub fn syn_ack(self) {
        self.syn_with(true, Some(OPTIONS), None);
    }

    pub fn ack(self, ack: u64) {
        let window = self.0.window;
        self.ack_with_window(ack, window);
    }
    pub fn acks(self, ack: u64, times: usize) {
        for _ in 0..times {
            Arrival(&mut *self.0).ack(ack);
        }
    }
    pub fn ack_with_window(self, ack: u64, window: u32) {
        self.segment(Segment { seq: 1, ack, window, flags: Flags::ACK, ..Segment::default() });
    }
    /// An ACK number, and SACK blocks.
    pub fn sack(self, ack: u64, blocks: &[Range<u64>]) {
        let mut sack = SackBlocks::default();
        for block in blocks {
            sack.push(block.start, block.end);
        }
        let window = self.0.window;
        self.segment(Segment { seq: 1, ack, window, sack, flags: Flags::ACK, ..Segment::default() });
    }

    pub fn data(self, bytes: Range<u64>) {
        self.data_with_timestamps(bytes, None);
    }
    /// Data with an ACK.
    pub fn ack_and_data(self, ack: u64, bytes: Range<u64>) {
        self.segment(Segment { ack, ..piece(bytes, Flags::ACK) });
    }
    pub fn data_with_timestamps(self, bytes: Range<u64>, timestamps: Option<Timestamps>) {
        self.segment(Segment { timestamps, ..piece(bytes, Flags::ACK) });
    }
    /// Payload (or none) and the FIN.
    pub fn fin(self, bytes: Range<u64>) {
        self.segment(piece(bytes, Flags::ACK.with(Flags::FIN)));
    }
}

fn piece(bytes: Range<u64>, flags: Flags) -> Segment {
    let payload = (bytes.end - bytes.start) as u32;
    Segment { seq: bytes.start, ack: 1, payload, flags, len: payload as u16 + 40, window: 1_000_000, ..Segment::default() }
}

/// All options that a SYN can offer.
pub const OPTIONS: SynOptions = SynOptions { mss: 1460, window_scale: Some(7), sack_permitted: true };
