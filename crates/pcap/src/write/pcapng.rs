//! Writer of the pcapng format (draft-ietf-opsawg-pcapng, section 4): one section, an interface for each
//! link type, nanosecond timestamps.

use super::{CapturedFrame, EPOCH_S, LINKTYPE_ETHERNET};
use ackclock_core::Time;
use std::io::{self, BufWriter, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const OPTION_IF_NAME: u16 = 2;
const OPTION_IF_TSRESOL: u16 = 9;
const OPTION_PACKET_ID: u16 = 5;
/// The length of the section is not known when its header is written.
const LENGTH_UNKNOWN: u64 = u64::MAX;
/// Placeholder of a block's type and length fields.
const HEAD: [u8; 8] = [0; 8];

pub struct PcapngWriter<W: Write> {
    out: BufWriter<W>,
    /// The block under construction: a placeholder for type and length, then the body. Each block
    /// is one write, so that a file ends with a complete block when the device is full.
    block: Vec<u8>,
    /// Unix time of the simulation's time 0, in nanoseconds.
    epoch_ns: u64,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the section header and an interface description with the name `interface`.
    pub fn new(file: W, snap_len: u32, interface: &str) -> io::Result<PcapngWriter<W>> {
        let mut writer = PcapngWriter::without_interface(file)?;
        writer.add_interface(LINKTYPE_ETHERNET, snap_len, interface)?;
        Ok(writer)
    }

    /// Writes the section header.
    pub fn without_interface(file: W) -> io::Result<PcapngWriter<W>> {
        let mut writer =
            PcapngWriter { out: BufWriter::new(file), block: Vec::with_capacity(256), epoch_ns: EPOCH_S * 1_000_000_000 };
        writer.block.extend(HEAD);
        writer.block.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        writer.block.extend([1, 0, 0, 0]);
        writer.block.extend(LENGTH_UNKNOWN.to_le_bytes());
        writer.end_block(SECTION_HEADER)?;
        Ok(writer)
    }

    /// Writes an interface description: link type, snapshot length (0 for none), name (empty for none).
    /// Interfaces have the numbers 0, 1, .. in their order.
    pub fn add_interface(&mut self, link: u16, snap_len: u32, name: &str) -> io::Result<()> {
        self.block.extend(u32::from(link).to_le_bytes());
        self.block.extend(snap_len.to_le_bytes());
        if !name.is_empty() {
            self.option(OPTION_IF_NAME, &name.as_bytes()[..name.len().min(1024)]);
        }
        self.option(OPTION_IF_TSRESOL, &[9]);
        self.option(0, &[]);
        self.end_block(INTERFACE_DESCRIPTION)
    }

    /// Sets the Unix time of time 0, in nanoseconds, for captures of real traffic.
    pub fn with_epoch(mut self, epoch_ns: u64) -> PcapngWriter<W> {
        self.epoch_ns = epoch_ns;
        self
    }

    pub fn write(&mut self, at: Time, frame: &CapturedFrame<'_>) -> io::Result<()> {
        self.begin_packet(at, frame);
        self.end_block(ENHANCED_PACKET)
    }

    /// Writes a packet with the option `epb_packetid`, which identifies it in other captures and
    /// logs.
    pub fn write_with_id(&mut self, at: Time, frame: &CapturedFrame<'_>, packet_id: u64) -> io::Result<()> {
        self.begin_packet(at, frame);
        self.pad();
        self.option(OPTION_PACKET_ID, &packet_id.to_le_bytes());
        self.option(0, &[]);
        self.end_block(ENHANCED_PACKET)
    }

    /// Writes a packet of this interface with a Unix time in nanoseconds.
    pub fn write_at(&mut self, interface: u32, unix_ns: u64, frame: &CapturedFrame<'_>) -> io::Result<()> {
        self.begin_packet_at(interface, unix_ns, frame);
        self.end_block(ENHANCED_PACKET)
    }

    fn begin_packet(&mut self, at: Time, frame: &CapturedFrame<'_>) {
        // Truncated to nanoseconds, as capture clocks truncate.
        self.begin_packet_at(0, self.epoch_ns + at.0 / 1000, frame);
    }

    fn begin_packet_at(&mut self, interface: u32, timestamp: u64, frame: &CapturedFrame<'_>) {
        for field in [interface, (timestamp >> 32) as u32, timestamp as u32, frame.bytes.len() as u32, frame.original_len] {
            self.block.extend(field.to_le_bytes());
        }
        self.block.extend(frame.bytes);
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.block.extend(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Writes the block: type, length, padded body, length.
    fn end_block(&mut self, kind: u32) -> io::Result<()> {
        self.pad();
        let len = (self.block.len() as u32 + 4).to_le_bytes();
        self.block[..4].copy_from_slice(&kind.to_le_bytes());
        self.block[4..8].copy_from_slice(&len);
        self.block.extend(len);
        let result = self.out.write_all(&self.block);
        self.block.clear();
        self.block.extend(HEAD);
        result
    }
}
