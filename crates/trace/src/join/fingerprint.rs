//! Fingerprints by which packets are matched between two captures: 40 bytes per packet.

use crate::analyze::PacketObserver;
use crate::decode::{Datagram, Flags, Segment};
use crate::flow::{Flow, PacketEvent, Side};

/// One segment as on the wire; TSO and GRO segments are split.
#[derive(Debug, Clone, Copy)]
pub struct PacketFingerprint {
    /// Hash of the fields that address translation preserves: sequence numbers, length, flags,
    /// timestamps, SACK blocks; of UDP the length and the first bytes of the payload.
    pub hash: u64,
    /// Time by the capture's clock, nanoseconds.
    pub at: i64,
    pub seq: u32,
    pub ack: u32,
    pub payload: u32,
    pub ip_len: u32,
    /// IP identification; zero if there is none.
    pub ip_id: u16,
    /// SYN, FIN, RST, ACK and [`PacketFingerprint::CE`].
    pub flags: Flags,
}

impl PacketFingerprint {
    /// The IP header has the CE codepoint (RFC 3168). In TCP this bit is URG, which is not
    /// recorded.
    pub const CE: u8 = 0x20;
}

/// The packets of a flow by the side that sends.
pub type FlowFingerprints = [Vec<PacketFingerprint>; 2];

/// Fingerprints by flow number.
#[derive(Debug, Default)]
pub struct FingerprintRecorder {
    pub flows: Vec<FlowFingerprints>,
    /// Of the UDP flows.
    pub datagram_flows: Vec<FlowFingerprints>,
}

/// Maximum number of segments in a TSO segment (512 KB with IPv6). A longer one is not split.
const MAX_PARTS: u32 = 1024;
const RECORDED_FLAGS: u8 = Flags::SYN | Flags::FIN | Flags::RST | Flags::ACK;
/// Bytes of UDP payload by which a datagram is known: of QUIC the connection ID and encrypted bytes. In
/// 21,217 datagrams of QUIC they were distinct; 16 bytes were not.
const PAYLOAD_BYTES: usize = 32;

impl PacketObserver for FingerprintRecorder {
    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, s: &Segment<'_>, event: &PacketEvent) {
        let number = number as usize;
        if self.flows.len() <= number {
            self.flows.resize_with(number + 1, Default::default);
        }
        let list = &mut self.flows[number][event.from as usize];
        let unit = payload_unit(flow, s);
        let ce = if s.ecn == 3 { PacketFingerprint::CE } else { 0 };
        let headers = s.ip_len.saturating_sub(s.payload);
        let (mut from, mut part) = (0, 0u16);
        loop {
            let payload = (s.payload - from).min(unit);
            let last = from + payload == s.payload;
            let flags =
                Flags(if last { s.flags.0 & RECORDED_FLAGS } else { s.flags.0 & RECORDED_FLAGS & !(Flags::FIN | Flags::RST) });
            let seq = s.seq.wrapping_add(from);
            list.push(PacketFingerprint {
                hash: fingerprint_hash(s, seq, payload, flags),
                at,
                seq,
                ack: s.ack,
                payload,
                ip_len: headers.saturating_add(payload),
                ip_id: s.ip_id.map_or(0, |id| id.wrapping_add(part)),
                flags: Flags(flags.0 | ce),
            });
            if last {
                return;
            }
            (from, part) = (from + payload, part.wrapping_add(1));
        }
    }

    fn on_datagram(&mut self, at: i64, number: u32, datagram: &Datagram<'_>) {
        let number = number as usize;
        if self.datagram_flows.len() <= number {
            self.datagram_flows.resize_with(number + 1, Default::default);
        }
        let ce = if datagram.ecn == 3 { PacketFingerprint::CE } else { 0 };
        self.datagram_flows[number][datagram.from as usize].push(PacketFingerprint {
            hash: payload_hash(datagram),
            at,
            seq: 0,
            ack: 0,
            payload: datagram.payload,
            ip_len: datagram.ip_len,
            ip_id: datagram.ip_id.unwrap_or(0),
            flags: Flags(ce),
        });
    }
}

/// Payload of one segment on the wire, at least one byte. The MSS includes options (RFC 6691), but
/// some stacks ignore them: a segment up to the MSS is not split.
fn payload_unit(flow: &Flow, s: &Segment<'_>) -> u32 {
    let mss = [Side::Low, Side::High].into_iter().filter_map(|side| flow.direction(side).syn().mss).min();
    let options = u32::from(s.header_len).saturating_sub(20);
    let mss = mss.map(u32::from).filter(|&mss| s.payload > mss);
    let unit = mss.map_or(s.payload, |mss| mss.saturating_sub(options)).max(1);
    if s.payload / unit > MAX_PARTS { s.payload } else { unit }
}

/// FNV-1a over 64-bit words, with folding.
struct WordHash(u64);

impl WordHash {
    fn new() -> WordHash {
        WordHash(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, word: u64) {
        const PRIME: u64 = 0x0100_0000_01b3;
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let sum = (self.0 ^ word).wrapping_mul(PRIME).wrapping_add(ODD);
        self.0 = (sum ^ sum >> 29).wrapping_mul(ODD);
    }

    fn finish(self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// Packets with equal hashes are matched by IP identification or order.
fn fingerprint_hash(s: &Segment<'_>, seq: u32, payload: u32, flags: Flags) -> u64 {
    let ack = if flags.has(Flags::ACK) { s.ack } else { 0 };
    let mut hash = WordHash::new();
    let mut add = |word: u64| hash.add(word);
    add(u64::from(seq) << 32 | u64::from(ack));
    add(u64::from(payload) << 8 | u64::from(flags.0));
    if let Some(timestamps) = s.options.timestamps {
        add(u64::from(timestamps.value) << 32 | u64::from(timestamps.echo));
    }
    for &(left, right) in s.options.sack().iter() {
        add(u64::from(left) << 32 | u64::from(right));
    }
    hash.finish()
}

/// Of the length and the first bytes of a datagram's payload.
fn payload_hash(datagram: &Datagram<'_>) -> u64 {
    let mut hash = WordHash::new();
    hash.add(u64::from(datagram.payload));
    for bytes in datagram.captured[..datagram.captured.len().min(PAYLOAD_BYTES)].chunks(8) {
        hash.add(bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
    }
    hash.finish()
}

/// Median length of the IP packets in bytes; none without packets.
pub fn median_len(sent: &[PacketFingerprint]) -> Option<u32> {
    let mut all: Vec<u32> = sent.iter().map(|m| m.ip_len).collect();
    let middle = all.len() / 2;
    (!all.is_empty()).then(|| *all.select_nth_unstable(middle).1)
}
