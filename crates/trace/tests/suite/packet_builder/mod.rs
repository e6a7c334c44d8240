//! Builder of single packets and captures of them.

use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, PacketFilter};
use std::io::Cursor;

/// Link type of datagrams without a link header.
const RAW: u16 = 101;

/// A segment from the server (10.0.0.1, port 80) or to it.
#[derive(Default)]
pub struct Tcp<'a> {
    pub from_server: bool,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    /// IPv4 identification.
    pub id: u16,
    /// A multiple of four bytes.
    pub options: &'a [u8],
    /// Length in bytes.
    pub payload: usize,
    /// A SYN, without ACK if `ack` is zero.
    pub syn: bool,
}

impl Tcp<'_> {
    /// The IPv4 datagram, without checksums.
    pub fn datagram(&self) -> Vec<u8> {
        let (server, client) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let (source, destination) = if self.from_server { (server, client) } else { (client, server) };
        let len = (40 + self.options.len() + self.payload) as u16;
        let mut out = vec![0x45, 0];
        out.extend(len.to_be_bytes());
        out.extend(self.id.to_be_bytes());
        out.extend([0x40, 0, 64, 6, 0, 0]);
        out.extend(source);
        out.extend(destination);
        out.extend(if self.from_server { [0, 80, 0x80, 0] } else { [0x80, 0, 0, 80] });
        out.extend(self.seq.to_be_bytes());
        out.extend(self.ack.to_be_bytes());
        let flags = match (self.syn, self.ack) {
            (true, 0) => 2,
            (true, _) => 18,
            (false, _) => 16,
        };
        out.extend([((20 + self.options.len() as u8) / 4) << 4, flags]);
        out.extend(self.window.to_be_bytes());
        out.extend([0; 4]);
        out.extend(self.options);
        out.resize(usize::from(len), 1);
        out
    }
}

/// A capture of datagrams with times in nanoseconds after 1000 s, with snapshot length `snap`.
pub fn pcap(packets: &[(u64, Vec<u8>)], snap: usize) -> Vec<u8> {
    let mut out = vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0];
    out.extend(u32::from(RAW).to_le_bytes());
    for (at, bytes) in packets {
        let kept = bytes.len().min(snap);
        for field in [(at / 1_000_000_000) as u32 + 1000, (at % 1_000_000_000) as u32, kept as u32, bytes.len() as u32] {
            out.extend(field.to_le_bytes());
        }
        out.extend(&bytes[..kept]);
    }
    out
}

/// Reads and analyzes a capture.
pub fn read(file: Vec<u8>) -> (Capture, Analysis) {
    let mut capture = Capture::from_reader(Box::new(Cursor::new(file))).unwrap();
    let mut analysis = Analysis::new(PacketFilter::default());
    analysis.read(&mut capture, &mut (), u64::MAX).unwrap();
    (capture, analysis)
}
