//! A video by HTTP: a player that requests one segment after another over one connection (HTTP/1.1, RFC
//! 9112), in the encoding that its adaptation chooses, while its buffer has room.
//!
//! The server answers at once. TCP carries the number of bytes alone, so that the ends share the list of
//! requests, and each takes from it only what has arrived.

use super::adaptation::Rule;
use super::{Adaptation, Application, LadderName, Socket};
use crate::score::{LadderStep, PlaybackConfig, VideoRecord, VideoScore};
use crate::units::{Span, Time};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A video and its player.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VideoConfig {
    pub ladder: LadderName,
    pub adaptation: Adaptation,
    pub playback: PlaybackConfig,
    /// Maximum of media in the buffer.
    pub buffer: Span,
    /// Bytes of a request.
    pub request: u64,
    /// What the player and then the server send before the first request (TLS); zeros for none.
    pub handshake: [u64; 2],
}

impl VideoConfig {
    /// Bytes of a segment of this step: all of a step have the same size.
    fn segment_bytes(&self, step: usize) -> u64 {
        let bits = u128::from(self.ladder.steps()[step].bps) * u128::from(self.playback.segment.0) / 1_000_000_000_000;
        u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX)
    }
}

/// A request and its response by the stream offsets at which they end.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    request_end: u64,
    response_end: u64,
}

#[derive(Clone, Debug, Default)]
struct Exchanges(Arc<Mutex<Vec<Exchange>>>);

impl Exchanges {
    fn list(&self) -> MutexGuard<'_, Vec<Exchange>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> Option<Exchange> {
        self.list().last().copied()
    }

    fn push(&self, request: u64, response: u64) {
        let (sent, received) = self.last().map_or((0, 0), |last| (last.request_end, last.response_end));
        self.list().push(Exchange { request_end: sent + request, response_end: received + response });
    }
}

/// What the player waits for.
#[derive(Clone, Copy, Debug)]
enum Awaited {
    Nothing,
    Handshake,
    Segment { step: usize, requested: Time },
}

/// The player's end.
#[derive(Clone, Debug)]
pub struct VideoPlayer {
    config: VideoConfig,
    exchanges: Exchanges,
    awaited: Awaited,
    rule: Rule,
    record: VideoRecord,
    stop: Time,
    due: Time,
}

/// The server's end.
#[derive(Clone, Debug)]
pub struct VideoServer {
    exchanges: Exchanges,
}

/// Both ends of a video that a person asks for at `start` and leaves at `stop`.
pub fn video(config: VideoConfig, start: Time, stop: Time) -> (VideoServer, VideoPlayer) {
    let exchanges = Exchanges::default();
    let server = VideoServer { exchanges: exchanges.clone() };
    let record = VideoRecord::new(config.playback, start);
    let rule = Rule::new(config.adaptation);
    (server, VideoPlayer { config, exchanges, awaited: Awaited::Nothing, rule, record, stop, due: stop })
}

impl VideoPlayer {
    /// The score over a window, up to the time at which the person leaves.
    pub fn score(&self, (from, to): (Time, Time)) -> VideoScore {
        self.record.score(self.ladder(), (from, to.min(self.stop).max(from)))
    }

    fn ladder(&self) -> &'static [LadderStep] {
        self.config.ladder.steps()
    }

    /// Takes the response that is complete, if one is.
    fn read(&mut self, now: Time, arrived: u64) {
        if self.exchanges.last().is_none_or(|last| arrived < last.response_end) {
            return;
        }
        if let Awaited::Segment { step, requested } = self.awaited {
            self.rule.sample(self.config.segment_bytes(step), now - requested);
            self.record.arrive(now, step);
        }
        self.awaited = Awaited::Nothing;
    }

    /// Requests the next segment when the buffer has room.
    fn request(&mut self, now: Time) {
        let [hello, answer] = self.config.handshake;
        if hello > 0 && self.exchanges.last().is_none() {
            self.exchanges.push(hello, answer);
            self.awaited = Awaited::Handshake;
            return;
        }
        let room = self.record.room_at(now, self.config.buffer);
        if room > now {
            self.due = room.min(self.stop);
            return;
        }
        let step = self.rule.choose(now, self.ladder(), self.record.buffered(now), self.config.buffer);
        self.exchanges.push(self.config.request, self.config.segment_bytes(step));
        self.awaited = Awaited::Segment { step, requested: now };
    }
}

impl Application for VideoPlayer {
    fn act(&mut self, now: Time, socket: &mut Socket) {
        socket.read = socket.arrived;
        if now >= self.stop {
            (socket.closed, self.due) = (true, Time::NEVER);
            return;
        }
        self.due = self.stop;
        self.read(now, socket.arrived);
        if matches!(self.awaited, Awaited::Nothing) {
            self.request(now);
        }
        socket.written = self.exchanges.last().map_or(0, |last| last.request_end);
    }

    fn due(&self) -> Time {
        self.due
    }
}

impl Application for VideoServer {
    fn act(&mut self, _now: Time, socket: &mut Socket) {
        socket.read = socket.arrived;
        let exchanges = self.exchanges.list();
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

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn config(handshake: [u64; 2]) -> VideoConfig {
        let segment = Span::from_secs(4);
        VideoConfig {
            ladder: LadderName::Netflix2015,
            adaptation: Adaptation::Buffer,
            playback: PlaybackConfig { segment, start_threshold: segment, resume_threshold: segment },
            buffer: Span::from_secs(8),
            request: 100,
            handshake,
        }
    }

    /// Calls a player that has received `arrived` bytes: what it has written then, and when it acts again.
    fn act(player: &mut VideoPlayer, ms: u64, arrived: u64) -> (u64, Time) {
        let mut socket = Socket { arrived, established: true, ..Socket::default() };
        player.act(at(ms), &mut socket);
        (socket.written, player.due())
    }

    #[test]
    fn player_requests_one_segment_at_a_time_while_its_buffer_has_room() {
        let (_, mut player) = video(config([0, 0]), at(0), at(60_000));
        // 4 s at 235 kb/s are 117,500 B.
        assert_eq!(act(&mut player, 100, 0), (100, at(60_000)));
        assert_eq!(act(&mut player, 200, 117_499), (100, at(60_000)));
        assert_eq!(act(&mut player, 300, 117_500), (200, at(60_000)));
        // With half of the buffer the map has 1560 kb/s: 1050 kb/s, 525,000 B.
        assert_eq!(act(&mut player, 1300, 642_500), (200, at(4300)), "7 s wait: 3 s until 4 s more fit into 8");
        assert_eq!(act(&mut player, 4300, 642_500).0, 300);
    }

    #[test]
    fn server_answers_with_the_bytes_of_the_requested_step() {
        let (mut server, mut player) = video(config([0, 0]), at(0), Time::NEVER);
        act(&mut player, 0, 0);
        let mut written = |arrived| {
            let mut socket = Socket { arrived, ..Socket::default() };
            server.act(at(50), &mut socket);
            socket.written
        };
        assert_eq!((written(99), written(100)), (0, 117_500));
    }

    #[test]
    fn handshake_comes_first_and_is_no_sample() {
        let (_, mut player) = video(config([500, 4000]), at(0), Time::NEVER);
        assert_eq!([act(&mut player, 0, 0).0, act(&mut player, 10, 3999).0, act(&mut player, 20, 4000).0], [500, 500, 600]);
        assert_eq!(player.record.buffered(at(20)), Span::ZERO);
    }

    #[test]
    fn player_closes_when_the_person_leaves() {
        let (_, mut player) = video(config([0, 0]), at(0), at(10_000));
        act(&mut player, 0, 0);
        let mut socket = Socket { arrived: 0, established: true, written: 100, ..Socket::default() };
        player.act(at(10_000), &mut socket);
        assert_eq!((socket.closed, socket.written, player.due()), (true, 100, Time::NEVER));
    }
}
