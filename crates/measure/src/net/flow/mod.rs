//! One TCP connection of a test, at either end: who sends sends all it may, who receives counts.

mod step;

use super::sample::{self, Seen};
use super::sockets::{Given, close_at_once, given};
use super::tcp_info::TcpInfo;
use crate::Nanos;
use crate::control::message::FlowOutcome;
use nix::poll::PollFlags;
use std::io::ErrorKind;
use std::net::TcpStream;

/// Bytes written or read in one go.
pub const PIECE: usize = 1 << 18;
/// What a rate's cap may be ahead of itself: 10 ms of it.
const BURST_SHARE: i64 = 100;

/// What a connection is to do.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    pub number: u16,
    pub sends: bool,
    /// Exactly so many bytes; none for all that time allows.
    pub limit: Option<u64>,
    /// Bits a second that pass at most; none where the caller limits the rate.
    pub rate_bps: Option<u64>,
    /// The most that is advertised, where it receives.
    pub window: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Connecting,
    Open,
    /// All is written: the peer's word that all has come is awaited.
    Confirming,
    Ended,
}

/// Direction of the data, as seen from this end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    Out = 0,
    In = 1,
}

/// Result of one system call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    pub bytes: u64,
    /// EAGAIN: no data to read, or no space to write.
    pub blocked: bool,
}

pub struct Flow {
    pub task: Task,
    /// The socket is presumed ready: no EAGAIN since the last poll event.
    pub ready: bool,
    /// Service received within its test (`crate::share`).
    pub moved: u64,
    /// None once it has ended.
    stream: Option<TcpStream>,
    phase: Phase,
    /// Written first, before data.
    hello: Vec<u8>,
    /// The client's first SYN, by this end's clock; when it was connected; first and last byte.
    pub began: Nanos,
    pub connected: Option<Nanos>,
    pub first: Option<Nanos>,
    pub last: Option<Nanos>,
    /// Bytes beyond this time do not count, and nothing is sent.
    stop_at: Nanos,
    pub bytes: u64,
    /// Limit of the data that was written and has not left; none where the caller limits no rate.
    pub unsent_limit: Option<u64>,
    /// Bit-nanoseconds that have passed under the cap: when the next piece may pass.
    free_at: Nanos,
    pub failed: Option<String>,
    ending: Option<(TcpInfo, Given)>,
    /// Retransmitted segments (tcpi_total_retrans) at the last query.
    again: u32,
}

impl Flow {
    /// At the client: it is on its way.
    pub fn connecting(task: Task, stream: TcpStream, began: Nanos, stop_at: Nanos) -> Flow {
        Flow {
            task,
            ready: false,
            moved: 0,
            stream: Some(stream),
            phase: Phase::Connecting,
            hello: Vec::new(),
            began,
            connected: None,
            first: None,
            last: None,
            stop_at,
            bytes: 0,
            unsent_limit: None,
            free_at: began,
            failed: None,
            ending: None,
            again: 0,
        }
    }

    /// At the server: it has come, and said who it is.
    pub fn accepted(task: Task, stream: TcpStream, began: Nanos, stop_at: Nanos) -> Flow {
        Flow { phase: Phase::Open, ready: true, ..Flow::connecting(task, stream, began, stop_at) }
    }

    pub fn stream(&self) -> Option<&TcpStream> {
        self.stream.as_ref()
    }

    pub fn is_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// What it waits for; none while its cap holds it.
    pub fn interest(&self, now: Nanos) -> PollFlags {
        match self.phase {
            Phase::Connecting => PollFlags::POLLOUT,
            Phase::Open if now < self.free_at => PollFlags::empty(),
            Phase::Open if self.task.sends || !self.hello.is_empty() => PollFlags::POLLOUT,
            Phase::Open | Phase::Confirming => PollFlags::POLLIN,
            Phase::Ended => PollFlags::empty(),
        }
    }

    /// Direction in which a ready socket moves data; none during the handshake.
    pub fn moves(&self) -> Option<Traffic> {
        (self.phase == Phase::Open).then_some(if self.task.sends { Traffic::Out } else { Traffic::In })
    }

    /// Bytes that may be written before the unsent data reaches its limit.
    pub fn unsent_room(&self) -> u64 {
        let Some((limit, stream)) = self.unsent_limit.zip(self.stream.as_ref()) else { return u64::MAX };
        limit.saturating_sub(TcpInfo::of(stream).map_or(0, |info| u64::from(info.notsent)))
    }

    /// Bytes of payload that the kernel has retransmitted since the last call.
    pub fn sent_again(&mut self) -> u64 {
        let Some(info) = self.stream.as_ref().filter(|_| self.task.sends).and_then(TcpInfo::of) else { return 0 };
        let more = info.total_retrans.saturating_sub(std::mem::replace(&mut self.again, info.total_retrans));
        u64::from(more) * u64::from(info.mss)
    }

    /// When it wants to be looked at, whatever its socket says.
    pub fn due(&self, now: Nanos) -> Nanos {
        match self.phase {
            Phase::Ended => Nanos::MAX,
            Phase::Open if now < self.free_at => self.stop_at.min(self.free_at),
            _ => self.stop_at,
        }
    }

    /// One system call on a ready socket or at a due time, for at most the bytes that fit `scratch`. `hello` makes a
    /// client's first bytes once it is connected.
    pub fn advance(&mut self, now: Nanos, scratch: &mut [u8], hello: impl FnOnce(Nanos) -> Vec<u8>) -> Moved {
        let before = self.bytes;
        let blocked = self.step(now, scratch, hello);
        Moved { bytes: self.bytes - before, blocked }
    }

    /// True if the socket was not ready.
    fn step(&mut self, now: Nanos, scratch: &mut [u8], hello: impl FnOnce(Nanos) -> Vec<u8>) -> bool {
        if self.phase == Phase::Connecting
            && let Err(e) = self.connect(now, hello)
        {
            self.fail(now, &e.to_string());
            return false;
        }
        if now >= self.stop_at {
            self.time_is_up(now);
            return false;
        }
        let done = match self.phase {
            Phase::Open if now < self.free_at => Ok(()),
            Phase::Open if !self.hello.is_empty() => self.say_hello(),
            Phase::Open if self.task.sends => self.send(now, scratch),
            Phase::Open => self.receive(now, scratch),
            Phase::Confirming => self.confirm(now),
            Phase::Connecting | Phase::Ended => Ok(()),
        };
        match done {
            Err(e) if e.kind() == ErrorKind::WouldBlock || e.kind() == ErrorKind::Interrupted => return true,
            // Without a limit the end that counts ends it, by a reset.
            Err(_) if self.task.limit.is_none() && self.bytes > 0 => self.end(),
            Err(e) => self.fail(now, &e.to_string()),
            Ok(()) => {}
        }
        false
    }

    fn time_is_up(&mut self, now: Nanos) {
        match (self.task.limit, self.phase) {
            (_, Phase::Ended) => {}
            (None, Phase::Open) => self.end(),
            _ => self.fail(now, "it took longer than it may"),
        }
    }

    /// Bytes that came with the hello.
    pub fn had(&mut self, now: Nanos, bytes: usize) {
        if bytes > 0 {
            self.count(now, bytes);
        }
    }

    /// It cannot be what was asked for.
    pub fn refuse(&mut self, why: String) {
        self.failed = Some(why);
        self.end();
    }

    fn fail(&mut self, now: Nanos, why: &str) {
        self.failed.get_or_insert_with(|| why.to_owned());
        self.last.get_or_insert(now);
        self.end();
    }

    /// Ends it, if it has not ended: what is on the way is thrown away.
    pub fn end(&mut self) {
        self.phase = Phase::Ended;
        if let Some(stream) = self.stream.take() {
            self.ending = TcpInfo::of(&stream).map(|info| (info, given(&stream)));
            if self.task.limit.is_none() || self.failed.is_some() {
                close_at_once(&stream);
            }
        }
    }

    pub fn sample(&self, now: Nanos) -> Option<[i64; sample::COLUMNS.len()]> {
        let seen = Seen { at: now, flow: self.task.number, sends: self.task.sends, bytes: self.bytes };
        let open = matches!(self.phase, Phase::Open | Phase::Confirming);
        self.hold_window();
        self.stream.as_ref().filter(|_| open).and_then(TcpInfo::of).map(|info| sample::row(&seen, &info))
    }

    pub fn outcome(&self) -> FlowOutcome {
        let now = || self.stream.as_ref().and_then(|s| Some((TcpInfo::of(s)?, given(s))));
        let (info, Given { congestion, send_buffer, receive_buffer }) = self.ending.clone().or_else(now).unwrap_or_default();
        FlowOutcome {
            flow: self.task.number,
            sends: self.task.sends,
            congestion,
            send_buffer,
            receive_buffer,
            mss: info.mss,
            bytes: self.bytes,
            elapsed_ns: self.last.unwrap_or(self.began).min(self.stop_at) - self.began,
            retransmitted: u64::from(info.total_retrans),
            segments_sent: u64::from(info.data_segs_out),
            why_failed: self.failed.clone(),
        }
    }
}
