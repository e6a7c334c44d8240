//! A TCP endpoint: handshake and teardown around a sending and a receiving half (RFC 9293).

pub mod autotune;
pub mod cc;
pub mod config;
pub mod delivery;
pub mod models;
pub mod pacer;
pub mod ranges;
pub mod receiver;
pub mod recovery;
pub mod rtt;
pub mod scoreboard;
pub mod sender;
pub mod stats;

pub use autotune::{ReceiveTuning, SendTuning};
pub use cc::slow_start::SlowStart;
pub use cc::{CongestionControl, Variant};
pub use config::{DelayedAck, NewRenoExit, RtoConfig, RtoFloor, TcpConfig, WindowRule};
pub use recovery::RecoveryKind;
pub use stats::{Limit, ReceiverStats, SenderSample, SenderStats};

use crate::app::{AnyApp, Application, Socket};
use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::{Arena, Body, Ecn, Flags, Segment, SynOptions, Timestamps};
use crate::units::{Span, Time};
use receiver::Receiver;
use sender::{STREAM_START, Sender, Transmit};
use std::sync::Arc;

/// Where the connection stands. Closing needs no states of its own: each half knows whether its FIN is through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A client before its start.
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
}

/// One end of a connection with its application.
#[derive(Clone, Debug)]
pub struct TcpEndpoint {
    config: Arc<TcpConfig>,
    state: State,
    sender: Sender,
    receiver: Receiver,
    app: AnyApp,
    socket: Socket,
    handshake: Handshake,
    /// Both ends offered it.
    sack: bool,
    timestamps: bool,
    scaling: bool,
    /// TS.Recent of RFC 7323, and the ACK number last sent, which decides when to renew it.
    ts_recent: u32,
    last_ack_sent: u64,
}

#[derive(Clone, Copy, Debug)]
struct Handshake {
    /// When the SYN (or SYN-ACK) goes out next.
    at: Time,
    first_sent: Option<Time>,
    tries: u32,
}

/// The timestamp clock ticks once a millisecond (RFC 7323, section 5.4, allows 1 ms to 1 s).
const TIMESTAMP_TICK: Span = Span::from_ms(1);
/// Doublings of the SYN timer: a server that stays silent is asked ever more rarely.
const MAX_SYN_BACKOFF: u32 = 6;

fn timestamp(now: Time) -> u32 {
    (now.0 / TIMESTAMP_TICK.0) as u32
}

impl TcpEndpoint {
    /// The end that opens the connection at `start`. Flows of one kind share their configuration (and so its cache lines).
    pub fn client(config: impl Into<Arc<TcpConfig>>, app: AnyApp, start: Time) -> TcpEndpoint {
        Self::new(config.into(), app, State::Closed, start)
    }

    /// The end that waits to be called.
    pub fn server(config: impl Into<Arc<TcpConfig>>, app: AnyApp) -> TcpEndpoint {
        Self::new(config.into(), app, State::Listen, Time::NEVER)
    }

    fn new(config: Arc<TcpConfig>, app: AnyApp, state: State, start: Time) -> TcpEndpoint {
        TcpEndpoint {
            state,
            sender: Sender::new(config.clone()),
            receiver: Receiver::new(config.clone()),
            app,
            socket: Socket::default(),
            handshake: Handshake { at: start, first_sent: None, tries: 0 },
            sack: false,
            timestamps: false,
            scaling: false,
            ts_recent: 0,
            last_ack_sent: 0,
            config,
        }
    }

    pub fn sender_stats(&self, now: Time) -> SenderStats {
        self.sender.stats(now)
    }
    pub fn receiver_stats(&self) -> ReceiverStats {
        self.receiver.stats()
    }
    pub fn restart_meters(&mut self, now: Time) {
        self.sender.restart_meters(now);
    }
    pub fn sample(&self) -> SenderSample {
        self.sender.sample()
    }
    /// Everything it had to send, FIN included, has been acknowledged.
    pub fn finished(&self) -> bool {
        self.sender.finished()
    }

    fn on_segment(&mut self, now: Time, segment: &Segment) {
        if segment.flags.has(Flags::SYN) {
            return self.on_syn(now, segment);
        }
        match self.state {
            State::Closed | State::Listen | State::SynSent => return,
            State::SynReceived if segment.ack == STREAM_START => self.establish(now),
            // RFC 9293, section 3.10.7.4: an ACK of what was never sent does not open a connection.
            State::SynReceived => return,
            State::Established => {}
        }
        let echo_rtt = self.take_timestamps(now, segment);
        self.sender.on_segment(now, segment, echo_rtt);
        self.receiver.on_segment(now, segment);
        self.receiver.tune(now, segment, echo_rtt);
        if segment.space() > 0 {
            self.run_app(now);
        }
    }

    /// RFC 7323, sections 4.1 and 4.3: what the echo says, and what to echo.
    fn take_timestamps(&mut self, now: Time, segment: &Segment) -> Option<Span> {
        let stamps = segment.timestamps.filter(|_| self.timestamps)?;
        let newer = stamps.value.wrapping_sub(self.ts_recent) as i32 >= 0;
        if newer && segment.seq <= self.last_ack_sent {
            self.ts_recent = stamps.value;
        }
        // An echo from the future is nobody's.
        let ticks = timestamp(now).wrapping_sub(stamps.echo) as i32;
        (stamps.echo != 0 && ticks >= 0).then(|| TIMESTAMP_TICK.saturating_mul(ticks.max(1) as u64))
    }

    fn on_syn(&mut self, now: Time, segment: &Segment) {
        let answer = segment.flags.has(Flags::ACK);
        match (self.state, answer) {
            (State::SynSent, true) if segment.ack == STREAM_START => {
                self.agree(segment);
                self.establish(now);
                self.receiver.on_segment(now, &Segment { seq: 0, ..Segment::default() });
            }
            (State::Listen, false) => {
                self.agree(segment);
                self.state = State::SynReceived;
                self.handshake.at = now;
            }
            // Our SYN-ACK was lost: say it again.
            (State::SynReceived, false) => {
                self.ts_recent = segment.timestamps.map_or(self.ts_recent, |stamps| stamps.value);
                self.handshake.at = now;
            }
            // Our last ACK was lost, or a SYN comes late (RFC 9293, section 3.10.7.4): an ACK says where we stand.
            (State::Established, _) => self.receiver.on_segment(now, &Segment::default()),
            _ => {}
        }
    }

    /// What both ends offer holds.
    fn agree(&mut self, syn: &Segment) {
        let peer = syn.syn.unwrap_or(SynOptions { mss: 536, window_scale: None, sack_permitted: false });
        self.sack = self.config.sack && peer.sack_permitted;
        self.timestamps = self.config.timestamps && syn.timestamps.is_some();
        if let Some(stamps) = syn.timestamps {
            self.ts_recent = stamps.value;
        }
        if let (Some(own), Some(_)) = (self.config.window_scale(), peer.window_scale) {
            self.scaling = true;
            self.receiver.scale_windows(own);
        }
        if !self.sack {
            self.sender.do_without_sack();
        }
        let stamps = if self.timestamps { self.config.timestamp_bytes } else { 0 };
        self.sender.meet(u32::from(peer.mss).saturating_sub(stamps).max(1), u64::from(syn.window));
    }

    fn establish(&mut self, now: Time) {
        self.state = State::Established;
        let rtt = self.handshake.first_sent.filter(|_| self.handshake.tries <= 1).map(|sent| now - sent);
        self.handshake.at = Time::NEVER;
        self.sender.establish(now, rtt, self.handshake.tries > 1);
        self.socket.established = true;
        self.run_app(now);
    }

    fn run_app(&mut self, now: Time) {
        self.socket.arrived = self.receiver.arrived();
        self.socket.peer_closed = self.receiver.peer_closed();
        if self.socket.established {
            self.app.act(now, &mut self.socket);
            self.receiver.on_read(now, self.socket.read);
        }
    }

    fn syn(&mut self, now: Time) -> Segment {
        self.handshake.first_sent.get_or_insert(now);
        let backoff = self.config.rto.initial.saturating_mul(1 << self.handshake.tries.min(MAX_SYN_BACKOFF));
        self.handshake.tries += 1;
        self.handshake.at = now + backoff.min(self.config.rto.max);
        if self.state == State::Closed {
            self.state = State::SynSent;
        }
        let answering = self.state == State::SynReceived;
        if answering {
            self.last_ack_sent = STREAM_START;
        }
        // An answer agrees to what was offered and offers nothing else (RFC 2018, section 2; RFC 7323, sections 2.2 and 3.2).
        let timestamps = if answering { self.timestamps } else { self.config.timestamps };
        // The MSS option leaves the timestamps' share to the sender (RFC 6691).
        let mss = self.config.segment + if self.config.timestamps { self.config.timestamp_bytes } else { 0 };
        Segment {
            ack: u64::from(answering),
            flags: if answering { Flags::SYN.with(Flags::ACK) } else { Flags::SYN },
            window: self.receiver.first_window(),
            timestamps: timestamps.then(|| Timestamps { value: timestamp(now), echo: self.ts_recent }),
            len: u16::try_from(self.config.header + self.config.syn_option_bytes).unwrap_or(u16::MAX),
            syn: Some(SynOptions {
                mss: u16::try_from(mss).unwrap_or(u16::MAX),
                window_scale: self.config.window_scale().filter(|_| !answering || self.scaling),
                sack_permitted: if answering { self.sack } else { self.config.sack },
            }),
            retransmission: self.handshake.tries > 1,
            ..Segment::default()
        }
    }

    fn segment(&mut self, now: Time, piece: Transmit) -> Segment {
        let mut flags = if piece.payload > 0 { Flags::PSH } else { Flags::NONE };
        if piece.fin {
            flags = flags.with(Flags::FIN);
        }
        let mut segment =
            Segment { seq: piece.seq, payload: piece.payload, flags, retransmission: piece.retransmission, ..Segment::default() };
        self.receiver.fill(&mut segment, self.socket.read, self.sack);
        self.last_ack_sent = segment.ack;
        segment.timestamps = self.timestamps.then(|| Timestamps { value: timestamp(now), echo: self.ts_recent });
        segment.len = self.config.wire_len(piece.payload, self.timestamps, segment.sack.len() as u32);
        segment
    }

    /// What an established connection sends next: a piece of the stream, a window probe, or an ACK alone.
    fn next_piece(&mut self, now: Time) -> Option<Transmit> {
        let bare = |seq| Transmit { seq, payload: 0, fin: false, retransmission: false };
        if !self.sender.is_quiet(&self.socket) {
            if let Some(piece) = self.sender.poll(now, &mut self.socket) {
                return Some(piece);
            }
            if let Some(seq) = self.sender.probe_due(now) {
                return Some(bare(seq));
            }
        }
        self.receiver.wants_ack().then(|| bare(self.sender.next_seq()))
    }
}

impl Endpoint for TcpEndpoint {
    fn receive(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        if let Body::Segment(segment) = body {
            self.on_segment(now, segment);
        }
    }

    fn on_timer(&mut self, now: Time) {
        if self.state != State::Established {
            return;
        }
        self.sender.on_timer(now);
        self.receiver.on_timer(now);
        if self.app.due() <= now {
            self.run_app(now);
        }
    }

    fn poll(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing> {
        let segment = if self.state == State::Established {
            let piece = self.next_piece(now)?;
            self.segment(now, piece)
        } else if self.handshake.at <= now {
            self.syn(now)
        } else {
            return None;
        };
        let (len, kind, ecn) = (segment.len, segment.kind(), segment.ecn);
        Some(Outgoing { len, kind, ecn, body: arena.insert(Body::Segment(segment)) })
    }

    fn due(&self) -> Time {
        if self.state != State::Established {
            return self.handshake.at;
        }
        self.sender.due().min(self.receiver.due()).min(self.app.due())
    }
}
