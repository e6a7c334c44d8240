//! Frames of an authenticated control connection: length, kind, payload, MAC. The MAC covers the
//! frame's sequence number, so a repeated, omitted or reordered frame is detected. A length above
//! the limit closes the connection before any payload is stored.

use super::keys::{Digest, MAC_BYTES, constant_time_eq, mac};

/// Bytes of the length field. The length counts kind and payload, not the MAC.
const LENGTH_BYTES: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// A JSON document.
    Message = 1,
    /// Rows of a table.
    Table = 2,
    /// Packet headers, as records of a pcap file.
    Packets = 3,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlFrame {
    pub kind: FrameKind,
    pub payload: Vec<u8>,
}

/// Writes frames with one direction's key.
pub struct FrameWriter {
    key: Digest,
    next: u64,
}

impl FrameWriter {
    pub fn new(key: Digest) -> FrameWriter {
        FrameWriter { key, next: 0 }
    }

    pub fn write(&mut self, kind: FrameKind, payload: &[u8], out: &mut Vec<u8>) {
        let length = (payload.len() as u32 + 1).to_be_bytes();
        let digest = mac(&self.key, "frame", &[&self.next.to_be_bytes(), &length, &[kind as u8], payload]);
        self.next += 1;
        out.extend_from_slice(&length);
        out.push(kind as u8);
        out.extend_from_slice(payload);
        out.extend_from_slice(&digest);
    }
}

/// Reads frames from a stream that the peer controls.
pub struct FrameReader {
    key: Digest,
    next: u64,
    /// Maximum payload of a frame.
    max_payload: usize,
}

impl FrameReader {
    pub fn new(key: Digest, max_payload: usize) -> FrameReader {
        FrameReader { key, next: 0, max_payload }
    }

    /// Maximum bytes of an incomplete frame.
    pub fn room(&self) -> usize {
        LENGTH_BYTES + 1 + self.max_payload + MAC_BYTES
    }

    /// The first frame of the stream if it is complete, and its length in the stream. Err: why the
    /// frame is rejected.
    pub fn take(&mut self, stream: &[u8]) -> Result<Option<(ControlFrame, usize)>, &'static str> {
        let Some((length, rest)) = stream.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let inside = u32::from_be_bytes(*length) as usize;
        if inside == 0 || inside > self.max_payload + 1 {
            return Err("a frame's length is out of bounds");
        }
        if rest.len() < inside + MAC_BYTES {
            return Ok(None);
        }
        let (kind, payload, sent) = (rest[0], &rest[1..inside], &rest[inside..inside + MAC_BYTES]);
        let expected = mac(&self.key, "frame", &[&self.next.to_be_bytes(), length, &[kind], payload]);
        if !constant_time_eq(&expected, sent) {
            return Err("a frame is not authentic");
        }
        self.next += 1;
        let kind = match kind {
            1 => FrameKind::Message,
            2 => FrameKind::Table,
            3 => FrameKind::Packets,
            _ => return Err("a frame of an unknown kind"),
        };
        Ok(Some((ControlFrame { kind, payload: payload.to_vec() }, LENGTH_BYTES + inside + MAC_BYTES)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> (Vec<u8>, usize) {
        let (mut writer, mut out) = (FrameWriter::new([7; 32]), Vec::new());
        writer.write(FrameKind::Message, b"first", &mut out);
        let first = out.len();
        writer.write(FrameKind::Table, b"", &mut out);
        (out, first)
    }

    #[test]
    fn frame_is_read_when_its_stream_is_cut_anywhere() {
        let (stream, first) = two();
        let mut reader = FrameReader::new([7; 32], 100);
        for cut in 0..first {
            assert_eq!(reader.take(&stream[..cut]), Ok(None));
        }
        let (frame, took) = reader.take(&stream).unwrap().unwrap();
        assert_eq!((frame.payload.as_slice(), took), (b"first".as_slice(), first));
        assert_eq!(reader.take(&stream[took..]).unwrap().unwrap().0.kind, FrameKind::Table);
    }

    #[test]
    fn frame_is_refused_when_it_is_repeated_skipped_or_changed() {
        let (stream, first) = two();
        let mut reader = FrameReader::new([7; 32], 100);
        assert!(reader.take(&stream[first..]).is_err());
        reader.take(&stream).unwrap();
        assert!(reader.take(&stream).is_err());
        for at in 4..first {
            let mut changed = stream.clone();
            changed[at] ^= 1;
            assert!(FrameReader::new([7; 32], 100).take(&changed).is_err(), "byte {at}");
        }
    }

    #[test]
    fn length_above_the_limit_is_refused_when_no_payload_has_arrived() {
        let mut reader = FrameReader::new([7; 32], 100);
        assert!(reader.take(&102u32.to_be_bytes()).is_err());
        assert!(reader.take(&0u32.to_be_bytes()).is_err());
        assert_eq!(reader.take(&101u32.to_be_bytes()), Ok(None));
    }
}
