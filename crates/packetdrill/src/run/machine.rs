//! The machine under test: one endpoint, its time, and the segments that it has sent.

use super::{Ignored, RunOptions, Stop, TraceLine, show};
use crate::script::{PacketOption, TcpPacket};
use ackclock_core::app::{AnyApp, ControlledApp, SmallSegments, Socket};
use ackclock_core::endpoint::Endpoint;
use ackclock_core::packet::{AccEcn, Arena, Body, Ecn, Flags, RareOption, SackBlocks, Segment, SynOptions, Timestamps, U24};
use ackclock_core::tcp::{TcpConfig, TcpEndpoint, TcpInfo};
use ackclock_core::units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Maximum number of timer expiries and segments in a run.
const MAX_STEPS: u64 = 2_000_000;
/// MSS of a peer that names none (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u16 = 536;
/// IP and TCP header of inbound packets, without options.
const HEADER: u16 = 40;

/// A segment that the endpoint has sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Time,
    pub segment: Segment,
    pub ecn: Ecn,
}

/// The relation of a script's timestamps to the endpoint's clock.
#[derive(Debug, Default)]
struct TimestampMap {
    /// Endpoint's value less the script's, from the first outbound one.
    offset: Option<u32>,
    /// The endpoint's value for each of the script's.
    values: BTreeMap<u32, u32>,
}

pub struct Machine {
    config: Arc<TcpConfig>,
    now: Time,
    arena: Arena,
    endpoint: Option<TcpEndpoint>,
    sent: VecDeque<Sent>,
    /// Shift of the windows that the peer advertises; none before its SYN.
    peer_scale: Option<u8>,
    /// The peer offered window scaling.
    peer_scales: bool,
    timestamps: TimestampMap,
    /// The peer's last AccECN counters.
    peer_accecn: AccEcn,
    tolerance: Span,
    ignored: Ignored,
    checks_timestamps: bool,
    /// A socket listens.
    listens: bool,
    steps: u64,
    statement: usize,
    line: usize,
    trace: Option<Vec<TraceLine>>,
    pub sockets: super::calls::Sockets,
}

impl Machine {
    /// `tolerance`: the script's own or that of the options.
    pub fn new(config: TcpConfig, tolerance: Span, options: &RunOptions) -> Machine {
        Machine {
            config: Arc::new(config),
            now: Time::ZERO,
            arena: Arena::default(),
            endpoint: None,
            sent: VecDeque::new(),
            peer_scale: None,
            peer_scales: false,
            timestamps: TimestampMap::default(),
            peer_accecn: AccEcn { ect0: U24::new(1), ce: U24::new(0), ect1: U24::new(1) },
            tolerance,
            ignored: options.ignored,
            checks_timestamps: false,
            listens: false,
            steps: 0,
            statement: 0,
            line: 0,
            trace: options.trace.then(Vec::new),
            sockets: super::calls::Sockets::default(),
        }
    }

    pub fn now(&self) -> Time {
        self.now
    }
    pub fn tolerance(&self) -> Span {
        self.tolerance
    }
    /// What is not compared.
    pub fn ignored(&self) -> Ignored {
        self.ignored
    }
    pub fn is_reset(&self) -> bool {
        self.endpoint.as_ref().is_some_and(TcpEndpoint::is_reset)
    }

    /// The connection was reset, or both directions are closed and acknowledged.
    fn is_over(&self) -> bool {
        self.endpoint.as_ref().is_some_and(|e| e.is_reset() || (e.finished() && e.socket().peer_closed))
    }
    pub fn info(&self) -> Option<TcpInfo> {
        self.endpoint.as_ref().map(TcpEndpoint::tcp_info)
    }
    pub fn socket(&self) -> Option<Socket> {
        self.endpoint.as_ref().map(TcpEndpoint::socket)
    }
    pub fn is_established(&self) -> bool {
        self.endpoint.as_ref().is_some_and(TcpEndpoint::is_established)
    }

    /// The statement that is played: its place in the script, and its line.
    pub fn at_statement(&mut self, statement: usize, line: usize) {
        (self.statement, self.line) = (statement, line);
    }
    pub fn statement(&self) -> usize {
        self.statement
    }

    pub fn note(&mut self, text: impl FnOnce() -> String) {
        let (time_s, line) = (self.now.as_secs(), Some(self.line));
        if let Some(trace) = &mut self.trace {
            trace.push(TraceLine { time_s, line, text: text() });
        }
    }

    pub fn into_trace(self) -> Vec<TraceLine> {
        self.trace.unwrap_or_default()
    }

    /// Timestamps of outbound segments count milliseconds in the script, too.
    pub fn check_timestamps(&mut self) {
        self.checks_timestamps = true;
    }

    /// Opens a connection to the peer now.
    pub fn connect(&mut self) -> Result<(), Stop> {
        self.begin_connection()?;
        let app = AnyApp::ControlledApp(self.sockets.new_app());
        self.endpoint = Some(TcpEndpoint::client(self.config.clone(), app, self.now));
        self.drain()
    }

    /// Waits for a connection.
    pub fn listen(&mut self) -> Result<(), Stop> {
        self.begin_connection()?;
        self.listens = true;
        let app = AnyApp::ControlledApp(self.sockets.new_app());
        self.endpoint = Some(TcpEndpoint::server(self.config.clone(), app));
        Ok(())
    }

    /// One connection at a time: the one before must be over.
    fn begin_connection(&mut self) -> Result<(), Stop> {
        if self.endpoint.is_some() && !self.is_over() {
            return Err(Stop::unsupported("a second connection beside an open one"));
        }
        self.timestamps = TimestampMap::default();
        self.sockets.begin_connection();
        Ok(())
    }

    /// The listening socket is closed.
    pub fn stop_listening(&mut self) {
        self.listens = false;
    }

    /// Which segments that are not full are sent.
    pub fn set_small_segments(&mut self, small_segments: SmallSegments) -> Result<(), Stop> {
        self.control_app(|app| app.small_segments = small_segments)
    }

    /// Ends the connection with a reset.
    pub fn abort(&mut self) {
        let now = self.now;
        if let Some(reset) = self.endpoint.as_mut().and_then(|endpoint| endpoint.abort(now)) {
            self.push_sent(Sent { at: now, segment: reset, ecn: Ecn::NotEct });
        }
    }

    fn push_sent(&mut self, sent: Sent) {
        self.sent.push_back(sent);
        let text = show::segment(&sent, self.own_scale());
        if let Some(trace) = &mut self.trace {
            trace.push(TraceLine { time_s: sent.at.as_secs(), line: None, text: format!("> {text}") });
        }
    }

    /// The host's answer to a segment that belongs to no connection (RFC 9293, section 3.10.7.1).
    fn refuse(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        let reset = if segment.flags.has(Flags::ACK) {
            Segment { seq: segment.ack, flags: Flags::RST, ..Segment::default() }
        } else {
            let syn = u64::from(segment.flags.has(Flags::SYN));
            let ack = segment.seq + segment.seq_len() + syn;
            Segment { ack, flags: Flags::RST.with(Flags::ACK), ..Segment::default() }
        };
        self.push_sent(Sent { at: self.now, segment: reset, ecn: Ecn::NotEct });
    }

    /// Sets what the application reads, writes and closes.
    pub fn control_app(&mut self, set: impl FnOnce(&mut ControlledApp)) -> Result<(), Stop> {
        let now = self.now;
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.control_app(now, set);
        }
        self.drain()
    }

    fn step(&mut self) -> Result<(), Stop> {
        self.steps += 1;
        if self.steps > MAX_STEPS { Err(Stop::unsupported("more than 2,000,000 segments and timers")) } else { Ok(()) }
    }

    /// When the endpoint does something next.
    pub fn due(&self) -> Time {
        self.endpoint.as_ref().map_or(Time::NEVER, Endpoint::due)
    }

    /// Runs the timers that are due before `to`: a kernel's timer fires up to a tick late, so that a
    /// packet of the same instant comes first.
    pub fn run_before(&mut self, to: Time) -> Result<(), Stop> {
        while self.due() < to {
            self.run_timer()?;
        }
        self.now = self.now.max(to);
        Ok(())
    }

    /// Runs the timers that are due up to and including `to`.
    pub fn run_to(&mut self, to: Time) -> Result<(), Stop> {
        self.run_before(to)?;
        while self.due() <= to {
            self.run_timer()?;
        }
        Ok(())
    }

    fn run_timer(&mut self) -> Result<(), Stop> {
        self.step()?;
        self.now = self.due().max(self.now);
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.on_timer(self.now);
        }
        self.drain()
    }

    /// Runs timers until the endpoint sends, at `latest`. Returns whether it has.
    pub fn run_until_sent(&mut self, latest: Time) -> Result<bool, Stop> {
        while self.sent.is_empty() {
            if self.due() > latest || self.due() == Time::NEVER {
                return Ok(false);
            }
            self.run_timer()?;
        }
        Ok(true)
    }

    pub fn next_sent(&self) -> Option<&Sent> {
        self.sent.front()
    }

    pub fn take_sent(&mut self) -> Option<Sent> {
        self.sent.pop_front()
    }

    fn drain(&mut self) -> Result<(), Stop> {
        loop {
            self.step()?;
            let Some(endpoint) = &mut self.endpoint else { return Ok(()) };
            let Some(out) = endpoint.poll(self.now, &mut self.arena) else { return Ok(()) };
            let segment = if let Body::Segment(segment) = self.arena.get(out.body) { Some(*segment) } else { None };
            self.arena.release(out.body);
            if let Some(segment) = segment {
                self.push_sent(Sent { at: self.now, segment, ecn: out.ecn });
            }
        }
    }

    /// Shift of the windows that the endpoint advertises after the handshake.
    pub fn own_scale(&self) -> u8 {
        if self.peer_scales { self.config.window_scale().unwrap_or(0) } else { 0 }
    }

    /// The window field of a segment.
    pub fn window_field(&self, segment: &Segment) -> u32 {
        if segment.flags.has(Flags::SYN) { segment.window } else { segment.window >> self.own_scale() }
    }

    /// A packet of the script arrives.
    pub fn receive(&mut self, packet: &TcpPacket) -> Result<(), Stop> {
        let ecn = packet.ecn.unwrap_or(Ecn::NotEct);
        self.note(|| format!("< {}", show::packet(packet)));
        let syn = packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::ACK);
        if syn && self.listens && self.is_over() {
            self.listen()?;
        }
        let segment = self.segment(packet)?;
        let now = self.now;
        let refuses_data = self.sockets.refuses_data();
        // The end that closes last keeps no state (RFC 9293, section 3.6: LAST-ACK, CLOSED).
        let gone = self.is_reset() || (self.sockets.closed_last() && self.is_over());
        let Some(endpoint) = self.endpoint.as_mut().filter(|_| !gone) else {
            self.refuse(&segment);
            return Ok(());
        };
        // RFC 9293, section 3.10.7.2, and a handshake that ends with another ACK number.
        if endpoint.refuses_handshake(&segment) {
            self.refuse(&segment);
            return Ok(());
        }
        let end = segment.seq + u64::from(segment.payload);
        let ends_peer = endpoint.socket().peer_closed && segment.seq >= endpoint.next_expected();
        if refuses_data && segment.payload > 0 && end > endpoint.next_expected() && !ends_peer {
            endpoint.abort(now);
            self.refuse(&segment);
            return Ok(());
        }
        endpoint.receive(now, &Body::Segment(segment), ecn);
        self.drain()
    }

    /// A packet of the script as the endpoint sees it.
    fn segment(&mut self, packet: &TcpPacket) -> Result<Segment, Stop> {
        let syn = packet.flags.has(Flags::SYN);
        let options = packet.options.as_deref().unwrap_or(&[]);
        let window = u32::from(packet.window.unwrap_or(u16::MAX));
        let mut segment = Segment {
            seq: packet.seq,
            ack: packet.ack.unwrap_or(0),
            payload: packet.payload,
            flags: packet.flags,
            len: u16::try_from(u32::from(HEADER) + packet.payload).unwrap_or(u16::MAX),
            ..Segment::default()
        };
        let mut offered = SynOptions { mss: DEFAULT_MSS, window_scale: None, sack_permitted: false };
        for option in options {
            match *option {
                PacketOption::Mss(mss) => offered.mss = mss,
                PacketOption::WindowScale(shift) => offered.window_scale = Some(shift.min(14)),
                PacketOption::SackPermitted => offered.sack_permitted = true,
                PacketOption::Sack(count, blocks) => {
                    let mut sack = SackBlocks::default();
                    for (start, end) in blocks.into_iter().take(count.into()) {
                        sack.push(start.into(), end.into());
                    }
                    segment.sack = sack;
                }
                PacketOption::Timestamps { value, echo } => {
                    let echo = self.timestamps.endpoint_value(echo);
                    segment.timestamps = Some(Timestamps { value, echo });
                }
                PacketOption::AccEcn(fields) => {
                    let known = &mut self.peer_accecn;
                    let counters = [(&mut known.ect0, fields.ect0), (&mut known.ce, fields.ce), (&mut known.ect1, fields.ect1)];
                    for (known, field) in counters {
                        *known = field.map_or(*known, |count| U24::new(count.into()));
                    }
                    segment.rare_option = RareOption::AccEcn(self.peer_accecn);
                }
            }
        }
        if syn {
            if packet.payload > 0 {
                return Err(Stop::unsupported("a SYN with payload (TCP Fast Open)"));
            }
            segment.syn = Some(offered);
            self.peer_scales = offered.window_scale.is_some();
            self.peer_scale = offered.window_scale.filter(|_| self.config.window_scaling);
            segment.window = window;
        } else {
            segment.window = window << self.peer_scale.unwrap_or(0);
        }
        Ok(segment)
    }

    /// A segment with this timestamp was sent where the script has `in_script`. Returns the script's
    /// value for it, if its timestamps count time (`--tcp_ts_tick_usecs`).
    pub fn map_timestamp(&mut self, value: u32, in_script: u32) -> Option<u32> {
        let offset = *self.timestamps.offset.get_or_insert_with(|| value.wrapping_sub(in_script));
        self.timestamps.values.insert(in_script, value);
        self.checks_timestamps.then(|| value.wrapping_sub(offset))
    }
}

impl TimestampMap {
    /// The endpoint's value for one that the script echoes.
    fn endpoint_value(&self, in_script: u32) -> u32 {
        let known = self.values.get(&in_script).copied();
        let counted = || in_script.wrapping_add(self.offset.unwrap_or(0));
        if in_script == 0 { 0 } else { known.unwrap_or_else(counted) }
    }
}
