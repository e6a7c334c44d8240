//! A capture per real host: the headers of each packet between the host and the link, with packet
//! number and original length. In the place of a UDP payload stands its hash under a key of the
//! emulation, by which two captures are joined as by the payload itself; the payload is not kept, nor
//! is the key.
//!
//! Timestamps are network time: the kernel's RX timestamp of a packet from the host, and the
//! planned release of a packet to the host. The audit has the error of the latter.

use super::headers::{header_len, udp_payload};
use super::writer_thread::FileStream;
use ackclock_core::Time;
use ackclock_core::packet::{Body, Packet};
use ackclock_pcap::digest;
use ackclock_pcap::siphash::SipKey;
use ackclock_pcap::write::{CapturedFrame, FlowEnd, FlowFrames, PcapngWriter};
use std::io;

const ETHERNET: usize = 14;
/// Maximum captured length: IPv4 and TCP with all options, or IPv6 with some extension headers.
const MAX_HEADERS: u32 = 256;

/// The capture of one host.
struct HostCapture {
    side: FlowEnd,
    frames: FlowFrames,
    writer: PcapngWriter<FileStream>,
}

pub struct HostCaptures {
    /// By port.
    captures: Vec<HostCapture>,
    key: SipKey,
    /// The captured bytes of a frame whose payload is replaced.
    buffer: Vec<u8>,
    error: Option<io::Error>,
}

/// File name of the capture at a port. Port 0 is the server's.
pub fn name(port: usize, ports: usize) -> String {
    match port {
        0 => "server.pcapng".into(),
        _ if ports == 2 => "client.pcapng".into(),
        _ => format!("client-{port}.pcapng"),
    }
}

impl HostCaptures {
    /// One capture per stream. `epoch_ns`: Unix time of the emulation's start.
    pub fn new(streams: Vec<FileStream>, epoch_ns: u64) -> io::Result<HostCaptures> {
        let ports = streams.len();
        let capture = |(port, stream): (usize, FileStream)| {
            let side = if port == 0 { FlowEnd::Server } else { FlowEnd::Client };
            let writer = PcapngWriter::new(stream, MAX_HEADERS, name(port, ports).trim_end_matches(".pcapng"))?;
            let frames = FlowFrames::new(0, 0, MAX_HEADERS);
            Ok(HostCapture { side, frames, writer: writer.with_epoch(epoch_ns) })
        };
        let captures = streams.into_iter().enumerate().map(capture).collect::<io::Result<Vec<HostCapture>>>()?;
        Ok(HostCaptures { captures, key: SipKey::random(), buffer: Vec::new(), error: None })
    }

    /// Captures a packet at a port: `sent` by its host, or to be received by it.
    pub fn capture(&mut self, now: Time, port: u32, packet: &Packet, body: &Body, sent: bool) {
        let Some(capture) = self.captures.get_mut(port as usize) else { return };
        let from = if sent { capture.side } else { capture.side.other() };
        let frame = capture.frames.frame(from, packet.id as u16, packet, body);
        let captured = ETHERNET + header_len(frame.bytes.get(ETHERNET..).unwrap_or_default());
        let headers = &frame.bytes[..captured.min(frame.bytes.len())];
        let bytes = match (body, udp_payload(frame.bytes.get(ETHERNET..).unwrap_or_default())) {
            (Body::Raw(packet), Some(at)) => {
                self.buffer.clear();
                self.buffer.extend(&frame.bytes[..ETHERNET + at]);
                let payload = packet.get(at..).unwrap_or_default();
                digest::append(&mut self.buffer, &self.key, payload, payload.len());
                self.buffer.as_slice()
            }
            _ => headers,
        };
        let frame = CapturedFrame { bytes, ..frame };
        if let Err(error) = capture.writer.write_with_id(now, &frame, packet.id) {
            self.error.get_or_insert(error);
        }
    }

    pub fn finish(self) -> io::Result<()> {
        let finished = self.captures.into_iter().try_for_each(|capture| capture.writer.finish());
        self.error.map_or(finished, Err)
    }
}
