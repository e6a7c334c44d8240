//! Builder of single packets and captures of them.

use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, PacketFilter};
use std::io::Cursor;

/// Link type of datagrams without a link header.
const RAW: u16 = 101;

/// A segment from the server (10.0.0.1, port 80) or to it.
#[derive(Clone, Copy, Default)]
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
    /// Flags in the place of SYN and ACK; zero for those.
    pub flags: u8,
    /// Zero for 64.
    pub ttl: u8,
}

/// An IPv4 datagram with UDP between two addresses and ports, without checksums.
pub fn udp(source: ([u8; 4], u16), destination: ([u8; 4], u16), id: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0x45, 0];
    out.extend((28 + payload.len() as u16).to_be_bytes());
    out.extend(id.to_be_bytes());
    out.extend([0x40, 0, 64, 17, 0, 0]);
    out.extend(source.0.into_iter().chain(destination.0));
    out.extend([source.1, destination.1].iter().flat_map(|port| port.to_be_bytes()));
    out.extend((8 + payload.len() as u16).to_be_bytes());
    out.extend([0, 0]);
    out.extend(payload);
    out
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
        out.extend([0x40, 0, if self.ttl == 0 { 64 } else { self.ttl }, 6, 0, 0]);
        out.extend(source);
        out.extend(destination);
        out.extend(if self.from_server { [0, 80, 0x80, 0] } else { [0x80, 0, 0, 80] });
        out.extend(self.seq.to_be_bytes());
        out.extend(self.ack.to_be_bytes());
        let flags = match (self.flags, self.syn, self.ack) {
            (0, true, 0) => 2,
            (0, true, _) => 18,
            (0, false, _) => 16,
            (flags, ..) => flags,
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

/// The same in snoop: Ethernet, microseconds.
pub fn snoop(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut out = b"snoop\0\0\0\0\0\0\x02\0\0\0\x04".to_vec();
    for (at, datagram) in packets {
        let frame = ethernet(datagram);
        let (len, padded) = (frame.len() as u32, frame.len().next_multiple_of(4) as u32);
        let time = [(at / 1_000_000_000) as u32 + 1000, (at % 1_000_000_000 / 1000) as u32];
        out.extend([len, len, 24 + padded, 0, time[0], time[1]].iter().flat_map(|field| field.to_be_bytes()));
        out.extend(frame);
        out.resize(out.len().next_multiple_of(4), 0);
    }
    out
}

/// The same in ERF: Ethernet, every second record with an extension header, the others of type ETH.
/// ERF begins with a time, by which it is recognized: 2001-09-09 instead of 1970.
pub fn erf(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, (at, datagram)) in packets.iter().enumerate() {
        let (frame, extended) = (ethernet(datagram), i % 2 == 1);
        let seconds = at / 1_000_000_000 + 1_000_000_000;
        let fraction = ((at % 1_000_000_000) << 32).div_ceil(1_000_000_000);
        out.extend((seconds << 32 | fraction).to_le_bytes());
        let len = 16 + if extended { 8 } else { 0 } + 2 + frame.len() + 4;
        out.extend([if extended { 0x8b } else { 2 }, 4]);
        out.extend((len as u16).to_be_bytes());
        out.extend([0, 0]);
        out.extend((frame.len() as u16 + 4).to_be_bytes());
        if extended {
            out.extend([4, 0, 0, 0, 0, 0, 0, 0]);
        }
        out.extend([0, 0]);
        out.extend(frame);
        out.extend([0xfc; 4]);
    }
    out
}

fn ethernet(datagram: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], datagram].concat()
}

/// Reads and analyzes a capture.
pub fn read(file: Vec<u8>) -> (Capture, Analysis) {
    let mut capture = Capture::from_reader(Box::new(Cursor::new(file))).unwrap();
    let mut analysis = Analysis::new(PacketFilter::default());
    analysis.read(&mut capture, &mut (), u64::MAX).unwrap();
    (capture, analysis)
}
