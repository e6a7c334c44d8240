//! Writer of the classic pcap format with nanosecond timestamps (draft-ietf-opsawg-pcap, sections 4
//! and 5).

use super::{CapturedFrame, LINKTYPE_ETHERNET, unix_nanoseconds};
use ackclock_core::Time;
use std::io::{self, BufWriter, Write};

/// Timestamps are seconds and nanoseconds.
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;

pub struct PcapWriter<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> PcapWriter<W> {
    pub fn new(file: W, snap_len: u32) -> io::Result<PcapWriter<W>> {
        let mut out = BufWriter::new(file);
        let mut header = [0u8; 24];
        header[0..4].copy_from_slice(&MAGIC_NANOSECONDS.to_le_bytes());
        header[4..6].copy_from_slice(&2u16.to_le_bytes());
        header[6..8].copy_from_slice(&4u16.to_le_bytes());
        header[16..20].copy_from_slice(&snap_len.to_le_bytes());
        header[20..24].copy_from_slice(&u32::from(LINKTYPE_ETHERNET).to_le_bytes());
        out.write_all(&header)?;
        Ok(PcapWriter { out })
    }

    pub fn write(&mut self, at: Time, frame: &CapturedFrame<'_>) -> io::Result<()> {
        let timestamp = unix_nanoseconds(at);
        let fields = [
            (timestamp / 1_000_000_000) as u32,
            (timestamp % 1_000_000_000) as u32,
            frame.bytes.len() as u32,
            frame.original_len,
        ];
        for field in fields {
            self.out.write_all(&field.to_le_bytes())?;
        }
        self.out.write_all(frame.bytes)
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}
