//! Capture of the session's packets by the far end.

use super::super::wait::wait;
use super::{MeasurementClient, REPLY_TIMEOUT_NS};
use crate::control::client::{ServerMessage, unexpected};
use crate::control::message::{ClientRequest, ServerReply};
use crate::{MS, MeasureError, SECOND};
use ackclock_core::Problem;
use nix::poll::{PollFd, PollFlags};
use std::os::fd::AsFd;

/// Packet headers that the far end has captured.
#[derive(Debug, Clone, Default)]
pub struct RemoteCapture {
    /// Records of a pcap file: little-endian, nanoseconds, IP.
    pub records: Vec<u8>,
    /// Packets that the far end could not store.
    pub dropped: u64,
}

impl MeasurementClient {
    /// Starts a capture at the far end. Input: the far end or its system refuses.
    pub fn begin_capture(&mut self, bytes: u64, keep_going: &mut dyn FnMut() -> bool) -> Result<(), MeasureError> {
        self.capture_bytes = bytes;
        self.send_request(&ClientRequest::Capture { bytes })?;
        match self.wait_for_message(keep_going)? {
            ServerMessage::Reply(ServerReply::Capturing { refused: None }) => Ok(()),
            ServerMessage::Reply(ServerReply::Capturing { refused: Some(why) }) => Err(MeasureError::Input(refusal(why, None))),
            _ => Err(self.protocol_error("a message out of order")),
        }
    }

    /// Ends the capture and receives it. The duration depends on the path's rate.
    pub fn end_capture(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<RemoteCapture, MeasureError> {
        self.send_request(&ClientRequest::Captured {})?;
        let mut records: Vec<u8> = Vec::new();
        loop {
            match self.wait_for_message(keep_going)? {
                // A record of the file is not larger than the far end's count of its bytes.
                ServerMessage::Packets(more) if (records.len() + more.len()) as u64 <= self.capture_bytes => records.extend(more),
                ServerMessage::Packets(_) => return Err(self.protocol_error("a capture above the requested size")),
                ServerMessage::Reply(ServerReply::Captured { dropped }) => return Ok(RemoteCapture { records, dropped }),
                _ => return Err(self.protocol_error("a message out of order")),
            }
        }
    }

    /// Waits for one message from the far end.
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
            Some(ServerMessage::Reply(ServerReply::Bye { reason })) => Err(self.session_ended(&reason)),
            Some(received) => Ok(received),
            None => Err(self.no_reply()),
        }
    }

    /// Error: the far end ended the session.
    pub(super) fn session_ended(&self, reason: &str) -> MeasureError {
        MeasureError::Failed(self.with_address(Problem::new(format!("the far end ended the session: {reason}"), "measure again")))
    }

    pub(super) fn no_reply(&self) -> MeasureError {
        MeasureError::Failed(self.with_address(Problem::new(
            format!("the far end has not answered for {} s", REPLY_TIMEOUT_NS / SECOND),
            "check that it is running and that the path carries TCP, and measure again",
        )))
    }

    pub(super) fn protocol_error(&self, what: &str) -> MeasureError {
        MeasureError::Failed(self.with_address(unexpected(what)))
    }
}

/// Error: the far end refuses a request.
pub(super) fn refusal(reason: String, allowed: Option<String>) -> Problem {
    match allowed {
        Some(allowed) => Problem::found(reason, format!("{allowed}, by the far end's limits")),
        None => Problem::new(format!("the far end refuses: {reason}"), "ask its operator, or change the request"),
    }
}
