//! A web page: a tree of objects that a browser requests from one server or several.
//!
//! With HTTP/1.1 (RFC 9112) a connection has one request at a time, and another connection of its host opens
//! while requests wait. With HTTP/2 (RFC 9113) a host has one connection, on which all requests are
//! outstanding at once and the responses share the stream in frames, in turn.
//!
//! The browser knows an object when its parent is complete. The connections share what waits in a
//! [`PageLoad`]; it also has the contents of each connection's stream, of which TCP carries the number
//! of bytes alone, so that each end takes from it only what has arrived.

use super::{Application, Socket, StreamWrites};
use crate::config_form::is_default;
use crate::score::{PageProgress, PageScore};
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of an HTTP/2 frame (RFC 9113: the default of SETTINGS_MAX_FRAME_SIZE).
const FRAME: u64 = 16_384;

/// A page as a plan has it. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PageConfig {
    /// Of each request.
    pub request: u64,
    /// What the browser and then the server send before the first request of a connection (TLS); zeros
    /// for none.
    pub handshake: [u64; 2],
    /// Each with its size and its parent, which precedes it; the first, the document, has none.
    pub objects: Vec<(u64, Option<u32>)>,
    /// The server's number of each object. Absent: one server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<u32>,
    /// Time from the arrival of an object's parent, or from the start, until its request. Absent: at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_ps: Vec<u64>,
    /// HTTP/2. Absent: HTTP/1.1.
    #[serde(default, skip_serializing_if = "is_default")]
    pub multiplexed: bool,
    /// Maximum number of connections to a host; absent: all of the load's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_host: Option<u32>,
}

impl PageConfig {
    /// Bytes of all objects.
    pub fn bytes(&self) -> u64 {
        self.objects.iter().map(|(bytes, _)| bytes).sum()
    }

    fn host(&self, object: u32) -> u32 {
        self.hosts.get(object as usize).copied().unwrap_or(0)
    }

    fn wait(&self, object: u32) -> Span {
        Span(self.waits_ps.get(object as usize).copied().unwrap_or(0))
    }
}

/// A request and its response on a connection.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    /// The stream offset at which the request ends.
    request_end: u64,
    response: u64,
    /// None for the handshake.
    object: Option<u32>,
}

/// Bytes of the server's stream that belong to one response.
#[derive(Clone, Copy, Debug)]
struct Part {
    exchange: u32,
    /// The stream offset at which it ends.
    end: u64,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    exchanges: Vec<Exchange>,
    /// Bytes of each response that the browser has.
    received: Vec<u64>,
    /// Exchanges whose response is complete.
    complete: usize,
    /// Exchanges whose request the server has.
    answered: usize,
    /// What the server's stream contains, in order.
    parts: Vec<Part>,
    /// Bytes of it that TCP has ever taken.
    taken: u64,
    /// Parts that the browser has read, and the offset up to which it has.
    read_parts: usize,
    counted: u64,
    host: u32,
    opened: bool,
    /// The connection is open, and its handshake complete.
    ready: bool,
}

impl Stream {
    fn push(&mut self, request: u64, response: u64, object: Option<u32>) {
        let sent = self.exchanges.last().map_or(0, |last| last.request_end);
        self.exchanges.push(Exchange { request_end: sent + request, response, object });
        self.received.push(0);
    }

    /// Bytes of the request of an exchange.
    fn request(&self, exchange: usize) -> u64 {
        let before = exchange.checked_sub(1).map_or(0, |before| self.exchanges[before].request_end);
        self.exchanges[exchange].request_end - before
    }

    fn is_idle(&self) -> bool {
        self.complete == self.exchanges.len()
    }

    fn written(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.end)
    }

    /// The server has received requests up to stream offset `arrived`, and TCP has taken its stream up to
    /// `sent`. What was not taken is shared out again among the responses that are not complete.
    fn answer(&mut self, arrived: u64, sent: u64, multiplexed: bool) {
        let known = self.exchanges.partition_point(|exchange| exchange.request_end <= arrived);
        if known == self.answered {
            return;
        }
        self.answered = known;
        self.taken = self.taken.max(sent);
        let fixed = self.parts.partition_point(|part| part.end < self.taken) + 1;
        self.parts.truncate(fixed);
        let mut left: Vec<u64> = self.exchanges[..known].iter().map(|exchange| exchange.response).collect();
        let mut begin = 0;
        for part in &self.parts {
            left[part.exchange as usize] -= part.end - begin;
            begin = part.end;
        }
        let frame = if multiplexed { FRAME } else { u64::MAX };
        while left.iter().any(|&bytes| bytes > 0) {
            for (exchange, left) in (0..).zip(&mut left).filter(|(_, left)| **left > 0) {
                let bytes = (*left).min(frame);
                *left -= bytes;
                begin += bytes;
                self.parts.push(Part { exchange, end: begin });
            }
        }
    }
}

/// One load of a page.
#[derive(Clone, Debug)]
pub struct PageLoad {
    config: Arc<PageConfig>,
    streams: Vec<Stream>,
    /// Objects that the browser knows and has not requested.
    waiting: VecDeque<u32>,
    /// Objects that the browser will know, in the order of these times.
    later: Vec<(Time, u32)>,
    /// Objects that are not complete.
    missing: usize,
    progress: PageProgress,
    /// Connections whose application has something to do.
    woken: Vec<u32>,
}

/// The load that the connections of a page share.
#[derive(Clone, Debug)]
pub struct SharedPage(Arc<Mutex<PageLoad>>);

impl SharedPage {
    /// A load over up to `connections` connections; the first one opens at `start`.
    pub fn new(config: Arc<PageConfig>, connections: u32, start: Time) -> SharedPage {
        let progress = PageProgress::new(start, config.bytes());
        let mut streams = vec![Stream::default(); connections as usize];
        if let Some(first) = streams.first_mut() {
            first.opened = true;
            first.host = config.host(0);
        }
        let (waiting, missing) = (VecDeque::from([0]), config.objects.len());
        let (later, woken) = (Vec::new(), Vec::new());
        SharedPage(Arc::new(Mutex::new(PageLoad { config, streams, waiting, later, missing, progress, woken })))
    }

    fn load(&self) -> MutexGuard<'_, PageLoad> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn score(&self) -> PageScore {
        self.load().progress.score()
    }

    /// Bytes of each request of a connection and of its response, from the `first` one on: what a program
    /// over a socket writes and asks for.
    pub fn exchanges(&self, connection: u32, first: usize) -> Vec<(u64, u64)> {
        let load = self.load();
        let exchanges = load.streams.get(connection as usize).map_or(&[][..], |stream| &stream.exchanges);
        let begins = std::iter::once(0).chain(exchanges.iter().map(|exchange| exchange.request_end));
        exchanges.iter().zip(begins).skip(first).map(|(one, begin)| (one.request_end - begin, one.response)).collect()
    }

    /// All objects have arrived.
    pub fn is_complete(&self) -> bool {
        self.load().missing == 0
    }

    /// The server's program has these requests up to stream offset `arrived`: for a browser whose server
    /// does not share this load. Only with HTTP/1.1, where the order of the responses is that of the requests.
    pub fn answer_in_order(&self, connection: u32, arrived: u64) {
        if let Some(stream) = self.load().streams.get_mut(connection as usize) {
            stream.answer(arrived, u64::MAX - 1, false);
        }
    }

    /// When the first connection has to act although nothing arrives.
    pub fn due(&self) -> Time {
        self.load().due()
    }

    /// Takes the connections that were given something to do since the last call: to open, to request
    /// an object, or to close.
    pub fn take_woken(&self) -> Vec<u32> {
        std::mem::take(&mut self.load().woken)
    }
}

impl PageLoad {
    /// The browser reads a connection up to stream offset `arrived`.
    fn read(&mut self, now: Time, connection: usize, arrived: u64) {
        loop {
            let stream = &mut self.streams[connection];
            let Some(&Part { exchange, end }) = stream.parts.get(stream.read_parts) else { return };
            let new = arrived.min(end).saturating_sub(stream.counted);
            stream.counted += new;
            stream.received[exchange as usize] += new;
            let Exchange { response, object, .. } = stream.exchanges[exchange as usize];
            let is_complete = new > 0 && stream.received[exchange as usize] == response;
            stream.complete += usize::from(is_complete);
            if stream.counted == end {
                stream.read_parts += 1;
            }
            let is_over = stream.counted < end || arrived == stream.counted;
            if object.is_some() && new > 0 {
                self.progress.arrive(now, new);
            }
            if let Some(object) = object.filter(|_| is_complete) {
                self.complete(now, object);
            }
            if is_over {
                return;
            }
        }
    }

    /// The browser reads a connection on which each exchange has a stream of its own.
    fn read_streams(&mut self, now: Time, connection: usize, arrived: &[u64]) {
        for (exchange, &arrived) in arrived.iter().enumerate() {
            let stream = &mut self.streams[connection];
            let (Some(received), Some(&Exchange { response, object, .. })) =
                (stream.received.get_mut(exchange), stream.exchanges.get(exchange))
            else {
                return;
            };
            let new = arrived.min(response).saturating_sub(*received);
            if new == 0 {
                continue;
            }
            *received += new;
            let is_complete = *received == response;
            stream.complete += usize::from(is_complete);
            if let Some(object) = object {
                self.progress.arrive(now, new);
                if is_complete {
                    self.complete(now, object);
                }
            }
        }
    }

    fn complete(&mut self, now: Time, object: u32) {
        self.missing -= 1;
        let objects = (0..).zip(&self.config.objects);
        for (child, _) in objects.filter(|(_, (_, parent))| *parent == Some(object)) {
            match self.config.wait(child) {
                Span::ZERO => self.waiting.push_back(child),
                wait => self.later.push((now + wait, child)),
            }
        }
        self.later.sort_by_key(|(at, _)| *at);
        if !self.later.is_empty() && !self.woken.contains(&0) {
            self.woken.push(0);
        }
        if self.missing == 0 {
            let open = (0..).zip(&self.streams).filter(|(_, stream)| stream.opened);
            self.woken.extend(open.map(|(number, _)| number));
        }
    }

    /// When the browser will know another object.
    fn due(&self) -> Time {
        self.later.first().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Gives a connection what its host has to be asked for, and wakes others for what waits behind it.
    fn request(&mut self, now: Time, connection: usize) {
        let known = self.later.partition_point(|(at, _)| *at <= now);
        self.waiting.extend(self.later.drain(..known).map(|(_, object)| object));
        let config = Arc::clone(&self.config);
        let stream = &mut self.streams[connection];
        let [hello, answer] = config.handshake;
        if stream.exchanges.is_empty() && hello > 0 {
            stream.push(hello, answer, None);
        }
        stream.ready |= stream.is_idle();
        while stream.ready && (config.multiplexed || stream.is_idle()) {
            let Some(place) = self.waiting.iter().position(|&object| config.host(object) == stream.host) else { break };
            let Some(object) = self.waiting.remove(place) else { break };
            stream.push(config.request, config.objects[object as usize].0, Some(object));
        }
        self.wake_others(connection);
    }

    fn wake_others(&mut self, connection: usize) {
        let waiting: Vec<u32> = self.waiting.iter().map(|&object| self.config.host(object)).collect();
        let mut hosts = waiting.clone();
        hosts.sort_unstable();
        hosts.dedup();
        for host in hosts {
            let of_host = |stream: &Stream| stream.opened && stream.host == host;
            // A connection that is opening takes an object when it is ready, and with HTTP/2 all.
            let opening = self.streams.iter().filter(|stream| of_host(stream) && !stream.ready).count();
            let mut left = waiting.iter().filter(|&&other| other == host).count().saturating_sub(opening);
            if self.config.multiplexed {
                left = left.min(usize::from(opening == 0));
            }
            let limit = if self.config.multiplexed { 1 } else { self.config.per_host.unwrap_or(u32::MAX) as usize };
            let mut free = limit.saturating_sub(self.streams.iter().filter(|stream| of_host(stream)).count());
            for (number, stream) in (0..).zip(&mut self.streams) {
                let may_open = !stream.opened && free > 0;
                let is_free = stream.opened && stream.host == host && stream.ready;
                let is_free = is_free && (self.config.multiplexed || stream.is_idle());
                if left > 0 && number as usize != connection && (may_open || is_free) && !self.woken.contains(&number) {
                    if may_open {
                        (stream.opened, stream.host) = (true, host);
                        free -= 1;
                    }
                    self.woken.push(number);
                    left -= 1;
                }
            }
        }
    }
}

/// The browser's end of a connection.
#[derive(Clone, Debug)]
pub struct BrowserConnection {
    page: SharedPage,
    connection: u32,
}

impl BrowserConnection {
    /// `connection` counts from 0.
    pub fn new(page: SharedPage, connection: u32) -> BrowserConnection {
        BrowserConnection { page, connection }
    }

    pub fn page(&self) -> &SharedPage {
        &self.page
    }

    pub(super) fn act_on_streams(&mut self, now: Time, arrived: &[u64], writes: &mut StreamWrites) {
        let mut load = self.page.load();
        let connection = self.connection as usize;
        load.read_streams(now, connection, arrived);
        load.request(now, connection);
        let stream = &load.streams[connection];
        let known = writes.bytes.len();
        writes.bytes.extend((known..stream.exchanges.len()).map(|exchange| stream.request(exchange)));
        writes.closed = load.missing == 0;
    }
}

impl Application for BrowserConnection {
    fn act(&mut self, now: Time, socket: &mut Socket) {
        socket.read = socket.arrived;
        let mut load = self.page.load();
        let connection = self.connection as usize;
        load.read(now, connection, socket.arrived);
        load.request(now, connection);
        socket.written = load.streams[connection].exchanges.last().map_or(0, |last| last.request_end);
        socket.closed = load.missing == 0;
    }

    /// The first connection is open as long as the page loads: it has the browser's clock.
    fn due(&self) -> Time {
        if self.connection == 0 { self.page.load().due() } else { Time::NEVER }
    }
}

/// The server's end of a connection: it answers each request when all of it has arrived, at once, and
/// closes when the browser has.
#[derive(Clone, Debug)]
pub struct PageServer {
    page: SharedPage,
    connection: u32,
}

impl PageServer {
    /// `connection` counts from 0.
    pub fn new(page: SharedPage, connection: u32) -> PageServer {
        PageServer { page, connection }
    }

    pub(super) fn act_on_streams(&mut self, arrived: &[u64], writes: &mut StreamWrites) {
        let load = self.page.load();
        let stream = &load.streams[self.connection as usize];
        writes.bytes.resize(arrived.len(), 0);
        for (exchange, (&arrived, writes)) in arrived.iter().zip(&mut writes.bytes).enumerate() {
            if exchange < stream.exchanges.len() && arrived >= stream.request(exchange) {
                *writes = stream.exchanges[exchange].response;
            }
        }
    }
}

impl Application for PageServer {
    fn act(&mut self, _now: Time, socket: &mut Socket) {
        socket.read = socket.arrived;
        let mut load = self.page.load();
        let multiplexed = load.config.multiplexed;
        let stream = &mut load.streams[self.connection as usize];
        stream.answer(socket.arrived, socket.sent, multiplexed);
        socket.written = stream.written().max(socket.written);
        socket.closed = socket.peer_closed;
    }

    fn due(&self) -> Time {
        Time::NEVER
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    /// A document of 1000 bytes with three children of 500, one of which has a child.
    fn config() -> PageConfig {
        let objects = vec![(1000, None), (500, Some(0)), (500, Some(0)), (500, Some(0)), (200, Some(1))];
        let (hosts, waits_ps) = (Vec::new(), Vec::new());
        PageConfig { request: 100, handshake: [0, 0], objects, hosts, waits_ps, multiplexed: false, per_host: None }
    }

    fn shared(config: PageConfig, connections: u32) -> SharedPage {
        SharedPage::new(Arc::new(config), connections, Time::ZERO)
    }

    fn page() -> SharedPage {
        shared(config(), 2)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// The browser has received `arrived` bytes on this connection; what it has written then, all of which
    /// the server has at once.
    fn act(browser: &mut BrowserConnection, ms: u64, arrived: u64) -> u64 {
        let mut socket = Socket { arrived, established: true, ..Socket::default() };
        browser.act(at(ms), &mut socket);
        browser.page().answer_in_order(browser.connection, socket.written);
        socket.written
    }

    #[test]
    fn objects_are_requested_when_their_parent_is_complete_over_connections_as_needed() {
        let page = page();
        let [mut first, mut second] = [0, 1].map(|connection| BrowserConnection::new(page.clone(), connection));
        assert_eq!((act(&mut first, 0, 0), page.take_woken()), (100, vec![]));
        assert_eq!((act(&mut first, 10, 999), page.take_woken()), (100, vec![]));
        assert_eq!((act(&mut first, 20, 1000), page.take_woken()), (200, vec![1]), "a second connection for what waits");
        assert_eq!(act(&mut second, 30, 0), 100, "it is open");
        // Object 1 is complete: the first connection goes on with 3, and 4 waits for the second.
        assert_eq!((act(&mut first, 40, 1500), page.take_woken()), (300, vec![]));
        assert_eq!(act(&mut second, 50, 500), 200);
        act(&mut first, 60, 2000);
        act(&mut second, 70, 700);
        assert_eq!(page.take_woken(), [0, 1], "both close");
        let score = page.score();
        assert_eq!((score.load_s, score.bytes, score.arrived_bytes), (Some(0.07), 2700, 2700));
        let weighted = 999.0 * 10.0 + 20.0 + 500.0 * 40.0 + 500.0 * 50.0 + 500.0 * 60.0 + 200.0 * 70.0;
        assert!((score.byte_index_s.unwrap() - weighted / 2700.0 / 1000.0).abs() < 1e-12);
    }

    #[test]
    fn server_answers_a_request_once_all_of_it_has_arrived() {
        let page = page();
        let mut browser = BrowserConnection::new(page.clone(), 0);
        browser.act(Time::ZERO, &mut Socket::default());
        let mut server = PageServer::new(page, 0);
        let mut written = |arrived| {
            let mut socket = Socket { arrived, ..Socket::default() };
            server.act(Time::ZERO, &mut socket);
            socket.written
        };
        assert_eq!((written(99), written(100)), (0, 1000));
    }

    #[test]
    fn handshake_comes_before_the_first_request_and_is_no_part_of_the_page() {
        let page = shared(PageConfig { handshake: [300, 3000], objects: vec![(1000, None)], ..config() }, 6);
        let mut browser = BrowserConnection::new(page.clone(), 0);
        assert_eq!([act(&mut browser, 0, 0), act(&mut browser, 10, 2999), act(&mut browser, 20, 3000)], [300, 300, 400]);
        assert_eq!((page.take_woken(), page.score().arrived_bytes), (vec![], 0));
        act(&mut browser, 30, 4000);
        assert_eq!(page.score().byte_index_s, Some(0.03));
    }

    #[test]
    fn responses_of_one_connection_alternate_on_it_and_sent_bytes_stay() {
        let objects = vec![(1000, None), (40_000, Some(0)), (20_000, Some(0))];
        let page = shared(PageConfig { objects, multiplexed: true, ..config() }, 1);
        let mut browser = BrowserConnection::new(page.clone(), 0);
        let mut server = PageServer::new(page.clone(), 0);
        let mut exchange = |ms: u64, arrived: u64, sent: u64| {
            let mut socket = Socket { arrived, established: true, ..Socket::default() };
            browser.act(at(ms), &mut socket);
            let mut socket = Socket { arrived: socket.written, sent, ..Socket::default() };
            server.act(at(ms), &mut socket);
            (socket.written, page.take_woken())
        };
        assert_eq!(exchange(0, 0, 0), (1000, vec![]));
        assert_eq!(exchange(10, 1000, 1000), (61_000, vec![]), "both requests at once, on the same connection");
        // Frames of the first, the second, the first, the rest of the second, the rest of the first.
        let ends: Vec<u64> = page.load().streams[0].parts.iter().map(|part| part.end - 1000).collect();
        assert_eq!(ends, [0, 16_384, 32_768, 49_152, 52_768, 60_000]);
        assert_eq!(exchange(20, 1000 + 52_767, 61_000), (61_000, vec![]));
        assert_eq!(page.load().missing, 2);
        exchange(30, 1000 + 52_768, 61_000);
        assert_eq!(page.load().missing, 1, "the second, which is shorter");
        assert_eq!(exchange(40, 61_000, 61_000).1, [0]);
        assert!(page.is_complete());
    }

    #[test]
    fn response_on_its_own_stream_is_complete_before_an_earlier_one() {
        let objects = vec![(1000, None), (40_000, Some(0)), (20_000, Some(0))];
        let page = shared(PageConfig { objects, multiplexed: true, ..config() }, 1);
        let mut browser = BrowserConnection::new(page.clone(), 0);
        let mut server = PageServer::new(page.clone(), 0);
        let mut exchange = |ms: u64, arrived: &[u64]| {
            let (mut requests, mut responses) = (StreamWrites::default(), StreamWrites::default());
            browser.act_on_streams(at(ms), arrived, &mut requests);
            server.act_on_streams(&requests.bytes, &mut responses);
            (requests.bytes, responses.bytes, requests.closed)
        };
        assert_eq!(exchange(0, &[]), (vec![100], vec![1000], false));
        assert_eq!(exchange(10, &[1000]), (vec![100; 3], vec![1000, 40_000, 20_000], false));
        exchange(20, &[1000, 39_999, 20_000]);
        assert_eq!(page.load().missing, 1);
        assert!(exchange(30, &[1000, 40_000, 20_000]).2);
        assert_eq!(page.score().load_s, Some(0.03));
        let (mut server, mut writes) = (PageServer::new(page, 0), StreamWrites::default());
        server.act_on_streams(&[99], &mut writes);
        assert_eq!(writes.bytes, [0], "a request that is not complete has no answer");
    }

    #[test]
    fn response_to_a_later_request_comes_after_what_tcp_has_taken() {
        let mut stream = Stream::default();
        stream.push(100, 40_000, Some(0));
        stream.answer(100, 0, true);
        stream.push(100, 10_000, Some(1));
        stream.answer(200, 20_000, true);
        let parts: Vec<(u32, u64)> = stream.parts.iter().map(|part| (part.exchange, part.end)).collect();
        assert_eq!(parts, [(0, 16_384), (0, 32_768), (0, 40_000), (1, 50_000)]);
        stream.push(100, 30_000, Some(2));
        stream.answer(300, 33_000, true);
        let parts: Vec<(u32, u64)> = stream.parts.iter().map(|part| (part.exchange, part.end)).collect();
        assert_eq!(parts, [(0, 16_384), (0, 32_768), (0, 40_000), (1, 50_000), (2, 66_384), (2, 80_000)]);
    }

    #[test]
    fn objects_of_another_host_have_connections_of_their_own() {
        let page = shared(PageConfig { hosts: vec![0, 7, 7, 7, 0], per_host: Some(2), ..config() }, 4);
        let mut first = BrowserConnection::new(page.clone(), 0);
        act(&mut first, 0, 0);
        assert_eq!((act(&mut first, 10, 1000), page.take_woken()), (100, vec![1, 2]), "two for host 7, and no third");
        let mut second = BrowserConnection::new(page.clone(), 1);
        assert_eq!(act(&mut second, 20, 0), 100);
    }

    #[test]
    fn object_is_requested_after_its_wait() {
        let objects = vec![(1000, None), (500, Some(0))];
        let page = shared(PageConfig { objects, waits_ps: vec![0, 30_000_000_000], ..config() }, 2);
        let mut browser = BrowserConnection::new(page.clone(), 0);
        act(&mut browser, 0, 0);
        assert_eq!((act(&mut browser, 10, 1000), browser.due()), (100, at(40)));
        assert_eq!((act(&mut browser, 39, 1000), act(&mut browser, 40, 1000), browser.due()), (100, 200, Time::NEVER));
    }
}
