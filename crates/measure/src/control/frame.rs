//! Frames of an authenticated control connection: length, then a Noise transport message that
//! encrypts kind and payload. Noise numbers the messages of each direction, so a repeated, omitted
//! or reordered frame is detected. A length above the limit closes the connection before any payload
//! is stored.

use super::noise::{MAX_MESSAGE, TAG_BYTES};
use snow::TransportState;

/// Bytes of the length field. The length counts kind, payload and tag.
const LENGTH_BYTES: usize = 2;
/// Maximum payload of a frame.
pub const MAX_PAYLOAD: usize = MAX_MESSAGE - TAG_BYTES - 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// A JSON document.
    Message = 1,
    /// Rows of a table.
    Table = 2,
    /// Packet headers, as records of a pcap file.
    Packets = 3,
    /// The server's verdict on the session, one byte: its first frame.
    Verdict = 4,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlFrame {
    pub kind: FrameKind,
    pub payload: Vec<u8>,
}

/// Both directions of a control connection after the handshake.
pub struct FrameChannel {
    transport: TransportState,
    /// Maximum payload of the peer's frames.
    max_payload: usize,
}

impl FrameChannel {
    pub fn new(transport: TransportState, max_payload: usize) -> FrameChannel {
        FrameChannel { transport, max_payload: max_payload.min(MAX_PAYLOAD) }
    }

    /// Appends a frame to `out`. A payload has at most `MAX_PAYLOAD` bytes.
    pub fn write(&mut self, kind: FrameKind, payload: &[u8], out: &mut Vec<u8>) {
        let plain = [&[kind as u8], payload].concat();
        let (start, length) = (out.len(), plain.len() + TAG_BYTES);
        out.extend_from_slice(&(length as u16).to_be_bytes());
        out.resize(start + LENGTH_BYTES + length, 0);
        self.transport
            .write_message(&plain, &mut out[start + LENGTH_BYTES..])
            .unwrap_or_else(|e| unreachable!("a frame of {length} bytes: {e}"));
    }

    /// Maximum bytes of an incomplete frame.
    pub fn room(&self) -> usize {
        LENGTH_BYTES + 1 + self.max_payload + TAG_BYTES
    }

    /// The first frame of the stream if it is complete, and its length in the stream. Err: why the
    /// frame is rejected.
    pub fn take(&mut self, stream: &[u8]) -> Result<Option<(ControlFrame, usize)>, &'static str> {
        let Some((length, rest)) = stream.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let length = usize::from(u16::from_be_bytes(*length));
        if length <= TAG_BYTES || length > self.max_payload + 1 + TAG_BYTES {
            return Err("a frame's length is out of bounds");
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        let mut plain = vec![0; length - TAG_BYTES];
        self.transport.read_message(message, &mut plain).map_err(|_| "a frame is not authentic")?;
        let kind = match plain.remove(0) {
            1 => FrameKind::Message,
            2 => FrameKind::Table,
            3 => FrameKind::Packets,
            4 => FrameKind::Verdict,
            _ => return Err("a frame of an unknown kind"),
        };
        Ok(Some((ControlFrame { kind, payload: plain }, LENGTH_BYTES + length)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::noise::{Initiator, respond};
    use super::*;
    use crate::token::Token;

    /// Client and server of one session.
    fn ends() -> (FrameChannel, FrameChannel) {
        let token = Token::parse("kq7ZkX2mW9vB4nT8sL1rY6pD").unwrap();
        let (client, initiation) = Initiator::new(&token, [1; 32], b"");
        let (server, response) = respond(&token, [2; 32], b"", &initiation, &[3; 32]).unwrap();
        (FrameChannel::new(client.finish(&response).unwrap().0, 100), FrameChannel::new(server, 100))
    }

    fn two() -> (Vec<u8>, usize) {
        let (mut client, mut out) = (ends().0, Vec::new());
        client.write(FrameKind::Message, b"first", &mut out);
        let first = out.len();
        client.write(FrameKind::Table, b"", &mut out);
        (out, first)
    }

    #[test]
    fn frame_is_read_when_its_stream_is_cut_anywhere() {
        let (stream, first) = two();
        let mut server = ends().1;
        for cut in 0..first {
            assert_eq!(server.take(&stream[..cut]), Ok(None));
        }
        let (frame, took) = server.take(&stream).unwrap().unwrap();
        assert_eq!((frame.payload.as_slice(), took), (b"first".as_slice(), first));
        assert_eq!(server.take(&stream[took..]).unwrap().unwrap().0.kind, FrameKind::Table);
    }

    #[test]
    fn frame_is_refused_when_it_is_repeated_skipped_or_changed() {
        let (stream, first) = two();
        let mut server = ends().1;
        assert!(server.take(&stream[first..]).is_err());
        server.take(&stream).unwrap();
        assert!(server.take(&stream).is_err());
        for at in LENGTH_BYTES..first {
            let mut changed = stream.clone();
            changed[at] ^= 1;
            assert!(ends().1.take(&changed).is_err(), "byte {at}");
        }
    }

    // finding("S9")
    #[test]
    fn frame_does_not_show_its_payload_when_it_is_on_the_wire() {
        let (stream, _) = two();
        assert!(!stream.windows(5).any(|w| w == b"first"));
    }

    #[test]
    fn length_above_the_limit_is_refused_when_no_payload_has_arrived() {
        let mut server = ends().1;
        assert!(server.take(&118u16.to_be_bytes()).is_err());
        assert!(server.take(&16u16.to_be_bytes()).is_err());
        assert_eq!(server.take(&117u16.to_be_bytes()), Ok(None));
    }

    #[test]
    fn frame_of_the_maximum_length_is_read() {
        let (mut client, mut server) = ends();
        server.max_payload = MAX_PAYLOAD;
        let mut out = Vec::new();
        client.write(FrameKind::Packets, &[7; MAX_PAYLOAD], &mut out);
        assert_eq!(server.take(&out).unwrap().unwrap().0.payload.len(), MAX_PAYLOAD);
    }
}
