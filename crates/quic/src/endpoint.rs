//! One end of a QUIC connection as an endpoint of the engine: datagrams, time and an application in, datagrams and the
//! next due time out.

use crate::IP_UDP_BYTES;
use crate::clock::{instant, time};
use crate::config::{Control, Handshake, QuicConfig, StackControl};
use crate::congestion::{OurControls, Shown, WatchedControls};
use crate::connection_ids::{ConnectionIds, PlainKey};
use crate::handshake::PlainTls;
use ackclock_core::app::{AnyApp, Application, Sink, Socket, StreamWrites};
use ackclock_core::endpoint::{Endpoint, OtherEndpoint, Outgoing, TransportView};
use ackclock_core::packet::{Arena, Body, Ecn, Kind};
use ackclock_core::rng::Rng;
use ackclock_core::statistics::Histogram;
use ackclock_core::tcp::SendLimit;
use ackclock_core::units::{Span, Time};
use bytes::{Bytes, BytesMut};
use noq_proto::congestion::{Bbr3Config, Controller, ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint,
    EndpointConfig, Event, FourTuple, MtuDiscoveryConfig, PathId, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What an application writes: no application reads it.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// What arrived and the application has not read is left to the stack's flow control from here on, bytes.
const UNREAD: u64 = 1 << 14;
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 443);
const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 50_000);

/// The smallest limit of what is written and not acknowledged, bytes; else it is twice the congestion window, as in
/// Linux's TCP (`tcp_sndbuf_expand()`).
const MIN_SEND_WINDOW: u64 = 1 << 16;

/// The stack looks for what it sends along the pieces that were written, so they are this part of the window or more.
const PIECES: u64 = 8;

/// UDP payload of a full packet of Ethernet, bytes.
const FULL_PACKET: u64 = 1472;
const PS_PER_NS: u64 = 1000;

/// Flights of a handshake, and more.
const FLIGHTS: usize = 8;
/// Of a connection that ends when the run does.
const IDLE_TIMEOUT: Option<noq_proto::IdleTimeout> = None;

/// An end of a connection.
pub struct QuicEndpoint {
    endpoint: noq_proto::Endpoint,
    /// In a cell: the stack counts what it did when it is asked.
    connection: Option<(ConnectionHandle, RefCell<Connection>)>,
    /// What a client connects with, and when.
    opens: Option<(ClientConfig, Time)>,
    peer: SocketAddr,
    app: AnyApp,
    socket: Socket,
    streams: Vec<StreamId>,
    exchanges: Exchanges,
    send_buffer: u64,
    /// The stream that is written next, and those that the application has finished.
    next_stream: usize,
    is_finished: bool,
    /// What was written last, while the stack had no room for more.
    refill: Option<Refill>,
    /// The peer's streams that are not read to their end.
    incoming: Vec<StreamId>,
    /// The stack has data that was not read.
    is_readable: bool,
    ended: usize,
    wanted_streams: usize,
    burst: NonZeroUsize,
    outgoing: VecDeque<(Box<[u8]>, Ecn)>,
    buffer: Vec<u8>,
    due: Time,
    finished: Option<Time>,
    first_sent: Option<Time>,
    /// When the connection ended by an error, and which.
    error: Option<(Time, String)>,
    /// The peer has closed the connection, or was answered once after this end had: what arrives now is
    /// discarded (RFC 9000, 10.2).
    is_deaf: bool,
    shown: Arc<Shown>,
    /// What limits the sender since when, and the time by what limited it before.
    limit: (SendLimit, Time),
    limited: [Span; SendLimit::ALL.len()],
    rtt: Histogram,
    last_rtt: Option<Duration>,
}

/// A sender whose window of writes was full: bytes acknowledged and the congestion window then, and the frames that had
/// come to raise the receive window.
#[derive(Debug, Clone, Copy)]
struct Refill {
    acked: u64,
    window: u64,
    raises: u64,
}

/// The streams of an application that has one for each request and its answer; by the streams' numbers.
#[derive(Debug, Default)]
struct Exchanges {
    /// The application has such streams.
    are_used: bool,
    writes: StreamWrites,
    /// Bytes that arrived, and that the stack has taken.
    arrived: Vec<u64>,
    taken: Vec<u64>,
    /// The streams before this one are written and ended.
    done: usize,
}

impl std::fmt::Debug for QuicEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuicEndpoint").field("due", &self.due).finish_non_exhaustive()
    }
}

/// The configuration of the stack's endpoint: of one seed come the same bytes.
fn endpoint_config(rng: &mut Rng) -> (Arc<EndpointConfig>, ConnectionIds) {
    let ids = ConnectionIds::new(Rng::for_element(rng.salt(), "connection ids"));
    let mut config = EndpointConfig::new(Arc::new(PlainKey));
    let mut seed = [0; 32];
    seed.chunks_mut(8).for_each(|part| part.copy_from_slice(&rng.salt().to_le_bytes()));
    let of_endpoint = ids.clone();
    config.rng_seed(Some(seed)).cid_generator(Arc::new(move || Box::new(of_endpoint.clone())));
    // Receivers take what the path passes.
    let _ = config.max_udp_payload_size(u16::MAX - IP_UDP_BYTES);
    (Arc::new(config), ids)
}

fn var(value: u64) -> VarInt {
    VarInt::from_u64(value).unwrap_or(VarInt::MAX)
}

fn of_stack(control: StackControl, config: &QuicConfig) -> Arc<dyn ControllerFactory + Send + Sync> {
    match control {
        StackControl::Cubic => Arc::new(with_window(CubicConfig::default(), config, CubicConfig::initial_window)),
        StackControl::NewReno => Arc::new(with_window(NewRenoConfig::default(), config, NewRenoConfig::initial_window)),
        StackControl::Bbr3 => Arc::new(with_window(Bbr3Config::default(), config, Bbr3Config::initial_window)),
    }
}

fn transport_config(config: &QuicConfig, shown: &Arc<Shown>) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let factory: Arc<dyn ControllerFactory + Send + Sync> = match config.control {
        Control::Ours(variant) => Arc::new(OurControls {
            variant,
            slow_start: config.slow_start,
            initial_window: config.initial_window,
            shown: shown.clone(),
        }),
        Control::Stack(control) => Arc::new(WatchedControls { of_stack: of_stack(control, config), shown: shown.clone() }),
    };
    transport
        .congestion_controller_factory(factory)
        .packet_threshold(config.packet_threshold)
        .time_threshold(config.time_threshold)
        .receive_window(var(config.receive_window))
        .stream_receive_window(var(config.stream_receive_window))
        .send_window(config.send_buffer)
        .allow_spin(config.spin)
        .max_idle_timeout(IDLE_TIMEOUT)
        .enable_segmentation_offload(config.send_burst > 1)
        .max_concurrent_bidi_streams(VarInt::from_u32(1000))
        .mtu_discovery_config(config.mtu_discovery.map(|bound| {
            let mut search = MtuDiscoveryConfig::default();
            search.upper_bound(bound);
            search
        }))
        .ack_frequency_config(config.ack_frequency.map(|asked| {
            let mut acks = AckFrequencyConfig::default();
            acks.ack_eliciting_threshold(VarInt::from_u32(asked.threshold))
                .max_ack_delay(asked.max_ack_delay.map(|delay| Duration::from_nanos(delay.0 / 1000)))
                .reordering_threshold(VarInt::from_u32(asked.reordering_threshold));
            acks
        }));
    transport
}

fn with_window<T>(mut of: T, config: &QuicConfig, set: fn(&mut T, u64) -> &mut T) -> T {
    if let Some(window) = config.initial_window {
        set(&mut of, window);
    }
    of
}

fn tls(config: &QuicConfig) -> PlainTls {
    let first = PlainTls {
        client_hello: usize::from(config.client_hello),
        server_hello: usize::from(config.server_hello),
        certificate: usize::from(config.certificate),
        zero_rtt: None,
    };
    match config.handshake {
        Handshake::OneRtt => first,
        Handshake::ZeroRtt => PlainTls { zero_rtt: remembered(config), ..first },
    }
}

/// What a client remembers of a connection to such a server: its transport parameters.
fn remembered(config: &QuicConfig) -> Option<TransportParameters> {
    let first = QuicConfig { handshake: Handshake::OneRtt, ..config.clone() };
    let idle = || AnyApp::Sink(Sink::new(None));
    let rng = || Rng::for_element(0, "a connection before");
    let mut ends = [QuicEndpoint::client(&first, idle(), rng(), Time::ZERO), QuicEndpoint::server(&first, idle(), rng())];
    let mut arena = Arena::default();
    ends[0].on_timer(Time::ZERO);
    for flight in 0..FLIGHTS {
        let datagrams: Vec<Outgoing> = std::iter::from_fn(|| ends[flight % 2].poll(Time::ZERO, &mut arena)).collect();
        for datagram in datagrams {
            ends[1 - flight % 2].receive(Time::ZERO, arena.get(datagram.body), datagram.ecn);
        }
    }
    let (_, connection) = ends[0].connection.as_ref()?;
    connection.borrow().crypto_session().transport_parameters().ok().flatten()
}

fn with_cell(of: Option<(ConnectionHandle, Connection)>) -> Option<(ConnectionHandle, RefCell<Connection>)> {
    of.map(|(handle, connection)| (handle, RefCell::new(connection)))
}

impl QuicEndpoint {
    /// An end that waits for a connection.
    pub fn server(config: &QuicConfig, app: AnyApp, mut rng: Rng) -> QuicEndpoint {
        let (endpoint, _) = endpoint_config(&mut rng);
        let mut server = ServerConfig::new(Arc::new(tls(config)), Arc::new(PlainKey));
        let shown = Arc::default();
        server.transport_config(Arc::new(transport_config(config, &shown)));
        let endpoint = noq_proto::Endpoint::new(endpoint, Some(Arc::new(server)), config.mtu_discovery.is_some());
        QuicEndpoint::new((endpoint, None), CLIENT, (config, shown), app)
    }

    /// An end that connects at `start`.
    pub fn client(config: &QuicConfig, app: AnyApp, mut rng: Rng, start: Time) -> QuicEndpoint {
        let (endpoint, ids) = endpoint_config(&mut rng);
        let mut client = ClientConfig::new(Arc::new(tls(config)));
        let shown = Arc::default();
        client
            .transport_config(Arc::new(transport_config(config, &shown)))
            .initial_dst_cid_provider(Arc::new(move || ids.draw()));
        let endpoint = noq_proto::Endpoint::new(endpoint, None, config.mtu_discovery.is_some());
        QuicEndpoint::new((endpoint, Some((client, start))), SERVER, (config, shown), app)
    }

    fn new(
        (endpoint, opens): (noq_proto::Endpoint, Option<(ClientConfig, Time)>),
        peer: SocketAddr,
        (config, shown): (&QuicConfig, Arc<Shown>),
        app: AnyApp,
    ) -> QuicEndpoint {
        let due = opens.as_ref().map_or(Time::NEVER, |(_, start)| *start);
        let burst = NonZeroUsize::new(usize::from(config.send_burst)).unwrap_or(NonZeroUsize::MIN);
        let exchanges = Exchanges { are_used: app.has_streams(), ..Exchanges::default() };
        QuicEndpoint {
            endpoint,
            connection: None,
            opens,
            peer,
            app,
            socket: Socket::default(),
            streams: Vec::new(),
            exchanges,
            send_buffer: config.send_buffer,
            next_stream: 0,
            is_finished: false,
            refill: None,
            incoming: Vec::new(),
            is_readable: false,
            ended: 0,
            wanted_streams: usize::from(config.streams.max(1)),
            burst,
            outgoing: VecDeque::new(),
            buffer: Vec::new(),
            due,
            finished: None,
            first_sent: None,
            error: None,
            is_deaf: false,
            shown,
            limit: (SendLimit::Application, Time::NEVER),
            limited: Default::default(),
            rtt: Histogram::default(),
            last_rtt: None,
        }
    }

    fn note_rtt(&mut self) {
        let Some((_, connection)) = self.connection.as_mut() else { return };
        let now = connection.get_mut().rtt(PathId::ZERO);
        if let Some(rtt) = now.filter(|_| now != self.last_rtt && self.socket.established) {
            self.rtt.add(Span::from_ns(rtt.as_nanos() as u64));
            self.last_rtt = now;
        }
    }

    fn open(&mut self, now: Time) {
        if self.opens.as_ref().is_none_or(|(_, start)| *start > now) {
            return;
        }
        let Some((config, _)) = self.opens.take() else { return };
        // Refused for what no caller can set: a version, an address.
        self.connection = with_cell(self.endpoint.connect(instant(now), config, self.peer, "server").ok());
        self.socket.established = self.connection.as_ref().is_some_and(|(_, connection)| connection.borrow().has_0rtt());
    }

    /// Moves events between the stack and the application until there are none.
    fn drive(&mut self, now: Time) {
        self.pass_events(now);
        // What the application reads makes room for what the stack still has.
        loop {
            let arrived = self.socket.arrived;
            if self.is_readable {
                self.read(now);
            }
            self.act(now);
            if self.socket.arrived == arrived {
                break;
            }
        }
        if self.exchanges.are_used {
            self.write_exchanges();
        } else {
            self.write();
        }
    }

    fn pass_events(&mut self, now: Time) {
        let Some((handle, connection)) = self.connection.as_mut() else { return };
        let connection = connection.get_mut();
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.socket.established = true,
                Event::ConnectionLost { reason } => {
                    self.is_deaf |= !matches!(reason, ConnectionError::TransportError(_) | ConnectionError::LocallyClosed);
                    self.error.get_or_insert((now, reason.to_string()));
                    self.socket.peer_closed = true;
                }
                Event::Stream(StreamEvent::Readable { .. }) => self.is_readable = true,
                Event::Stream(StreamEvent::Opened { dir }) => {
                    self.is_readable = true;
                    while let Some(stream) = connection.streams().accept(dir) {
                        self.incoming.push(stream);
                        // Answers go back on the streams of their questions.
                        if dir == Dir::Bi && (self.exchanges.are_used || self.streams.len() < self.wanted_streams) {
                            self.streams.push(stream);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn read(&mut self, now: Time) {
        let Some((_, connection)) = self.connection.as_mut() else { return };
        let connection = connection.get_mut();
        let socket = &mut self.socket;
        let mut arrived = 0;
        let mut ended = 0;
        let mut has_more = false;
        self.incoming.retain(|&stream| {
            let mut receive = connection.recv_stream(stream);
            let Ok(mut chunks) = receive.read(true) else {
                return false;
            };
            let before = arrived;
            let is_open = loop {
                let room = UNREAD.saturating_sub((socket.arrived + arrived).saturating_sub(socket.read));
                if room == 0 {
                    has_more = true;
                    break true;
                }
                match chunks.next(room as usize) {
                    Ok(Some(chunk)) => arrived += chunk.bytes.len() as u64,
                    Ok(None) => {
                        ended += 1;
                        break false;
                    }
                    Err(noq_proto::ReadError::Blocked) => break true,
                    Err(_) => break false,
                }
            };
            let _ = chunks.finalize();
            if self.exchanges.are_used {
                let number = stream.index() as usize;
                self.exchanges.arrived.resize(self.exchanges.arrived.len().max(number + 1), 0);
                self.exchanges.arrived[number] += arrived - before;
            }
            is_open
        });
        socket.arrived += arrived;
        self.is_readable = has_more;
        self.ended += ended;
        if ended > 0 && self.incoming.is_empty() && self.ended >= self.wanted_streams && !self.exchanges.are_used {
            socket.peer_closed = true;
            self.finished.get_or_insert(now);
        }
    }

    fn act(&mut self, now: Time) {
        if self.connection.is_none() {
            return;
        }
        let Exchanges { are_used, writes, arrived, .. } = &mut self.exchanges;
        if *are_used {
            self.app.act_on_streams(now, arrived, writes);
            self.socket.read = self.socket.arrived;
            if writes.closed {
                self.finished.get_or_insert(now);
            }
        } else {
            self.app.act(now, &mut self.socket);
        }
    }

    /// The client opens a stream for each request; the server answers on it.
    fn write_exchanges(&mut self) {
        let Some((_, connection)) = self.connection.as_mut() else { return };
        let connection = connection.get_mut();
        let Exchanges { writes, taken, done, .. } = &mut self.exchanges;
        if !self.socket.established {
            return;
        }
        set_send_window(connection, self.send_buffer);
        taken.resize(writes.bytes.len(), 0);
        let mut are_done = true;
        for number in *done..writes.bytes.len() {
            while self.streams.len() <= number && connection.side().is_client() {
                let Some(stream) = connection.streams().open(Dir::Bi) else { return };
                self.streams.push(stream);
                self.incoming.push(stream);
            }
            let bytes = writes.bytes[number];
            let Some(&stream) = self.streams.get(number) else { return };
            while taken[number] < bytes {
                let mut chunk = Bytes::from_static(&ZEROS[..(bytes - taken[number]).min(ZEROS.len() as u64) as usize]);
                match connection.send_stream(stream).write_chunks(&mut std::slice::from_mut(&mut chunk)) {
                    Ok(written) if written > 0 => taken[number] += written as u64,
                    _ => break,
                }
                if taken[number] == bytes {
                    let _ = connection.send_stream(stream).finish();
                }
            }
            are_done &= bytes > 0 && taken[number] == bytes;
            if are_done {
                *done = number + 1;
            }
        }
    }

    fn write(&mut self) {
        let Some((_, connection)) = self.connection.as_mut() else { return };
        let connection = connection.get_mut();
        let socket = &mut self.socket;
        if !socket.established || (socket.written == socket.sent && !socket.closed) {
            return;
        }
        let [acked, window] = [&self.shown.acked, &self.shown.window].map(|of| of.load(Ordering::Relaxed));
        if self.refill.is_some_and(|last| {
            let room = acked.saturating_sub(last.acked) + (2 * window).saturating_sub(2 * last.window);
            room < window / PIECES && raises(connection) == last.raises
        }) {
            return;
        }
        if self.streams.is_empty() {
            while self.streams.len() < self.wanted_streams {
                let Some(stream) = connection.streams().open(Dir::Bi) else { break };
                self.streams.push(stream);
                self.incoming.push(stream);
            }
        }
        let send_window = set_send_window(connection, self.send_buffer);
        let mut blocked = 0;
        while socket.written > socket.sent && blocked < self.streams.len() {
            let stream = self.streams[self.next_stream % self.streams.len()];
            self.next_stream += 1;
            let len = (socket.written - socket.sent).min(ZEROS.len() as u64) as usize;
            let mut chunk = Bytes::from_static(&ZEROS[..len]);
            match connection.send_stream(stream).write_chunks(&mut std::slice::from_mut(&mut chunk)) {
                Ok(written) if written > 0 => {
                    socket.sent += written as u64;
                    blocked = 0;
                }
                _ => blocked += 1,
            }
        }
        // With less than twice the congestion window ahead, the sender waits for each write.
        let is_ahead = blocked > 0 && send_window >= 2 * window;
        self.refill = is_ahead.then(|| Refill { acked, window, raises: raises(connection) });
        if socket.closed && socket.written == socket.sent && !self.is_finished {
            self.is_finished = true;
            for &stream in &self.streams {
                let _ = connection.send_stream(stream).finish();
            }
        }
    }

    fn renew_due(&mut self) {
        let of_stack =
            self.connection.as_ref().and_then(|(_, connection)| connection.borrow().poll_timeout()).map_or(Time::NEVER, time);
        let of_app = if self.connection.is_some() { self.app.due() } else { Time::NEVER };
        let of_start = self.opens.as_ref().map_or(Time::NEVER, |(_, start)| *start);
        self.due = of_stack.min(of_app).min(of_start);
    }

    /// What limits the sender from now on: it has sent all that it may. The stack does not say so; a receive window
    /// that is full is inferred from a timer that is not the pacer's.
    fn note_limit(&mut self, now: Time) {
        let (limit, since) = self.limit;
        if since != Time::NEVER {
            let spent = &mut self.limited[limit as usize];
            *spent = *spent + now.since(since);
        }
        if self.error.is_some() {
            // Nothing limits a connection that has ended.
            self.limit = (SendLimit::Application, Time::NEVER);
            return;
        }
        let [in_flight, window] = [&self.shown.in_flight, &self.shown.window].map(|of| of.load(Ordering::Relaxed));
        if window == 0 {
            return;
        }
        let is_full = in_flight + FULL_PACKET > window;
        let limit = if is_full {
            if self.shown.recovers.load(Ordering::Relaxed) { SendLimit::Recovery } else { SendLimit::Cwnd }
        } else if self.socket.written <= self.socket.sent {
            SendLimit::Application
        } else if self.last_rtt.is_some_and(|rtt| self.due.since(now).0 < rtt.as_nanos() as u64 * PS_PER_NS / 2) {
            SendLimit::Pacing
        } else {
            SendLimit::ReceiveWindow
        };
        self.limit = (limit, now);
    }

    /// The next datagrams of the stack, in `outgoing`.
    fn transmit(&mut self, now: Time) {
        let Some((_, connection)) = self.connection.as_mut() else { return };
        self.buffer.clear();
        if let Some(transmit) = connection.get_mut().poll_transmit(instant(now), self.burst, &mut self.buffer) {
            let size = transmit.segment_size.unwrap_or(transmit.size).max(1);
            let ecn = transmit.ecn.map_or(Ecn::NotEct, |codepoint| match codepoint {
                EcnCodepoint::Ect0 => Ecn::Ect0,
                EcnCodepoint::Ect1 => Ecn::Ect1,
                EcnCodepoint::Ce => Ecn::Ce,
            });
            self.outgoing.extend(self.buffer[..transmit.size].chunks(size).map(|datagram| (Box::from(datagram), ecn)));
        }
    }

    fn take_datagram(&mut self, now: Time, bytes: &[u8], ecn: Ecn) {
        let codepoint = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let (at, path) = (instant(now), FourTuple::from_remote(self.peer));
        self.buffer.clear();
        let event = self.endpoint.handle(at, path, codepoint, BytesMut::from(bytes), &mut self.buffer);
        match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((own, connection)) = self.connection.as_mut()
                    && *own == handle
                    && !self.is_deaf
                {
                    let was_closed = connection.get_mut().is_closed();
                    connection.get_mut().handle_event(event);
                    self.is_deaf = was_closed;
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                if self.connection.is_none() {
                    self.buffer.clear();
                    self.connection = with_cell(self.endpoint.accept(incoming, at, &mut self.buffer, None).ok());
                } else {
                    self.endpoint.ignore(incoming);
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                self.outgoing.push_back((Box::from(&self.buffer[..transmit.size]), Ecn::NotEct));
            }
            None => {}
        }
    }
}

/// Sets, and returns, the bytes that may be written ahead of what is acknowledged.
fn set_send_window(connection: &mut Connection, limit: u64) -> u64 {
    let window = connection.congestion_state(PathId::ZERO).map_or(0, Controller::window);
    let send_window = (2 * window).clamp(MIN_SEND_WINDOW, limit.max(MIN_SEND_WINDOW));
    connection.set_send_window(send_window);
    send_window
}

/// Frames that came to raise the receive window.
fn raises(connection: &mut Connection) -> u64 {
    connection.path_stats(PathId::ZERO).map_or(0, |path| path.frame_rx.max_data + path.frame_rx.max_stream_data)
}

impl Endpoint for QuicEndpoint {
    fn receive(&mut self, now: Time, body: &Body, ecn: Ecn) {
        if let Body::Udp(bytes) = body {
            self.take_datagram(now, bytes, ecn);
            self.note_rtt();
            self.drive(now);
        }
    }

    fn on_timer(&mut self, now: Time) {
        if self.due > now {
            return;
        }
        self.open(now);
        if let Some((_, connection)) = self.connection.as_mut()
            && connection.get_mut().poll_timeout().is_some_and(|due| due <= instant(now))
        {
            connection.get_mut().handle_timeout(instant(now));
        }
        self.drive(now);
    }

    fn poll(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing> {
        if self.outgoing.is_empty() {
            self.transmit(now);
            if self.outgoing.is_empty() {
                self.renew_due();
                self.note_limit(now);
            }
        }
        let (bytes, ecn) = self.outgoing.pop_front()?;
        self.first_sent.get_or_insert(now);
        let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX).saturating_add(IP_UDP_BYTES);
        Some(Outgoing { body: arena.insert(Body::Udp(bytes)), len, kind: Kind::DATA, ecn, no_more: false })
    }

    fn due(&self) -> Time {
        self.due
    }
}

impl OtherEndpoint for QuicEndpoint {
    fn connect_at(&mut self, at: Time) {
        if let Some((_, start)) = &mut self.opens {
            *start = at;
            self.due = at;
        }
    }

    fn app(&self) -> &AnyApp {
        &self.app
    }

    fn call_app(&mut self, now: Time) {
        if let Some((_, start)) = &mut self.opens {
            *start = (*start).min(now);
        }
        self.open(now);
        self.drive(now);
    }

    fn rtt(&self) -> &Histogram {
        &self.rtt
    }

    fn error(&self) -> Option<&str> {
        self.error.as_ref().map(|(_, reason)| reason.as_str())
    }

    fn restart_meters(&mut self) {
        self.rtt = Histogram::default();
        self.limited = Default::default();
    }

    fn transport(&self) -> TransportView {
        let mut view = TransportView {
            first_sent: self.first_sent,
            received: self.socket.arrived,
            finished: self.finished,
            closed: self.error.as_ref().map(|(at, _)| *at),
            in_flight: self.shown.in_flight.load(Ordering::Relaxed),
            limited: self.limited,
            ..TransportView::default()
        };
        let Some((_, connection)) = self.connection.as_ref() else { return view };
        let mut connection = connection.borrow_mut();
        if let Some(path) = connection.path_stats(PathId::ZERO) {
            view.srtt = Some(Span::from_ns(path.rtt.as_nanos() as u64));
            view.cwnd = path.cwnd;
            view.mtu = path.current_mtu;
            view.sent_packets = path.sent_packets;
            view.lost_packets = path.lost_packets - path.lost_plpmtud_probes;
            // The stack counts an event for each ACK that shows a loss.
            let has_own = self.shown.window.load(Ordering::Relaxed) > 0;
            view.window_cuts = if has_own { self.shown.cuts.load(Ordering::Relaxed) } else { path.congestion_events };
            view.spurious_cuts = path.spurious_congestion_events;
            view.bytes_received = path.udp_rx.bytes + u64::from(IP_UDP_BYTES) * path.udp_rx.datagrams;
            view.acks_sent = path.frame_tx.acks;
            view.datagrams_sent = path.udp_tx.datagrams;
            view.bytes_sent = path.udp_tx.bytes + u64::from(IP_UDP_BYTES) * path.udp_tx.datagrams;
        }
        if let Some(control) = connection.congestion_state(PathId::ZERO) {
            view.ssthresh = control.metrics().ssthresh;
        }
        view
    }
}
