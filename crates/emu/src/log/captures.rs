//! A capture at every real host: each packet as it passes between the host and the link, with its number and its length, headers only.
//!
//! Stamps are the network's time: of a packet from the host the kernel's own stamp, of one to it the instant for which it was planned,
//! which the audit says by how much it was missed.

use super::background::Stream;
use super::headers::header_len;
use ackclock_core::Time;
use ackclock_core::packet::{Body, Packet};
use ackclock_pcap::write::{CapturedFrame, FlowEnd, FlowFrames, PcapngWriter};
use std::io;

const ETHERNET: usize = 14;
/// The longest headers: IPv4 and TCP with all their options, and some extension headers of IPv6.
const LONGEST: u32 = 256;

/// Of one host.
struct One {
    side: FlowEnd,
    frames: FlowFrames,
    writer: PcapngWriter<Stream>,
}

pub struct Captures {
    /// By gate.
    at: Vec<One>,
    failed: Option<io::Error>,
}

/// The name of a gate's capture: the server's gate is the first.
pub fn name(gate: usize, gates: usize) -> String {
    match gate {
        0 => "server.pcapng".into(),
        _ if gates == 2 => "client.pcapng".into(),
        _ => format!("client-{gate}.pcapng"),
    }
}

impl Captures {
    /// One for each stream. `epoch_ns` is when the emulation began, in Unix time.
    pub fn new(streams: Vec<Stream>, epoch_ns: u64) -> io::Result<Captures> {
        let gates = streams.len();
        let one = |(gate, stream): (usize, Stream)| {
            let side = if gate == 0 { FlowEnd::Server } else { FlowEnd::Client };
            let writer = PcapngWriter::new(stream, LONGEST, name(gate, gates).trim_end_matches(".pcapng"))?;
            let frames = FlowFrames::new(0, 0, LONGEST);
            Ok(One { side, frames, writer: writer.with_epoch(epoch_ns) })
        };
        let at = streams.into_iter().enumerate().map(one).collect::<io::Result<Vec<One>>>()?;
        Ok(Captures { at, failed: None })
    }

    /// A packet at a gate: one that its host has sent, or one for it.
    pub fn pass(&mut self, now: Time, gate: u32, packet: &Packet, body: &Body, sent: bool) {
        let Some(one) = self.at.get_mut(gate as usize) else { return };
        let from = if sent { one.side } else { one.side.other() };
        let frame = one.frames.frame(from, packet.id as u16, packet, body);
        let kept = ETHERNET + header_len(frame.bytes.get(ETHERNET..).unwrap_or_default());
        let frame = CapturedFrame { bytes: &frame.bytes[..kept.min(frame.bytes.len())], ..frame };
        if let Err(error) = one.writer.write_with_id(now, &frame, packet.id) {
            self.failed.get_or_insert(error);
        }
    }

    pub fn finish(self) -> io::Result<()> {
        let all = self.at.into_iter().try_for_each(|one| one.writer.finish());
        self.failed.map_or(all, Err)
    }
}
