//! Writing captures: frames from simulated bodies, and the two file formats that carry them. Writers buffer one frame, never a capture.

mod checksum;
mod frame;
mod options;
mod pcap;
mod pcapng;

pub use frame::{Address, FlowFrames, Frame, Side};
pub use pcap::PcapWriter;
pub use pcapng::PcapngWriter;

use ackclock_core::Time;
use std::io::{self, Write};

/// Where a run's time 0 lies in a capture, in seconds of Unix time: 2000-01-01 00:00:00 UTC.
pub const EPOCH_S: u64 = 946_684_800;

/// Enough of a packet for all its headers, as simulated payload is zeros.
pub const HEADERS_ONLY: u32 = 128;

/// Ethernet, the one link type that every reader knows.
const LINKTYPE_ETHERNET: u16 = 1;

/// Nanoseconds of Unix time of an instant of the run, cut off, as capture clocks do.
fn unix_nanoseconds(at: Time) -> u64 {
    EPOCH_S * 1_000_000_000 + at.0 / 1000
}

/// A capture file of either format.
pub enum CaptureWriter<W: Write> {
    Pcap(PcapWriter<W>),
    Pcapng(PcapngWriter<W>),
}

impl<W: Write> CaptureWriter<W> {
    pub fn write(&mut self, at: Time, frame: &Frame<'_>) -> io::Result<()> {
        match self {
            CaptureWriter::Pcap(w) => w.write(at, frame),
            CaptureWriter::Pcapng(w) => w.write(at, frame),
        }
    }

    /// Writes what is still buffered.
    pub fn finish(self) -> io::Result<()> {
        match self {
            CaptureWriter::Pcap(w) => w.finish(),
            CaptureWriter::Pcapng(w) => w.finish(),
        }
    }
}
