//! A web page: a tree of objects that a browser requests over several connections to one server, as
//! HTTP/1.1 does (RFC 9112): one request at a time on each connection, and another connection while
//! requests wait.
//!
//! The browser knows an object when its parent is complete. The connections share what waits in a
//! [`PageLoad`]; it also has the contents of each connection's stream, of which TCP carries the number
//! of bytes alone, so that each end takes from it only what has arrived.

use super::{Application, Socket};
use crate::score::{PageProgress, PageScore};
use crate::units::Time;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
}

impl PageConfig {
    /// Bytes of all objects.
    pub fn bytes(&self) -> u64 {
        self.objects.iter().map(|(bytes, _)| bytes).sum()
    }
}

/// A request and its response on a connection, by the stream offsets at which they end.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    request_end: u64,
    response_end: u64,
    /// None for the handshake.
    object: Option<u32>,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    exchanges: Vec<Exchange>,
    /// Exchanges whose response is complete.
    complete: usize,
    /// Bytes that the browser has counted.
    counted: u64,
    opened: bool,
    /// The connection is open, and its handshake complete.
    ready: bool,
}

impl Stream {
    fn push(&mut self, request: u64, response: u64, object: Option<u32>) {
        let (sent, received) = self.exchanges.last().map_or((0, 0), |last| (last.request_end, last.response_end));
        self.exchanges.push(Exchange { request_end: sent + request, response_end: received + response, object });
    }

    fn is_idle(&self) -> bool {
        self.complete == self.exchanges.len()
    }
}

/// One load of a page.
#[derive(Clone, Debug)]
pub struct PageLoad {
    config: Arc<PageConfig>,
    streams: Vec<Stream>,
    /// Objects that the browser knows and has not requested.
    waiting: VecDeque<u32>,
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
        }
        let (waiting, missing) = (VecDeque::from([0]), config.objects.len());
        SharedPage(Arc::new(Mutex::new(PageLoad { config, streams, waiting, missing, progress, woken: Vec::new() })))
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
        let ends = exchanges.iter().map(|exchange| (exchange.request_end, exchange.response_end));
        let begins = std::iter::once((0, 0)).chain(ends.clone());
        ends.zip(begins).skip(first).map(|(end, begin)| (end.0 - begin.0, end.1 - begin.1)).collect()
    }

    /// All objects have arrived.
    pub fn is_complete(&self) -> bool {
        self.load().missing == 0
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
        while let Some(exchange) = self.streams[connection].exchanges.get(self.streams[connection].complete).copied() {
            let stream = &mut self.streams[connection];
            let upto = arrived.min(exchange.response_end);
            let new = upto.saturating_sub(stream.counted);
            stream.counted += new;
            if exchange.object.is_some() && new > 0 {
                self.progress.arrive(now, new);
            }
            if arrived < exchange.response_end {
                break;
            }
            stream.complete += 1;
            if let Some(object) = exchange.object {
                self.complete(object);
            }
        }
    }

    fn complete(&mut self, object: u32) {
        self.missing -= 1;
        let children = (0..).zip(&self.config.objects).filter(|(_, (_, parent))| *parent == Some(object));
        self.waiting.extend(children.map(|(number, _)| number));
        if self.missing == 0 {
            let open = (0..).zip(&self.streams).filter(|(_, stream)| stream.opened);
            self.woken.extend(open.map(|(number, _)| number));
        }
    }

    /// Gives an idle connection the next object, and wakes others for what waits behind it.
    fn request(&mut self, connection: usize) {
        let PageConfig { request, handshake: [hello, answer], objects } = &*self.config;
        let stream = &mut self.streams[connection];
        if stream.exchanges.is_empty() && *hello > 0 {
            stream.push(*hello, *answer, None);
        }
        if stream.is_idle() {
            stream.ready = true;
            if let Some(object) = self.waiting.pop_front() {
                stream.push(*request, objects[object as usize].0, Some(object));
            }
        }
        self.wake_others(connection);
    }

    fn wake_others(&mut self, connection: usize) {
        // A connection that is opening takes an object when it is ready.
        let opening = self.streams.iter().filter(|stream| stream.opened && !stream.ready).count();
        let mut left = self.waiting.len().saturating_sub(opening);
        for (number, stream) in (0..).zip(&mut self.streams) {
            let is_other = number as usize != connection;
            let is_free = !stream.opened || (stream.ready && stream.is_idle());
            if left > 0 && is_other && is_free && !self.woken.contains(&number) {
                stream.opened = true;
                self.woken.push(number);
                left -= 1;
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
}

impl Application for BrowserConnection {
    fn act(&mut self, now: Time, socket: &mut Socket) {
        socket.read = socket.arrived;
        let mut load = self.page.load();
        let connection = self.connection as usize;
        load.read(now, connection, socket.arrived);
        load.request(connection);
        socket.written = load.streams[connection].exchanges.last().map_or(0, |last| last.request_end);
        socket.closed = load.missing == 0;
    }

    fn due(&self) -> Time {
        Time::NEVER
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
}

impl Application for PageServer {
    fn act(&mut self, _now: Time, socket: &mut Socket) {
        socket.read = socket.arrived;
        let load = self.page.load();
        let exchanges = &load.streams[self.connection as usize].exchanges;
        let requested = exchanges.iter().rev().find(|exchange| exchange.request_end <= socket.arrived);
        socket.written = requested.map_or(0, |exchange| exchange.response_end).max(socket.written);
        socket.closed = socket.peer_closed;
    }

    fn due(&self) -> Time {
        Time::NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    /// A document of 1000 bytes with three children of 500, one of which has a child.
    fn page() -> SharedPage {
        let objects = vec![(1000, None), (500, Some(0)), (500, Some(0)), (500, Some(0)), (200, Some(1))];
        SharedPage::new(Arc::new(PageConfig { request: 100, handshake: [0, 0], objects }), 2, Time::ZERO)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// The browser has received `arrived` bytes on this connection; what it has written then.
    fn act(browser: &mut BrowserConnection, ms: u64, arrived: u64) -> u64 {
        let mut socket = Socket { arrived, established: true, ..Socket::default() };
        browser.act(at(ms), &mut socket);
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
        act(&mut browser, 0, 0);
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
        let config = PageConfig { request: 100, handshake: [300, 3000], objects: vec![(1000, None)] };
        let page = SharedPage::new(Arc::new(config), 6, Time::ZERO);
        let mut browser = BrowserConnection::new(page.clone(), 0);
        assert_eq!([act(&mut browser, 0, 0), act(&mut browser, 10, 2999), act(&mut browser, 20, 3000)], [300, 300, 400]);
        assert_eq!((page.take_woken(), page.score().arrived_bytes), (vec![], 0));
        act(&mut browser, 30, 4000);
        assert_eq!(page.score().byte_index_s, Some(0.03));
    }
}
