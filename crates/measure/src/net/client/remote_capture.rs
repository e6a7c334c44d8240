//! The far end's packets of a session.

use super::super::wait::wait;
use super::{Client, REPLY_TIMEOUT_NS};
use crate::control::client::{ServerMessage, unexpected};
use crate::control::message::{Reply, Request};
use crate::{MS, MeasureError, SECOND};
use ackclock_core::Problem;
use nix::poll::{PollFd, PollFlags};
use std::os::fd::AsFd;

/// Headers of the session's packets, as the far end's kernel saw them.
#[derive(Debug, Clone, Default)]
pub struct RemoteCapture {
    /// Records of a pcap file: little-endian, nanoseconds, IP.
    pub records: Vec<u8>,
    /// What there was no room for.
    pub dropped: u64,
}

impl Client {
    /// The far end keeps this session's packets' headers from now on. Input: it does not allow that, or its system does not.
    pub fn begin_capture(&mut self, bytes: u64, keep_going: &mut dyn FnMut() -> bool) -> Result<(), MeasureError> {
        self.capture_bytes = bytes;
        self.send_request(&Request::Capture { bytes })?;
        match self.wait_for_message(keep_going)? {
            ServerMessage::Reply(Reply::Capturing { refused: None }) => Ok(()),
            ServerMessage::Reply(Reply::Capturing { refused: Some(why) }) => Err(MeasureError::Input(refusal(why, None))),
            _ => Err(self.protocol_error("an answer out of order")),
        }
    }

    /// What it has kept. It takes as long as the path takes to carry it.
    pub fn end_capture(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<RemoteCapture, MeasureError> {
        self.send_request(&Request::Captured {})?;
        let mut records: Vec<u8> = Vec::new();
        loop {
            match self.wait_for_message(keep_going)? {
                // Records say more of each packet than the far end's own book.
                ServerMessage::Packets(more) if (records.len() + more.len()) as u64 <= self.capture_bytes => records.extend(more),
                ServerMessage::Packets(_) => return Err(self.protocol_error("a capture that is larger than was asked for")),
                ServerMessage::Reply(Reply::Captured { dropped }) => return Ok(RemoteCapture { records, dropped }),
                _ => return Err(self.protocol_error("an answer out of order")),
            }
        }
    }

    /// Waits for the far end to say something.
    fn wait_for_message(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<ServerMessage, MeasureError> {
        let mut deadline = self.clock.now() + REPLY_TIMEOUT_NS;
        while self.pending.is_empty() {
            let writes = if self.session.outbox().is_empty() { PollFlags::empty() } else { PollFlags::POLLOUT };
            let mut polled = [PollFd::new(self.control.as_fd(), PollFlags::POLLIN | writes)];
            wait(&self.clock, &mut polled, self.clock.now() + 100 * MS)?;
            let mut received = Vec::new();
            if self.exchange(&mut received).map_err(|why| MeasureError::Failed(self.with_address(why)))? {
                deadline = self.clock.now() + REPLY_TIMEOUT_NS;
            }
            self.pending.extend(received);
            if !keep_going() {
                return Err(MeasureError::Interrupted);
            }
            if self.clock.now() > deadline {
                return Err(self.no_reply());
            }
        }
        match self.pending.pop_front() {
            Some(ServerMessage::Reply(Reply::Bye { reason })) => Err(self.session_ended(&reason)),
            Some(received) => Ok(received),
            None => Err(self.no_reply()),
        }
    }

    /// The far end ended the session with a reason.
    pub(super) fn session_ended(&self, reason: &str) -> MeasureError {
        MeasureError::Failed(self.with_address(Problem::new(format!("the far end ended the session: {reason}"), "measure again")))
    }

    pub(super) fn no_reply(&self) -> MeasureError {
        MeasureError::Failed(self.with_address(Problem::new(
            format!("the far end has not answered for {} s", REPLY_TIMEOUT_NS / SECOND),
            "check that it still runs and that the path carries TCP, and measure again",
        )))
    }

    pub(super) fn protocol_error(&self, what: &str) -> MeasureError {
        MeasureError::Failed(self.with_address(unexpected(what)))
    }
}

/// The far end's refusal, with its reason.
pub(super) fn refusal(reason: String, allowed: Option<String>) -> Problem {
    match allowed {
        Some(allowed) => Problem::found(reason, format!("{allowed}, by the far end's limits")),
        None => Problem::new(format!("the far end refuses: {reason}"), "ask its operator, or ask for something else"),
    }
}
