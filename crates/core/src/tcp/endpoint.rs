//! A TCP endpoint: a sending and a receiving half, and an application.

use crate::app::{AnyApp, Application, ControlledApp, Socket};
use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::{Arena, Body, Ecn, Flags, Kind, RareOption, RetransmitReason, Segment, Timestamps, TooBig};
use crate::tcp::config::TcpConfig;
use crate::tcp::ecn::EndpointEcn;
use crate::tcp::handshake::{HandshakeState, TcpState};
use crate::tcp::metrics_cache::SharedPathMetrics;
use crate::tcp::receiver::{LocalEnd, Receiver};
use crate::tcp::sender::{STREAM_START, Sender, Transmit};
use crate::tcp::stats::{ReceiverStats, SenderSample, SenderStats};
use crate::tcp::timestamps::{TimestampEcho, timestamp};
use crate::units::{Span, Time};
use std::sync::Arc;

/// One end of a connection with its application. Fields of every segment come first and start a
/// cache line: with thousands of flows cache misses dominate.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct TcpEndpoint {
    pub(super) config: Arc<TcpConfig>,
    pub(super) last_ack_sent: u64,
    /// TS.Recent of RFC 7323; the last ACK number sent decides when it is updated.
    pub(super) ts_recent: u32,
    pub(super) state: TcpState,
    /// SACK was negotiated.
    pub(super) sack: bool,
    pub(super) timestamps: bool,
    pub(super) scaling: bool,
    pub(super) socket: Socket,
    /// The application's next timer.
    app_due: Time,
    /// Bytes of a segment without payload and SACK blocks.
    pub(super) bare_len: u32,
    /// ECN or a variable ACK rate reads and writes segments, too.
    pub(super) has_rare_options: bool,
    pub(super) ecn: EndpointEcn,
    pub(super) app: AnyApp,
    pub(super) receiver: Receiver,
    pub(super) sender: Sender,
    pub(super) handshake: HandshakeState,
    /// When the last challenge ACK was sent.
    challenged: Option<Time>,
}

/// Minimum interval of challenge ACKs (RFC 5961, section 7, asks for a limit; Linux:
/// tcp_invalid_ratelimit).
const CHALLENGE_INTERVAL: Span = Span::from_ms(500);

impl TcpEndpoint {
    /// A client that connects at `start`. Flows of one kind share their configuration (and its
    /// cache lines).
    pub fn client(config: impl Into<Arc<TcpConfig>>, app: AnyApp, start: Time) -> TcpEndpoint {
        Self::new(config.into(), app, TcpState::Closed, start)
    }

    /// A client that connects when the run calls [`Self::connect_at`].
    pub fn deferred_client(config: impl Into<Arc<TcpConfig>>, app: AnyApp) -> TcpEndpoint {
        Self::new(config.into(), app, TcpState::Closed, Time::NEVER)
    }

    /// A server, which listens.
    pub fn server(config: impl Into<Arc<TcpConfig>>, app: AnyApp) -> TcpEndpoint {
        Self::new(config.into(), app, TcpState::Listen, Time::NEVER)
    }

    fn new(config: Arc<TcpConfig>, app: AnyApp, state: TcpState, start: Time) -> TcpEndpoint {
        TcpEndpoint {
            state,
            sender: Sender::new(config.clone()),
            receiver: Receiver::new(config.clone()),
            app_due: app.due(),
            app,
            bare_len: 0,
            has_rare_options: false,
            socket: Socket::default(),
            handshake: HandshakeState { at: start, first_sent: None, tries: 0, waits: false, simultaneous: false },
            sack: false,
            timestamps: false,
            scaling: false,
            ecn: EndpointEcn::default(),
            ts_recent: 0,
            last_ack_sent: 0,
            challenged: None,
            config,
        }
    }

    /// Shares the metrics of the path with other connections between the two hosts.
    pub fn use_path_metrics(&mut self, path_metrics: SharedPathMetrics) {
        self.sender.use_path_metrics(path_metrics);
    }

    /// The network reports from here on what leaves the host's queue ([`Self::on_host_dequeue`]).
    pub fn enable_tsq(&mut self) {
        self.sender.enable_tsq();
    }

    /// A segment of this endpoint has left the host's queue, or was dropped there.
    pub fn on_host_dequeue(&mut self, body: &Body) {
        if let Body::Segment(segment) = body
            && !segment.flags.has(Flags::SYN)
        {
            self.sender.on_host_dequeue(segment.seq_len());
        }
    }

    /// Connects at `at`. No effect on a connection that is open.
    pub fn connect_at(&mut self, at: Time) {
        if self.state == TcpState::Closed {
            self.handshake.at = at;
        }
    }

    /// A router reports that a segment was too long (RFC 1191, section 6.5).
    #[cold]
    fn on_too_big(&mut self, now: Time, report: &TooBig) {
        if self.state == TcpState::Established {
            let options = if self.timestamps { self.config.timestamp_bytes } else { 0 };
            let payload = |mtu: u16| u32::from(mtu).saturating_sub(self.config.header + options);
            self.sender.on_too_big(now, report.number, payload(report.mtu), payload(crate::tcp::sender::MIN_PATH_MTU));
        }
    }

    /// A server that sends its SYN-ACK only when the other side of its proxy is established.
    pub fn defer_syn_ack(mut self) -> TcpEndpoint {
        self.handshake.waits = true;
        self
    }

    /// The handshake is complete at this end.
    pub fn is_established(&self) -> bool {
        self.state == TcpState::Established
    }

    /// When this end sent its first SYN or SYN-ACK.
    pub fn first_syn_sent(&self) -> Option<Time> {
        self.handshake.first_sent
    }

    pub fn app(&self) -> &AnyApp {
        &self.app
    }

    /// The connection as its application sees it.
    pub fn socket(&self) -> Socket {
        Socket { arrived: self.receiver.arrived(), peer_closed: self.receiver.peer_closed(), ..self.socket }
    }

    /// Sets what a [`ControlledApp`] reads, writes and closes. No effect on other applications.
    pub fn control_app(&mut self, now: Time, set: impl FnOnce(&mut ControlledApp)) {
        if let AnyApp::ControlledApp(app) = &mut self.app {
            set(app);
            self.run_app(now);
        }
    }

    /// Calls the application, to which something happened outside this connection; one that is not open
    /// connects.
    pub fn call_app(&mut self, now: Time) {
        self.connect_at(now);
        self.run_app(now);
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
    /// Bytes of the window that the peer advertised last, scaled.
    pub fn peer_window(&self) -> u64 {
        self.sender.peer_window()
    }
    pub fn sample(&self) -> SenderSample {
        self.sender.sample()
    }
    /// Everything to send, FIN included, has been acknowledged.
    pub fn finished(&self) -> bool {
        self.sender.finished()
    }

    /// As [`Self::on_segment`], out of line.
    #[inline(never)]
    fn on_batched_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        self.on_segment(now, segment, ecn);
    }

    /// Processes a segment. Returns whether it carried data or a FIN.
    // inline(always): `receive` consists of it.
    #[inline(always)]
    fn on_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) -> bool {
        if segment.flags.any(Flags::SYN.with(Flags::RST)) {
            match segment.flags.has(Flags::RST) {
                true => self.on_reset(now, segment),
                false => self.on_syn(now, segment, ecn),
            }
            return false;
        }
        if !segment.flags.has(Flags::ACK) {
            // RFC 9293, section 3.10.7.4.
            return false;
        }
        match self.state {
            TcpState::Established => {}
            TcpState::Closed | TcpState::Listen | TcpState::SynSent | TcpState::Reset => return false,
            TcpState::SynReceived if segment.ack == STREAM_START => {
                self.on_ecn_third_ack(segment);
                if !self.handshake.simultaneous {
                    self.sender.on_last_handshake_ack(segment.seq, u64::from(segment.window));
                }
                self.establish(now);
            }
            // RFC 9293, section 3.10.7.4: an ACK of data that was never sent does not open a
            // connection.
            TcpState::SynReceived => return false,
        }
        if self.receiver.follows_linux() {
            if !self.admits_by_linux(now, segment) {
                return false;
            }
        } else if !self.sender.accepts_ack(segment.ack) {
            self.send_challenge_ack(now);
            return false;
        }
        let echo = self.take_timestamps(now, segment);
        if self.has_rare_options {
            self.read_rare_options(now, segment, ecn, echo);
        }
        self.sender.on_segment(now, segment, echo);
        let data = segment.seq_len() > 0;
        if self.receiver.follows_linux() {
            return data && self.on_linux_data(now, segment, echo);
        }
        if data {
            self.receiver.on_data(now, segment, echo);
        } else {
            self.receiver.on_pure_ack(segment);
        }
        data
    }

    /// The checks of RFC 9293, section 3.10.7.4, in Linux's order and with its answers. Returns whether
    /// the segment is processed. Out of line, as what follows is, so that hosts without these rules do
    /// not pay for them.
    #[inline(never)]
    fn admits_by_linux(&mut self, now: Time, segment: &Segment) -> bool {
        if !self.receiver.accepts_sequence(segment) {
            self.on_unacceptable(now, segment);
            return false;
        }
        if !self.sender.accepts_ack(segment.ack) {
            self.send_challenge_ack(now);
            return false;
        }
        !(self.receiver.peer_closed() && self.is_over(now, segment))
    }

    /// A segment with data or a FIN, by Linux's rules. Returns whether it is taken: behind the peer's
    /// FIN it is not (CLOSE-WAIT and later, `tcp_rcv_state_process()`).
    #[inline(never)]
    fn on_linux_data(&mut self, now: Time, segment: &Segment, echo: TimestampEcho) -> bool {
        if self.receiver.is_beyond_fin(segment) {
            return false;
        }
        let local = LocalEnd { rtt: &self.sender.rtt, closed: self.socket.closed };
        self.receiver.on_linux_data(now, segment, echo, &local);
        true
    }

    /// Both directions are closed and acknowledged: TIME-WAIT answers what is not a bare ACK in sequence
    /// (`tcp_timewait_state_process()`). Returns whether that is so.
    #[cold]
    fn is_over(&mut self, now: Time, segment: &Segment) -> bool {
        if !self.sender.finished() {
            return false;
        }
        if segment.seq != self.receiver.next_expected() || segment.seq_len() > 0 {
            self.answer_unacceptable(now, segment);
        }
        true
    }

    /// RFC 5961, section 3.2: only a reset with the next sequence number is obeyed, one elsewhere in
    /// the window is answered with an ACK. At a client without a connection its ACK number must be
    /// that of the SYN (RFC 9293, section 3.10.7.3).
    #[cold]
    fn on_reset(&mut self, now: Time, segment: &Segment) {
        let next = self.receiver.next_expected();
        match self.state {
            TcpState::SynSent if segment.flags.has(Flags::ACK) && segment.ack == STREAM_START => self.end(),
            TcpState::SynReceived | TcpState::Established if segment.seq == next => self.end(),
            TcpState::SynReceived | TcpState::Established if self.receiver.is_in_window(segment.seq) => {
                self.send_challenge_ack(now);
            }
            _ => {}
        }
    }

    fn end(&mut self) {
        self.state = TcpState::Reset;
        self.handshake.at = Time::NEVER;
    }

    /// An ACK for a listening end, or one that would end the handshake with a wrong number: it is
    /// answered with a reset (RFC 9293, sections 3.10.7.2 and 3.10.7.4).
    pub fn refuses_handshake(&self, segment: &Segment) -> bool {
        let acks = segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::RST);
        match self.state {
            TcpState::Listen => acks,
            TcpState::SynReceived => acks && !segment.flags.has(Flags::SYN) && segment.ack != STREAM_START,
            _ => false,
        }
    }

    /// The connection was reset.
    pub fn is_reset(&self) -> bool {
        self.state == TcpState::Reset
    }

    /// The next sequence number that is expected of the peer.
    pub fn next_expected(&self) -> u64 {
        self.receiver.next_expected()
    }

    /// Ends the connection. Returns the reset for the peer of a connection that is open (RFC 9293,
    /// section 3.10.5).
    pub fn abort(&mut self, now: Time) -> Option<Segment> {
        let open = matches!(self.state, TcpState::SynReceived | TcpState::Established);
        let reset = Segment {
            seq: self.sender.next_seq(),
            ack: self.receiver.next_expected(),
            flags: Flags::RST.with(Flags::ACK),
            timestamps: self.timestamps.then(|| Timestamps { value: timestamp(now), echo: self.ts_recent }),
            len: self.config.wire_len(0, self.timestamps, 0),
            ..Segment::default()
        };
        self.end();
        open.then_some(reset)
    }

    /// RFC 9293, section 3.10.7.4: an unacceptable segment is answered with an ACK; one without data at
    /// most once per interval (`tcp_oow_rate_limited()`).
    #[cold]
    fn on_unacceptable(&mut self, now: Time, segment: &Segment) {
        if self.answer_unacceptable(now, segment) {
            self.receiver.on_unacceptable(segment);
        }
    }

    fn answer_unacceptable(&mut self, now: Time, segment: &Segment) -> bool {
        if segment.seq_len() == 0 {
            if self.challenged.is_some_and(|last| now - last < CHALLENGE_INTERVAL) {
                return false;
            }
            self.challenged = Some(now);
        }
        self.receiver.ack_at_once();
        true
    }

    /// RFC 5961, section 5.2: a segment whose ACK number is not acceptable is dropped and answered
    /// with an ACK, at most one per interval.
    #[cold]
    fn send_challenge_ack(&mut self, now: Time) {
        if self.challenged.is_none_or(|last| now - last >= CHALLENGE_INTERVAL) {
            self.challenged = Some(now);
            self.receiver.ack_at_once();
        }
    }

    #[inline]
    pub(super) fn run_app(&mut self, now: Time) {
        self.socket.arrived = self.receiver.arrived();
        self.socket.peer_closed = self.receiver.peer_closed();
        if self.socket.established {
            self.app.act(now, &mut self.socket);
            self.app_due = self.app.due();
            self.receiver.on_read(now, self.socket.read);
        }
    }

    /// Writes data or a pure ACK into a new segment. `last`: no other segment follows at this
    /// instant.
    // inline(always): of two callers one has a pure ACK, which needs half of it.
    #[inline(always)]
    fn write(&mut self, now: Time, piece: Transmit, last: bool, arena: &mut Arena) -> Outgoing {
        let (body, segment) = arena.segment();
        let mut flags = if piece.push { Flags::PSH.with(Flags::ACK) } else { Flags::ACK };
        if piece.fin {
            flags = flags.with(Flags::FIN);
        }
        let (ack, window) = self.receiver.acknowledge(now, self.socket.read, piece.payload > 0);
        self.last_ack_sent = ack;
        segment.write(Segment {
            seq: piece.seq,
            ack,
            payload: piece.payload,
            window,
            timestamps: self.timestamps.then(|| Timestamps { value: timestamp(now), echo: self.ts_recent }),
            flags,
            len: u16::try_from(self.bare_len + piece.payload).unwrap_or(u16::MAX),
            retransmission: piece.retransmission,
            reason: piece.reason,
            ..Segment::default()
        });
        if self.sack && self.receiver.has_blocks() {
            segment.sack = self.receiver.blocks();
            segment.len = self.config.wire_len(piece.payload, self.timestamps, segment.sack.len() as u32);
        }
        if self.has_rare_options {
            self.write_rare_options(segment);
        }
        let no_more = last && !(self.has_rare_options && self.ecn.on());
        let kind = Kind::tcp(piece.payload > 0, piece.fin);
        let kind = if self.sender.may_be_divided() { kind.with(Kind::DIVISIBLE) } else { kind };
        Outgoing { body, len: segment.len, kind, ecn: segment.ecn, no_more }
    }

    /// Gives the sender the bytes of the SACK option that the next segment carries.
    #[inline(never)]
    fn note_block_bytes(&mut self) {
        if !self.sack {
            return;
        }
        let bytes = match self.receiver.block_count() {
            0 => 0,
            blocks => self.config.sack_base_bytes + blocks * self.config.sack_block_bytes,
        };
        self.sender.set_block_bytes(bytes);
    }

    /// The handshake is complete: the negotiated options are fixed.
    pub(super) fn on_negotiated(&mut self) {
        self.bare_len = self.config.header + if self.timestamps { self.config.timestamp_bytes } else { 0 };
        self.has_rare_options = self.ecn.on() || self.receiver.adapts_acks();
    }

    /// Reads ECN and what a variable ACK rate needs, before the halves process the segment.
    #[inline(never)]
    fn read_rare_options(&mut self, now: Time, segment: &Segment, ecn: Ecn, echo: TimestampEcho) {
        if self.ecn.on() {
            self.on_ecn_codepoint(segment, ecn);
        }
        if self.receiver.adapts_acks() {
            self.receiver.adapt_acks(segment, timestamp(now), echo.rtt());
        }
    }

    /// Writes ECN and what a variable ACK rate needs, after the halves have written the segment.
    #[inline(never)]
    fn write_rare_options(&mut self, segment: &mut Segment) {
        segment.dupacks_seen = self.receiver.marks_duplicates();
        self.write_send_room(segment);
        if self.ecn.on() {
            self.write_ecn(segment);
        }
    }

    /// Data reports how much may follow it, for ACK congestion control.
    fn write_send_room(&self, segment: &mut Segment) {
        let Some(control) = self.config.ack_control.filter(|_| segment.payload > 0) else { return };
        segment.rare_option = RareOption::SendRoom(self.sender.room_left(&self.socket));
        segment.len = segment.len.saturating_add(control.option_bytes);
    }

    /// The next segment of an established connection: data, a window probe, or a pure ACK.
    #[inline(always)]
    fn poll_established(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing> {
        let mut probe = None;
        if !self.sender.is_quiet(&self.socket) {
            if self.receiver.follows_linux() {
                self.note_block_bytes();
            }
            if let Some((piece, last)) = self.sender.poll(now, &mut self.socket) {
                return Some(self.write(now, piece, last, arena));
            }
            probe = self.sender.probe_due(now);
        }
        if probe.is_none() && !self.receiver.wants_ack() {
            return None;
        }
        let seq = probe.unwrap_or_else(|| self.sender.next_seq());
        let ack = Transmit { seq, payload: 0, fin: false, push: false, retransmission: false, reason: RetransmitReason::No };
        Some(self.write(now, ack, true, arena))
    }
}

impl Endpoint for TcpEndpoint {
    fn receive(&mut self, now: Time, body: &Body, ecn: Ecn) {
        if let Body::TooBig(report) = body {
            return self.on_too_big(now, report);
        }
        if let Body::Segment(segment) = body
            && (self.on_segment(now, segment, ecn) || self.receiver.is_app_behind())
        {
            self.run_app(now);
        }
    }

    fn receive_more_coming(&mut self, now: Time, body: &Body, ecn: Ecn) {
        if let Body::TooBig(report) = body {
            return self.on_too_big(now, report);
        }
        if !self.receiver.begin_batch(self.socket.read) {
            self.receive(now, body, ecn);
        } else if let Body::Segment(segment) = body {
            self.on_batched_segment(now, segment, ecn);
        }
        if self.config.gro.is_some() {
            self.receiver.leave_ack_to_next();
        }
    }

    fn on_timer(&mut self, now: Time) {
        if self.state != TcpState::Established {
            return;
        }
        self.sender.on_timer(now);
        self.receiver.on_timer(now, &LocalEnd { rtt: &self.sender.rtt, closed: self.socket.closed });
        if self.app_due <= now {
            self.run_app(now);
        }
    }

    fn poll(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing> {
        let segment = if self.state == TcpState::Established {
            let owes = self.has_rare_options && self.ecn.owes();
            match owes.then(|| self.owed_ack(now)).flatten() {
                Some(owed) => owed,
                None => return self.poll_established(now, arena),
            }
        } else if self.handshake.at <= now {
            self.syn(now)
        } else {
            return None;
        };
        let (len, kind, ecn) = (segment.len, segment.kind(), segment.ecn);
        Some(Outgoing { body: arena.insert(Body::Segment(segment)), len, kind, ecn, no_more: false })
    }

    #[inline]
    fn due(&self) -> Time {
        if self.state != TcpState::Established {
            return self.handshake.at;
        }
        self.sender.due().min(self.receiver.due()).min(self.app_due)
    }
}
