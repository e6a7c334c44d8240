//! A TCP connection of a test, at either end: the sender writes as much data as its limits permit,
//! the receiver counts it.

use super::sample::{SampledFlow, sample_row};
use super::sockets::{AppliedOptions, applied_options, reset_on_close, set_int_option, set_nodelay, unsent_room};
use super::tcp_info::TcpInfo;
use crate::control::message::FlowOutcome;
use crate::record::SAMPLE_COLUMNS;
use crate::{Nanos, SECOND};
use nix::poll::PollFlags;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

/// Maximum bytes of one read or write.
pub const PIECE: usize = 1 << 18;
/// Burst of a rate limit: the rate divided by this, that is 10 ms.
const BURST_DIVISOR: i64 = 100;

/// Direction and limits of a connection.
#[derive(Debug, Clone, Copy)]
pub struct FlowSpec {
    pub number: u16,
    pub sends: bool,
    /// Bytes to transfer; none: until the end of the test.
    pub limit: Option<u64>,
    /// Maximum rate in b/s; none if the caller limits the rate.
    pub rate_bps: Option<u64>,
    /// Maximum advertised window of a receiver.
    pub window: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FlowPhase {
    Connecting,
    Open,
    /// All data is written; waits for the peer's confirmation of its arrival.
    Confirming,
    Ended,
}

/// Direction of the data at this end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoDirection {
    Out = 0,
    In = 1,
}

/// Result of one system call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoResult {
    pub bytes: u64,
    /// EAGAIN: no data to read, or no space to write.
    pub blocked: bool,
}

pub struct TcpFlow {
    pub spec: FlowSpec,
    /// No EAGAIN since the last poll event.
    pub ready: bool,
    /// Service within the test (`crate::rate_budget`).
    pub moved: u64,
    /// None after the end.
    stream: Option<TcpStream>,
    phase: FlowPhase,
    /// Bytes to write before data.
    hello: Vec<u8>,
    /// Times by this end's clock: the client's SYN, end of the handshake, first and last byte.
    pub began: Nanos,
    pub connected: Option<Nanos>,
    pub first: Option<Nanos>,
    pub last: Option<Nanos>,
    /// End of the transfer; later bytes are not counted.
    stop_at: Nanos,
    pub bytes: u64,
    /// Limit of the written and unsent data; none if the caller limits no rate.
    pub unsent_limit: Option<u64>,
    /// Earliest time of the next write or read under the rate limit.
    free_at: Nanos,
    pub failed: Option<String>,
    ending: Option<(TcpInfo, AppliedOptions)>,
    /// Retransmitted segments (tcpi_total_retrans) at the last query.
    total_retrans: u32,
}

impl TcpFlow {
    /// A client's connection in its handshake.
    pub fn connecting(spec: FlowSpec, stream: TcpStream, began: Nanos, stop_at: Nanos) -> TcpFlow {
        TcpFlow {
            spec,
            ready: false,
            moved: 0,
            stream: Some(stream),
            phase: FlowPhase::Connecting,
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
            total_retrans: 0,
        }
    }

    /// A server's connection after its data hello.
    pub fn accepted(spec: FlowSpec, stream: TcpStream, began: Nanos, stop_at: Nanos) -> TcpFlow {
        TcpFlow { phase: FlowPhase::Open, ready: true, ..TcpFlow::connecting(spec, stream, began, stop_at) }
    }

    pub fn stream(&self) -> Option<&TcpStream> {
        self.stream.as_ref()
    }

    pub fn is_ended(&self) -> bool {
        self.phase == FlowPhase::Ended
    }

    /// Poll events; none while the rate limit blocks.
    pub fn interest(&self, now: Nanos) -> PollFlags {
        match self.phase {
            FlowPhase::Connecting => PollFlags::POLLOUT,
            FlowPhase::Open if now < self.free_at => PollFlags::empty(),
            FlowPhase::Open if self.spec.sends || !self.hello.is_empty() => PollFlags::POLLOUT,
            FlowPhase::Open | FlowPhase::Confirming => PollFlags::POLLIN,
            FlowPhase::Ended => PollFlags::empty(),
        }
    }

    /// Direction in which a ready socket moves data; none during the handshake.
    pub fn io_direction(&self) -> Option<IoDirection> {
        (self.phase == FlowPhase::Open).then_some(if self.spec.sends { IoDirection::Out } else { IoDirection::In })
    }

    /// Bytes that may be written before the unsent data reaches its limit.
    pub fn unsent_room(&self) -> u64 {
        self.unsent_limit.zip(self.stream.as_ref()).map_or(u64::MAX, |(limit, stream)| unsent_room(stream, limit))
    }

    /// Bytes of payload that the kernel has retransmitted since the last call.
    pub fn take_retransmitted(&mut self) -> u64 {
        let Some(info) = self.stream.as_ref().filter(|_| self.spec.sends).and_then(TcpInfo::of) else { return 0 };
        let more = info.total_retrans.saturating_sub(std::mem::replace(&mut self.total_retrans, info.total_retrans));
        u64::from(more) * u64::from(info.mss)
    }

    /// Bytes of payload that the kernel has retransmitted on this connection.
    pub fn retransmitted(&self) -> u64 {
        let now = || self.stream.as_ref().filter(|_| self.spec.sends).and_then(TcpInfo::of);
        let info = self.ending.as_ref().map(|(info, _)| *info).or_else(now).unwrap_or_default();
        u64::from(info.total_retrans) * u64::from(info.mss)
    }

    /// Time of the next action without a poll event.
    pub fn due(&self, now: Nanos) -> Nanos {
        match self.phase {
            FlowPhase::Ended => Nanos::MAX,
            FlowPhase::Open if now < self.free_at => self.stop_at.min(self.free_at),
            _ => self.stop_at,
        }
    }

    /// Makes one system call on a ready socket or at a due time, for at most the bytes that fit
    /// `scratch`. `hello` returns a client's first bytes after the handshake.
    pub fn advance(&mut self, now: Nanos, scratch: &mut [u8], hello: impl FnOnce(Nanos) -> Vec<u8>) -> IoResult {
        let before = self.bytes;
        let blocked = self.step(now, scratch, hello);
        IoResult { bytes: self.bytes - before, blocked }
    }

    /// True if the system call returned EAGAIN.
    fn step(&mut self, now: Nanos, scratch: &mut [u8], hello: impl FnOnce(Nanos) -> Vec<u8>) -> bool {
        if self.phase == FlowPhase::Connecting
            && let Err(e) = self.connect(now, hello)
        {
            self.fail(now, &e.to_string());
            return false;
        }
        if now >= self.stop_at {
            self.on_deadline(now);
            return false;
        }
        let done = match self.phase {
            FlowPhase::Open if now < self.free_at => Ok(()),
            FlowPhase::Open if !self.hello.is_empty() => self.send_hello(),
            FlowPhase::Open if self.spec.sends => self.send(now, scratch),
            FlowPhase::Open => self.receive(now, scratch),
            FlowPhase::Confirming => self.confirm(now),
            FlowPhase::Connecting | FlowPhase::Ended => Ok(()),
        };
        match done {
            Err(e) if e.kind() == ErrorKind::WouldBlock || e.kind() == ErrorKind::Interrupted => return true,
            // Without a byte limit the receiver ends the connection, by a reset.
            Err(_) if self.spec.limit.is_none() && self.bytes > 0 => self.end(),
            Err(e) => self.fail(now, &e.to_string()),
            Ok(()) => {}
        }
        false
    }

    fn connect(&mut self, now: Nanos, hello: impl FnOnce(Nanos) -> Vec<u8>) -> std::io::Result<()> {
        let stream = self.open()?;
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        if stream.peer_addr().is_ok() {
            set_nodelay(stream);
            (self.connected, self.phase, self.hello) = (Some(now), FlowPhase::Open, hello(now - self.began));
        }
        Ok(())
    }

    fn open(&self) -> std::io::Result<&TcpStream> {
        self.stream.as_ref().ok_or(ErrorKind::NotConnected.into())
    }

    fn send_hello(&mut self) -> std::io::Result<()> {
        let written = self.open()?.write(&self.hello)?;
        self.hello.drain(..written);
        Ok(())
    }

    fn send(&mut self, now: Nanos, scratch: &[u8]) -> std::io::Result<()> {
        let left = self.spec.limit.map_or(u64::MAX, |limit| limit - self.bytes);
        let written = self.open()?.write(&scratch[..(left.min(scratch.len() as u64)) as usize])?;
        self.count(now, written);
        if self.spec.limit == Some(self.bytes) {
            self.open()?.shutdown(Shutdown::Write)?;
            self.phase = FlowPhase::Confirming;
        }
        Ok(())
    }

    fn receive(&mut self, now: Nanos, scratch: &mut [u8]) -> std::io::Result<()> {
        let read = self.open()?.read(scratch)?;
        if read > 0 {
            if self.first.is_none() {
                self.clamp_window();
            }
            self.count(now, read);
            return Ok(());
        }
        match self.spec.limit {
            Some(limit) if limit != self.bytes => self.fail(now, "the connection ended early"),
            Some(_) => {
                // If the confirmation is lost, the peer detects that itself.
                let _ = self.open()?.write(&[1]);
                self.end();
            }
            None => self.end(),
        }
        Ok(())
    }

    /// Sets the window clamp again: Linux recomputes it from the receive buffer when the first data
    /// shows the overhead of a packet.
    fn clamp_window(&self) {
        if let (Some(bytes), Some(stream), false) = (self.spec.window, &self.stream, self.spec.sends) {
            // The option was set before the handshake. If the kernel refuses it now, the receive
            // buffer is the limit.
            let _ = set_int_option(stream, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes);
        }
    }

    fn confirm(&mut self, now: Nanos) -> std::io::Result<()> {
        if self.open()?.read(&mut [0; 1])? > 0 {
            self.last = Some(now);
            self.end();
        } else {
            self.fail(now, "the peer did not confirm");
        }
        Ok(())
    }

    fn count(&mut self, now: Nanos, bytes: usize) {
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.bytes += bytes as u64;
        let Some(rate_bps) = self.spec.rate_bps else { return };
        let time = (bytes as i64 * 8).saturating_mul(SECOND) / (rate_bps.max(1) as i64);
        self.free_at = self.free_at.max(now - SECOND / BURST_DIVISOR).saturating_add(time);
    }

    fn on_deadline(&mut self, now: Nanos) {
        match (self.spec.limit, self.phase) {
            (_, FlowPhase::Ended) => {}
            (None, FlowPhase::Open) => self.end(),
            _ => self.fail(now, "the transfer exceeded its time limit"),
        }
    }

    /// Counts bytes that arrived with the hello.
    pub fn count_early_data(&mut self, now: Nanos, bytes: usize) {
        if bytes > 0 {
            self.count(now, bytes);
        }
    }

    /// Ends a connection whose options the kernel refused.
    pub fn refuse(&mut self, why: String) {
        self.failed = Some(why);
        self.end();
    }

    fn fail(&mut self, now: Nanos, why: &str) {
        self.failed.get_or_insert_with(|| why.to_owned());
        self.last.get_or_insert(now);
        self.end();
    }

    /// Ends the connection. Without a byte limit, unsent data is discarded.
    pub fn end(&mut self) {
        self.phase = FlowPhase::Ended;
        if let Some(stream) = self.stream.take() {
            self.ending = TcpInfo::of(&stream).map(|info| (info, applied_options(&stream)));
            if self.spec.limit.is_none() || self.failed.is_some() {
                reset_on_close(&stream);
            }
        }
    }

    pub fn sample(&self, now: Nanos) -> Option<[i64; SAMPLE_COLUMNS.len()]> {
        let sampled = SampledFlow { at: now, flow: self.spec.number, sends: self.spec.sends, bytes: self.bytes };
        let open = matches!(self.phase, FlowPhase::Open | FlowPhase::Confirming);
        self.clamp_window();
        self.stream.as_ref().filter(|_| open).and_then(TcpInfo::of).map(|info| sample_row(&sampled, &info))
    }

    pub fn outcome(&self) -> FlowOutcome {
        let now = || self.stream.as_ref().and_then(|s| Some((TcpInfo::of(s)?, applied_options(s))));
        let (info, AppliedOptions { congestion, send_buffer, receive_buffer }) =
            self.ending.clone().or_else(now).unwrap_or_default();
        FlowOutcome {
            flow: self.spec.number,
            sends: self.spec.sends,
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
