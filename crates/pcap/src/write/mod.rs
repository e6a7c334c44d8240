//! Writing captures: Ethernet frames of simulated packets, and writers of both file formats. A
//! writer buffers one frame.

mod frame;
mod pcap;
mod pcapng;
mod super_segments;
mod tcp_options;

pub use frame::{Address, CapturedFrame, FlowEnd, FlowFrames};
pub use pcap::PcapWriter;
pub use pcapng::PcapngWriter;
pub use super_segments::{CaptureRecord, OffloadConfig, SuperSegments};

use ackclock_core::Time;
use std::io::{self, Write};

/// Unix time of a simulation's time 0, in seconds: 2000-01-01 00:00:00 UTC.
pub const EPOCH_S: u64 = 946_684_800;

/// Snapshot length that holds all headers; a simulated payload is zeros.
pub const HEADERS_SNAP_LEN: u32 = 128;

/// Ethernet, which every reader supports.
const LINKTYPE_ETHERNET: u16 = 1;

/// Unix time of a simulated instant in nanoseconds, truncated as capture clocks truncate.
fn unix_nanoseconds(at: Time) -> u64 {
    EPOCH_S * 1_000_000_000 + at.0 / 1000
}

/// A capture file of either format.
pub enum CaptureWriter<W: Write> {
    Pcap(PcapWriter<W>),
    Pcapng(PcapngWriter<W>),
}

impl<W: Write> CaptureWriter<W> {
    pub fn write(&mut self, at: Time, frame: &CapturedFrame<'_>) -> io::Result<()> {
        match self {
            CaptureWriter::Pcap(w) => w.write(at, frame),
            CaptureWriter::Pcapng(w) => w.write(at, frame),
        }
    }

    /// Flushes buffered bytes.
    pub fn finish(self) -> io::Result<()> {
        match self {
            CaptureWriter::Pcap(w) => w.finish(),
            CaptureWriter::Pcapng(w) => w.finish(),
        }
    }
}
