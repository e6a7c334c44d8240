//! Capture of the session's packets by the far end.

use super::control_connection::ControlConnection;
use super::refusal;
use crate::MeasureError;
use crate::control::client::ServerMessage;
use crate::control::message::{ClientRequest, ServerReply};

/// Packet headers that the far end has captured.
#[derive(Debug, Clone, Default)]
pub struct RemoteCapture {
    /// Records of a pcap file: little-endian, nanoseconds, IP.
    pub records: Vec<u8>,
    /// Packets that the far end could not store.
    pub dropped: u64,
}

impl RemoteCapture {
    /// Starts a capture of at most `bytes`.
    pub(super) fn begin(
        control: &mut ControlConnection,
        bytes: u64,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(), MeasureError> {
        control.send_request(&ClientRequest::Capture { bytes })?;
        match control.wait_for_message(keep_going)? {
            ServerMessage::Reply(ServerReply::Capturing { refused: None }) => Ok(()),
            ServerMessage::Reply(ServerReply::Capturing { refused: Some(why) }) => Err(MeasureError::Input(refusal(why, None))),
            _ => Err(control.protocol_error("a message out of order")),
        }
    }

    /// Ends the capture and receives it, at most `max_bytes`.
    pub(super) fn receive(
        control: &mut ControlConnection,
        max_bytes: u64,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<RemoteCapture, MeasureError> {
        control.send_request(&ClientRequest::Captured {})?;
        let mut records: Vec<u8> = Vec::new();
        loop {
            match control.wait_for_message(keep_going)? {
                // A record of the file is not larger than the far end's count of its bytes.
                ServerMessage::Packets(more) if (records.len() + more.len()) as u64 <= max_bytes => records.extend(more),
                ServerMessage::Packets(_) => return Err(control.protocol_error("a capture above the requested size")),
                ServerMessage::Reply(ServerReply::Captured { dropped }) => return Ok(RemoteCapture { records, dropped }),
                _ => return Err(control.protocol_error("a message out of order")),
            }
        }
    }
}
